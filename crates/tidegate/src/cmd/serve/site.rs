//! What is served: fixed pages, results as they stand, and what can be done with them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_report::folder::Folder;
use tidegate_report::page::{STYLE, document};
use tidegate_reproduce::library;

use super::super::report::PAGE;
use super::answer::{Answer, Policy};
use super::follow::Follower;
use super::glance::{self, Glances};
use super::http::{self, Request};
use super::pages::{self, Watched};
use super::playground;
use super::shelf::{self, Item, Shelf};
use super::study::{self, Studies};
use crate::args::Serve;
use crate::builtin;
use crate::catalogue;
use crate::cmd::{explain, plan};
use crate::markdown;
use crate::output::Error;

/// Files of a results folder that can be had beside its report.
const FILES: [&str; 3] = ["manifest.json", "summary.csv", "summary.json"];

/// The most folders that are compared.
const COMPARED: usize = 20;

/// Columns of an answer in words.
const WIDTH: usize = 100;

pub(super) struct Site {
    /// The pages that do not change, by path.
    fixed: BTreeMap<String, Vec<u8>>,
    shelf: Shelf,
    studies: Studies,
    glances: Glances,
}

impl Site {
    pub(super) fn new(arguments: &Serve) -> Result<Self, Error> {
        let mut site = Self {
            fixed: BTreeMap::new(),
            // What can be started is shown when it is there.
            shelf: Shelf::new(
                &arguments.folders,
                !arguments.read_only && arguments.export.is_none(),
            )?,
            studies: Studies::new(arguments),
            glances: Glances::default(),
        };
        let playground = match &arguments.playground {
            Some(folder) => playground::of(folder)?,
            // Files for a server that cannot simulate.
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

    /// What any web server can show, by path: the pages that do not change, and the galleries as
    /// they are.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.fixed.clone();
        let mut galleries = Vec::new();
        for (name, item) in self.shelf.all() {
            let Item::Reproduction(path) = item else {
                continue;
            };
            // It is written when all figures are judged.
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

    /// An explanation of every name, the reference of scenarios and what became of the papers'
    /// figures; and what pages need.
    fn add_pages(&mut self) {
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        for entry in &catalogue::all() {
            let text = texts.entry(entry.name).or_default();
            text.push_str(&explain::page(entry));
        }
        for (name, text) in texts {
            let page = document(name, &markdown::html(&text));
            self.add(&format!("explain/{name}.html"), &page);
        }
        let reproduction = catalogue::text("reproduction.md");
        for (path, title, text) in [
            ("docs/scenario.html", "Scenario files", &*tidegate_scenario::reference()),
            ("docs/reproduction.html", "Published figures, run again", reproduction),
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

    pub(super) fn answer(&self, request: &Request) -> Answer {
        let answer = match request.method.as_str() {
            "POST" if request.path.strip_prefix("playground/") == Some(playground::SIMULATOR) => {
                let simulation = self.studies.simulation(&request.body);
                Some(Answer::simulation(simulation))
            }
            "POST" => self.done(request),
            _ => self.shown(request),
        };
        answer.unwrap_or_else(|| Answer::text("404 Not Found", "there is no such page"))
    }

    /// What is at a path.
    fn shown(&self, request: &Request) -> Option<Answer> {
        let own = |html| Some(Answer::page(Policy::Own, html));
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
                    return Some(Answer::file(name, Policy::Closed, builtin.text.into()));
                }
                if let Some(name) = path.strip_prefix("plan/") {
                    let wanted = name.strip_suffix(".toml")?;
                    let mut networks = builtin::NETWORKS.iter();
                    let network = networks.find(|network| network.name == wanted)?;
                    return Some(Answer::file(name, Policy::Closed, network.text.into()));
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

    /// A file that does not change.
    fn file(&self, path: &str) -> Option<Answer> {
        let bytes = self.fixed.get(path)?.clone();
        let policy = match path.split('/').next() {
            Some("playground") => Policy::Playground,
            Some("assets") => Policy::Closed,
            _ => Policy::Document,
        };
        Some(Answer::file(path, policy, bytes))
    }

    /// Something of a results folder.
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
                Answer::page(Policy::Own, html)
            }
            "events" => Answer::events(Follower::new(&path, &self.studies)),
            "glance" => match self.glances.of(&path) {
                Ok(glance) => Answer::page(Policy::Closed, pages::glance(&glance)),
                Err(why) => Answer::page(Policy::Closed, pages::remark(&why)),
            },
            "chart-light.svg" | "chart-dark.svg" => {
                let glance = self.glances.of(&path).ok()?;
                let [light, dark] = glance.chart.as_ref()?;
                let chart = if file.contains("dark") { dark } else { light };
                Answer::file(file, Policy::Closed, chart.as_bytes().to_vec())
            }
            PAGE => {
                let folder = Folder::open(&path).map_err(|error| error.to_string());
                let is_large = |folder: &Folder| folder.finished().len() > glance::RUNS;
                let made = folder.and_then(|folder| {
                    if is_large(&folder) {
                        // Its script is run if it is ours.
                        return shelf::read(&path, PAGE);
                    }
                    glance::so_far(vec![folder]).map(|all| all.render().into_bytes())
                });
                match made {
                    Ok(html) => Answer::file(PAGE, Policy::Results, html),
                    Err(why) => Answer::missing(pages::words(name, up, &why)),
                }
            }
            // No other name gets to the disk.
            file if FILES.contains(&file) => match shelf::read(&path, file) {
                Ok(bytes) => Answer::file(file, Policy::Closed, bytes),
                Err(why) => Answer::missing(pages::words(name, up, &why)),
            },
            _ => return None,
        })
    }

    /// A page of published figures that were run again.
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
            Ok(bytes) => Answer::file(file, Policy::Results, bytes),
            Err(why) => {
                let up = if file == "index.html" { "../../" } else { "../../../" };
                let why = format!("{why}\nIt is written when all figures are judged.");
                Answer::missing(pages::words(name, up, &why))
            }
        })
    }

    /// The report of several folders.
    fn compared(&self, request: &Request) -> Answer {
        let words = |why: &str| Answer::page(Policy::Own, pages::words("Compare results", "", why));
        let mut folders = Vec::new();
        for name in request.asked("with") {
            let Some(Item::Results(path)) = self.shelf.find(name) else {
                return words("there are no results of that name any more");
            };
            match Folder::open(&path) {
                Ok(folder) => folders.push(folder),
                Err(error) => return words(&error.to_string()),
            }
        }
        match folders.len() {
            0 | 1 => return words("tick two results or more, and compare them then"),
            count if count > COMPARED => {
                return words(&format!(
                    "{count} results are too many to compare: tick up to {COMPARED}"
                ));
            }
            _ => {}
        }
        match glance::so_far(folders) {
            Ok(comparison) => Answer::page(Policy::Results, comparison.render()),
            Err(why) => words(&why),
        }
    }

    /// Does what is asked, and says what came of it: in words, if it could not be done.
    fn done(&self, request: &Request) -> Option<Answer> {
        let Ok(asked) = serde_json::from_slice::<Value>(&request.body) else {
            return Some(Answer::text("400 Bad Request", "what was sent is no JSON"));
        };
        let text = asked["text"].as_str().unwrap_or_default();
        if text.len() > http::TEXT {
            return Some(Answer::text("413 Content Too Large", http::TOO_LONG));
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
                match plan::answered(text, emit, WIDTH) {
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
        Some(Answer::json(&result.unwrap_or_else(|why| json!({ "error": why }))))
    }
}
