//! File of a live switch: a table `[switch]` for all ports, and a table `[[port]]` for each port.

use tidegate_dataplane::{NonEct, buffer, classify, mark, sched};
use tidegate_units::{ConfigError, Setting, Settings};

use crate::files::Listed;
use crate::layout::{Key, Section, Shape};
use crate::sections::switch::{Buffer, Marking, Node};
use crate::settings::limits::Limits;
use crate::settings::reader::{Located, Reader};
use crate::setup::build::{PortSet, check_node};
use crate::text::document::{self, Table, Value};
use crate::text::problem::{Location, Problem, Source};

/// A live switch as described by its file. The switch supplies types for its own settings: `O` for
/// all ports, with a `seed`; `P` for one port, with an `interface` and a `rate`.
#[derive(Debug)]
pub struct SwitchFile<'a, O, P> {
    /// Marking scheme.
    pub marking: &'a mut mark::Config,
    /// Packet scheduler.
    pub scheduling: &'a mut sched::Config,
    /// Packet buffer.
    pub buffer: &'a mut buffer::Config,
    /// Mapping of packets to queues.
    pub dscp: &'a mut classify::Config,
    /// Other settings of all ports.
    pub options: &'a mut O,
    /// Ports, in the order of the file.
    pub ports: &'a mut Vec<P>,
    /// Checks the ranges of `options`.
    pub check: fn(&O) -> Result<(), ConfigError>,
    /// Checks the ranges of a port.
    pub check_port: fn(&P) -> Result<(), ConfigError>,
}

/// The whole file.
const FILE: &Section = &Section { own_keys: |_| tables(&["switch", "port"]), ..Section::PLAIN };

/// `[switch]`, without the settings that only the switch has.
const SWITCH: &Section = &Section {
    own_keys: |_| tables(&["marking", "scheduler", "buffer", "dscp"]),
    ..Section::PLAIN
};

fn tables(names: &[&'static str]) -> Vec<Key> {
    names.iter().map(|name| Key::new(name, "", Shape::Table(&Section::PLAIN, &[]))).collect()
}

const DSCP: &Section =
    &Section { part: |_, _| Some(Box::new(classify::Config::default())), ..Section::PLAIN };

impl<O: Settings, P: Settings> SwitchFile<'_, O, P> {
    /// Reads the text of a file that errors call `name`. Settings that it omits keep their values.
    pub fn read(self, name: &str, text: &str) -> Result<(), Problem> {
        let source = Source::new(name, text);
        let root = document::Node {
            value: Value::Table(Table::parse(&source)?),
            loc: Location { source, span: 0..0 },
        };
        let files = &Listed::none();
        let root = Reader::new(&root, FILE, None, files)?;
        let ports = root.tables("port")?.iter().map(|node| port(node, files, self.check_port));
        *self.ports = ports.collect::<Result<_, _>>()?;
        let node = root.below("switch");
        let reader = Reader::with_fields(&node, SWITCH, None, files, O::FIELDS)?;
        reader.fill(self.options)?;
        (self.check)(self.options).map_err(|error| reader.locs().problem(&error))?;
        if let Some(node) = reader.get("dscp") {
            Reader::new(node, DSCP, None, files)?.fill(self.dscp)?;
        }
        let marking = match reader.get("marking") {
            Some(node) => Located::of(node, Some(self.marking.name()), files)?,
            None => reader.located(Marking::One(Box::new(self.marking.clone()))),
        };
        let buffer = match reader.get("buffer") {
            Some(node) => Located::of(node, Some(self.buffer.name()), files)?,
            None => reader.located(Buffer { ingress: self.buffer.clone(), egress: None }),
        };
        let node = Node {
            marking: &marking,
            scheduler: &Located::of(&reader.below("scheduler"), None, files)?,
            buffer: &buffer,
            // It is among the options.
            non_ect: NonEct::Pass,
            whole: &reader.locs().whole,
        };
        let rates = self.ports.iter().filter_map(|port| value(port, "rate"));
        let degree = self.ports.len() as u64;
        let set = PortSet {
            rates: rates.collect(),
            degrees: [u32::try_from(degree).unwrap_or(u32::MAX)].into(),
            ports: degree,
            seed: value(self.options, "seed").unwrap_or_default(),
        };
        check_node(&node, &set, &Limits::default())?;
        let made = node.ports();
        *self.marking = made.marking;
        *self.scheduling = made.scheduling;
        *self.buffer = made.buffer;
        Ok(())
    }
}

fn port<P: Settings>(
    node: &document::Node,
    files: &Listed<'_>,
    check: fn(&P) -> Result<(), ConfigError>,
) -> Result<P, Problem> {
    let reader = Reader::with_fields(node, &Section::PLAIN, None, files, P::FIELDS)?;
    if reader.text("interface")?.is_none() {
        let problem = Problem::new("the port has no `interface`").at(&node.loc);
        return Err(problem.help("the name of an interface, such as interface = \"veth0\""));
    }
    let mut port = P::default();
    reader.fill(&mut port)?;
    check(&port).map_err(|error| reader.locs().problem(&error))?;
    Ok(port)
}

fn value<T: Setting>(settings: &impl Settings, field: &str) -> Option<T> {
    T::read(&settings.value(field)?).ok()
}
