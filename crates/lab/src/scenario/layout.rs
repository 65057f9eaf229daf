//! What a scenario file can say: every section, its kinds and its keys.
//!
//! Most keys are settings of the libraries and come from their field tables. What stands here is what
//! only files have: the sections themselves, and keys that choose or join settings.

use std::borrow::Cow;

use tidegate_dataplane::{NonEct, buffer, mark, sched};
use tidegate_sim::observe::Convention;
use tidegate_sim::setup::{HostDelay, Opening, Stop};
use tidegate_sim::workload::{self, Published, probe};
use tidegate_sim::{Ecmp, topology};
use tidegate_transport::rate::dcqcn;
use tidegate_transport::{pias, window};
use tidegate_units::{ConfigError, Field, Form, Rate, Ratio, Setting, Settings, Span};

/// Parameters that can be set and read by name.
pub(crate) trait Part {
    fn fields(&self) -> &'static [Field];
    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError>;
    fn value(&self, field: &str) -> Option<String>;
}

macro_rules! parts_by_name {
    ($($kind:ty),*) => {$(
        impl Part for $kind {
            fn fields(&self) -> &'static [Field] {
                self.fields()
            }

            fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError> {
                self.set(field, text)
            }

            fn value(&self, field: &str) -> Option<String> {
                self.value(field)
            }
        }
    )*};
}

parts_by_name!(
    buffer::Config,
    mark::Config,
    sched::Config,
    topology::Config,
    window::Config,
    workload::Source
);

macro_rules! parts_by_settings {
    ($($kind:ty),*) => {$(
        impl Part for $kind {
            fn fields(&self) -> &'static [Field] {
                <Self as Settings>::FIELDS
            }

            fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError> {
                Settings::set(self, field, text)
            }

            fn value(&self, field: &str) -> Option<String> {
                Settings::value(self, field)
            }
        }
    )*};
}

parts_by_settings!(
    HostDelay,
    dcqcn::Config,
    pias::Config,
    probe::Config,
    tidegate_transport::Config,
    workload::Window
);

/// A table of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Accounting,
    Buffer,
    Egress,
    Group,
    HostDelay,
    Marking,
    Measure,
    Nic,
    Observe,
    Probe,
    Receiver,
    Root,
    Rule,
    Scheduler,
    Series,
    Switch,
    Tagging,
    Topology,
    Traffic,
    Transport,
    Window,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) shape: Shape,
    /// The value as TOML if the key is left out; `None` if it then stands for nothing, or is needed.
    pub(crate) default: Option<String>,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A setting, or this word, which stands for what the lab finds out itself.
    Derived(Form, &'static str),
    /// The word `none`, or a table.
    OptionalTable(Section),
    /// The name of a published set of settings.
    Profile(&'static [&'static str]),
    /// Ports, links or flows: a word, a number, a name or a list of names and numbers.
    Selection(&'static [&'static str]),
    /// A setting.
    Setting(Form),
    /// A table, or one of these words.
    Table(Section, &'static [&'static str]),
    /// Tables, as `[[name]]`.
    Tables(Section),
}

/// The words that stand for a way to count packets.
pub(crate) const ACCOUNTINGS: &[&str] = &["ip", "ethernet"];

/// The word for the speed of the hosts' cables.
pub(crate) const HOSTS: &str = "hosts";

/// The word for the oversubscription of the leaves.
pub(crate) const FABRIC: &str = "fabric";

/// The stack that a transport has if it names no other.
pub(crate) const PROFILE: &str = "tcn-sim";

const PORT_WORDS: &[&str] = &["all", "none", "switches"];
const FLOW_WORDS: &[&str] = &["all", "none"];

/// Keys of `[transport]` that are of neither kind.
const OF_ANY_TRANSPORT: &[&str] = &["accounting", "group", "host_delay", "opening", "tagging"];

