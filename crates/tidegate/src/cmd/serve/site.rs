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
use super::glance::{self, Glances};
use super::pages::{self, Watched};
use super::playground;
use super::shelf::{self, Item, Shelf};
use super::study::{self, Studies};
use crate::args::Serve;
use crate::builtin;
use crate::catalogue;
use crate::markdown;
use crate::network;
use crate::output::Error;

/// Files of a results folder that are served beside its report.
const FILES: [&str; 3] = ["manifest.json", "summary.csv", "summary.json"];

/// Most folders in a comparison.
const COMPARED: usize = 20;

/// Columns of a plain-text answer.
const WIDTH: usize = 100;

pub(super) struct Site {
    /// Static pages by path.
    fixed: BTreeMap<String, Vec<u8>>,
    shelf: Shelf,
    studies: Studies,
    glances: Glances,
}

impl Site {
    pub(super) fn new(arguments: &Serve) -> Result<Self, Error> {
        let mut site = Self {
            fixed: BTreeMap::new(),
            // A server that can start studies lists their folder once it exists.
            shelf: Shelf::new(
                &arguments.folders,
                !arguments.read_only && arguments.export.is_none(),
            )?,
            studies: Studies::new(arguments),
            glances: Glances::default(),
        };
        let playground = match &arguments.playground {
            Some(folder) => playground::of(folder)?,
            // A static web server cannot simulate.
            None if arguments.export.is_some() => Vec::new(),
            None => playground::own(),
        };
        for (name, bytes) in playground {
            site.fixed.insert(format!("playground/{name}"), bytes);
        }
        site.add_pages();
        Ok(site)
    }

    pub(super) fn has_playground(&self) -> bool {
        self.fixed.contains_key("playground/index.html")
    }

    pub(super) fn studies(&self) -> &Studies {
        &self.studies
    }

