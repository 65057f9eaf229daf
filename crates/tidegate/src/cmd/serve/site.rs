//! What is served: fixed pages, and results as they stand.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_report::folder::Folder;
use tidegate_report::page::document;
use tidegate_report::{Page, Summary, escaped};

use super::super::report::PAGE;
use crate::args::Serve;
use crate::catalogue;
use crate::cmd::explain;
use crate::markdown;
use crate::output::Error;

pub(super) const NO_PLAYGROUND: &str =
    "the playground is not built: run crates/web/build, or name its folder with --playground";

/// Of how many runs a report is made anew with each look at it.
const RUNS: usize = 2_000;

/// Files of a results folder that can be had beside its report.
const FILES: [&str; 4] = ["manifest.json", "summary.csv", "summary.json", PAGE];

/// Something to look at.
pub(super) struct Resource {
    pub(super) kind: &'static str,
    /// What its page may load, for the browser.
    pub(super) policy: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// Reports have their style and their script in them.
const DOCUMENT: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
const PLAYGROUND: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                          connect-src 'self'; worker-src 'self'; img-src 'self'";

impl Resource {
    pub(super) fn text(text: &str) -> Self {
        Self {
            kind: "text/plain; charset=utf-8",
            policy: "default-src 'none'",
            bytes: format!("{text}\n").into_bytes(),
        }
    }

    fn of(path: &str, bytes: Vec<u8>) -> Self {
        let (kind, policy) = match path.rsplit('.').next() {
            Some("css") => ("text/css; charset=utf-8", PLAYGROUND),
            Some("csv") => ("text/csv; charset=utf-8", DOCUMENT),
            Some("js") => ("text/javascript; charset=utf-8", PLAYGROUND),
            Some("json") => ("application/json", DOCUMENT),
            Some("svg") => ("image/svg+xml", PLAYGROUND),
            Some("wasm") => ("application/wasm", PLAYGROUND),
            _ if path.starts_with("playground/") => ("text/html; charset=utf-8", PLAYGROUND),
            _ => ("text/html; charset=utf-8", DOCUMENT),
        };
        Self {
            kind,
            policy,
            bytes,
        }
    }
}

pub(super) struct Site {
    /// The pages that do not change, by path.
    fixed: BTreeMap<String, Vec<u8>>,
    results: Vec<PathBuf>,
}

impl Site {
    pub(super) fn new(arguments: &Serve) -> Result<Self, Error> {
        let mut site = Self {
            fixed: BTreeMap::new(),
            results: results(&arguments.folders)?,
        };
        site.add_playground(arguments.playground.as_deref())?;
        site.add_pages();
        let index = site.index("");
        site.fixed.insert("index.html".into(), index.into_bytes());
        Ok(site)
    }

    pub(super) fn has_playground(&self) -> bool {
        self.fixed.contains_key("playground/tidegate.wasm")
    }

    /// What does not change, by path.
    pub(super) fn fixed(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.fixed.iter()
    }

    /// What is at a path; or why it cannot be shown.
    pub(super) fn resource(&self, path: &str) -> Option<Result<Resource, String>> {
        if path.is_empty() || path == "index.html" {
            let page = self.index(&self.list()).into_bytes();
            return Some(Ok(Resource::of("index.html", page)));
        }
        if let Some(rest) = path.strip_prefix("results/") {
            let (number, file) = rest.split_once('/')?;
            let folder = self.results.get(number.parse::<usize>().ok()?)?;
            return match file {
                "" => Some(report(folder).map(|page| Resource::of("report.html", page))),
                // No other name gets to the disk.
                file if FILES.contains(&file) => {
                    let read = fs::read(folder.join(file));
                    Some(match read {
                        Ok(bytes) => Ok(Resource::of(file, bytes)),
                        Err(error) => Err(format!("{file} cannot be read: {error}")),
                    })
                }
                _ => None,
            };
        }
        let path = match path {
            "playground/" => "playground/index.html",
            path => path,
        };
        let bytes = self.fixed.get(path)?;
        Some(Ok(Resource::of(path, bytes.clone())))
    }

    /// The files of the playground, from a folder or from where its script puts them.
    fn add_playground(&mut self, named: Option<&Path>) -> Result<(), Error> {
        let beside = || {
            let program = env::current_exe().ok()?;
            Some(program.parent()?.parent()?.join("playground"))
        };
        let folder = match named {
            Some(folder) if !folder.join("tidegate.wasm").is_file() => {
                let folder = folder.display();
                return Err(Error::new(format!(
                    "there is no playground in {folder}\nhint: crates/web/build makes one"
                )));
            }
            Some(folder) => Some(folder.to_owned()),
            None => beside().filter(|folder| folder.join("tidegate.wasm").is_file()),
        };
        let Some(folder) = folder else {
            return Ok(());
        };
        let cannot = |error| Error::new(format!("cannot read {}: {error}", folder.display()));
        for file in fs::read_dir(&folder).map_err(cannot)? {
            let path = file.map_err(cannot)?.path();
            if let Some(name) = path.file_name().and_then(|name| name.to_str())
                && path.is_file()
            {
                let bytes = fs::read(&path).map_err(cannot)?;
                self.fixed.insert(format!("playground/{name}"), bytes);
            }
        }
        Ok(())
    }