impl Section {
    /// All of them, in the order of a file.
    pub(crate) const ALL: [Self; 21] = [
        Self::Root,
        Self::Topology,
        Self::Switch,
        Self::Marking,
        Self::Scheduler,
        Self::Buffer,
        Self::Egress,
        Self::Nic,
        Self::Transport,
        Self::Rule,
        Self::Receiver,
        Self::Accounting,
        Self::Tagging,
        Self::HostDelay,
        Self::Group,
        Self::Traffic,
        Self::Probe,
        Self::Measure,
        Self::Observe,
        Self::Window,
        Self::Series,
    ];

    /// Its heading in the reference.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Accounting => "[transport.accounting]",
            Self::Buffer => "[switch.buffer]",
            Self::Egress => "[switch.buffer.egress]",
            Self::Group => "[[transport.group]]",
            Self::HostDelay => "[transport.host_delay]",
            Self::Marking => "[switch.marking]",
            Self::Measure => "[measure]",
            Self::Nic => "[nic]",
            Self::Observe => "[observe]",
            Self::Probe => "[[probe]]",
            Self::Receiver => "[transport.receiver]",
            Self::Root => "At the top",
            Self::Rule => "[transport.rule]",
            Self::Scheduler => "[switch.scheduler]",
            Self::Series => "[observe.series]",
            Self::Switch => "[switch]",
            Self::Tagging => "[transport.tagging]",
            Self::Topology => "[topology]",
            Self::Traffic => "[[traffic]]",
            Self::Transport => "[transport]",
            Self::Window => "[observe.window]",
        }
    }

    /// Its name in the schema, and what its kinds are kinds of.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Accounting => "accounting",
            Self::Buffer => "buffer",
            Self::Egress => "egress",
            Self::Group => "group",
            Self::HostDelay => "host_delay",
            Self::Marking => "marking",
            Self::Measure => "measure",
            Self::Nic => "nic",
            Self::Observe => "observe",
            Self::Probe => "probe",
            Self::Receiver => "receiver",
            Self::Root => "scenario",
            Self::Rule => "rule",
            Self::Scheduler => "scheduler",
            Self::Series => "series",
            Self::Switch => "switch",
            Self::Tagging => "tagging",
            Self::Topology => "topology",
            Self::Traffic => "traffic",
            Self::Transport => "transport",
            Self::Window => "window",
        }
    }

    /// What it is about.
    pub(crate) const fn doc(self) -> &'static str {
        match self {
            Self::Accounting => ACCOUNTING,
            Self::Buffer => {
                "Which packets are stored: one buffer for the whole switch. \
                [More on buffers](../buffers.md)."
            }
            Self::Egress => EGRESS,
            Self::Group => GROUP,
            Self::HostDelay => "What the receiving host adds to the way of each packet.",
            Self::Marking => "Which packets are marked. `[nic]` has the same table.",
            Self::Measure => "Which flows count, and when the run ends.",
            Self::Nic => {
                "The ports of hosts: marking, scheduler and buffer as in `[switch]`. Without \
                this section hosts are ideal: first in, first out, without a limit. With it, what is \
                left out is `none`, `fifo` and `unlimited`."
            }
            Self::Observe => {
                "What is written down besides the flows. \
                [More on observing](../observing.md)."
            }
            Self::Probe => "Pings from one host to another, which measure the round trip.",
            Self::Receiver => RECEIVER,
            Self::Root => "Keys before the first header, and the sections below.",
            Self::Rule => "How the window of a sender answers marks and losses.",
            Self::Scheduler => {
                "Which packet leaves next, and how many queues there are. \
                [More on schedulers](../schedulers.md)."
            }
            Self::Series => SERIES,
            Self::Switch => "The ports of switches.",
            Self::Tagging => {
                "PIAS: senders tag packets by how much their flow has sent. \
                [More on tagging](../transports/pias.md)."
            }
            Self::Topology => {
                "Hosts, switches and cables. \
                [More on topologies](../topologies.md)."
            }
            Self::Traffic => {
                "What the hosts send: any number of sources. \
                [More on workloads](../workloads.md)."
            }
            Self::Transport => "What the hosts speak.",
            Self::Window => "The part of the run that is observed.",
        }
    }

    /// What a kind is, if there is a text or a page about it.
    pub(crate) fn kind_doc(self, kind: &str) -> Option<String> {
        match (self, kind) {
            (Self::Marking, kind) => Some(format!(
                "[What it does, and how to choose its settings](../schemes/{kind}.md)."
            )),
            (Self::Rule, kind) => Some(format!("[What it does](../transports/{kind}.md).")),
            (Self::Group | Self::Transport, "dcqcn") => {
                Some("[What it does](../transports/dcqcn.md).".into())
            }
            (Self::Traffic, "list") => Some("An exact list of flows.".into()),
            (Self::Traffic, kind) => match Published::FORM {
                Form::Choice(sets) => {
                    let set = sets.iter().find(|set| set.name == kind)?;
                    Some(tidy(set.doc))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The kind that has the same keys with other defaults, if there is one: the reference lists its
    /// keys once.
    pub(crate) fn same_keys_as(self, kind: &str) -> Option<&'static str> {
        let is_published = self == Self::Traffic && Published::NAMES.contains(&kind);
        is_published.then_some("poisson")
    }

    /// The section that has the same kinds and keys, if the reference lists them there.
    pub(crate) const fn same_as(self) -> Option<Self> {
        match self {
            Self::Egress => Some(Self::Buffer),
            Self::Group => Some(Self::Transport),
            _ => None,
        }
    }

    /// The section of the table at a path, if there is one.
    pub(crate) fn at(path: &[impl AsRef<str>]) -> Option<Self> {
        let mut section = Self::Root;
        let mut steps = path.iter().map(AsRef::as_ref);
        while let Some(step) = steps.next() {
            // The kind that has tables below it, where only one has.
            let keys = section.own_keys(match section {
                Self::Buffer => "pfc",
                Self::Group | Self::Transport => "tcp",
                Self::Marking => "or",
                _ => "",
            });
            section = match keys.iter().find(|key| key.name == step)?.shape {
                Shape::Table(section, _) | Shape::OptionalTable(section) => section,
                Shape::Tables(section) => {
                    steps.next()?;
                    section
                }
                _ => return None,
            };
        }
        Some(section)
    }

    /// The kinds that it can be of; `None` for a table without kinds.
    pub(crate) fn kinds(self) -> Option<Vec<&'static str>> {
        Some(match self {
            Self::Buffer => buffer::Config::NAMES.to_vec(),
            Self::Egress => {
                let names = buffer::Config::NAMES.iter().copied();
                names.filter(|&name| name != "pfc").collect()
            }
            Self::Group | Self::Transport => vec!["dcqcn", "tcp"],
            Self::Marking => {
                let mut names = mark::Config::NAMES.to_vec();
                names.push("or");
                names.sort_unstable();
                names
            }
            Self::Rule => window::Config::NAMES.to_vec(),
            Self::Scheduler => sched::Config::NAMES.to_vec(),
            Self::Topology => topology::Config::NAMES.to_vec(),
            Self::Traffic => {
                let names = workload::Source::NAMES.iter().chain(Published::NAMES);
                let mut names: Vec<_> = names.copied().chain(["list"]).collect();
                names.sort_unstable();
                names
            }
            _ => return None,
        })
    }

    /// The kind of a table that names none; `None` if it has to.
    pub(crate) const fn default_kind(self) -> Option<&'static str> {
        match self {
            Self::Buffer => Some("per-port"),
            Self::Egress => Some("unlimited"),
            Self::Group | Self::Transport => Some("tcp"),
            Self::Marking => Some("queue-red"),
            Self::Rule => Some("dctcp"),
            Self::Scheduler => Some("fifo"),
            Self::Topology => Some("leaf-spine"),
            _ => None,
        }
    }

    /// For the table at a path: its kind if it names none, and the keys that stay when the kind
    /// changes; `None` if there is no table at the path.
    pub(crate) fn selects(
        path: &[String],
    ) -> Option<(Option<&'static str>, &'static [&'static str])> {
        let section = Self::at(path)?;
        let of_host = path.first().is_some_and(|first| first == "nic");
        let kind = match section {
            Self::Marking if of_host => Some("none"),
            Self::Buffer if of_host => Some("unlimited"),
            _ => section.default_kind(),
        };
        Some((kind, section.common()))
    }

    /// The keys that stay when the kind changes.
    pub(crate) const fn common(self) -> &'static [&'static str] {
        match self {
            Self::Transport => OF_ANY_TRANSPORT,
            _ => &[],
        }
    }

    /// The names of published sets of settings that its kind has, as the key `profile`.
    pub(crate) fn profiles(self, kind: &str) -> Option<&'static [&'static str]> {
        match (self, kind) {
            (Self::Group | Self::Transport, "dcqcn") => Some(dcqcn::Profile::NAMES),
            (Self::Group | Self::Receiver | Self::Transport, _) => {
                Some(tidegate_transport::Config::PROFILES)
            }
            (Self::Rule, "dctcp") => Some(window::dctcp::Config::PROFILES),
            (Self::Tagging, _) => Some(pias::Profile::NAMES),
            _ => None,
        }
    }

    /// The profile of a table that names none.
    pub(crate) fn default_profile(self, kind: &str) -> Option<&'static str> {
        match (self, kind) {
            (Self::Group | Self::Transport, "dcqcn") => Some("paper"),
            (Self::Group | Self::Transport, _) => Some(PROFILE),
            (Self::Rule, "dctcp") => Some("rfc8257"),
            (Self::Tagging, _) => Some("ns2"),
            _ => None,
        }
    }

    /// The settings of a kind and profile as they are without a word in the file.
    pub(crate) fn part(self, kind: &str, profile: Option<&str>) -> Option<Box<dyn Part>> {
        let profile = profile.or_else(|| self.default_profile(kind));
        Some(match self {
            Self::Buffer | Self::Egress => Box::new(buffer::Config::named(kind)?),
            Self::Group | Self::Transport if kind == "dcqcn" => Box::new(dcqcn(profile?, LINE)?),
            Self::Group | Self::Receiver | Self::Transport => Box::new(
                tidegate_transport::Config::profile(profile.unwrap_or(PROFILE))?,
            ),
            Self::HostDelay => Box::new(HostDelay::default()),
            Self::Marking => Box::new(mark::Config::named(kind)?),
            Self::Measure => Box::new(workload::Window::default()),
            Self::Probe => Box::new(probe::Config::default()),
            Self::Rule => Box::new(rule(kind, profile)?),
            Self::Scheduler => Box::new(sched::Config::named(kind)?),
            Self::Tagging => Box::new(pias::Profile::read(profile?).ok()?.config()),
            Self::Topology => Box::new(topology::Config::named(kind)?),
            Self::Traffic => Box::new(workload::Source::named(kind)?),
            _ => return None,
        })
    }

    /// All keys of a kind but `kind` itself, in the order of the reference. An unknown kind has those
    /// that are of no kind.
    pub(crate) fn keys(self, kind: &str) -> Vec<Key> {
        let mut keys = self.own_keys(kind);
        if let Some(profiles) = self.profiles(kind) {
            keys.insert(0, profile_key(profiles, self.default_profile(kind)));
        }
        let part = self.part(kind, None);
        let fields = part.iter().flat_map(|part| part.fields());
        for field in fields {
            let default = part.as_ref().and_then(|part| part.value(field.name));
            let derived = match (self, kind, field.name) {
                (Self::Traffic, "burst" | "long-lived", _) => None,
                (Self::Traffic, _, "link") => Some((HOSTS, HOSTS_DOC)),
                (Self::Traffic, _, "oversubscription") => Some((FABRIC, FABRIC_DOC)),
                _ => None,
            };
            let mut doc = tidy(field.doc);
            if field.name == "sizes" {
                doc.push_str(" `file:NAME` is a table of sizes in a file: lines of `size cdf`.");
            }
            keys.push(Key {
                name: field.name,
                doc: match derived {
                    Some((_, more)) => format!("{doc} {more}").into(),
                    None => doc.into(),
                },
                shape: match derived {
                    Some((word, _)) => Shape::Derived(field.form, word),
                    None => Shape::Setting(field.form),
                },
                default: match (derived, self) {
                    (Some((word, _)), _) => Some(toml_of(field.form, word)),
                    // The sender's.
                    (None, Self::Receiver) => None,
                    (None, _) => default.map(|text| toml_of(field.form, &text)),
                },
            });
        }
        keys
    }

    /// The names of all keys of a kind, `kind` included.
    pub(crate) fn names(self, kind: &str) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.own_keys(kind).iter().map(|key| key.name).collect();
        if let Some(part) = self.part(kind, None) {
            names.extend(part.fields().iter().map(|field| field.name));
        }
        if self.profiles(kind).is_some() {
            names.push("profile");
        }
        if self.kinds().is_some() {
            names.push("kind");
        }
        if self == Self::Root {
            names.push("sweep");
        }
        names
    }

    /// The keys that only files have.
    pub(crate) fn own_keys(self, kind: &str) -> Vec<Key> {
        match self {
            Self::Accounting => vec![
                number("per_packet", PER_PACKET, 65_535, "40"),
                number("least", LEAST, 65_535, "0"),
            ],
            Self::Buffer if kind == "pfc" => vec![optional_table("egress", EGRESS, Self::Egress)],
            Self::Marking if kind == "or" => vec![
                table(
                    "first",
                    "The scheme whose rule is counted when both mark.",
                    Self::Marking,
                ),
                table("second", "The other scheme.", Self::Marking),
            ],
            Self::Measure => vec![
                setting::<Convention>("convention", CONVENTION, &Convention::TcnPaper),
                setting::<Span>("stalled", STALLED, &Stop::default().stalled),
            ],
            Self::Nic => vec![
                setting::<NonEct>("non_ect", NON_ECT, &NonEct::Pass),
                table("marking", MARKING, Self::Marking),
                table("scheduler", SCHEDULER, Self::Scheduler),
                table("buffer", BUFFER, Self::Buffer),
            ],
            Self::Observe => vec![
                selection("ports", PORTS, PORT_WORDS),
                selection("links", LINKS, PORT_WORDS),
                selection("flows", FLOWS, FLOW_WORDS),
                table(
                    "window",
                    "The part of the run that is observed.",
                    Self::Window,
                ),
                optional_table("series", SERIES, Self::Series),
            ],
            Self::Root => root_keys(),
            Self::Receiver => vec![table("rule", RECEIVER_RULE, Self::Rule)],
            Self::Series => vec![
                text(
                    "interval",
                    "The time between two samples.",
                    Form::Span,
                    "\"10us\"",
                ),
                number("limit", LIMIT, u32::MAX.into(), "100000"),
                selection("queues", QUEUES, PORT_WORDS),
                selection("links", "Links whose bytes are sampled.", PORT_WORDS),
                selection("flows", "Flows, by number, that are sampled.", FLOW_WORDS),
            ],
            Self::Switch => vec![
                setting::<NonEct>("non_ect", NON_ECT, &NonEct::Pass),
                setting::<Ecmp>("ecmp", ECMP, &Ecmp::PerNode),
                table("marking", MARKING, Self::Marking),
                table("scheduler", SCHEDULER, Self::Scheduler),
                table("buffer", BUFFER, Self::Buffer),
            ],
            Self::Traffic if kind == "list" => vec![
                needed("file", LIST_FILE, ANY_TEXT),
                needed("flows", LIST_TEXT, ANY_TEXT),
                number(
                    "group",
                    "The group that results are told apart by.",
                    255,
                    "0",
                ),
            ],
            Self::Group | Self::Transport => transport_keys(self, kind),
            Self::Window => vec![
                text("from", "Its beginning.", Form::Span, "\"0ps\""),
                text(
                    "to",
                    "Its end; `none` for that of the run.",
                    OPTIONAL_SPAN,
                    "\"none\"",
                ),
            ],
            _ => Vec::new(),
        }
    }
}

