//! Results folders of the server. Addresses contain their names, never paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tidegate_report::folder::Folder;
use tidegate_reproduce::library;

use crate::output::Error;
use crate::{place, reproduction};

/// A folder of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A results folder.
    Results(PathBuf),
    /// Reproduced figures.
    Reproduction(PathBuf),
}

impl Item {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Results(path) | Self::Reproduction(path) => path,
        }
    }

    /// Kind of a folder, if it has results.
    fn at(path: &Path) -> Option<Self> {
        if path.join("manifest.json").is_file() {
            Some(Self::Results(path.to_owned()))
        } else if reproduction::is_begun(path) {
            Some(Self::Reproduction(path.to_owned()))
        } else {
            None
        }
    }
}

pub(super) struct Shelf {
    roots: Vec<PathBuf>,
    /// Folder for new studies, and whether it is listed besides the named folders.
    home: PathBuf,
    is_home_shown: bool,
    /// Names never change while the server runs.
    named: Mutex<BTreeMap<String, Item>>,
}

impl Shelf {
    /// The named folders, or the default folder of runs.
    pub(super) fn new(named: &[PathBuf], is_home_shown: bool) -> Result<Self, Error> {
        let usual = PathBuf::from(place::HOME);
        for path in named {
            let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
            if !is_empty && Item::at(path).is_none() && items(path).is_empty() {
                return Err(Folder::open(path).map_or_else(Error::new, |_| {
                    Error::new(format!("no results in {}", path.display()))
                }));
            }
        }
        let home = named.iter().find(|path| Item::at(path).is_none());
        Ok(Self {
            home: home.unwrap_or(&usual).clone(),
            is_home_shown,
            roots: if named.is_empty() { vec![usual] } else { named.to_vec() },
            named: Mutex::default(),
        })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// All results that exist now, by name.
    pub(super) fn all(&self) -> Vec<(String, Item)> {
        let mut all: Vec<(String, Item)> = Vec::new();
        let mut roots: Vec<&PathBuf> = self.roots.iter().collect();
        if self.is_home_shown && !self.roots.contains(&self.home) {
            roots.push(&self.home);
        }
        for root in roots {
            let found = match Item::at(root) {
                Some(item) => vec![item],
                None => items(root),
            };
            for item in found {
                let name = self.name(&item);
                if !all.iter().any(|(other, _)| *other == name) {
                    all.push((name, item));
                }
            }
        }
        all
    }

    /// Name of some results, which may be new.
    pub(super) fn name(&self, item: &Item) -> String {
        let mut named = self.named.lock().expect("no thread panics while holding it");
        if let Some((name, _)) = named.iter().find(|(_, other)| *other == item) {
            return name.clone();
        }
        let own = std::path::absolute(item.path());
        let own = own.unwrap_or_else(|_| item.path().to_owned());
        let base = own.file_name().unwrap_or_default().to_string_lossy();
        let base = plain(&base);
        let mut name = base.clone();
        for number in 2.. {
            if !named.contains_key(&name) {
                break;
            }
            name = format!("{base}-{number}");
        }
        named.insert(name.clone(), item.clone());
        name
    }

    /// Results of a name.
    pub(super) fn find(&self, name: &str) -> Option<Item> {
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
fn items(folder: &Path) -> Vec<Item> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| Item::at(path)).collect()
}

/// Converts a text to a name for files and addresses.
pub(super) fn plain(text: &str) -> String {
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
pub(super) fn is_page_of_figure(path: &str) -> bool {
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
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain(&"x".repeat(300)).len(), 80);
    }
}
