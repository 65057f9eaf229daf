//! The running configuration of Arista EOS: profiles of queues, and the interfaces that use them.

use std::collections::BTreeMap;

use tidegate_scenario::Problem;
use tidegate_units::{Bytes, Rate, Ratio, Span};

use super::{Current, Setting, add};
use crate::marking::{Marking, Ramp};
use crate::network::Network;

/// Thresholds of the queues of a profile or an interface.
type Queues = BTreeMap<u8, Marking>;

/// Settings of an interface.
#[derive(Default)]
struct Interface {
    profile: Option<String>,
    speed: Option<Rate>,
    queues: Queues,
}

/// The block that a line belongs to.
enum Block {
    Interfaces(Vec<String>),
    Other,
    Profile(String),
}

#[derive(Default)]
struct Reader {
    profiles: BTreeMap<String, Queues>,
    interfaces: BTreeMap<String, Interface>,
    lines: usize,
}

pub(super) fn read(name: &str, text: &str, network: &Network) -> Result<Current, Problem> {
    let mut reader = Reader::default();
    let (mut block, mut queue) = (Block::Other, None);
    let mut begin = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim();
        let at = begin + (whole.len() - whole.trim_start().len());
        begin += whole.len();
        let wrong =
            |message: String| Problem::in_text(name, text, at..at + line.len(), message).help(HELP);
        if line.is_empty() || line.starts_with('!') {
            continue;
        }
        if !whole.starts_with(char::is_whitespace) {
            (block, queue) = (reader.open(line), None);
            continue;
        }
        if matches!(block, Block::Other) {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["tx-queue" | "uc-tx-queue", number] = words[..] {
            let number = number.parse().map_err(|_| wrong("this is not a queue".to_owned()))?;
            queue = Some(number);
            continue;
        }
        match (random_detect(&words), queue) {
            (Some(marking), Some(queue)) => {
                let marking = marking.map_err(wrong)?;
                reader.lines += 1;
                reader.set(&block, queue, marking);
            }
            (Some(_), None) => return Err(wrong("this line belongs to no queue".to_owned())),
            (None, _) => reader.of_interface(&block, &words),
        }
    }
    if reader.profiles.is_empty() && reader.lines == 0 {
        let end = text.find('\n').unwrap_or(text.len());
        let message = "this is neither SONiC's JSON nor an EOS configuration with queues";
        return Err(Problem::in_text(name, text, 0..end, message).help(HELP));
    }
    Ok(reader.current(name, network))
}

const HELP: &str = "EOS has lines such as `random-detect ecn minimum-threshold 80 kbytes \
                    maximum-threshold 80 kbytes` below `tx-queue 3` of a qos profile or interface";

impl Reader {
    /// The block that an unindented line begins.
    fn open(&mut self, line: &str) -> Block {
        if let Some(name) = line.strip_prefix("qos profile ") {
            self.profiles.entry(name.to_owned()).or_default();
            return Block::Profile(name.to_owned());
        }
        let of_bundle = |line: &str| line.starts_with("interface Port-Channel");
        let names = match line.strip_prefix("interface Ethernet") {
            Some(numbers) => Some(interfaces(numbers)),
            // Ports of a bundle are configured at the bundle.
            None if of_bundle(line) => {
                line.strip_prefix("interface ").map(|name| vec![name.into()])
            }
            None => None,
        };
        match names {
            Some(names) => {
                for name in &names {
                    self.interfaces.entry(name.clone()).or_default();
                }
                Block::Interfaces(names)
            }
            None => Block::Other,
        }
    }

    fn set(&mut self, block: &Block, queue: u8, marking: Marking) {
        match block {
            Block::Profile(name) => {
                self.profiles.entry(name.clone()).or_default().insert(queue, marking);
            }
            Block::Interfaces(names) => {
                for name in names {
                    let interface = self.interfaces.entry(name.clone()).or_default();
                    interface.queues.insert(queue, marking);
                }
            }
            Block::Other => {}
        }
    }

    fn of_interface(&mut self, block: &Block, words: &[&str]) {
        let Block::Interfaces(names) = block else {
            return;
        };
        for name in names {
            let interface = self.interfaces.entry(name.clone()).or_default();
            match words {
                ["service-profile", profile] | ["qos", "profile", profile] => {
                    interface.profile = Some((*profile).to_owned());
                }
                ["speed", .., speed] => interface.speed = link_speed(speed).or(interface.speed),
                _ => {}
            }
        }
    }

