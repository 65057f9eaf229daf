//! Runs that plans and searches are evaluated by.

use std::num::NonZeroUsize;
use std::path::Path;

use tidegate_results::Record;
use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::compare::stalled;
use tidegate_study::lock::Writers;
use tidegate_study::study::{Opening, Options, SCENARIO};
use tidegate_study::text::count;
use tidegate_study::{OpenStudy, Study};

use crate::args::{Share, Target};
use crate::interrupt::INTERRUPT;
use crate::output::{Error, Output};
use crate::place;
use crate::progress::{Bars, ProgressBoard};
use crate::version::BUILD;

/// A study of which a command needs some runs or all, with its results folder.
pub(crate) struct Evaluation {
    open: OpenStudy,
    options: Options<'static>,
    output: Output,
}

impl Evaluation {
    /// Opens the results folder of a scenario. `command` makes all of it.
    pub(crate) fn open(
        text: &str,
        command: &str,
        (target, opening, writers): (&Target, Opening, Writers),
        jobs: Option<NonZeroUsize>,
        output: Output,
    ) -> Result<Self, Error> {
        let scenario = Scenario::parse(SCENARIO, text, &[]).map_err(Error::new)?;
        let mut study = Study::of_text(text, scenario, &[]).map_err(Error::new)?;
        command.clone_into(&mut study.command);
        let folder = place::choose(&study.scenario.name, 1, target, &[])?;
        let open = study.open(&folder, (opening, writers), &BUILD).map_err(Error::new)?;
        Ok(Self { open, options: Options { jobs, ..Options::new(&INTERRUPT) }, output })
    }

    /// Discards runs that lost tasks have left unfinished.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.open.clear().map_err(Error::new)
    }

    /// The results folder.
    pub(crate) fn path(&self) -> &Path {
        self.open.path()
    }

    /// All runs of the scenario.
    pub(crate) fn plan(&self) -> &[Experiment] {
        &self.open.study().plan
    }

    /// Whether the folder has all of these runs.
    pub(crate) fn has(&self, numbers: &[usize]) -> bool {
        self.open.has(numbers)
    }

    /// The runs among these that belong to the shard.
    pub(crate) fn own(&self, numbers: &[usize], share: &Share) -> Result<Vec<usize>, Error> {
        match share.shard {
            None => Ok(numbers.to_vec()),
            Some(part) => {
                self.open.share(numbers, part, share.learn.as_deref()).map_err(Error::new)
            }
        }
    }

    /// Expected time of each of these runs on one core, in seconds.
    pub(crate) fn seconds(&self, numbers: &[usize], share: &Share) -> Result<Vec<f64>, Error> {
        self.open.seconds(numbers, share.learn.as_deref()).map_err(Error::new)
    }

    /// Announces so many runs, some of which may be finished, and shows their progress.
    pub(crate) fn board(&self, runs: usize) -> ProgressBoard {
        let open = runs.saturating_sub(self.open.folder().finished().len());
        self.output.say(&format!(
            "{}: {}, results in {}",
            self.open.study().scenario.title,
            count(open, "run"),
            self.path().display()
        ));
        ProgressBoard::new(open, self.output)
    }

    /// Records of these runs, in the order of their numbers. Runs that the folder lacks are run
    /// first; `None` if that was interrupted.
    pub(crate) fn records(
        &self,
        numbers: &[usize],
        board: &ProgressBoard,
    ) -> Result<Option<Vec<Record>>, Error> {
        let records = self.open.records(numbers, &self.options, &Bars::new(board));
        let Some(records) = records.map_err(Error::new)? else {
            return Ok(None);
        };
        let stalled = stalled(&records);
        if let Some((_, why)) = stalled.first() {
            self.output.warn(&format!("{} of {} runs: {why}", stalled.len(), records.len()));
        }
        Ok(Some(records))
    }

    /// Reports an interruption.
    pub(crate) fn interrupted(&self, command: &str) {
        self.output.warn(&format!(
            "interrupted: {} finished and kept in {}\nhint: resume with `{command} --resume`",
            count(self.open.folder().finished().len(), "run"),
            self.path().display()
        ));
    }

    /// Writes a page into the folder.
    pub(crate) fn write_page(&self, name: &str, page: &str) -> Result<(), Error> {
        self.open.folder().write_file(name, page.as_bytes()).map_err(Error::new)
    }
}