    /// An explanation of every name, the reference of scenarios and what became of the papers' figures.
    fn add_pages(&mut self) {
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        for entry in &catalogue::all() {
            let text = texts.entry(entry.name).or_default();
            text.push_str(&explain::page(entry));
        }
        for (name, text) in texts {
            let page = document(name, &markdown::html(&text));
            self.fixed
                .insert(format!("explain/{name}.html"), page.into_bytes());
        }
        for (path, title, text) in [
            (
                "docs/scenario.html",
                "Scenario files",
                tidegate_scenario::reference(),
            ),
            (
                "docs/reproduction.html",
                "Published figures, run again",
                catalogue::text("reproduction.md").to_owned(),
            ),
        ] {
            let page = document(title, &markdown::html(&text));
            self.fixed.insert(path.into(), page.into_bytes());
        }
    }

    /// The first page, with what is to be said of results.
    fn index(&self, results: &str) -> String {
        let mut body = String::new();
        if self.has_playground() {
            body.push_str(
                "<section><h2><a href=\"playground/index.html\">Playground</a></h2><p>The simulator in this \
                 browser: see a queue breathe.</p></section>\n",
            );
        } else {
            _ = writeln!(body, "<p class=\"warning\">{}</p>", escaped(NO_PLAYGROUND));
        }
        body.push_str(results);
        body.push_str(
            "<section><h2>Reference</h2><ul><li><a href=\"docs/scenario.html\">Scenario files</a>: every key\
             <li><a href=\"docs/reproduction.html\">Published figures, run again</a></ul></section>\n\
             <section><h2>What a name means</h2>\n",
        );
        let mut kind = None;
        for entry in catalogue::all() {
            if kind != Some(entry.kind) {
                let end = if kind.is_some() { "</ul>" } else { "" };
                _ = write!(body, "{end}<h3>{}</h3><ul>", escaped(entry.kind.name()));
                kind = Some(entry.kind);
            }
            let name = escaped(entry.name);
            let line = escaped(&entry.line);
            _ = write!(
                body,
                "<li><a href=\"explain/{name}.html\">{name}</a>: {line}"
            );
        }
        body.push_str("</ul></section>\n");
        document("Tidegate", &body)
    }

    /// The results folders as they stand.
    fn list(&self) -> String {
        if self.results.is_empty() {
            return String::new();
        }
        let mut out = String::from(
            "<section id=\"results\"><h2>Results</h2><div class=\"wide\"><table class=\"claims\"><thead><tr>\
             <th>results<th>runs<th>folder<th>files</tr></thead><tbody>\n",
        );
        for (number, path) in self.results.iter().enumerate() {
            let shown = escaped(&path.display().to_string());
            match Folder::open(path) {
                Ok(folder) => {
                    let manifest = folder.manifest();
                    let title = match manifest.title.as_str() {
                        "" => &manifest.name,
                        title => title,
                    };
                    _ = writeln!(
                        out,
                        "<tr><td><a href=\"results/{number}/\">{}</a><td>{} of {}<td><code>{shown}</code>\
                         <td><a href=\"results/{number}/summary.csv\">table</a>",
                        escaped(title),
                        folder.finished().len(),
                        manifest.runs.len()
                    );
                }
                // It was one when this began.
                Err(error) => {
                    let error = escaped(&error.to_string());
                    _ = writeln!(out, "<tr><td>{error}<td><td><code>{shown}</code><td>");
                }
            }
        }
        out.push_str("</tbody></table></div></section>\n");
        out
    }
}

/// The report of the runs that are finished by now.
fn report(path: &Path) -> Result<Vec<u8>, String> {
    let folder = Folder::open(path).map_err(|error| error.to_string())?;
    let finished = folder.finished();
    if finished.is_empty() {
        return Err(format!(
            "none of {} runs is finished yet: look again later",
            folder.manifest().runs.len()
        ));
    }
    if finished.len() > RUNS {
        let error = |error| format!("{PAGE} cannot be read: {error}");
        return fs::read(path.join(PAGE)).map_err(error);
    }
    let records = finished.iter().map(|id| folder.read(id));
    let records = records.collect::<Result<Vec<_>, _>>();
    let records = records.map_err(|error| error.to_string())?;
    let manifest = folder.manifest();
    let summary = Summary::new(&records, manifest.baseline.as_deref());
    let page = Page {
        title: &manifest.title,
        manifests: std::slice::from_ref(manifest),
        records: &records,
        summary: &summary,
    };
    Ok(page.render().into_bytes())
}

/// The results folders that are meant: those that are named, and those in a folder that is named. Without names, those
/// of the folder that runs write to.
fn results(named: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let usual = PathBuf::from("tidegate-results");
    let all = match named {
        [] if usual.is_dir() => std::slice::from_ref(&usual),
        named => named,
    };
    let mut found = Vec::new();
    for path in all {
        let Err(error) = Folder::open(path) else {
            found.push(path.clone());
            continue;
        };
        let inner = fs::read_dir(path).into_iter().flatten().flatten();
        let mut inner: Vec<PathBuf> = inner
            .map(|entry| entry.path())
            .filter(|path| Folder::open(path).is_ok())
            .collect();
        inner.sort();
        if inner.is_empty() && !named.is_empty() {
            return Err(Error::new(error));
        }
        found.append(&mut inner);
    }
    Ok(found)
}
