//! Results folders of the server. Addresses contain their names, never paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tidegate_report::folder::Folder;
use tidegate_reproduce::library;

use crate::output::Error;
use crate::{place, reproduction};

/// A folder that the server shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResultsFolder {
    /// Runs of a study.
    Runs(PathBuf),
    /// Reproduced figures.
    Reproduction(PathBuf),
}

impl ResultsFolder {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Runs(path) | Self::Reproduction(path) => path,
        }
    }

    /// Kind of a folder, if it has results.
    fn at(path: &Path) -> Option<Self> {
        if path.join("manifest.json").is_file() {
            Some(Self::Runs(path.to_owned()))
        } else if reproduction::is_begun(path) {
            Some(Self::Reproduction(path.to_owned()))
        } else {
            None
        }
    }
}

/// Results folders by name.
pub(super) struct ResultsList {
    roots: Vec<PathBuf>,
    /// Folder for new studies, and whether it is listed besides the named folders.
    new_studies: PathBuf,
    lists_new_studies: bool,
    /// Names never change while the server runs.
    named: Mutex<BTreeMap<String, ResultsFolder>>,
}

impl ResultsList {
    /// The named folders, or the default folder of runs.
    pub(super) fn new(named: &[PathBuf], lists_new_studies: bool) -> Result<Self, Error> {
        let default = PathBuf::from(place::HOME);
        for path in named {
            let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
            if !is_empty && ResultsFolder::at(path).is_none() && folders_in(path).is_empty() {
                return Err(Folder::open(path).map_or_else(Error::new, |_| {
                    Error::new(format!("no results in {}", path.display()))
                }));
            }
        }
        let new_studies = named.iter().find(|path| ResultsFolder::at(path).is_none());
        Ok(Self {
            new_studies: new_studies.unwrap_or(&default).clone(),
            lists_new_studies,
            roots: if named.is_empty() { vec![default] } else { named.to_vec() },
            named: Mutex::default(),
        })
    }

    pub(super) fn new_studies(&self) -> &Path {
        &self.new_studies
    }

    /// All results that exist now, by name.
    pub(super) fn all(&self) -> Vec<(String, ResultsFolder)> {
        let mut all: Vec<(String, ResultsFolder)> = Vec::new();
        let mut roots: Vec<&PathBuf> = self.roots.iter().collect();
        if self.lists_new_studies && !self.roots.contains(&self.new_studies) {
            roots.push(&self.new_studies);
        }
        for root in roots {
            let found = match ResultsFolder::at(root) {
                Some(folder) => vec![folder],
                None => folders_in(root),
            };
            for folder in found {
                let name = self.name(&folder);
                if !all.iter().any(|(other, _)| *other == name) {
                    all.push((name, folder));
                }
            }
        }
        all
    }

    /// Name of some results, which may be new.
    pub(super) fn name(&self, folder: &ResultsFolder) -> String {
        let mut named = self.named.lock().expect("no thread panics while holding it");
        if let Some((name, _)) = named.iter().find(|(_, other)| *other == folder) {
            return name.clone();
        }
        let own = std::path::absolute(folder.path());
        let own = own.unwrap_or_else(|_| folder.path().to_owned());
        let base = own.file_name().unwrap_or_default().to_string_lossy();
        let base = file_name(&base);
        let mut name = base.clone();
        for number in 2.. {
            if !named.contains_key(&name) {
                break;
            }
            name = format!("{base}-{number}");
        }
        named.insert(name.clone(), folder.clone());
        name
    }

    /// Results of a name.
    pub(super) fn find(&self, name: &str) -> Option<ResultsFolder> {
        let known = || {
            let named = self.named.lock().expect("no thread panics while holding it");
            named.get(name).cloned()
        };
        known().or_else(|| {
            // They may be newer than the last listing.
            self.all();
            known()
        })
    }
}

/// Results in a folder. Targets of links are not in it.
fn folders_in(folder: &Path) -> Vec<ResultsFolder> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| ResultsFolder::at(path)).collect()
}

/// Converts a text to a name for files and addresses.
pub(super) fn file_name(text: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '-',
    };
    let name: String = text.chars().map(letter).take(80).collect();
    match name.trim_matches('-') {
        "" => "results".to_owned(),
        name => name.to_owned(),
    }
}

/// Reads a file of a folder, unless it is a link that leads out of the folder.
pub(super) fn read(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("{name} cannot be read: {error}");
    let path = folder.join(name).canonicalize().map_err(cannot)?;
    if !path.starts_with(folder.canonicalize().map_err(cannot)?) {
        return Err(format!("{name} is a link out of its folder"));
    }
    tidegate_report::folder::read_file(&path).map_err(cannot)
}

/// Whether a path is the page of a figure in the folder of a reproduction.
pub(super) fn is_figure_page(path: &str) -> bool {
    path.strip_suffix("/report.html").is_some_and(|figure| library::ids().contains(&figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_in_files_and_addresses() {
        for (text, expected) in [
            ("tcn-f10", "tcn-f10"),
            ("my study", "my-study"),
            ("../../etc/passwd", "etc-passwd"),
            ("<script>", "script"),
            ("..", "results"),
            ("", "results"),
            ("ü", "results"),
        ] {
            assert_eq!(file_name(text), expected);
        }
        assert_eq!(file_name(&"x".repeat(300)).len(), 80);
    }
}
