//! The site: static pages, results in progress, and actions.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_http::{Answer, Request};
use tidegate_report::folder::Folder;
use tidegate_report::page::{STYLE, document};
use tidegate_reproduce::library;
use tidegate_study::compare::PAGE;

use super::TEXT;
use super::answer::{self, Policy};
use super::follow::Follower;
use super::pages::{self, FolderPage};
use super::playground;
use super::preview::{self, Previews};
use super::results::{self, ResultsFolder, ResultsList};
use super::study::{self, Studies};
use crate::args::Serve;
use crate::builtin;
use crate::catalogue;
use crate::markdown;
use crate::network;
use crate::output::Error;

/// Files of a results folder that are served beside its report.
const SERVED_FILES: [&str; 3] = ["manifest.json", "summary.csv", "summary.json"];

/// Most folders in a comparison.
const MOST_COMPARED: usize = 20;

/// Columns of a plain-text answer.
const TEXT_COLUMNS: usize = 100;

pub(super) struct Site {
    /// Static pages by path.
    static_files: BTreeMap<String, Vec<u8>>,
    results: ResultsList,
    studies: Studies,
    previews: Previews,
}

impl Site {
    pub(super) fn new(arguments: &Serve) -> Result<Self, Error> {
        let mut site = Self {
            static_files: BTreeMap::new(),
            // A server that can start studies lists their folder once it exists.
            results: ResultsList::new(
                &arguments.folders,
                !arguments.read_only && arguments.export.is_none(),
            )?,
            studies: Studies::new(arguments),
            previews: Previews::default(),
        };
        let playground = match &arguments.playground {
            Some(folder) => playground::from_folder(folder)?,
            // A static web server cannot simulate.
            None if arguments.export.is_some() => Vec::new(),
            None => playground::embedded(),
        };
        for (name, bytes) in playground {
            site.static_files.insert(format!("playground/{name}"), bytes);
        }
        site.add_pages();
        Ok(site)
    }

    pub(super) fn has_playground(&self) -> bool {
        self.static_files.contains_key("playground/index.html")
    }

    pub(super) fn studies(&self) -> &Studies {
        &self.studies
    }

