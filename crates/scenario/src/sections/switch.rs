//! `[switch]` and its tables.

use tidegate_dataplane::buffer::pfc;
use tidegate_dataplane::{NonEct, buffer, mark, sched};
use tidegate_sim::{Ecmp, flow_control};
use tidegate_units::{Catalogue, Named, Piece};

use super::nic::Nic;
use crate::layout::{Key, Section, Shape, names};
use crate::sections::declare::{Item, Optional, Table, section};
use crate::settings::reader::{Located, Reader};
use crate::settings::writer::Writer;
use crate::text::problem::{Location, Problem};

section! {
    "[switch]",
    /// Ports of the switches.
    pub(crate) struct Switch {
        /// Handling of packets that are not ECN-capable when the scheme marks.
        non_ect: NonEct = NonEct::Pass,
        /// How switches choose among equal-cost paths.
        ecmp: Ecmp = Ecmp::PerNode,
        /// Marking scheme.
        marking: Located<Marking>,
        /// Packet scheduler.
        scheduler: Located<sched::Config>,
        /// Packet buffer: one for the whole node.
        buffer: Located<Buffer>,
        /// Per-flow flow control between switches and their upstream nodes; `none` for only the
        /// pauses of a lossless buffer.
        flow_control: Optional<flow_control::Config>,
    }
    ; written by write
}

/// Resolved texts have always had this order.
fn write(switch: &Located<Switch>, out: &mut Writer<'_>) {
    switch.ecmp.line("ecmp", out);
    switch.flow_control.line("flow_control", out);
    switch.non_ect.line("non_ect", out);
    switch.tables(out);
}

/// Settings of a node's ports.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    pub(crate) marking: &'a Located<Marking>,
    pub(crate) scheduler: &'a Located<sched::Config>,
    pub(crate) buffer: &'a Located<Buffer>,
    pub(crate) non_ect: NonEct,
    pub(crate) whole: &'a Location,
}

macro_rules! nodes {
    ($($table:ident),*) => {$(
        impl Located<$table> {
            /// The settings of its ports.
            pub(crate) fn node(&self) -> Node<'_> {
                Node {
                    marking: &self.marking,
                    scheduler: &self.scheduler,
                    buffer: &self.buffer,
                    non_ect: self.non_ect,
                    whole: &self.locs.whole,
                }
            }
        }
    )*};
}

nodes!(Nic, Switch);

section! {
    "[switch.scheduler]",
    /// Packet scheduler, and with it the number of queues. [More on schedulers](../schedulers.md).
    catalogue sched::Config = "fifo"
}

section! {
    "[switch.flow_control]",
    /// Per-flow flow control between switches and their upstream nodes; `none` for only the pauses
    /// of a lossless buffer.
    catalogue flow_control::Config,
    kind_doc: |_, about| Some(format!("[Description](../{}).", about?.page))
}

/// A marking scheme, or two combined.
#[derive(Clone, Debug)]
pub(crate) enum Marking {
    One(Box<mark::Config>),
    Or(Box<(Located<Self>, Located<Self>)>),
}

/// Maximum nesting of combined schemes.
const DEEPEST_PAIR: u32 = 4;

impl Marking {
    fn read_at(reader: &Reader<'_>, depth: u32) -> Result<Self, Problem> {
        if reader.kind() != "or" {
            return reader.chosen().map(Box::new).map(Self::One);
        }
        if depth == DEEPEST_PAIR {
            let message = "schemes are nested too deeply";
            return Err(Problem::new(message).at(reader.locs().of("kind")));
        }
        let part = |key: &str| {
            let Some(node) = reader.get(key) else {
                let message = format!("`or` has no `{key}`");
                return Err(Problem::new(message).at(reader.locs().of("kind")).help(
                    "`or` combines two schemes, first = { kind = \"…\" } and \
                     second = { kind = \"…\" }",
                ));
            };
            let below = Reader::new(node, Self::SECTION, Self::SECTION.default_kind, reader.files)?;
            let item = Self::read_at(&below, depth + 1)?;
            Ok(below.located(item))
        };
        Ok(Self::Or(Box::new((part("first")?, part("second")?))))
    }
}

