//! Layout of scenario files: every section, kind and key.
//!
//! Most keys are settings of the libraries and come from their field tables. This module adds only
//! the parts that libraries do not have: the sections themselves, and keys that choose or combine
//! settings.

mod doc;
mod key;
pub(crate) mod reference;
pub(crate) mod schema;

pub(crate) use doc::tidy;
pub(crate) use key::{Key, Shape, toml_of};

use tidegate_dataplane::{NonEct, buffer, classify, mark, sched};
use tidegate_sim::flow_control;
use tidegate_sim::observe::{Convention, Observe};
use tidegate_sim::setup::{HostDelay, HostReceive, Opening, Stop};
use tidegate_sim::workload::{self, Published, probe};
use tidegate_sim::{Ecmp, topology};
use tidegate_transport::rate::dcqcn;
use tidegate_transport::{cc, pias};
use tidegate_units::{About, Catalogue, Form, Parameters, Piece, Rate, Setting, Span};

use crate::text::document::now;
use doc::{
    ACCOUNTING, BASELINE, BUFFER, CONVENTION, ECMP, FABRIC_DOC, FLOW_CONTROL, FLOW_PORTS, FLOWS,
    GROUP, HOSTS_DOC, IDEAL, LEAST, LIMIT, LINKS, LIST_FILE, LIST_TEXT, MARKING, NAME, NIC,
    NON_ECT, OPENING, PER_PACKET, PERIOD, PORT_FLOWS, PORTS, QUEUES, RECEIVER, RECEIVER_CC, RUNS,
    SCHEDULER, SEED, SERIES, STALLED, STORM, TAGGING, THREADS, TRACE, TRANSPORT_CC,
};
use key::{needed, number, optional_table, profile_key, selection, setting, table, tables, text};

/// A table of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Accounting,
    Buffer,
    CongestionControl,
    /// Sections of a live switch's file, like the three named `Live…`. The reader adds the settings
    /// that only the switch has.
    Dscp,
    Egress,
    FlowControl,
    Group,
    HostDelay,
    HostReceive,
    LiveFile,
    LivePort,
    LiveSwitch,
    Marking,
    Measure,
    Nic,
    Observe,
    PortFlows,
    Probe,
    Receiver,
    Root,
    Scheduler,
    Series,
    Switch,
    Tagging,
    Topology,
    Traffic,
    Transport,
    Window,
}

/// Words that select a packet size convention.
pub(crate) const ACCOUNTINGS: &[&str] = &["ip", "ethernet"];

/// Word for the rate of the host links.
pub(crate) const HOSTS: &str = "hosts";

/// Word for the oversubscription of the leaves.
pub(crate) const FABRIC: &str = "fabric";

/// Default stack of a transport.
pub(crate) const PROFILE: &str = "tcn-sim";

const PORT_WORDS: &[&str] = &["all", "none", "switches"];
const FLOW_WORDS: &[&str] = &["all", "none"];

/// Keys of `[transport]` that all kinds share.
const OF_ANY_TRANSPORT: &[&str] =
    &["accounting", "group", "host_delay", "host_receive", "opening", "tagging"];

impl Section {
    /// All sections of a scenario, in the order of a file.
    pub(crate) const ALL: [Self; 24] = [
        Self::Root,
        Self::Topology,
        Self::Switch,
        Self::Marking,
        Self::Scheduler,
        Self::Buffer,
        Self::Egress,
        Self::FlowControl,
        Self::Nic,
        Self::Transport,
        Self::CongestionControl,
        Self::Receiver,
        Self::Accounting,
        Self::Tagging,
        Self::HostDelay,
        Self::HostReceive,
        Self::Group,
        Self::Traffic,
        Self::Probe,
        Self::Measure,
        Self::Observe,
        Self::Window,
        Self::Series,
        Self::PortFlows,
    ];

