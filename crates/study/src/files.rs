//! Scenarios from the disk and from the program itself.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_report::reading;
use tidegate_scenario::{Files, Problem, Scenario};

/// Reads a scenario file and those that it includes from the disk. Overrides come last.
pub fn read_scenario(path: &Path, overrides: &[String]) -> Result<Scenario, Problem> {
    Scenario::read(Arc::new(Disk), path, overrides)
}

#[derive(Debug)]
struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path, longest: u64) -> Result<(PathBuf, String), String> {
        let read = || {
            let real = path.canonicalize()?;
            let text = reading::text(&real, longest)?;
            Ok((real, text))
        };
        read().map_err(|error: io::Error| error.to_string())
    }
}

/// A scenario file that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// The name that it is found by: `tcn-f10` for `tcn/f10.toml`.
    pub id: &'static str,
    /// Its path among the others, which may include it by that.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

impl Embedded {
    /// Reads it and those that it includes among the others. Overrides come last.
    pub fn scenario(&self, overrides: &[String]) -> Result<Scenario, Problem> {
        Scenario::read(Arc::new(Program), Path::new(self.path), overrides)
    }
}

/// The files that are part of the program, by their paths.
#[derive(Debug)]
struct Program;

impl Files for Program {
    fn read(&self, path: &Path, _longest: u64) -> Result<(PathBuf, String), String> {
        let file = FILES.iter().find(|file| Path::new(file.path) == path);
        let file = file.ok_or("it is not part of the program")?;
        Ok((path.to_path_buf(), file.text.to_owned()))
    }

    fn title(&self, path: &Path) -> String {
        format!("{} (built in)", path.display())
    }
}
