//! `[transport]` and its tables.

use tidegate_sim::setup::{Accounting, HostDelay, HostReceive, Opening};
use tidegate_transport::{Config, Profile, cc, pias, protocol};
use tidegate_units::{Catalogue, Rate, Setting};

use crate::layout::{Key, Profiles, Section, Shape, names};
use crate::sections::declare::{Item, Optional, Table, Tables, section};
use crate::settings::reader::{Located, Locations, Reader, suggest};
use crate::settings::writer::Writer;
use crate::text::document::{Node, quoted};
use crate::text::problem::Problem;

/// Name of TCP, which is not in the list of the other transports.
const TCP: &str = "tcp";

/// Default stack of TCP.
const PROFILE: &str = "tcn-sim";

/// Link rate for which rate-dependent defaults are shown.
const LINE: Rate = Rate::from_gbps(10);

/// A second rate, to find defaults that depend on the rate.
const ANOTHER_LINE: Rate = Rate::from_gbps(77);

section! {
    "[transport]",
    /// Transport protocol of the hosts.
    pub(crate) struct Shared {
        /// Connection that a flow uses.
        opening: Opening = Opening::Ready,
        /// Size of a packet in queues and on links: `ip` (40 bytes of headers), `ethernet` (78
        /// bytes with preamble and gap, at least 84 in all), or a table of numbers.
        accounting: Framing,
        /// PIAS tags, which select the first queues; `none` for queues by service alone.
        tagging: Optional<pias::Config>,
        /// Delay that hosts add to a packet.
        host_delay: Located<HostDelay>,
        /// Receive path of the hosts.
        host_receive: Located<HostReceive>,
        /// Further transports: flows of group 1 use the first, flows of group 2 the second. Flows
        /// of a higher group use the last.
        group: Tables<Stack>,
    }
}

/// `[transport]`: a protocol, and the settings that all protocols share.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    pub(crate) stack: Stack,
    pub(crate) shared: Shared,
}

impl Table for Transport {
    const SECTION: &'static Section = &Section {
        title: Shared::SECTION.title,
        doc: Shared::SECTION.doc,
        own_keys: |kind| [stack_keys(kind), Shared::keys()].concat(),
        common: Shared::KEYS,
        ..PROTOCOL
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        Ok(Self { stack: Stack::read(reader)?, shared: Shared::read(reader)? })
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        let shared = &item.shared;
        shared.lines(out);
        item.stack.lines(&item.locs, out);
        item.stack.tables(out);
        // Resolved texts have always had this order.
        shared.host_delay.table("host_delay", out);
        shared.host_receive.table("host_receive", out);
        shared.tagging.table("tagging", out);
        shared.group.table("group", out);
    }
}

/// A transport protocol.
#[derive(Clone, Debug)]
pub(crate) enum Stack {
    Other(Other),
    Tcp(Box<Tcp>),
}

/// A transport other than TCP. Its defaults may depend on the rate of the host links.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    name: &'static str,
    profile: Option<&'static str>,
    /// Settings in the file: names and validated texts.
    sets: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub(crate) config: Config,
    pub(crate) cc: Cc,
    pub(crate) receiver: Option<Located<Receiver>>,
}

/// Settings in which receivers differ from senders.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) config: Config,
    pub(crate) cc: Option<Cc>,
}

/// A congestion control.
#[derive(Clone, Debug)]
pub(crate) struct Cc {
    /// Name of its table in the file: `cc`, or the old `rule`.
    spelling: &'static str,
    pub(crate) config: Located<cc::Config>,
}

impl Cc {
    /// The table below a transport or receiver.
    fn read(reader: &Reader<'_>, node: &Node) -> Result<Self, Problem> {
        let config = Located::of(node, None, reader.files)?;
        Ok(Self { spelling: reader.spelling("cc"), config })
    }

    fn write(&self, out: &mut Writer<'_>) {
        self.config.table(self.spelling, out);
    }
}

fn stack_keys(kind: &str) -> Vec<Key> {
    if kind != TCP {
        return Vec::new();
    }
    vec![
        Key::new("cc", "Congestion control of the sender.", Shape::Table(cc::Config::SECTION, &[])),
        Key::new("receiver", RECEIVER.doc, Shape::Table(RECEIVER, &[])),
    ]
}

/// Kinds and keys of a protocol.
const PROTOCOL: Section = Section {
    kinds: Some(|| {
        let mut kinds = names(protocol::Config::entries());
        kinds.push(TCP);
        kinds.sort_unstable();
        kinds
    }),
    entries: protocol::Config::entries,
    default_kind: Some(TCP),
    kind_doc: |_, about| Some(format!("[Description](../{}).", about?.page)),
    own_keys: stack_keys,
    part: |kind, profile| match kind {
        TCP => Some(Box::new(Config::profile(profile?)?)),
        _ => Some(Box::new(protocol::Config::profile(kind, profile, LINE)?)),
    },
    profiles: |kind| match kind {
        TCP => Some(Profiles { names: Profile::NAMES, default: Some(PROFILE) }),
        _ => {
            let protocol::Profiles { names, default } = protocol::Config::profiles(kind)?;
            Some(Profiles { names, default: Some(default) })
        }
    },
    ..Section::PLAIN
};

