//! Preview of results: the table and a chart of the finished runs, rendered once for all readers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tidegate_report::folder::Folder;
use tidegate_report::page;
use tidegate_report::plot::{self, Theme};
use tidegate_study::Comparison;

/// Most runs for which pages are rendered anew with each finished run.
pub(super) const RUNS: usize = 2_000;

/// Previews by folder.
#[derive(Default)]
pub(super) struct Glances(Mutex<BTreeMap<PathBuf, Slot>>);

/// Preview of a folder. Readers wait while another one renders it.
type Slot = Arc<Mutex<Option<Arc<Glance>>>>;

pub(super) struct Glance {
    /// Finished runs in it.
    of: Vec<String>,
    pub(super) table: String,
    /// Chart in light and dark, if there is one.
    pub(super) chart: Option<[String; 2]>,
}

impl Glance {
    /// Number of runs in it.
    pub(super) fn runs(&self) -> usize {
        self.of.len()
    }
}

impl Glances {
    /// Preview of a folder now, or why there is none.
    pub(super) fn of(&self, path: &Path) -> Result<Arc<Glance>, String> {
        let slot = {
            let mut slots = self.0.lock().expect("no thread panics while holding it");
            Arc::clone(slots.entry(path.to_owned()).or_default())
        };
        // Damaged results may have caused a panic.
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

/// Comparison of the finished runs of some folders.
pub(super) fn so_far(folders: Vec<Folder>) -> Result<Comparison, String> {
    let finished: usize = folders.iter().map(|folder| folder.finished().len()).sum();
    let planned = folders.iter().map(|folder| folder.manifest().runs.len());
    match finished {
        0 => {
            return Err(format!("none of {} runs is finished yet", planned.sum::<usize>()));
        }
        finished if finished > RUNS => {
            return Err(format!(
                "{finished} runs are too many for a live page: write their report with `tidegate report`"
            ));
        }
        _ => {}
    }
    let baseline = match folders.as_slice() {
        [folder] => folder.manifest().baseline.clone(),
        _ => None,
    };
    // The baseline may not be finished yet.
    Comparison::packed(folders.clone(), baseline.as_deref())
        .or_else(|_| Comparison::packed(folders, None))
        .map_err(|error| error.to_string())
}