fn root_keys() -> Vec<Key> {
    let with_doc = |name, doc: &'static str, shape| Key {
        name,
        doc: doc.into(),
        shape,
        default: None,
    };
    let table = |name, doc, section| with_doc(name, doc, Shape::Table(section, &[]));
    vec![
        needed("name", NAME, ANY_TEXT),
        needed(
            "title",
            "What reports call it; the name if it is left out.",
            ANY_TEXT,
        ),
        number("seed", SEED, u64::MAX, "1"),
        number("runs", RUNS, u32::MAX.into(), "1"),
        table("topology", "Hosts, switches and cables.", Section::Topology),
        table("switch", "The ports of switches.", Section::Switch),
        with_doc("nic", NIC, Shape::OptionalTable(Section::Nic)),
        table("transport", "What the hosts speak.", Section::Transport),
        with_doc(
            "traffic",
            "What the hosts send: sources of flows.",
            Shape::Tables(Section::Traffic),
        ),
        with_doc(
            "probe",
            "Pings, which are no flows.",
            Shape::Tables(Section::Probe),
        ),
        table(
            "measure",
            "Which flows count, and when the run ends.",
            Section::Measure,
        ),
        table(
            "observe",
            "What is written down besides the flows.",
            Section::Observe,
        ),
    ]
}

