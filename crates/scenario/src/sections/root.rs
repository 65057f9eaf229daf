//! The top of a scenario file.

use std::num::NonZeroUsize;

use tidegate_sim::topology;
use tidegate_sim::workload::probe;
use tidegate_units::{Form, ParseError, Setting};

use super::measure::Measure;
use super::nic::Nic;
use super::observe::Observe;
use super::switch::Switch;
use super::traffic::Traffic;
use super::transport::Transport;
use crate::layout::declare::{Optional, Tables, Text, section};
use crate::settings::reader::{Located, Reader};
use crate::text::problem::Problem;

/// A run without its seed, as typed settings.
pub(crate) type Described = Located<Root>;

section! {
    "At the top",
    /// Keys before the first header. Each section below has its own table.
    pub(crate) struct Root {
        /// Name in file names: letters, digits, `.`, `_` and `-`. Default: the name of the file.
        name: Text,
        /// Title in reports. Default: `name`.
        title: Text,
        /// Label of the point that all others are compared with, seed by seed. Without it and
        /// `--baseline`, points are not compared.
        baseline: Text,
        /// Seed of all random numbers.
        seed: u64 = 1,
        /// Number of runs per point, with consecutive seeds.
        runs: u32 = 1,
        /// Maximum threads per run, used if there are fewer runs than cores and at least 256 hosts.
        /// Results do not depend on it.
        threads: Threads = Threads(1),
        /// Hosts, switches and links.
        topology: Located<topology::Config>,
        /// Ports of the switches.
        switch: Located<Switch>,
        /// Ports of the hosts; `none` for ideal hosts: first in, first out, unlimited.
        nic: Optional<Nic> = NotShown,
        /// Transport protocol of the hosts.
        transport: Located<Transport>,
        /// Flows: any number of sources.
        traffic: Tables<Traffic>,
        /// Pings, which do not count as flows.
        probe: Tables<probe::Config>,
        /// Flows that count, and the end of the run.
        measure: Located<Measure>,
        /// Measurements beyond the flows.
        observe: Located<Observe>,
    }
    checked by check
}

/// Number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads(u32);

impl Setting for Threads {
    // No shared-memory machine has more cores.
    const FORM: Form = Form::Number(4096);

    fn read(text: &str) -> Result<Self, ParseError> {
        u32::read(text).map(Self)
    }

    fn write(&self) -> String {
        self.0.write()
    }
}

impl Threads {
    pub(crate) fn count(self) -> NonZeroUsize {
        NonZeroUsize::new(self.0 as usize).expect("zero threads are refused")
    }
}

fn check(root: &Root, reader: &Reader<'_>) -> Result<(), Problem> {
    if let Some(name) = &root.name.0
        && !is_file_safe(name)
    {
        let message = format!("`name` is `{name}`, which cannot be part of a file name");
        let help = "1 to 64 letters, digits, `.`, `_` and `-`, the first not a `.` or `-`";
        return Err(Problem::new(message).at(reader.locs().of("name")).help(help));
    }
    if root.threads.0 == 0 {
        let problem = Problem::new("`threads` is 0, which is out of range");
        return Err(problem.at(reader.locs().of("threads")).help("allowed: 1 to 4096"));
    }
    Ok(())
}

/// Whether a name can be part of a file name on every system.
pub(crate) fn is_file_safe(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(fits) && !name.starts_with(['.', '-'])
}
