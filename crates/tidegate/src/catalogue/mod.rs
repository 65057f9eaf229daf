//! Catalogue of all names that scenario files can use: a line, a page, parameters and an example.
//!
//! Names and parameters come from the parts themselves, texts from the project's own pages.

pub(crate) mod alias;
mod example;
#[cfg(test)]
mod glossary;
pub(crate) mod key;
pub(crate) mod page;
mod pages;

pub(crate) use page::page;
pub(crate) use pages::text;

use clap::ValueEnum;
use serde::Serialize;
use tidegate_dataplane::{buffer, mark, sched};
use tidegate_plan::dialect::Os;
use tidegate_reproduce::{Figure, library};
use tidegate_sim::flow_control;
use tidegate_sim::observe::Convention;
use tidegate_sim::topology;
use tidegate_sim::workload::{Published, Source, Table, poisson, probe};
use tidegate_transport::{Profile, cc, pias, protocol};
use tidegate_units::{About, Catalogue, Choice, Field, Form, Named, Parameters, Setting};

use crate::builtin;

/// Kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Buffer management: which packets a switch admits
    #[value(alias = "buffers")]
    Buffer,
    /// Measurement conventions: flow size classes and completion times
    #[value(alias = "conventions")]
    Convention,
    /// Switch configuration languages of `tidegate plan --emit`
    #[value(alias = "dialects")]
    Dialect,
    /// Published figures for `tidegate reproduce`
    #[value(alias = "figures")]
    Figure,
    /// Hop-by-hop flow control of single flows
    #[value(alias = "flow-controls")]
    FlowControl,
    /// Built-in networks for `tidegate plan`
    #[value(alias = "networks")]
    Network,
    /// Settings of published TCP stacks
    #[value(alias = "profiles")]
    Profile,
    /// Built-in scenarios
    #[value(alias = "scenarios")]
    Scenario,
    /// Packet schedulers: which packet leaves next
    #[value(alias = "schedulers")]
    Scheduler,
    /// ECN marking schemes
    #[value(alias = "schemes", alias = "marking")]
    Scheme,
    /// Flow size distributions
    Sizes,
    /// Topologies of hosts, switches and links
    #[value(alias = "topologies")]
    Topology,
    /// Traffic sources
    Traffic,
    /// Host transport protocols and congestion control
    #[value(alias = "transports")]
    Transport,
}

impl Kind {
    /// Name of the kind.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Convention => "convention",
            Self::Dialect => "dialect",
            Self::Figure => "figure",
            Self::FlowControl => "flow-control",
            Self::Network => "network",
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

/// Catalogue entry of a name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    /// Description in one line.
    pub(crate) line: String,
    /// Page in Markdown.
    pub(crate) page: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Part of a scenario file that uses the name.
    pub(crate) example: String,
}

/// Parameter, from its field table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) default: String,
    pub(crate) doc: String,
    /// Accepted words of a choice.
    pub(crate) words: Vec<Word>,
}

/// Word that a parameter accepts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) doc: String,
}

