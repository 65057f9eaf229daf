//! Every MUST and SHOULD of the documents on ECN: where the code keeps it, and which script shows
//! it.
//!
//! The lists are in `testdata/conformance/requirements`, one file per document. Places in the code
//! are checked to exist, and so are the scripts, which themselves are checked by the suite.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;

use crate::suite::Suite;

/// Golden vectors of congestion controls.
const VECTORS: &str = "../../testdata/cc";

/// The requirements of one document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// Name of the document.
    name: String,
    /// What of it is listed.
    about: String,
    requirement: Vec<Requirement>,
}

/// One sentence of a document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    section: String,
    /// MUST, SHOULD, MAY and so on, as the document has it; `rule` if it has none of these.
    level: String,
    /// The requirement in other words.
    says: String,
    /// File and word in it: `src/receiver.rs: apply_echo`. Empty if there is nothing to keep it.
    code: String,
    /// The names of the cases that show it, of unit tests after `test `, or of golden vectors after
    /// `vector `.
    shown: Vec<String>,
    /// Why it is kept only by some, or not at all.
    #[serde(default)]
    but: String,
}

/// Reads the lists, in order of name.
pub(crate) fn read(directory: &Path) -> io::Result<Vec<Document>> {
    let mut paths: Vec<_> = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path)?;
            toml::from_str(&text)
                .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
        })
        .collect()
}

impl Document {
    /// Problems of the list: places and scripts that do not exist. Places are relative to
    /// `package`.
    pub(crate) fn problems(&self, suite: &Suite, package: &Path) -> Vec<String> {
        let mut problems = Vec::new();
        for requirement in &self.requirement {
            let mut problem = |what: String| {
                let Requirement { section, says, .. } = requirement;
                problems.push(format!("{}, {section}, `{says}`: {what}", self.name));
            };
            if requirement.code.is_empty() {
                if requirement.but.is_empty() {
                    problem("neither a place in the code nor a reason".to_owned());
                }
            } else if let Err(what) = look_up(&requirement.code, package) {
                problem(what);
            }
            if requirement.shown.is_empty() && requirement.but.is_empty() {
                problem("neither a script nor a reason".to_owned());
            }
            for name in &requirement.shown {
                let exists = if let Some(test) = name.strip_prefix("test ") {
                    contains(&package.join("src"), &format!("fn {test}()"))
                } else if let Some(vector) = name.strip_prefix("vector ") {
                    contains(&package.join(VECTORS), &format!("name = \"{vector}\""))
                } else {
                    suite.cases.iter().any(|(_, case)| case.name == *name)
                };
                if !exists {
                    problem(format!("there is no case or test `{name}`"));
                }
            }
        }
        problems
    }

    /// The table for the page.
    pub(crate) fn render(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "\n### {}\n\n{}\n", self.name, self.about)?;
        writeln!(page, "| section | level | asks for | where | shown by |\n|---|---|---|---|---|")?;
        for requirement in &self.requirement {
            let Requirement { section, level, says, code, shown, but } = requirement;
            let place = if code.is_empty() { "–".to_owned() } else { format!("`{code}`") };
            let mut shown = shown.join("; ");
            if !but.is_empty() {
                let stop = if shown.is_empty() { "" } else { ". " };
                shown = format!("{shown}{stop}*{but}*");
            }
            writeln!(page, "| {section} | {level} | {says} | {place} | {shown} |")?;
        }
        Ok(())
    }
}

/// Whether the file of a place exists and has its word.
fn look_up(place: &str, package: &Path) -> Result<(), String> {
    let (file, word) =
        place.split_once(": ").ok_or_else(|| format!("`{place}` is no `file: word`"))?;
    let text = fs::read_to_string(package.join(file)).map_err(|e| format!("{file}: {e}"))?;
    if text.contains(word) { Ok(()) } else { Err(format!("there is no `{word}` in {file}")) }
}

/// Whether a source file below `directory` contains `text`.
fn contains(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() {
                contains(&path, text)
            } else {
                fs::read_to_string(&path).is_ok_and(|source| source.contains(text))
            }
        })
    })
}