fn transport_keys(section: Section, kind: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    if section == Section::Transport {
        keys.push(setting::<Opening>("opening", OPENING, &Opening::Ready));
        keys.push(Key {
            name: "accounting",
            doc: ACCOUNTING.into(),
            shape: Shape::Table(Section::Accounting, ACCOUNTINGS),
            default: Some("\"ip\"".into()),
        });
        keys.push(optional_table("tagging", TAGGING, Section::Tagging));
        keys.push(table(
            "host_delay",
            "What hosts add to the way of a packet.",
            Section::HostDelay,
        ));
        keys.push(Key {
            name: "group",
            doc: GROUP.into(),
            shape: Shape::Tables(Section::Group),
            default: None,
        });
    }
    if kind != "dcqcn" {
        keys.push(table(
            "rule",
            "How the window answers marks and losses.",
            Section::Rule,
        ));
        keys.push(table("receiver", RECEIVER, Section::Receiver));
    }
    keys
}

/// A window rule of a kind and, for DCTCP, of an implementation.
pub(crate) fn rule(kind: &str, profile: Option<&str>) -> Option<window::Config> {
    match profile {
        Some(profile) if kind == "dctcp" => {
            window::dctcp::Config::profile(profile).map(window::Config::Dctcp)
        }
        _ => window::Config::named(kind),
    }
}