/// All names, by kind and name.
pub(crate) fn all() -> Vec<Entry> {
    let mut entries = Vec::new();
    entries.extend(listed::<mark::Config>(Kind::Scheme));
    entries.extend(listed::<sched::Config>(Kind::Scheduler));
    entries.extend(listed::<buffer::Config>(Kind::Buffer));
    entries.extend(listed::<flow_control::Config>(Kind::FlowControl));
    entries.extend(listed::<topology::Config>(Kind::Topology));
    entries.extend(listed::<Source>(Kind::Traffic));
    entries.extend(Published::NAMES.iter().map(|name| published(name)));
    entries.push(alone::<probe::Config>(Kind::Traffic));
    entries.extend(listed::<cc::Config>(Kind::Transport));
    entries.extend(listed::<protocol::Config>(Kind::Transport).map(|entry| Entry {
        example: format!("[transport]\nkind = \"{}\"\n", entry.name),
        ..entry
    }));
    entries.push(alone::<pias::Config>(Kind::Transport));
    for choice in choices(Profile::FORM) {
        let name = choice.name;
        let config = tidegate_transport::Config::profile(name).expect("the name is from the list");
        let about = "A published TCP stack: `[transport]` with `profile`. The congestion \
                     control is chosen separately, with `cc`.";
        let page = format!("# {name}\n\n{}\n\n{about}\n", tidy(choice.doc));
        let line = pages::first_sentence(choice.doc);
        entries.push(entry(Kind::Profile, name, &line, page, parameters(&config)));
    }
    for choice in choices(Convention::FORM) {
        let line = pages::first_sentence(choice.doc);
        let times = pages::below("observing.md", "Flow completion times");
        let page = format!("# {}\n\n{times}\n", choice.name);
        entries.push(entry(Kind::Convention, choice.name, &line, page, Vec::new()));
    }
    for (os, choice) in Os::ALL.iter().zip(choices(Os::FORM)) {
        let line = pages::first_sentence(choice.doc);
        let name = choice.name;
        let mut entry = entry(Kind::Dialect, name, &line, os.page(), Vec::new());
        entry.example = format!("switch = {{ buffer = \"32MB\", os = \"{name}\" }}\n");
        entries.push(entry);
    }
    for choice in choices(Table::FORM) {
        let sizes = pages::below("workloads.md", "Sizes");
        let page = format!("# {}\n\n{sizes}\n", choice.name);
        let line = pages::first_sentence(choice.doc);
        entries.push(entry(Kind::Sizes, choice.name, &line, page, Vec::new()));
    }
    for scenario in builtin::ALL {
        let line = scenario.title();
        let page = format!("# {}\n\n{line}\n", scenario.name);
        let mut entry = entry(Kind::Scenario, scenario.name, line, page, Vec::new());
        entry.example = String::from(scenario.text);
        entries.push(entry);
    }
    for network in builtin::NETWORKS {
        let line = network.title();
        let name = network.name;
        let page = format!("# {name}\n\n{line}\n\nPlan it with `tidegate plan {name}`.\n");
        let mut entry = entry(Kind::Network, name, line, page, Vec::new());
        entry.example = String::from(network.text);
        entries.push(entry);
    }
    for file in library::files() {
        let Some(figure) = Figure::of_file(file) else {
            continue;
        };
        let line = builtin::title(file.text);
        let page = format!("# {}\n\n{}.\n\n{}\n", file.id, figure.shows, figure.source);
        let mut entry = entry(Kind::Figure, file.id, line, page, Vec::new());
        entry.example = String::from(file.text);
        entries.push(entry);
    }
    entries.sort_by_key(|entry| (entry.kind, entry.name));
    entries
}

fn entry(
    kind: Kind,
    name: &'static str,
    line: &str,
    page: String,
    parameters: Vec<Parameter>,
) -> Entry {
    Entry {
        kind,
        name,
        line: line.to_owned(),
        page,
        example: example::named(kind, name),
        parameters,
    }
}

fn part(kind: Kind, about: &About, parameters: Vec<Parameter>) -> Entry {
    let example = example::part(kind, about, &parameters);
    let page = pages::page(about);
    Entry { example, ..entry(kind, about.name, about.summary, page, parameters) }
}

/// All parts of a catalogue.
fn listed<C: Catalogue>(kind: Kind) -> impl Iterator<Item = Entry> {
    C::entries().into_iter().map(move |listed| {
        let defaults = C::named(listed.about.name);
        let parameters = defaults.as_ref().map(|part| parameters(part));
        part(kind, &listed.about, parameters.unwrap_or_default())
    })
}

/// A part outside the catalogues. Its scenario example consists only of the tables it needs.
fn alone<N: Named>(kind: Kind) -> Entry {
    Entry { example: N::ABOUT.needs.to_owned(), ..part(kind, &N::ABOUT, parameters(&N::default())) }
}

