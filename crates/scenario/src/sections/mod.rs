//! Sections of scenario files: one file each, with the keys that it adds to its tables.
//!
//! To add a section, declare it with `section!` in a file of its own, and name the file and its
//! type in a key of [`Root`]: `key(file): Located<file::Type>`. Readers, resolved texts, the schema
//! and the reference follow.

pub(crate) mod declare;

use std::num::NonZeroUsize;

use tidegate_sim::topology::Config as Topology;
use tidegate_sim::workload::probe::Config as Probe;
use tidegate_units::{Form, ParseError, Setting};

use self::declare::{Optional, Table, Tables, Text, section};
use crate::layout::{Section, Shape};
use crate::settings::reader::{Located, Reader};
use crate::text::document::now;
use crate::text::problem::Problem;

/// The section at the top of a file.
pub(crate) const ROOT: &Section = Root::SECTION;

impl Section {
    /// All sections of a scenario, in the order of the reference.
    pub(crate) fn all() -> Vec<&'static Self> {
        fn add(section: &'static Section, found: &mut Vec<&'static Section>) {
            if found.iter().any(|known| known.title == section.title) {
                return;
            }
            found.push(section);
            for key in section.keys_of_all_kinds() {
                if let Some(below) = key.shape.section() {
                    add(below, found);
                }
            }
        }
        let mut found = Vec::new();
        add(ROOT, &mut found);
        found
    }

    /// Section of the table at a path, and its default kind there.
    pub(crate) fn at(path: &[String]) -> Option<(&'static Self, Option<&'static str>)> {
        let mut found = (ROOT, None);
        let mut steps = path.iter();
        while let Some(step) = steps.next() {
            let keys = found.0.keys_of_all_kinds();
            let key = keys.into_iter().find(|key| key.name == now(step))?;
            let section = key.shape.section()?;
            if let Shape::Tables(_) = key.shape {
                steps.next()?;
            }
            found = (section, key.kind.or(section.default_kind));
        }
        Some(found)
    }

    /// For the table at a path: its default kind, and the keys that survive a change of kind;
    /// `None` if there is no table at the path.
    pub(crate) fn selects(
        path: &[String],
    ) -> Option<(Option<&'static str>, &'static [&'static str])> {
        Self::at(path).map(|(section, kind)| (kind, section.common))
    }
}

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
        topology(topology): Located<Topology>,
        /// Ports of the switches.
        switch(switch): Located<switch::Switch>,
        /// Ports of the hosts; `none` for ideal hosts: first in, first out, unlimited.
        nic(nic): Optional<nic::Nic> = NotShown,
        /// Transport protocol of the hosts.
        transport(transport): Located<transport::Transport>,
        /// Flows: any number of sources.
        traffic(traffic): Tables<traffic::Traffic>,
        /// Pings, which do not count as flows.
        probe(probe): Tables<Probe>,
        /// Flows that count, and the end of the run.
        measure(measure): Located<measure::Measure>,
        /// Measurements beyond the flows.
        observe(observe): Located<observe::Observe>,
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