/// The settings of a published DCQCN for links of this speed.
pub(crate) fn dcqcn(profile: &str, line: Rate) -> Option<dcqcn::Config> {
    Some(dcqcn::Profile::read(profile).ok()?.config(line))
}

/// The speed for which defaults that depend on one are shown.
pub(crate) const LINE: Rate = Rate::from_gbps(10);

/// Text of which the doc says all.
const ANY_TEXT: Form = Form::Text("");

const OPTIONAL_SPAN: Form = Form::Optional(&Form::Span);

/// A doc comment as running text.
pub(crate) fn tidy(doc: &'static str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A setting's text as TOML.
pub(crate) fn toml_of(form: Form, text: &str) -> String {
    match form {
        Form::Bool | Form::Number(_) => text.to_owned(),
        Form::Ratio => decimal(text).unwrap_or_else(|| super::document::quoted(text)),
        Form::Optional(_) if text == "none" => "\"none\"".into(),
        Form::Optional(inner) => toml_of(*inner, text),
        Form::List(_) if text.is_empty() => "[]".into(),
        Form::List(inner) => {
            let items: Vec<String> = text
                .split(',')
                .map(|item| toml_of(*inner, item.trim()))
                .collect();
            format!("[{}]", items.join(", "))
        }
        _ => super::document::quoted(text),
    }
}

/// A ratio as a decimal number of at most four digits behind the point, if it is one.
fn decimal(text: &str) -> Option<String> {
    let ratio: Ratio = text.parse().ok()?;
    let scaled = u64::from(ratio.numerator()) * 10_000;
    let below = u64::from(ratio.denominator());
    if scaled % below != 0 {
        return None;
    }
    let (whole, rest) = (scaled / below / 10_000, scaled / below % 10_000);
    let digits = format!("{whole}.{rest:04}");
    Some(
        digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
    )
}

fn table(name: &'static str, doc: &'static str, section: Section) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::Table(section, &[]),
        default: None,
    }
}