/// A published set of parameters of Poisson traffic.
fn published(name: &'static str) -> Entry {
    let config = Source::named(name).expect("the name is from the list");
    let load = pages::cell("workloads.md", name, 1);
    let line = format!("published poisson, load of {load}");
    let headings = ["Definition of load", "Sizes"];
    let about = About { name, ..poisson::Config::ABOUT };
    Entry {
        page: pages::described(name, &line, "workloads.md", &headings),
        line,
        ..part(Kind::Traffic, &about, parameters(&config))
    }
}

fn parameters(part: &dyn Parameters) -> Vec<Parameter> {
    let parameter = |field: &Field| {
        let words = choices(field.form)
            .iter()
            .map(|choice| Word { name: choice.name, doc: tidy(choice.doc) });
        Parameter {
            name: field.name,
            default: part.value(field.name).unwrap_or_default(),
            doc: tidy(field.doc),
            words: words.collect(),
        }
    };
    part.fields().iter().map(parameter).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_one_line_summary() {
        for entry in all() {
            let length = entry.line.chars().count();
            assert!(length > 0, "{} {} has no line", entry.kind.name(), entry.name);
            // Conventions need more words than fit on one line, and figures say where they are.
            let most = match entry.kind {
                Kind::Convention => 140,
                Kind::Figure => 72,
                _ => 66,
            };
            assert!(length <= most, "{}: {}", entry.name, entry.line);
            assert!(!entry.line.contains(['|', '\n']), "{}: {}", entry.name, entry.line);
        }
    }

    #[test]
    fn every_page_named_by_a_catalogue_entry_describes_it() {
        fn check(about: About) {
            let name = about.name;
            let mut steps = about.page.split('#');
            let path = steps.next().unwrap_or_default();
            let page = text(path);
            assert!(!page.is_empty(), "{name}: write docs/{path}");
            for heading in steps {
                let found = pages::below(path, heading);
                assert!(
                    !found.is_empty(),
                    "{name}: write `## {heading}`, or a paragraph that begins with \
                     `**{heading}**`, in docs/{path}"
                );
            }
            let length = about.summary.chars().count();
            assert!(
                (1..=66).contains(&length),
                "{name}: write what it does as the second text of `named`, in at most 66 \
                 characters, not `{}`",
                about.summary
            );
        }
        fn check_all<C: Catalogue>() {
            for entry in C::entries() {
                check(entry.about);
            }
        }
        check_all::<mark::Config>();
        check_all::<sched::Config>();
        check_all::<buffer::Config>();
        check_all::<flow_control::Config>();
        check_all::<topology::Config>();
        check_all::<Source>();
        check_all::<cc::Config>();
        check_all::<protocol::Config>();
        check(probe::Config::ABOUT);
        check(pias::Config::ABOUT);
    }

    #[test]
    fn every_part_has_a_page_and_every_scheme_says_how_to_choose_its_threshold() {
        for entry in all() {
            assert!(!entry.page.is_empty(), "{} {}", entry.kind.name(), entry.name);
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
                assert!(!parameter.doc.is_empty(), "{}.{}", entry.name, parameter.name);
            }
        }
    }

    #[test]
    fn every_example_can_run_as_it_stands() {
        use tidegate_scenario::Scenario;

        for entry in all() {
            // A list needs its file, and a dialect is of a network.
            let is_whole =
                matches!(entry.kind, Kind::Dialect | Kind::Scenario | Kind::Figure | Kind::Network);
            if is_whole || entry.name == "list" {
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
                let (kind, name) = (entry.kind.name(), entry.name);
                panic!(
                    "{kind} {name}:\n{text}\n{problem}\n\
                     help: give what a scenario needs beside it as the fourth text of `named`"
                );
            }
        }
    }
}
