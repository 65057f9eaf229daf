//! Ports to be loaded, from arguments or from the file of a live switch.

use std::collections::BTreeMap;
use std::fs;

use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{buffer, classify, mark, sched};
use tidegate_live::Config;
use tidegate_live::config::{Count, DeviceKind, Options, PortSettings};
use tidegate_scenario::SwitchFile;
use tidegate_units::{Bytes, Catalogue, ConfigError, Field, Rate, Setting, Settings, Size, Span};

use crate::args::{By, Load};
use crate::error::Error;
use crate::setup::{self, Port};

/// A port to be loaded, with the rate that its device still has to report if none is given.
#[derive(Clone, Debug)]
pub struct Requested {
    /// Name of the device.
    pub device: String,
    /// Rate, if one is given.
    pub rate: Option<Rate>,
}

/// Ports to be loaded, and the settings that all have.
#[derive(Clone, Debug)]
pub struct Request {
    /// The ports.
    pub ports: Vec<Requested>,
    /// Marking scheme.
    pub marking: mark::Config,
    /// Scheduler.
    pub scheduling: sched::Config,
    /// Buffer.
    pub buffer: buffer::Config,
    /// Queue of each class.
    pub dscp: classify::Config,
    /// Options of a switch.
    pub options: Options,
    /// Field that gives a packet its class.
    pub by: By,
}

/// Default limit of a port.
const LIMIT: Bytes = Bytes::from_kb(1_000);

/// Longest frame of an IP packet of 1500 bytes, without checksum.
const FULL_FRAME: usize = 1_514;

impl Request {
    /// Reads the arguments, and the file that they name.
    pub fn new(arguments: &Load) -> Result<Self, Error> {
        match &arguments.file {
            Some(_) => from_file(arguments),
            None => from_words(arguments),
        }
    }

    /// Settings of a port with this rate, checked.
    pub fn port(&self, rate: Rate) -> Result<Port, Error> {
        let count = self.options.count;
        let framing = match count {
            Count::Frame => (0, 0),
            Count::Ip => (0, -14),
            Count::Wire => (60, 24),
        };
        check_threshold(&self.marking, rate, count.bytes(FULL_FRAME))?;
        Ok(Port {
            marking: self.marking.clone(),
            scheduling: self.scheduling.clone(),
            buffer: self.buffer.clone(),
            dscp: self.dscp.clone(),
            by_priority: self.by == By::Priority,
            non_ect: self.options.non_ect,
            rate,
            catch_up: self.options.catch_up,
            framing,
        })
    }

    /// Number of queues.
    pub fn queues(&self) -> Result<u8, Error> {
        Ok(self.scheduling.build()?.queues())
    }

    /// Settings as text, for `status`.
    pub fn describe(&self, rate: Rate) -> BTreeMap<String, String> {
        let mut all = BTreeMap::from([("rate".to_owned(), rate.to_string())]);
        describe(&mut all, "scheme", &self.marking);
        describe(&mut all, "scheduler", &self.scheduling);
        describe(&mut all, "buffer", &self.buffer);
        all
    }
}

/// Adds the name and the parameters of a part.
fn describe(all: &mut BTreeMap<String, String>, kind: &str, part: &impl Catalogue) {
    all.insert(kind.to_owned(), part.name().to_owned());
    for field in part.fields() {
        if let Some(value) = part.value(field.name) {
            all.insert(format!("{kind}.{}", field.name), value);
        }
    }
}

fn from_words(arguments: &Load) -> Result<Request, Error> {
    let defaults = Config::new();
    let ports = arguments.devices.iter();
    let mut request = Request {
        ports: ports
            .map(|device| Requested { device: device.clone(), rate: arguments.rate })
            .collect(),
        marking: part("scheme", arguments.scheme.as_deref().unwrap_or("tcn"), setup::SCHEMES)?,
        scheduling: part(
            "scheduler",
            arguments.scheduler.as_deref().unwrap_or("fifo"),
            setup::SCHEDULERS,
        )?,
        buffer: match arguments.buffer.as_deref() {
            Some(name) => part("buffer", name, setup::BUFFERS)?,
            None => buffer::Config::PerPort(buffer::per_port::Config { limit: Size::Bytes(LIMIT) }),
        },
        dscp: classify::Config::default(),
        options: defaults.options,
        by: arguments.by,
    };
    for text in arguments.threshold.iter().map(|value| format!("threshold={value}")) {
        request.set(&text)?;
    }
    for text in arguments.limit.iter().map(|value| format!("buffer.limit={value}")) {
        request.set(&text)?;
    }
    arguments.set.iter().try_for_each(|text| request.set(text))?;
    Ok(request)
}

