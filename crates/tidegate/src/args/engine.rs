//! What can be said about who runs the runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::Common;

/// Who runs the runs.
#[derive(Debug, Args)]
pub(crate) struct Engine {
    /// Who runs the runs: local for this machine, slurm or ray for a cluster [default: local]
    #[arg(
        id = "engine",
        long = "engine",
        value_enum,
        value_name = "NAME",
        hide_possible_values = true,
        group = "division"
    )]
    name: Option<EngineName>,
    /// An option of the engine, such as --partition=short for Slurm, or address=auto for Ray
    #[arg(
        id = "engine-option",
        long = "engine-option",
        value_name = "OPTION",
        requires = "engine",
        allow_hyphen_values = true
    )]
    pub(crate) options: Vec<String>,
    /// About how many minutes of a core a task of the engine has [default: 10]
    #[arg(long, value_name = "MINUTES", requires = "engine", value_parser = minutes)]
    chunk: Option<f64>,
}

impl Engine {
    /// The engine, if it is not this machine.
    pub(crate) fn elsewhere(&self) -> Option<EngineName> {
        self.name.filter(|&engine| engine != EngineName::Local)
    }

    /// About how much work a task has, in seconds of a core.
    pub(crate) fn chunk_seconds(&self) -> f64 {
        self.chunk.unwrap_or(10.0) * 60.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EngineName {
    /// This machine
    Local,
    /// Ray, with the `ray` of a Python here
    Ray,
    /// Slurm, as job arrays
    Slurm,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The results folder that an engine's tasks are to fill
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok();
    minutes
        .filter(|minutes| (1e-6..=1e6).contains(minutes))
        .ok_or_else(|| "allowed: minutes above zero, such as 10 or 0.5".to_owned())
}