impl Located<Marking> {
    /// Location of the scheme's name.
    pub(crate) fn loc(&self) -> &Location {
        match &self.item {
            Marking::One(_) => self.locs.of("kind"),
            Marking::Or(pair) => pair.0.loc(),
        }
    }

    /// The scheme's settings.
    pub(crate) fn config(&self) -> mark::Config {
        match &self.item {
            Marking::One(config) => (**config).clone(),
            Marking::Or(pair) => mark::Config::Or(Box::new((pair.0.config(), pair.1.config()))),
        }
    }
}

impl Table for Marking {
    const SECTION: &'static Section = &Section {
        title: "[switch.marking]",
        doc: "Marking scheme of the switch ports. `[nic]` has the same table.",
        kind_doc: |_, about| {
            let page = about?.page;
            Some(format!("[Scheme, and how to choose its settings](../{page})."))
        },
        own_keys: |kind| pieces(Self::SECTION, kind, Self::SECTION),
        ..Section::catalogue::<mark::Config>(Some("queue-red"))
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        Self::read_at(reader, 0)
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        out.kind(&item.locs);
        match &item.item {
            Self::One(config) => out.part(&**config, |_| true),
            Self::Or(pair) => {
                pair.0.table("first", out);
                pair.1.table("second", out);
            }
        }
    }
}

/// Keys of the parts of a composed kind, which are tables of the section `below`.
fn pieces(section: &Section, kind: &str, below: &'static Section) -> Vec<Key> {
    let pieces = section.about(kind).map_or(&[][..], |about| about.pieces);
    let key = |piece: &Piece| match piece.example {
        None => Key::new(piece.key, piece.doc, Shape::OptionalTable(below)).or("\"none\""),
        Some(_) => Key::new(piece.key, piece.doc, Shape::Table(below, &[])),
    };
    pieces.iter().map(key).collect()
}

/// A buffer, and the egress buffer behind a lossless one.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) ingress: buffer::Config,
    pub(crate) egress: Option<Located<Egress>>,
}

impl Buffer {
    /// The settings of both.
    pub(crate) fn config(&self) -> buffer::Config {
        match (&self.ingress, &self.egress) {
            (buffer::Config::Pfc(pfc), Some(egress)) => {
                buffer::Config::PfcOver(Box::new((pfc.clone(), egress.item.0.clone())))
            }
            (config, _) => config.clone(),
        }
    }
}

impl Table for Buffer {
    const SECTION: &'static Section = &Section {
        title: "[switch.buffer]",
        doc: "Packet buffer: one for the whole switch. [More on buffers](../buffers.md).",
        own_keys: |kind| pieces(Self::SECTION, kind, Egress::SECTION),
        ..Section::catalogue::<buffer::Config>(Some("per-port"))
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        let ingress = reader.chosen()?;
        let egress = reader.optional("egress");
        let egress = egress.map(|node| Located::of(node, None, reader.files)).transpose()?;
        Ok(Self { ingress, egress })
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        out.kind(&item.locs);
        out.part(&item.ingress, |_| true);
        if let Some(egress) = &item.egress {
            egress.table("egress", out);
        }
    }
}

/// An egress buffer.
#[derive(Clone, Debug)]
pub(crate) struct Egress(pub(crate) buffer::Config);

impl Table for Egress {
    const SECTION: &'static Section = &Section {
        title: "[switch.buffer.egress]",
        doc: pfc::Config::ABOUT.pieces[0].doc,
        // A buffer with its own egress buffer cannot be one.
        kinds: Some(|| {
            let mut entries = buffer::Config::entries();
            entries.retain(|entry| entry.about.pieces.is_empty());
            names(entries)
        }),
        same_as: Some(Buffer::SECTION),
        ..Section::catalogue::<buffer::Config>(Some("unlimited"))
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        reader.chosen().map(Self)
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        out.kind(&item.locs);
        out.part(&item.item.0, |_| true);
    }
}