fn optional_table(name: &'static str, doc: &'static str, section: Section) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::OptionalTable(section),
        default: Some("\"none\"".into()),
    }
}

fn selection(name: &'static str, doc: &'static str, words: &'static [&'static str]) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::Selection(words),
        default: Some("\"none\"".into()),
    }
}

fn text(name: &'static str, doc: &'static str, form: Form, default: &str) -> Key {
    Key {
        default: Some(default.into()),
        ..needed(name, doc, form)
    }
}

fn needed(name: &'static str, doc: &'static str, form: Form) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::Setting(form),
        default: None,
    }
}

fn number(name: &'static str, doc: &'static str, most: u64, default: &str) -> Key {
    text(name, doc, Form::Number(most), default)
}

fn setting<T: Setting>(name: &'static str, doc: &'static str, default: &T) -> Key {
    text(name, doc, T::FORM, &toml_of(T::FORM, &default.write()))
}

fn profile_key(names: &'static [&'static str], default: Option<&'static str>) -> Key {
    let words = names.join("`, `");
    Key {
        name: "profile",
        doc: format!("A published set of settings, which other keys then change: `{words}`.")
            .into(),
        shape: Shape::Profile(names),
        default: default.map(super::document::quoted),
    }
}

const ACCOUNTING: &str = "How many bytes a packet has in queues and on wires: `ip` (40 bytes of \
    headers), `ethernet` (with preamble and gap: 78 bytes, at least 84), or a table of numbers.";
