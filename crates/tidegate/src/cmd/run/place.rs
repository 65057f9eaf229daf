//! Which folder the results go to.

use std::path::{Path, PathBuf};

use crate::args::Target;
use crate::cmd::engine;
use crate::output::Error;

/// Where results go that nobody named a folder for.
pub(crate) const HOME: &str = "tidegate-results";

/// The folder of a scenario: the one that was named, with one inside it for each of several
/// scenarios; otherwise a new one, or with `--resume` the newest.
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