impl Table for Stack {
    const SECTION: &'static Section = &Section {
        title: "[[transport.group]]",
        doc: "Further transports: flows of group 1 use the first, flows of group 2 the second. \
              Flows of a higher group use the last.",
        same_as: Some(Transport::SECTION),
        ..PROTOCOL
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        match reader.kind() {
            TCP => Tcp::read(reader).map(Box::new).map(Self::Tcp),
            _ => Other::read(reader).map(Self::Other),
        }
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        item.item.lines(&item.locs, out);
        item.item.tables(out);
    }
}

impl Stack {
    fn lines(&self, locs: &Locations, out: &mut Writer<'_>) {
        out.kind(locs);
        match self {
            Self::Other(other) => other.lines(locs, out),
            Self::Tcp(tcp) => out.profiled(&tcp.config, locs, PROFILE),
        }
    }

    fn tables(&self, out: &mut Writer<'_>) {
        let Self::Tcp(tcp) = self else {
            return;
        };
        tcp.cc.write(out);
        if let Some(receiver) = &tcp.receiver {
            receiver.write(&mut out.below("receiver"));
        }
    }
}

impl Other {
    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        let known =
            |name: &str, names: &[&'static str]| names.iter().copied().find(|known| *known == name);
        let name = known(reader.kind(), protocol::Config::NAMES);
        let name = name.expect("the kind is one of the names");
        let profile = protocol::Config::profiles(name).map(|profiles| {
            let profile = reader.profile().and_then(|profile| known(profile, profiles.names));
            profile.unwrap_or(profiles.default)
        });
        let mut other = Self { name, profile, sets: Vec::new() };
        let config = reader.filled(other.config(LINE))?;
        let named = config.fields().iter().filter(|field| reader.get(field.name).is_some());
        let text = |name| config.value(name).unwrap_or_default();
        other.sets = named.map(|field| (field.name, text(field.name))).collect();
        Ok(other)
    }

    /// Settings on links of this rate.
    pub(crate) fn config(&self, line: Rate) -> protocol::Config {
        let config = protocol::Config::profile(self.name, self.profile, line);
        let mut config = config.expect("the transport and the profile are known names");
        for (field, text) in &self.sets {
            config.set(field, text).expect("the text was read before");
        }
        config
    }

    fn lines(&self, locs: &Locations, out: &mut Writer<'_>) {
        if let Some(profile) = self.profile {
            out.line("profile", &quoted(profile));
        }
        let (config, elsewhere) = (self.config(LINE), self.config(ANOTHER_LINE));
        let varies = out.varies_profile();
        out.part(&config, |field| {
            let follows = varies || config.value(field.name) != elsewhere.value(field.name);
            !follows || locs.names(field.name)
        });
    }
}

impl Tcp {
    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        let config = reader.filled(stack(reader.profile().unwrap_or(PROFILE)))?;
        let cc = Cc::read(reader, &reader.below("cc"))?;
        let receiver = match reader.get("receiver") {
            None => None,
            Some(node) => {
                let below = Reader::new(node, RECEIVER, None, reader.files)?;
                let sink = below.profile().map_or_else(|| config.clone(), stack);
                let cc = below.get("cc").map(|node| Cc::read(&below, node)).transpose()?;
                let item = Receiver { config: below.filled(sink)?, cc };
                Some(below.located(item))
            }
        };
        Ok(Self { config, cc, receiver })
    }
}

fn stack(profile: &str) -> Config {
    Config::profile(profile).expect("the profile is one of the names")
}

/// Its defaults are the settings of the sender.
const RECEIVER: &Section = &Section {
    title: "[transport.receiver]",
    doc: "Settings in which receivers differ from senders. The rest is as at the sender.",
    own_keys: |_| {
        let doc = "Congestion control of the receiver's side, for data that it would send.";
        vec![Key::new("cc", doc, Shape::Table(cc::Config::SECTION, &[]))]
    },
    part: |_, _| Some(Box::new(stack(PROFILE))),
    profiles: |_| Some(Profiles { names: Profile::NAMES, default: None }),
    adjust: |_, key| Key { default: None, ..key },
    ..Section::PLAIN
};

