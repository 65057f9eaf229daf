//! Preview of results: the table and a chart of the finished runs, rendered once for all readers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tidegate_report::folder::Folder;
use tidegate_report::page;
use tidegate_report::plot::{self, Theme};
use tidegate_study::Comparison;

/// Most runs for which pages are rendered anew with each finished run.
pub(super) const MOST_RUNS: usize = 2_000;

/// Previews by folder.
#[derive(Default)]
pub(super) struct Previews(Mutex<BTreeMap<PathBuf, Slot>>);

/// Preview of a folder. Readers wait while another one renders it.
type Slot = Arc<Mutex<Option<Arc<Preview>>>>;

pub(super) struct Preview {
    /// Ids of the finished runs in it.
    finished: Vec<String>,
    pub(super) table: String,
    /// Chart in light and dark, if there is one.
    pub(super) chart: Option<[String; 2]>,
}

impl Preview {
    /// Number of runs in it.
    pub(super) fn runs(&self) -> usize {
        self.finished.len()
    }
}

impl Previews {
    /// Preview of a folder now, or why there is none.
    pub(super) fn get(&self, path: &Path) -> Result<Arc<Preview>, String> {
        let slot = {
            let mut slots = self.0.lock().expect("no thread panics while holding it");
            Arc::clone(slots.entry(path.to_owned()).or_default())
        };
        // Damaged results may have caused a panic.
        let mut slot = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let folder = Folder::open(path).map_err(|error| error.to_string())?;
        let finished = folder.finished();
        if let Some(preview) = slot.as_ref().filter(|preview| preview.finished == finished) {
            return Ok(Arc::clone(preview));
        }
        let comparison = compare_finished(vec![folder])?;
        let chart = comparison.chart();
        let preview = Arc::new(Preview {
            finished,
            table: page::table(&comparison.summary),
            chart: chart
                .map(|chart| [Theme::Light, Theme::Dark].map(|theme| plot::svg(&chart, theme))),
        });
        *slot = Some(Arc::clone(&preview));
        Ok(preview)
    }
}

/// Compares the finished runs of some folders.
pub(super) fn compare_finished(folders: Vec<Folder>) -> Result<Comparison, String> {
    let finished: usize = folders.iter().map(|folder| folder.finished().len()).sum();
    let planned = folders.iter().map(|folder| folder.manifest().runs.len());
    match finished {
        0 => {
            return Err(format!("none of {} runs is finished yet", planned.sum::<usize>()));
        }
        finished if finished > MOST_RUNS => {
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
