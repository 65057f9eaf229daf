//! Every name that scenario files can use, with what is known of it: one line, a page, its
//! parameters and an example.
//!
//! Names and parameters come from the parts themselves, texts from the project's own pages.

pub(crate) mod alias;
mod example;
pub(crate) mod key;
mod pages;

use clap::ValueEnum;
use serde::Serialize;
use tidegate_dataplane::{buffer, mark, sched};
use tidegate_lab::reproduce::library;
use tidegate_sim::observe::Convention;
use tidegate_sim::topology;
use tidegate_sim::workload::{Published, Source, Table, probe};
use tidegate_transport::rate::dcqcn;
use tidegate_transport::{pias, window};
use tidegate_units::{Choice, Field, Form, Setting, Settings};

use crate::builtin;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Which packets are stored
    #[value(alias = "buffers")]
    Buffer,
    /// What counts as small and large, and when a flow is complete
    #[value(alias = "conventions")]
    Convention,
    /// What papers claim, to be run again with `tidegate reproduce`
    #[value(alias = "figures")]
    Figure,
    /// The settings of a published TCP stack
    #[value(alias = "profiles")]
    Profile,
    /// Scenarios that are part of the program
    #[value(alias = "scenarios")]
    Scenario,
    /// Which packet leaves next
    #[value(alias = "schedulers")]
    Scheduler,
    /// Which packets are marked
    #[value(alias = "schemes", alias = "marking")]
    Scheme,
    /// How large flows are
    Sizes,
    /// Hosts, switches and links
    #[value(alias = "topologies")]
    Topology,
    /// Where flows come from
    Traffic,
    /// What hosts speak
    #[value(alias = "transports")]
    Transport,
}

impl Kind {
    /// The name of the kind.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Convention => "convention",
            Self::Figure => "figure",
            Self::Profile => "profile",
            Self::Scenario => "scenario",
            Self::Scheduler => "scheduler",
            Self::Scheme => "scheme",
            Self::Sizes => "sizes",
            Self::Topology => "topology",
            Self::Traffic => "traffic",
            Self::Transport => "transport",
        }
    }
}

/// A name and what is known of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    /// What it is, in one line.
    pub(crate) line: String,
    /// Its page, in Markdown.
    pub(crate) page: String,
    pub(crate) parameters: Vec<Parameter>,
    /// A part of a scenario file that uses it.
    pub(crate) example: String,
}

/// A parameter as its field table has it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) default: String,
    pub(crate) doc: String,
    /// The words that it accepts, if it is a choice.
    pub(crate) words: Vec<Word>,
}

/// A word that a parameter accepts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) doc: String,
}

/// All names, by kind and name.
pub(crate) fn all() -> Vec<Entry> {
    let mut entries = Vec::new();
    for &name in mark::Config::NAMES {
        let config = mark::Config::named(name).expect("the name is from the list");
        let parameters = parameters(config.fields(), |field| config.value(field));
        entries.push(entry(Kind::Scheme, name, parameters));
    }
    entries.push(entry(Kind::Scheme, "or", Vec::new()));
    for &name in sched::Config::NAMES {
        let config = sched::Config::named(name).expect("the name is from the list");
        let parameters = parameters(config.fields(), |field| config.value(field));
        entries.push(entry(Kind::Scheduler, name, parameters));
    }
    for &name in buffer::Config::NAMES {
        let config = buffer::Config::named(name).expect("the name is from the list");
        let parameters = parameters(config.fields(), |field| config.value(field));
        entries.push(entry(Kind::Buffer, name, parameters));
    }
    for &name in topology::Config::NAMES {
        let config = topology::Config::named(name).expect("the name is from the list");
        let parameters = parameters(config.fields(), |field| config.value(field));
        entries.push(entry(Kind::Topology, name, parameters));
    }
    for &name in Source::NAMES.iter().chain(Published::NAMES) {
        let config = Source::named(name).expect("the name is from the list");
        let parameters = parameters(config.fields(), |field| config.value(field));
        entries.push(entry(Kind::Traffic, name, parameters));
    }
    entries.push(entry(Kind::Traffic, "list", Vec::new()));
    entries.push(entry(Kind::Traffic, "probe", of::<probe::Config>()));
    for &name in window::Config::NAMES {
        let config = window::Config::named(name).expect("the name is from the list");
        let parameters = parameters(config.fields(), |field| config.value(field));
        entries.push(entry(Kind::Transport, name, parameters));
    }
    entries.push(entry(Kind::Transport, "dcqcn", of::<dcqcn::Config>()));
    entries.push(entry(Kind::Transport, "pias", of::<pias::Config>()));
    for &name in tidegate_transport::Config::PROFILES {
        let config = tidegate_transport::Config::profile(name).expect("the name is from the list");
        let fields = tidegate_transport::Config::FIELDS;
        let parameters = parameters(fields, |field| config.value(field));
        entries.push(entry(Kind::Profile, name, parameters));
    }
    for choice in choices(Convention::FORM) {
        let mut entry = entry(Kind::Convention, choice.name, Vec::new());
        entry.line = pages::first_sentence(choice.doc);
        entries.push(entry);
    }
    for choice in choices(Table::FORM) {
        entries.push(entry(Kind::Sizes, choice.name, Vec::new()));
    }
    for scenario in builtin::ALL {
        let mut entry = entry(Kind::Scenario, scenario.name, Vec::new());
        entry.line = String::from(scenario.title());
        entry.page = format!("# {}\n\n{}\n", scenario.name, entry.line);
        entry.example = String::from(scenario.text);
        entries.push(entry);
    }
    for file in library::files() {
        let Some(figure) = library::figure(file) else {
            continue;
        };
        let mut entry = entry(Kind::Figure, file.id, Vec::new());
        entry.line = String::from(builtin::title(file.text));
        entry.page = format!("# {}\n\n{}.\n\n{}\n", file.id, figure.shows, figure.source);
        entry.example = String::from(file.text);
        entries.push(entry);
    }
    entries.sort_by_key(|entry| (entry.kind, entry.name));
    entries
}

