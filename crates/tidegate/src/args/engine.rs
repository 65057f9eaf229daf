//! Arguments that select the execution backend.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tidegate_study::engine::{Cluster, Kind};

use super::Common;

/// Execution backend.
#[derive(Debug, Args)]
pub(crate) struct Engine {
    /// Execution backend: local, slurm or ray [default: local]
    #[arg(
        id = "engine",
        long = "engine",
        value_enum,
        value_name = "NAME",
        hide_possible_values = true,
        group = "division"
    )]
    name: Option<EngineName>,
    /// Option for the engine, such as --partition=short for Slurm or address=auto for Ray
    #[arg(
        id = "engine-option",
        long = "engine-option",
        value_name = "OPTION",
        requires = "engine",
        allow_hyphen_values = true
    )]
    options: Vec<String>,
    /// Approximate length of an engine task, in core minutes [default: 10]
    #[arg(long, value_name = "MINUTES", requires = "engine", value_parser = minutes)]
    chunk: Option<f64>,
}

impl Engine {
    /// The engine; `None` for this machine.
    pub(crate) fn elsewhere(&self) -> Option<Cluster<'_>> {
        let kind = match self.name? {
            EngineName::Local => return None,
            EngineName::Ray => Kind::Ray,
            EngineName::Slurm => Kind::Slurm,
        };
        let minutes = self.chunk.unwrap_or(10.0);
        Some(Cluster { kind, options: &self.options, chunk: minutes * 60.0 })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EngineName {
    /// This machine
    Local,
    /// Ray, through the `ray` package of a local Python
    Ray,
    /// Slurm, as job arrays
    Slurm,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// Results folder of the cluster job
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok();
    minutes
        .filter(|minutes| (1e-6..=1e6).contains(minutes))
        .ok_or_else(|| "allowed: a number of minutes above 0, such as 10 or 0.5".to_owned())
}
