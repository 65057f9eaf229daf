//! Scenarios from the disk and built-in ones.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_report::reading;
use tidegate_scenario::{Files, Problem, Scenario};
use tidegate_units::Bytes;

/// Reads a scenario file and its includes from the disk. Overrides are applied last.
pub fn read_scenario(path: &Path, overrides: &[String]) -> Result<Scenario, Problem> {
    read_scenario_up_to(path, overrides, None)
}

/// The same with a maximum size of its lists and tables.
pub fn read_scenario_up_to(
    path: &Path,
    overrides: &[String],
    max_file: Option<Bytes>,
) -> Result<Scenario, Problem> {
    let longest = max_file.map_or(reading::WRITTEN, |size| size.0);
    Scenario::read(Arc::new(Disk { longest }), path, overrides)
}

#[derive(Debug)]
struct Disk {
    longest: u64,
}

impl Files for Disk {
    fn read(&self, path: &Path, longest: u64) -> Result<(PathBuf, String), String> {
        let read = || {
            let real = path.canonicalize()?;
            let text = reading::text(&real, longest)?;
            Ok((real, text))
        };
        read().map_err(|error: io::Error| error.to_string())
    }

    fn longest(&self) -> u64 {
        self.longest
    }
}

/// Built-in scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Name: `tcn-f10` for `tcn/f10.toml`.
    pub id: &'static str,
    /// Path among the built-in files, for includes.
    pub path: &'static str,
    /// Text.
    pub text: &'static str,
}

/// Built-in scenarios: the embedded files that belong to no paper.
pub fn builtin() -> impl Iterator<Item = &'static Embedded> {
    FILES.iter().filter(|file| !file.path.contains('/'))
}

include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

impl Embedded {
    /// Reads the scenario with its built-in includes. Overrides are applied last.
    pub fn scenario(&self, overrides: &[String]) -> Result<Scenario, Problem> {
        Scenario::read(Arc::new(Program), Path::new(self.path), overrides)
    }
}

/// Built-in files, by their paths.
#[derive(Debug)]
struct Program;

impl Files for Program {
    fn read(&self, path: &Path, _longest: u64) -> Result<(PathBuf, String), String> {
        let file = FILES.iter().find(|file| Path::new(file.path) == path);
        let file = file.ok_or("no such built-in file")?;
        Ok((path.to_path_buf(), file.text.to_owned()))
    }

    fn title(&self, path: &Path) -> String {
        format!("{} (built in)", path.display())
    }
}