    /// Section of the table at a path.
    pub(crate) fn at(path: &[impl AsRef<str>]) -> Option<Self> {
        let mut section = Self::Root;
        let mut steps = path.iter().map(AsRef::as_ref);
        while let Some(step) = steps.next() {
            // The only kind that has tables of its own.
            let made_of_others = section.parts().find(|about| !about.pieces.is_empty());
            let keys = section.own_keys(match section {
                Self::Group | Self::Transport => "tcp",
                _ => made_of_others.map_or("", |about| about.name),
            });
            section = match keys.iter().find(|key| key.name == now(step))?.shape {
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

    /// Kinds of the section; `None` for a table without kinds.
    pub(crate) fn kinds(self) -> Option<Vec<&'static str>> {
        Some(match self {
            // A buffer with its own egress buffer cannot be one.
            Self::Egress => names(self.parts().filter(|about| about.pieces.is_empty())),
            Self::Group | Self::Transport => vec!["dcqcn", "tcp"],
            Self::Traffic => {
                let mut names = names(self.parts());
                names.extend(Published::NAMES);
                names.sort_unstable();
                names
            }
            Self::Buffer
            | Self::FlowControl
            | Self::Marking
            | Self::CongestionControl
            | Self::Scheduler
            | Self::Topology => names(self.parts()),
            _ => return None,
        })
    }

    /// Catalogue entries of its kinds.
    fn parts(self) -> impl Iterator<Item = About> {
        let entries = match self {
            Self::Buffer | Self::Egress => buffer::Config::entries(),
            Self::FlowControl => flow_control::Config::entries(),
            Self::Marking => mark::Config::entries(),
            Self::CongestionControl => cc::Config::entries(),
            Self::Scheduler => sched::Config::entries(),
            Self::Topology => topology::Config::entries(),
            Self::Traffic => workload::Source::entries(),
            _ => Vec::new(),
        };
        entries.into_iter().map(|entry| entry.about)
    }

    /// Catalogue entry of a kind.
    pub(crate) fn about(self, kind: &str) -> Option<About> {
        self.parts().find(|about| about.name == kind)
    }

    /// Keys of the parts of a composed kind.
    fn pieces(self, kind: &str) -> Vec<Key> {
        let section = match self {
            Self::Buffer => Self::Egress,
            other => other,
        };
        let pieces = self.about(kind).map_or(&[][..], |about| about.pieces);
        let key = |piece: &Piece| {
            if piece.example.is_none() {
                optional_table(piece.key, piece.doc, section)
            } else {
                table(piece.key, piece.doc, section)
            }
        };
        pieces.iter().map(key).collect()
    }

    /// Kind of a table without `kind`; `None` if `kind` is required.
    pub(crate) const fn default_kind(self) -> Option<&'static str> {
        match self {
            Self::Buffer => Some("per-port"),
            Self::Egress => Some("unlimited"),
            Self::Group | Self::Transport => Some("tcp"),
            Self::Marking => Some("queue-red"),
            Self::CongestionControl => Some("dctcp"),
            Self::Scheduler => Some("fifo"),
            Self::Topology => Some("leaf-spine"),
            _ => None,
        }
    }

    /// For the table at a path: its default kind, and the keys that survive a change of kind;
    /// `None` if there is no table at the path.
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

    /// Keys that survive a change of kind.
    pub(crate) const fn common(self) -> &'static [&'static str] {
        match self {
            Self::Transport => OF_ANY_TRANSPORT,
            _ => &[],
        }
    }