    /// Files of an export by path: the static pages and the galleries.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.fixed.clone();
        let mut galleries = Vec::new();
        for (name, item) in self.shelf.all() {
            let Item::Reproduction(path) = item else {
                continue;
            };
            // The page exists when all figures are checked.
            let Ok(index) = shelf::read(&path, "index.html") else {
                continue;
            };
            files.insert(format!("galleries/{name}/index.html"), index);
            for figure in library::ids() {
                let page = format!("{figure}/report.html");
                if let Ok(bytes) = shelf::read(&path, &page) {
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
        self.fixed.insert(path.to_owned(), text.into());
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
            "POST" => self.done(request),
            _ => self.shown(request),
        };
        answer.or_else(|| Some(Answer::text("404 Not Found", "page not found")))
    }

    /// Page or file at a path.
    fn shown(&self, request: &Request) -> Option<Answer> {
        let own = |html| Some(answer::page(Policy::Own, html));
        match request.path.as_str() {
            "" | "index.html" => {
                let results = pages::results(&self.shelf.all());
                own(pages::index(Some(&results), &[], self.has_playground()))
            }
            "start/" => {
                let home = self.shelf.home();
                let bounds = self.studies.bounds();
                own(pages::start(home, &bounds, self.studies.is_read_only()))
            }
            "plan/" => own(pages::plan()),
            "compare" => Some(self.compared(request)),
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
                    return self.result(name, file);
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
        let bytes = self.fixed.get(path)?.clone();
        let policy = match path.split('/').next() {
            Some("playground") => Policy::Playground,
            Some("assets") => Policy::Closed,
            _ => Policy::Document,
        };
        Some(answer::file(path, policy, bytes))
    }

    /// A page or file of a results folder.
    fn result(&self, name: &str, file: &str) -> Option<Answer> {
        let Item::Results(path) = self.shelf.find(name)? else {
            return None;
        };
        let up = "../../";
        Some(match file {
            "" => {
                let progress = Follower::new(&path, &self.studies).look();
                let glance = self.glances.of(&path);
                let glance = glance.as_ref().map(AsRef::as_ref).map_err(String::as_str);
                let html = pages::watch(&Watched {
                    path: &path,
                    progress: &progress,
                    glance,
                    is_read_only: self.studies.is_read_only(),
                });
                answer::page(Policy::Own, html)
            }
            "events" => answer::events(Follower::new(&path, &self.studies)),
            "glance" => match self.glances.of(&path) {
                Ok(glance) => answer::page(Policy::Closed, pages::glance(&glance)),
                Err(why) => answer::page(Policy::Closed, pages::remark(&why)),
            },
            "chart-light.svg" | "chart-dark.svg" => {
                let glance = self.glances.of(&path).ok()?;
                let [light, dark] = glance.chart.as_ref()?;
                let chart = if file.contains("dark") { dark } else { light };
                answer::file(file, Policy::Closed, chart.as_bytes().to_vec())
            }
            PAGE => {
                let folder = Folder::open(&path).map_err(|error| error.to_string());
                let is_large = |folder: &Folder| folder.finished().len() > glance::RUNS;
                let made = folder.and_then(|folder| {
                    if is_large(&folder) {
                        // The sandbox runs its script only if it is this program's.
                        return shelf::read(&path, PAGE);
                    }
                    glance::so_far(vec![folder]).map(|all| all.render().into_bytes())
                });
                match made {
                    Ok(html) => answer::file(PAGE, Policy::Results, html),
                    Err(why) => answer::missing(pages::words(name, up, &why)),
                }
            }
            // Other names never reach the disk.
            file if FILES.contains(&file) => match shelf::read(&path, file) {
                Ok(bytes) => answer::file(file, Policy::Closed, bytes),
                Err(why) => answer::missing(pages::words(name, up, &why)),
            },
            _ => return None,
        })
    }

    /// A page of reproduced figures.
    fn gallery(&self, name: &str, file: &str) -> Option<Answer> {
        let Item::Reproduction(path) = self.shelf.find(name)? else {
            return None;
        };
        let file = match file {
            "" => "index.html",
            file if shelf::is_page_of_figure(file) => file,
            _ => return None,
        };
        Some(match shelf::read(&path, file) {
            Ok(bytes) => answer::file(file, Policy::Results, bytes),
            Err(why) => {
                let up = if file == "index.html" { "../../" } else { "../../../" };
                let why = format!("{why}\nThe gallery is written when all figures are checked.");
                answer::missing(pages::words(name, up, &why))
            }
        })
    }

    /// Comparison of several folders.
    fn compared(&self, request: &Request) -> Answer {
        let words = |why: &str| answer::page(Policy::Own, pages::words("Compare results", "", why));
        let mut folders = Vec::new();
        for name in request.asked("with") {
            let Some(Item::Results(path)) = self.shelf.find(name) else {
                return words("results not found: the folder was removed");
            };
            match Folder::open(&path) {
                Ok(folder) => folders.push(folder),
                Err(error) => return words(&error.to_string()),
            }
        }
        match folders.len() {
            0 | 1 => return words("select two or more results to compare"),
            count if count > COMPARED => {
                return words(&format!(
                    "{count} results are too many to compare: select up to {COMPARED}"
                ));
            }
            _ => {}
        }
        match glance::so_far(folders) {
            Ok(comparison) => answer::page(Policy::Results, comparison.render()),
            Err(why) => words(&why),
        }
    }

    /// Carries out an action. The answer has an `error` if it failed.
    fn done(&self, request: &Request) -> Option<Answer> {
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
                let started = self.studies.start(text, self.shelf.home());
                started.map(|folder| json!({ "name": self.shelf.name(&Item::Results(folder)) }))
            }
            "plan/answer" => {
                let emit = asked["emit"].as_str().filter(|emit| !emit.is_empty());
                match network::answered(text, emit, WIDTH) {
                    Ok(answer) => Ok(json!({ "answer": answer })),
                    Err(Error::Other(why)) => Err(why),
                    Err(Error::ClosedPipe) => return None,
                }
            }
            path => {
                let (name, action) = path.strip_prefix("results/")?.split_once('/')?;
                let Item::Results(path) = self.shelf.find(name)? else {
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