    /// Files of an export by path: the static pages and the galleries.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.static_files.clone();
        let mut galleries = Vec::new();
        for (name, item) in self.results.all() {
            let ResultsFolder::Reproduction(path) = item else {
                continue;
            };
            // The page exists when all figures are checked.
            let Ok(index) = results::read(&path, "index.html") else {
                continue;
            };
            files.insert(format!("galleries/{name}/index.html"), index);
            for figure in library::ids() {
                let page = format!("{figure}/report.html");
                if let Ok(bytes) = results::read(&path, &page) {
                    files.insert(format!("galleries/{name}/{page}"), bytes);
                }
            }
            galleries.push(name);
        }
        let index = pages::index(None, &galleries, self.has_playground());
        files.insert("index.html".to_owned(), index.into());
        files
    }

    fn add(&mut self, path: &str, text: &str) {
        self.static_files.insert(path.to_owned(), text.into());
    }

    /// Adds an explanation of every name, the reference of scenarios, the verdicts on the papers'
    /// figures, and the assets of pages.
    fn add_pages(&mut self) {
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        for entry in &catalogue::all() {
            let text = texts.entry(entry.name).or_default();
            text.push_str(&catalogue::page(entry));
        }
        for (name, text) in texts {
            let page = document(name, &markdown::html(&text));
            self.add(&format!("explain/{name}.html"), &page);
        }
        let reproduction = catalogue::text("reproduction.md");
        for (path, title, text) in [
            ("docs/scenario.html", "Scenario files", &*tidegate_scenario::reference()),
            ("docs/reproduction.html", "Reproduced figures", reproduction),
        ] {
            self.add(path, &document(title, &markdown::html(text)));
        }
        for (path, text) in [
            ("assets/report.css", STYLE),
            ("assets/serve.css", include_str!("page/serve.css")),
            ("assets/serve.js", include_str!("page/serve.js")),
            ("assets/icon.svg", include_str!("../../../../web/page/icon.svg")),
        ] {
            self.add(path, text);
        }
    }

    /// Answers a request, unless its client closes the connection during a simulation.
    pub(super) fn answer(&self, request: &Request, is_gone: &dyn Fn() -> bool) -> Option<Answer> {
        let answer = match request.method.as_str() {
            "POST" if request.path.strip_prefix("playground/") == Some(playground::SIMULATOR) => {
                let bytes = self.studies.simulation(&request.body).answer(is_gone)?;
                return Some(Answer::new("application/octet-stream", bytes));
            }
            "POST" => self.act(request),
            _ => self.get(request),
        };
        answer.or_else(|| Some(Answer::text("404 Not Found", "page not found")))
    }

    /// Page or file at a path.
    fn get(&self, request: &Request) -> Option<Answer> {
        let own = |html| Some(answer::page(Policy::Own, html));
        match request.path.as_str() {
            "" | "index.html" => {
                let results = pages::results(&self.results.all());
                own(pages::index(Some(&results), &[], self.has_playground()))
            }
            "start/" => {
                let folder = self.results.new_studies();
                let limits = self.studies.limits();
                own(pages::start(folder, &limits, self.studies.is_read_only()))
            }
            "plan/" => own(pages::plan()),
            "compare" => Some(self.compare(request)),
            "playground/" => self.file("playground/index.html"),
            path => {
                if let Some(name) = path.strip_prefix("start/") {
                    let builtin = builtin::Builtin::named(name.strip_suffix(".toml")?)?;
                    return Some(answer::file(name, Policy::Closed, builtin.text.into()));
                }
                if let Some(name) = path.strip_prefix("plan/") {
                    let wanted = name.strip_suffix(".toml")?;
                    let mut networks = builtin::NETWORKS.iter();
                    let network = networks.find(|network| network.name == wanted)?;
                    return Some(answer::file(name, Policy::Closed, network.text.into()));
                }
                if let Some(rest) = path.strip_prefix("results/") {
                    let (name, file) = rest.split_once('/')?;
                    return self.runs(name, file);
                }
                if let Some(rest) = path.strip_prefix("galleries/") {
                    let (name, file) = rest.split_once('/')?;
                    return self.gallery(name, file);
                }
                self.file(path)
            }
        }
    }

    /// A static file.
    fn file(&self, path: &str) -> Option<Answer> {
        let bytes = self.static_files.get(path)?.clone();
        let policy = match path.split('/').next() {
            Some("playground") => Policy::Playground,
            Some("assets") => Policy::Closed,
            _ => Policy::Document,
        };
        Some(answer::file(path, policy, bytes))
    }

    /// A page or file of a results folder.
    fn runs(&self, name: &str, file: &str) -> Option<Answer> {
        let ResultsFolder::Runs(path) = self.results.find(name)? else {
            return None;
        };
        let up = "../../";
        Some(match file {
            "" => {
                let progress = Follower::new(&path, &self.studies).progress();
                let preview = self.previews.get(&path);
                let preview = preview.as_ref().map(AsRef::as_ref).map_err(String::as_str);
                let html = pages::folder(&FolderPage {
                    path: &path,
                    progress: &progress,
                    preview,
                    is_read_only: self.studies.is_read_only(),
                });
                answer::page(Policy::Own, html)
            }
            "events" => answer::events(Follower::new(&path, &self.studies)),
            "preview" => match self.previews.get(&path) {
                Ok(preview) => answer::page(Policy::Closed, pages::preview(&preview)),
                Err(why) => answer::page(Policy::Closed, pages::paragraph(&why)),
            },
            "chart-light.svg" | "chart-dark.svg" => {
                let preview = self.previews.get(&path).ok()?;
                let [light, dark] = preview.chart.as_ref()?;
                let chart = if file.contains("dark") { dark } else { light };
                answer::file(file, Policy::Closed, chart.as_bytes().to_vec())
            }
            PAGE => {
                let folder = Folder::open(&path).map_err(|error| error.to_string());
                let is_large = |folder: &Folder| folder.finished().len() > preview::MOST_RUNS;
                let made = folder.and_then(|folder| {
                    if is_large(&folder) {
                        // The sandbox runs its script only if it is this program's.
                        return results::read(&path, PAGE);
                    }
                    preview::compare_finished(vec![folder]).map(|all| all.render().into_bytes())
                });
                match made {
                    Ok(html) => answer::file(PAGE, Policy::Results, html),
                    Err(why) => answer::missing(pages::message(name, up, &why)),
                }
            }
            // Other names never reach the disk.
            file if SERVED_FILES.contains(&file) => match results::read(&path, file) {
                Ok(bytes) => answer::file(file, Policy::Closed, bytes),
                Err(why) => answer::missing(pages::message(name, up, &why)),
            },
            _ => return None,
        })
    }

    /// A page of reproduced figures.
    fn gallery(&self, name: &str, file: &str) -> Option<Answer> {
        let ResultsFolder::Reproduction(path) = self.results.find(name)? else {
            return None;
        };
        let file = match file {
            "" => "index.html",
            file if results::is_figure_page(file) => file,
            _ => return None,
        };
        Some(match results::read(&path, file) {
            Ok(bytes) => answer::file(file, Policy::Results, bytes),
            Err(why) => {
                let up = if file == "index.html" { "../../" } else { "../../../" };
                let why = format!("{why}\nThe gallery is written when all figures are checked.");
                answer::missing(pages::message(name, up, &why))
            }
        })
    }

    /// Comparison of several folders.
    fn compare(&self, request: &Request) -> Answer {
        let message =
            |why: &str| answer::page(Policy::Own, pages::message("Compare results", "", why));
        let mut folders = Vec::new();
        for name in request.query("with") {
            let Some(ResultsFolder::Runs(path)) = self.results.find(name) else {
                return message("results not found: the folder was removed");
            };
            match Folder::open(&path) {
                Ok(folder) => folders.push(folder),
                Err(error) => return message(&error.to_string()),
            }
        }
        match folders.len() {
            0 | 1 => return message("select two or more results to compare"),
            count if count > MOST_COMPARED => {
                return message(&format!(
                    "{count} results are too many to compare: select up to {MOST_COMPARED}"
                ));
            }
            _ => {}
        }
        match preview::compare_finished(folders) {
            Ok(comparison) => answer::page(Policy::Results, comparison.render()),
            Err(why) => message(&why),
        }
    }

    /// Carries out an action. The answer has an `error` if it failed.
    fn act(&self, request: &Request) -> Option<Answer> {
        let Ok(asked) = serde_json::from_slice::<Value>(&request.body) else {
            return Some(Answer::text("400 Bad Request", "the body is not valid JSON"));
        };
        let text = asked["text"].as_str().unwrap_or_default();
        if text.len() > TEXT {
            return Some(Answer::text("413 Content Too Large", "the text is longer than 256 KiB"));
        }
        let result = match request.path.as_str() {
            "start/check" => self.studies.check(text).and_then(|checked| {
                if checked["ok"] == true {
                    Ok(study::outline(&checked))
                } else {
                    Err(study::problems(&checked))
                }
            }),
            "start/go" => {
                let started = self.studies.start(text, self.results.new_studies());
                started.map(
                    |folder| json!({ "name": self.results.name(&ResultsFolder::Runs(folder)) }),
                )
            }
            "plan/answer" => {
                let emit = asked["emit"].as_str().filter(|emit| !emit.is_empty());
                match network::answered(text, emit, TEXT_COLUMNS) {
                    Ok(answer) => Ok(json!({ "answer": answer })),
                    Err(Error::Other(why)) => Err(why),
                    Err(Error::ClosedPipe) => return None,
                }
            }
            path => {
                let (name, action) = path.strip_prefix("results/")?.split_once('/')?;
                let ResultsFolder::Runs(path) = self.results.find(name)? else {
                    return None;
                };
                let done = match action {
                    "stop" => self.studies.stop(&path),
                    "resume" => self.studies.resume(&path),
                    _ => return None,
                };
                done.map(|()| json!({}))
            }
        };
        Some(answer::json(&result.unwrap_or_else(|why| json!({ "error": why }))))
    }
}