    /// Names of published sets of settings, values of the key `profile`.
    pub(crate) fn profiles(self, kind: &str) -> Option<&'static [&'static str]> {
        match (self, kind) {
            (Self::Group | Self::Transport, "dcqcn") => Some(dcqcn::Profile::NAMES),
            (Self::Group | Self::Receiver | Self::Transport, _) => {
                Some(tidegate_transport::Profile::NAMES)
            }
            (Self::CongestionControl, "dctcp") => Some(cc::dctcp::Config::PROFILES),
            (Self::Tagging, _) => Some(pias::Profile::NAMES),
            _ => None,
        }
    }

    /// Default profile of a kind.
    pub(crate) fn default_profile(self, kind: &str) -> Option<&'static str> {
        match (self, kind) {
            (Self::Group | Self::Transport, "dcqcn") => Some("paper"),
            (Self::Group | Self::Transport, _) => Some(PROFILE),
            (Self::CongestionControl, "dctcp") => Some("rfc8257"),
            (Self::Tagging, _) => Some("ns2"),
            _ => None,
        }
    }

    /// Default settings of a kind and profile.
    pub(crate) fn part(self, kind: &str, profile: Option<&str>) -> Option<Box<dyn Parameters>> {
        let profile = profile.or_else(|| self.default_profile(kind));
        Some(match self {
            Self::Buffer | Self::Egress => Box::new(buffer::Config::named(kind)?),
            Self::Group | Self::Transport if kind == "dcqcn" => Box::new(dcqcn(profile?, LINE)?),
            Self::Group | Self::Receiver | Self::Transport => {
                Box::new(tidegate_transport::Config::profile(profile.unwrap_or(PROFILE))?)
            }
            Self::Dscp => Box::new(classify::Config::default()),
            Self::FlowControl => Box::new(flow_control::Config::named(kind)?),
            Self::HostDelay => Box::new(HostDelay::default()),
            Self::HostReceive => Box::new(HostReceive::default()),
            Self::Marking => Box::new(mark::Config::named(kind)?),
            Self::Measure => Box::new(workload::Window::default()),
            Self::Probe => Box::new(probe::Config::default()),
            Self::CongestionControl => Box::new(cc(kind, profile)?),
            Self::Scheduler => Box::new(sched::Config::named(kind)?),
            Self::Tagging => Box::new(pias::Profile::read(profile?).ok()?.config()),
            Self::Topology => Box::new(topology::Config::named(kind)?),
            Self::Traffic => Box::new(workload::Source::named(kind)?),
            _ => return None,
        })
    }

    /// All keys of a kind except `kind`, in the order of the reference. An unknown kind has only
    /// the shared keys.
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
                (Self::Traffic, "arrivals" | "burst" | "long-lived" | "messages", _) => None,
                (Self::Traffic, _, "link") => Some((HOSTS, HOSTS_DOC)),
                (Self::Traffic, _, "oversubscription") => Some((FABRIC, FABRIC_DOC)),
                _ => None,
            };
            let mut doc = tidy(field.doc);
            if field.name == "sizes" {
                doc.push_str(" `file:NAME` is a table of sizes in a file: lines of `size cdf`.");
            }
            if field.name == "gaps" {
                doc.push_str(" `file:NAME` is a table in a file: lines of `gap cdf`.");
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

    /// Names of all keys of a kind, `kind` included.
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

    /// Keys that exist only in files, not in a library.
    pub(crate) fn own_keys(self, kind: &str) -> Vec<Key> {
        match self {
            Self::Accounting => vec![
                number("per_packet", PER_PACKET, 65_535, "40"),
                number("least", LEAST, 65_535, "0"),
            ],
            Self::Buffer | Self::Marking => self.pieces(kind),
            Self::LiveFile => vec![
                table("switch", "Settings of all ports.", Self::LiveSwitch),
                tables("port", "The ports.", Self::LivePort),
            ],
            Self::LiveSwitch => vec![
                table("marking", MARKING, Self::Marking),
                table("scheduler", SCHEDULER, Self::Scheduler),
                table("buffer", BUFFER, Self::Buffer),
                table("dscp", "Mapping of packets to queues.", Self::Dscp),
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
                table("window", "Observed part of the run.", Self::Window),
                optional_table("series", SERIES, Self::Series),
                setting::<Option<u32>>("trace", TRACE, &None),
                optional_table("port_flows", PORT_FLOWS, Self::PortFlows),
                setting::<Span>("storm", STORM, &Observe::STORM),
            ],
            Self::PortFlows => vec![
                selection("ports", FLOW_PORTS, PORT_WORDS),
                setting::<Span>("period", PERIOD, &Span::ZERO),
                setting::<Option<Span>>("ideal", IDEAL, &None),
            ],
            Self::Root => root_keys(),
            Self::Receiver => vec![table("cc", RECEIVER_CC, Self::CongestionControl)],
            Self::Series => vec![
                text("interval", "Sampling interval.", Form::Span, "\"10us\""),
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
                optional_table("flow_control", FLOW_CONTROL, Self::FlowControl),
            ],
            Self::Traffic if kind == "list" => vec![
                needed("file", LIST_FILE, ANY_TEXT),
                needed("flows", LIST_TEXT, ANY_TEXT),
                number("group", "Group of its flows in the results.", 255, "0"),
            ],
            Self::Group | Self::Transport => transport_keys(self, kind),
            Self::Window => vec![
                text("from", "Start of the window.", Form::Span, "\"0ps\""),
                text(
                    "to",
                    "End of the window; `none` for the end of the run.",
                    OPTIONAL_SPAN,
                    "\"none\"",
                ),
            ],
            _ => Vec::new(),
        }
    }
}

