//! Jobs of an engine with their progress, and the words of their tasks.

use std::path::{Path, PathBuf};

use tidegate_study::engine::{self, Cluster, Work};

use crate::args::Share;
use crate::interrupt::INTERRUPT;
use crate::output::{Error, Output};
use crate::progress::ProgressBoard;
use crate::version::BUILD;

/// Runs all of the work by an engine, and returns the folders of the shards; `None` after a message
/// if some are missing.
pub(crate) fn run(
    work: &Work<'_>,
    cluster: Cluster<'_>,
    output: Output,
) -> Result<Option<Vec<PathBuf>>, Error> {
    let board = ProgressBoard::new(work.seconds.len(), output);
    engine::run(work, cluster, &BUILD, &INTERRUPT, &board).map_err(Error::new)
}

/// Removes the job's folder after its results were merged.
pub(crate) fn clean(folder: &Path, output: Output) {
    if let Err(error) = engine::clean(folder) {
        output.warn(&error.to_string());
    }
}

/// Adds an option once for each of its values.
pub(crate) fn add_options(words: &mut Vec<String>, name: &str, values: &[String]) {
    for value in values {
        words.extend([name.to_owned(), value.clone()]);
    }
}

/// Adds the folder from which costs of runs are learnt.
pub(crate) fn add_learn(words: &mut Vec<String>, share: &Share) -> Result<(), Error> {
    if let Some(folder) = &share.learn {
        let folder = std::path::absolute(folder).map_err(Error::read(folder))?;
        add_options(words, "--learn", &[folder.display().to_string()]);
    }
    Ok(())
}
