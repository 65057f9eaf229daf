//! File of a live switch: a table `[switch]` for all ports, and a table `[[port]]` for each port.

use tidegate_dataplane::{NonEct, buffer, classify, mark, sched};
use tidegate_units::{Setting, Settings};

use crate::layout::Section;
use crate::settings::describe::{self, Marking, Switch};
use crate::settings::limits::Limits;
use crate::settings::reader::Reader;
use crate::setup::build::{PortSet, check_node, ports_of};
use crate::text::document::{Node, Table, Value};
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
}

impl<O: Settings, P: Settings> SwitchFile<'_, O, P> {
    /// Reads the text of a file that errors call `name`. Settings that it omits keep their values.
    pub fn read(self, name: &str, text: &str) -> Result<(), Problem> {
        let source = Source::new(name, text);
        let root = Node {
            value: Value::Table(Table::parse(&source)?),
            loc: Location { source, span: 0..0 },
        };
        let root = Reader::new(&root, Section::LiveFile, None)?;
        let ports = root.tables("port")?.iter().map(port);
        *self.ports = ports.collect::<Result<_, _>>()?;
        let node = root.below("switch");
        let reader = Reader::with_fields(&node, Section::LiveSwitch, None, O::FIELDS)?;
        reader.fill(self.options)?;
        if let Some(node) = reader.get("dscp") {
            Reader::new(node, Section::Dscp, None)?.fill(self.dscp)?;
        }
        let switch = self.switch(&reader)?;
        let rates = self.ports.iter().filter_map(|port| value(port, "rate"));
        let degree = self.ports.len() as u64;
        let set = PortSet {
            rates: rates.collect(),
            degrees: [u32::try_from(degree).unwrap_or(u32::MAX)].into(),
            ports: degree,
            seed: value(self.options, "seed").unwrap_or_default(),
        };
        check_node(&switch, &set, &Limits::default())?;
        let made = ports_of(&switch);
        *self.marking = made.marking;
        *self.scheduling = made.scheduling;
        *self.buffer = made.buffer;
        Ok(())
    }

    /// Marking, scheduler and buffer from the file.
    fn switch(&self, reader: &Reader<'_>) -> Result<Switch, Problem> {
        let (buffer, egress) = match reader.get("buffer") {
            Some(node) => describe::buffer(node, self.buffer.name())?,
            None => (reader.located(self.buffer.clone()), None),
        };
        let marking = match reader.get("marking") {
            Some(node) => describe::marking(node, self.marking.name(), 0)?,
            None => Marking::One(Box::new(reader.located(self.marking.clone()))),
        };
        Ok(Switch {
            locs: reader.locs().clone(),
            marking,
            scheduler: describe::scheduler(&reader.below("scheduler"))?,
            buffer,
            egress,
            // It is among the options.
            non_ect: NonEct::Pass,
        })
    }
}

fn port<P: Settings>(node: &Node) -> Result<P, Problem> {
    let reader = Reader::with_fields(node, Section::LivePort, None, P::FIELDS)?;
    if describe::text(&reader, "interface")?.is_none() {
        let problem = Problem::new("the port has no `interface`").at(&node.loc);
        return Err(problem.help("the name of an interface, such as interface = \"veth0\""));
    }
    let mut port = P::default();
    reader.fill(&mut port)?;
    Ok(port)
}

fn value<T: Setting>(settings: &impl Settings, field: &str) -> Option<T> {
    T::read(&settings.value(field)?).ok()
}