fn names(parts: impl Iterator<Item = About>) -> Vec<&'static str> {
    parts.map(|about| about.name).collect()
}

/// Upper bound of `threads`: no shared-memory machine has more cores.
pub(crate) const MAX_THREADS: u32 = 4096;

fn root_keys() -> Vec<Key> {
    vec![
        needed("name", NAME, ANY_TEXT),
        needed("title", "Title in reports. Default: `name`.", ANY_TEXT),
        needed("baseline", BASELINE, ANY_TEXT),
        number("seed", SEED, u64::MAX, "1"),
        number("runs", RUNS, u32::MAX.into(), "1"),
        number("threads", THREADS, MAX_THREADS.into(), "1"),
        table("topology", "Hosts, switches and links.", Section::Topology),
        table("switch", "Ports of the switches.", Section::Switch),
        Key { default: None, ..optional_table("nic", NIC, Section::Nic) },
        table("transport", "Transport protocol of the hosts.", Section::Transport),
        tables("traffic", "Flows: any number of sources.", Section::Traffic),
        tables("probe", "Pings, which do not count as flows.", Section::Probe),
        table("measure", "Flows that count, and the end of the run.", Section::Measure),
        table("observe", "Measurements beyond the flows.", Section::Observe),
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
        keys.push(table("host_delay", "Delay that hosts add to a packet.", Section::HostDelay));
        keys.push(table("host_receive", "Receive path of the hosts.", Section::HostReceive));
        keys.push(tables("group", GROUP, Section::Group));
    }
    if kind != "dcqcn" {
        keys.push(table("cc", TRANSPORT_CC, Section::CongestionControl));
        keys.push(table("receiver", RECEIVER, Section::Receiver));
    }
    keys
}

/// A congestion control of a kind and, for DCTCP, of an implementation.
pub(crate) fn cc(kind: &str, profile: Option<&str>) -> Option<cc::Config> {
    match profile {
        Some(profile) if kind == "dctcp" => {
            cc::dctcp::Config::profile(profile).map(cc::Config::Dctcp)
        }
        _ => cc::Config::named(kind),
    }
}

/// Settings of a published DCQCN for links of this rate.
pub(crate) fn dcqcn(profile: &str, line: Rate) -> Option<dcqcn::Config> {
    Some(dcqcn::Profile::read(profile).ok()?.config(line))
}

/// Link rate for which rate-dependent defaults are shown.
pub(crate) const LINE: Rate = Rate::from_gbps(10);

/// Free text; the doc explains it.
const ANY_TEXT: Form = Form::Text("");

const OPTIONAL_SPAN: Form = Form::Optional(&Form::Span);