const BUFFER: &str = "Which packets are stored: one buffer for the whole node.";
const CONVENTION: &str = "What counts as small and large, when a flow is complete, and what a \
    percentile is.";
const ECMP: &str = "How switches choose among ways of equal length.";
const EGRESS: &str = "A buffer behind the ingress accounting, which may drop; `none` for no limit.";
const FABRIC_DOC: &str = "`fabric` is that of the leaves of this topology.";
const FLOWS: &str = "Flows, by number, whose goodput is measured.";
const GROUP: &str = "Further transports: flows of group 1 speak the first of them, flows of group 2 \
    the second; flows of a higher group the last.";
const HOSTS_DOC: &str = "`hosts` is the speed of the hosts' cables of this topology.";
const LEAST: &str = "A shorter packet counts as this long.";
const LIMIT: &str = "The most samples: when there would be one more, every second one is forgotten \
    and the interval doubles.";
const LINKS: &str = "Links whose load is measured, as `ports`.";
const LIST_FILE: &str = "A CSV file of flows, `id,start_s,src,dst,bytes`, beside the scenario.";
const LIST_TEXT: &str = "The same lines in the scenario itself, instead of `file`.";
const MARKING: &str = "Which packets are marked.";
const NAME: &str = "The name in file names, of letters, digits, `.`, `_` and `-`; that of the file if it \
    is left out.";
const NIC: &str = "The ports of hosts; `none` for ideal ones, first in, first out without a limit.";
const NON_ECT: &str = "What happens to packets that cannot be marked.";
const OPENING: &str = "Which connection a flow uses.";
const PER_PACKET: &str = "Bytes of headers and framing that every packet has besides its payload.";
const PORTS: &str = "Ports whose queues keep distributions of length and waiting time: `all`, \
    `switches`, `none`, or names such as `leaf0>host3`, in which `*` stands for anything.";
const QUEUES: &str =
    "Ports whose queues are sampled, as `ports`; `leaf0>host3:1` is queue 1 alone.";
const RECEIVER: &str = "What receivers do otherwise than senders. All that is left out is as the \
    sender has it.";
const RECEIVER_RULE: &str = "The window of the receiver's side, for data that it would send.";
const RUNS: &str = "How often each point is repeated, with the seeds that follow.";
const SCHEDULER: &str = "Which packet leaves next.";
const SEED: &str = "The seed of everything random.";
const SERIES: &str = "What is written down again and again.";
const STALLED: &str = "The run is given up when nothing has been delivered for this long.";
const TAGGING: &str =
    "PIAS tags, which choose the first queues; `none` for queues by service alone.";