impl Located<Receiver> {
    fn write(&self, out: &mut Writer<'_>) {
        if let Some(profile) = &self.locs.profile {
            out.line("profile", &quoted(profile));
        }
        out.part(&self.config, |field| self.locs.names(field.name));
        if let Some(cc) = &self.cc {
            cc.write(out);
        }
    }
}

/// Congestion control of a kind and, for DCTCP, of an implementation.
fn congestion_control(kind: &str, profile: Option<&str>) -> Option<cc::Config> {
    match profile {
        Some(profile) if kind == "dctcp" => {
            cc::dctcp::Config::profile(profile).map(cc::Config::Dctcp)
        }
        _ => cc::Config::named(kind),
    }
}

impl Table for cc::Config {
    const SECTION: &'static Section = &Section {
        title: "[transport.cc]",
        doc: "Congestion control of the sender: how its window answers marks, losses and delay. \
              `rule` is the old name of the table and still accepted.",
        kind_doc: |_, about| Some(format!("[Description](../{}).", about?.page)),
        part: |kind, profile| Some(Box::new(congestion_control(kind, profile)?)),
        profiles: |kind| {
            let names = cc::dctcp::Config::PROFILES;
            (kind == "dctcp").then_some(Profiles { names, default: Some("rfc8257") })
        },
        ..Section::catalogue::<Self>(Some("dctcp"))
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        let item =
            congestion_control(reader.kind(), reader.profile()).expect("both are known names");
        reader.filled(item)
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        out.kind(&item.locs);
        if item.locs.kind == "dctcp" {
            out.profiled(&item.item, &item.locs, "rfc8257");
        } else {
            out.part(&item.item, |_| true);
        }
    }
}

/// Packet size convention.
#[derive(Clone, Debug)]
pub(crate) struct Framing(pub(crate) Accounting);

/// Words that select a packet size convention.
const ACCOUNTINGS: &[&str] = &["ip", "ethernet"];

impl Item for Framing {
    type Default = ();

    fn key(name: &'static str, doc: &'static str, _: Option<()>) -> Key {
        Key::new(name, doc, Shape::Table(Sizes::SECTION, ACCOUNTINGS)).or("\"ip\"")
    }

    fn load(reader: &Reader<'_>, key: &'static str, _: Option<()>) -> Result<Self, Problem> {
        let Some(node) = reader.get(key) else {
            return Ok(Self(Accounting::default()));
        };
        let Some(word) = node.scalar() else {
            let Sizes { per_packet, least } = Located::of(node, None, reader.files)?.item;
            return Ok(Self(Accounting { per_packet, least }));
        };
        match word.as_str() {
            "ip" => Ok(Self(Accounting::default())),
            "ethernet" => Ok(Self(Accounting::ETHERNET)),
            _ => Err(Problem::new(format!("unknown accounting `{word}`"))
                .at(&node.loc)
                .help(suggest(&word, ACCOUNTINGS))),
        }
    }

    fn line(&self, key: &str, out: &mut Writer<'_>) {
        let text = match self.0 {
            accounting if accounting == Accounting::default() => "\"ip\"".to_owned(),
            Accounting::ETHERNET => "\"ethernet\"".to_owned(),
            Accounting { per_packet, least } => {
                format!("{{ per_packet = {per_packet}, least = {least} }}")
            }
        };
        out.line(key, &text);
    }
}

section! {
    "[transport.accounting]",
    /// Size of a packet in queues and on links: `ip` (40 bytes of headers), `ethernet` (78 bytes
    /// with preamble and gap, at least 84 in all), or a table of numbers.
    pub(crate) struct Sizes {
        /// Bytes of headers and framing per packet, in addition to its payload.
        per_packet: u16 = 40,
        /// Minimum size of a packet, in bytes.
        least: u16 = 0,
    }
}

section! {
    "[transport.host_delay]",
    /// Delay that the receiving host adds to each packet.
    settings HostDelay
}

section! {
    "[transport.host_receive]",
    /// Receive path of the hosts: interrupts, receive offload and processing time.
    /// [More on hosts](../hosts.md).
    settings HostReceive
}

impl Table for pias::Config {
    const SECTION: &'static Section = &Section {
        title: "[transport.tagging]",
        doc: "PIAS: senders tag packets by the bytes that their flow has sent. [More on \
              tagging](../transports/pias.md).",
        part: |_, profile| Some(Box::new(pias::Profile::read(profile?).ok()?.config())),
        profiles: |_| Some(Profiles { names: pias::Profile::NAMES, default: Some("ns2") }),
        ..Section::PLAIN
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        let profile = pias::Profile::read(reader.profile().unwrap_or("ns2"));
        let item = reader.filled(profile.expect("the profile is one of the names").config())?;
        pias::Pias::new(&item).map_err(|error| reader.locs().problem(&error))?;
        Ok(item)
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        out.profiled(&item.item, &item.locs, "ns2");
    }
}
