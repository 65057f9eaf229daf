//! Results at a glance: the table and a chart of the runs that are finished, made once for all who
//! look.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tidegate_report::folder::Folder;
use tidegate_report::page;
use tidegate_report::plot::{self, Theme};

use super::super::report::Comparison;

/// Of how many runs something is made anew with each run that is finished.
pub(super) const RUNS: usize = 2_000;

/// Tables and charts by folder.
#[derive(Default)]
pub(super) struct Glances(Mutex<BTreeMap<PathBuf, Slot>>);

/// Those of a folder: who comes while they are made waits for them.
type Slot = Arc<Mutex<Option<Arc<Glance>>>>;

pub(super) struct Glance {
    /// The runs that it is made of.
    of: Vec<String>,
    pub(super) table: String,
    /// The chart by day and by night, if there is one.
    pub(super) chart: Option<[String; 2]>,
}

impl Glance {
    /// Of how many runs it is made.
    pub(super) fn runs(&self) -> usize {
        self.of.len()
    }
}

impl Glances {
    /// What there is to see of a folder now, or why there is nothing.
    pub(super) fn of(&self, path: &Path) -> Result<Arc<Glance>, String> {
        let slot = {
            let mut slots = self.0.lock().expect("nobody panics while holding it");
            Arc::clone(slots.entry(path.to_owned()).or_default())
        };
        // Results that somebody has damaged may be what a panic is about.
        let mut slot = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let folder = Folder::open(path).map_err(|error| error.to_string())?;
        let of = folder.finished();
        if let Some(glance) = slot.as_ref().filter(|glance| glance.of == of) {
            return Ok(Arc::clone(glance));
        }
        let comparison = so_far(vec![folder])?;
        let chart = comparison.chart();
        let glance = Arc::new(Glance {
            of,
            table: page::table(&comparison.summary),
            chart: chart
                .map(|chart| [Theme::Light, Theme::Dark].map(|theme| plot::svg(&chart, theme))),
        });
        *slot = Some(Arc::clone(&glance));
        Ok(glance)
    }
}

/// The runs of some folders that are finished by now, side by side.
pub(super) fn so_far(folders: Vec<Folder>) -> Result<Comparison, String> {
    let finished: usize = folders.iter().map(|folder| folder.finished().len()).sum();
    let planned = folders.iter().map(|folder| folder.manifest().runs.len());
    match finished {
        0 => {
            return Err(format!(
                "none of {} runs is finished yet: look again later",
                planned.sum::<usize>()
            ));
        }
        finished if finished > RUNS => {
            return Err(format!(
                "{finished} runs are too many to be shown as they come: `tidegate report` makes their page"
            ));
        }
        _ => {}
    }
    let baseline = match folders.as_slice() {
        [folder] => folder.manifest().baseline.clone(),
        _ => None,
    };
    // The point that all others are compared with may not be finished yet.
    let words = |error| match error {
        crate::output::Error::Other(text) => text,
        crate::output::Error::ClosedPipe => "the results cannot be read".to_owned(),
    };
    Comparison::packed(folders.clone(), baseline.as_deref())
        .or_else(|_| Comparison::packed(folders, None))
        .map_err(words)
}