impl Request {
    /// Sets a parameter of the scheme, or of another part that the key begins with.
    fn set(&mut self, text: &str) -> Result<(), Error> {
        let fail = |why: String| Error::Parameter { text: text.to_owned(), why };
        let (key, value) = text.split_once('=').ok_or_else(|| fail("write KEY=VALUE".into()))?;
        let (part, field) = key.split_once('.').unwrap_or(("scheme", key));
        let set = match part {
            "scheme" => self.marking.set(field, value),
            "scheduler" => self.scheduling.set(field, value),
            "buffer" => self.buffer.set(field, value),
            "dscp" => Settings::set(&mut self.dscp, field, value),
            "switch" => Settings::set(&mut self.options, field, value),
            _ => return Err(fail("known parts: scheme, scheduler, buffer, dscp, switch".into())),
        };
        set.map_err(|error| fail(error.to_string()))
    }
}

fn part<T: Catalogue>(kind: &'static str, name: &str, known: &'static str) -> Result<T, Error> {
    let is_known = known.split(", ").any(|known| known == name);
    T::named(name).filter(|_| is_known).ok_or_else(|| Error::Unknown {
        kind,
        name: name.to_owned(),
        known,
    })
}

fn from_file(arguments: &Load) -> Result<Request, Error> {
    let path = arguments.file.as_deref().unwrap_or_else(|| "".as_ref());
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(Error::system(format!("read {name}")))?;
    let mut config = Config::new();
    let file = SwitchFile {
        marking: &mut config.marking,
        scheduling: &mut config.scheduling,
        buffer: &mut config.buffer,
        dscp: &mut config.dscp,
        options: &mut config.options,
        ports: &mut config.ports,
        check: Options::check,
        check_port: PortSettings::check,
    };
    file.read(&name, &text).map_err(|problem| Error::File(problem.to_string()))?;
    config.ports.iter().try_for_each(check_port)?;
    let wanted = &arguments.devices;
    for device in wanted {
        if !config.ports.iter().any(|port| port.interface == *device) {
            let known = config.ports.iter().map(|port| port.interface.as_str());
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(Error::File(format!("{name} has no port {device}\nports there: {known}")));
        }
    }
    let ports = config.ports.into_iter();
    let ports = ports.filter(|port| wanted.is_empty() || wanted.contains(&port.interface));
    Ok(Request {
        ports: ports
            .map(|port| Requested { device: port.interface, rate: Some(port.rate) })
            .collect(),
        marking: config.marking,
        scheduling: config.scheduling,
        buffer: config.buffer,
        dscp: config.dscp,
        options: config.options,
        by: arguments.by,
    })
}

/// Refuses settings of a live switch's port that the kernel does not have.
fn check_port(port: &PortSettings) -> Result<(), Error> {
    let default = PortSettings::default();
    for field in ["device", "uplink", "delay", "stations"] {
        let value = Settings::value(port, field).unwrap_or_default();
        if Settings::value(&default, field).as_ref() != Some(&value) {
            let at = format!("{value} at {}", port.interface);
            return Err(
                ConfigError::out_of_range(field, at, "left out: the kernel forwards").into()
            );
        }
    }
    debug_assert_eq!(default.device, DeviceKind::PacketSocket);
    Ok(())
}

/// Refuses a threshold below one packet: it would mark whenever two packets meet.
fn check_threshold(marking: &mark::Config, rate: Rate, packet: u32) -> Result<(), Error> {
    let time = rate.time_for(packet);
    let above = |field: &&Field| field.is_threshold && !field.name.contains("min_");
    for field in marking.fields().iter().filter(above) {
        let text = marking.value(field.name).unwrap_or_default();
        for text in text.split(',') {
            let is_short = Span::read(text).is_ok_and(|span| span < time)
                || Size::read(text).is_ok_and(|size| size.in_bytes(packet) < packet.into());
            if is_short {
                let allowed =
                    format!("at least one packet, which is {packet}B and takes {time} at {rate}");
                return Err(ConfigError::out_of_range(field.name, text.trim(), allowed).into());
            }
        }
    }
    Ok(())
}