fn entry(kind: Kind, name: &'static str, parameters: Vec<Parameter>) -> Entry {
    Entry {
        kind,
        name,
        line: pages::line(kind, name),
        page: pages::page(kind, name),
        example: example::example(kind, name, &parameters),
        parameters,
    }
}

/// The parameters of a part that has one set of defaults.
fn of<S: Settings>() -> Vec<Parameter> {
    let config = S::default();
    parameters(S::FIELDS, |field| config.value(field))
}

fn parameters(fields: &[Field], value: impl Fn(&str) -> Option<String>) -> Vec<Parameter> {
    let parameter = |field: &Field| {
        let words = choices(field.form).iter().map(|choice| Word {
            name: choice.name,
            doc: tidy(choice.doc),
        });
        Parameter {
            name: field.name,
            default: value(field.name).unwrap_or_default(),
            doc: tidy(field.doc),
            words: words.collect(),
        }
    };
    fields.iter().map(parameter).collect()
}

/// The words of a form.
fn choices(form: Form) -> &'static [Choice] {
    match form {
        Form::Choice(choices) => choices,
        Form::List(form) | Form::Optional(form) => choices(*form),
        _ => &[],
    }
}

/// A doc comment as plain text: without links to items.
fn tidy(doc: &str) -> String {
    let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    doc.replace("[`", "`").replace("`]", "`")
}

/// The names that are most like this one, closest first.
pub(crate) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase().replace('_', "-");
    let mut near = names
        .map(|name| (strsim::jaro_winkler(&wrong, name), name))
        .filter(|&(likeness, _)| likeness > 0.75)
        .collect::<Vec<_>>();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by_key(|&mut (_, name)| name);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_line() {
        for entry in all() {
            let length = entry.line.chars().count();
            assert!(
                length > 0,
                "{} {} has no line",
                entry.kind.name(),
                entry.name
            );
            // Conventions need more words than fit on one line, and figures say where they are.
            let most = match entry.kind {
                Kind::Convention => 140,
                Kind::Figure => 72,
                _ => 66,
            };
            assert!(length <= most, "{}: {}", entry.name, entry.line);
            assert!(
                !entry.line.contains(['|', '\n']),
                "{}: {}",
                entry.name,
                entry.line
            );
        }
    }

    #[test]
    fn every_part_has_a_page_and_every_scheme_says_how_to_choose_its_threshold() {
        for entry in all() {
            assert!(
                !entry.page.is_empty(),
                "{} {}",
                entry.kind.name(),
                entry.name
            );
            if entry.kind == Kind::Scheme {
                let heading = "\n## Choosing the threshold\n";
                assert!(entry.page.contains(heading), "{} does not say", entry.name);
            }
        }
    }

    #[test]
    fn every_field_of_a_scheme_is_explained() {
        for entry in all() {
            for parameter in &entry.parameters {
                assert!(
                    !parameter.doc.is_empty(),
                    "{}.{}",
                    entry.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn every_example_can_run_as_it_stands() {
        use tidegate_lab::scenario::Scenario;

        for entry in all() {
            // A list needs its file.
            if matches!(entry.kind, Kind::Scenario | Kind::Figure) || entry.name == "list" {
                continue;
            }
            let mut text = format!("name = \"example\"\n{}", entry.example);
            if !text.contains("[topology]") {
                text.push_str(
                    "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\n",
                );
            }
            if !text.contains("[[traffic]]") {
                text.push_str("[[traffic]]\nkind = \"poisson\"\nload = 0.1\nflows = 4\n");
            }
            let planned =
                Scenario::parse(entry.name, &text, &[]).and_then(|scenario| scenario.plan());
            if let Err(problem) = planned {
                panic!("{} {}:\n{text}\n{problem}", entry.kind.name(), entry.name);
            }
        }
    }

    #[test]
    fn a_wrong_name_finds_its_neighbours() {
        let names = || mark::Config::NAMES.iter().copied();
        assert_eq!(nearest("ecnsharp", names()).first(), Some(&"ecn-sharp"));
        assert_eq!(nearest("CODEL", names()).first(), Some(&"codel"));
        assert!(nearest("zzzz", names()).is_empty());
    }
}
