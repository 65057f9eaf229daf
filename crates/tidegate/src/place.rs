//! Choice of the results folder.

use std::path::{Path, PathBuf};

use tidegate_study::engine;

use crate::args::Target;
use crate::output::Error;

/// Folder of results folders that are not named.
pub(crate) const HOME: &str = "tidegate-results";

/// The results folder of a scenario: the named one, with a folder inside for each of several
/// scenarios; otherwise a new one, or the newest with `--resume`.
pub(crate) fn choose(
    name: &str,
    files: usize,
    target: &Target,
    taken: &[&Path],
) -> Result<PathBuf, Error> {
    if let Some(out) = &target.out {
        if files == 1 {
            return Ok(out.clone());
        }
        let path = out.join(name);
        if taken.contains(&path.as_path()) {
            let text = format!("two scenarios are both called `{name}`");
            return Err(Error::new(format!(
                "{text}\nhint: run them separately, each with its own --out"
            )));
        }
        return Ok(path);
    }
    let home = Path::new(HOME);
    let mut newest = None;
    for number in 1.. {
        let path = match number {
            1 => home.join(name),
            number => home.join(format!("{name}-{number}")),
        };
        let is_free =
            !path.exists() && !engine::is_taken(&path) && !taken.contains(&path.as_path());
        if !is_free {
            newest = Some(path);
            continue;
        }
        if !target.resume {
            return Ok(path);
        }
        break;
    }
    newest.ok_or_else(|| {
        let text = format!("nothing to resume: {} does not exist", home.join(name).display());
        Error::new(format!("{text}\nhint: name the folder with --out, or leave out --resume"))
    })
}