    fn current(self, name: &str, network: &Network) -> Current {
        let mut settings = Vec::new();
        let mut notes = Vec::new();
        let mut used = Vec::new();
        for (port, interface) in &self.interfaces {
            let place = port.split('/').next().and_then(|number| number.parse::<u32>().ok());
            let place = place.and_then(|number| number.checked_sub(1));
            let speed = interface.speed.or_else(|| network.speed_of_port(place));
            let profile = interface.profile.as_deref();
            let mut queues =
                profile.and_then(|name| self.profiles.get(name)).cloned().unwrap_or_default();
            queues.extend(&interface.queues);
            used.extend(profile.map(ToOwned::to_owned));
            for (&queue, &marking) in &queues {
                let name = profile.unwrap_or("the interface");
                let name = format!("{name}, tx-queue {queue}");
                let queue = Some(queue);
                add(&mut settings, Setting { queue, speed, ports: 1, marking, alpha: None, name });
            }
        }
        for (profile, queues) in self.profiles {
            if used.contains(&profile) {
                continue;
            }
            if !self.interfaces.is_empty() {
                notes.push(format!("no interface uses the profile `{profile}`"));
                continue;
            }
            for (queue, marking) in queues {
                let name = format!("{profile}, tx-queue {queue}");
                let queue = Some(queue);
                add(
                    &mut settings,
                    Setting { queue, speed: None, ports: 0, marking, alpha: None, name },
                );
            }
        }
        Current {
            source: name.to_owned(),
            settings,
            notes,
            unchecked: vec![
                "DSCP maps, schedulers, PFC, headroom and α: this reader takes thresholds only"
                    .into(),
            ],
            ..Current::default()
        }
    }
}

/// `1`, `1-48`, `49/1-56/1`, and several with commas.
fn interfaces(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in text.split(',') {
        let part = part.trim();
        let ends = part.split_once('-').and_then(|(first, last)| {
            let split = |end: &str| {
                let (number, lane) = end.split_once('/').unwrap_or((end, ""));
                Some((number.parse::<u32>().ok()?, lane.to_owned()))
            };
            Some((split(first)?, split(last)?))
        });
        match ends {
            Some(((first, lane), (last, _))) if first <= last && last - first < 4096 => {
                let slash = if lane.is_empty() { "" } else { "/" };
                names.extend((first..=last).map(|number| format!("{number}{slash}{lane}")));
            }
            _ => names.push(part.to_owned()),
        }
    }
    names
}

/// `25g`, `100gfull` or `100g-4`.
fn link_speed(text: &str) -> Option<Rate> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let gigabits: u64 = text[..digits].parse().ok()?;
    let bps = gigabits.checked_mul(1_000_000_000)?;
    text[digits..].starts_with('g').then(|| Rate::from_bps(bps))?
}

/// Threshold that a line sets for its queue: `None` for a line without ECN thresholds.
fn random_detect(words: &[&str]) -> Option<Result<Marking, String>> {
    let ["random-detect", "ecn", rest @ ..] = words else {
        return None;
    };
    match rest {
        ["count", ..] => None,
        ["delay", "threshold", value, unit] => Some(delay(value, unit)),
        ["minimum-threshold", min, unit, "maximum-threshold", max, other, more @ ..] => {
            Some(thresholds((min, unit), (max, other), more))
        }
        _ => Some(Err("this line of ECN cannot be read".to_owned())),
    }
}

fn is_time(unit: &str) -> bool {
    short_time(unit) != unit
}

fn delay(value: &str, unit: &str) -> Result<Marking, String> {
    let span = format!("{value}{}", short_time(unit)).parse::<Span>();
    span.map(Marking::Sojourn).map_err(|error| error.to_string())
}

fn short_time(unit: &str) -> &str {
    match unit {
        "milliseconds" => "ms",
        "microseconds" => "us",
        "nanoseconds" => "ns",
        _ => unit,
    }
}

fn thresholds(min: (&str, &str), max: (&str, &str), more: &[&str]) -> Result<Marking, String> {
    // Some platforms take times: equal ends are a threshold on the sojourn time.
    if is_time(min.1) && min == max {
        return delay(min.0, min.1);
    }
    let length = |(value, unit): (&str, &str)| -> Result<Bytes, String> {
        let worth = match unit {
            "bytes" => 1,
            "kbytes" => 1000,
            "mbytes" => 1_000_000,
            _ if is_time(unit) => {
                return Err(
                    "a ramp in time has no fixed length: it depends on speed and share".to_owned()
                );
            }
            "segments" => {
                return Err("segments differ in size between platforms: give bytes".to_owned());
            }
            _ => {
                return Err(format!("the unit `{unit}` is not one of bytes, kbytes, mbytes"));
            }
        };
        let value: u64 = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
        Ok(Bytes(value.saturating_mul(worth)))
    };
    let (min, max) = (length(min)?, length(max)?);
    if max < min {
        return Err("the maximum is below the minimum".to_owned());
    }
    let named = |name: &str| {
        let at = more.iter().position(|word| *word == name)?;
        more.get(at + 1)?.parse::<u32>().ok()
    };
    let percent = named("max-mark-probability").unwrap_or(100).min(100);
    Ok(Marking::Length(Ramp {
        min,
        max,
        probability: Ratio::new(percent, 100).expect("100 is not zero"),
    }))
}
