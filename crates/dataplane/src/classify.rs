//! Classification from header to queue: the DSCP selects the class, the class selects the queue.
//!
//! Two published rules exist for a class without a queue. TCN's kernel module sends it to the first
//! queue; TCN's and MQ-ECN's ns-2 queues send it to the last. Both are options.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use tidegate_units::{ConfigError, Form, ParseError, QueueId, Setting, choices, settings};

use crate::MAX_QUEUES;

choices! {
    /// Queue of packets whose DSCP has no queue.
    #[non_exhaustive]
    pub enum Unknown {
        /// Queue 0 (kernel module).
        First = "first",
        /// The queue with the highest number (ns-2).
        Last = "last",
    }
}

const ACCEPTED: &str = "a DSCP and its queue, such as 46:0";

/// One line of a [`DscpMap`], as text `46:0`: packets with DSCP 46 go to queue 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The codepoint, 0 to 63.
    pub dscp: u8,
    /// The queue of such packets.
    pub queue: QueueId,
}

impl Setting for Entry {
    const FORM: Form = Form::Text(ACCEPTED);

    fn read(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::unreadable(text, ACCEPTED);
        let (dscp, queue) = text.split_once(':').ok_or_else(error)?;
        Ok(Self {
            dscp: u8::read(dscp).map_err(|_| error())?,
            queue: QueueId(u8::read(queue).map_err(|_| error())?),
        })
    }

    fn write(&self) -> String {
        format!("{}:{}", self.dscp, self.queue)
    }
}

settings! {
    /// Map from DSCP to queue.
    pub struct Config {
        /// The queue of each listed DSCP, such as `46:0, 10:1`. If the list is empty, DSCP 0 goes
        /// to queue 0, DSCP 1 to queue 1 and so on (kernel module's default).
        pub queues: Vec<Entry> = Vec::new(),
        /// Queue of every other DSCP.
        pub unknown: Unknown = Unknown::First,
    }
}

/// The queue of each DSCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DscpMap {
    queues: [QueueId; DSCPS],
}

impl DscpMap {
    /// A map for a port with `queues` queues.
    pub fn new(config: &Config, queues: u8) -> Result<Self, ConfigError> {
        let Some(last) = queues.checked_sub(1).filter(|&last| last < MAX_QUEUES) else {
            let allowed = format!("1 to {MAX_QUEUES} queues");
            return Err(ConfigError::out_of_range("queues", queues, allowed));
        };
        let unknown = match config.unknown {
            Unknown::First => QueueId(0),
            Unknown::Last => QueueId(last),
        };
        let mut known = [None; DSCPS];
        for entry in &config.queues {
            let error =
                |allowed: String| Err(ConfigError::out_of_range("queues", entry.write(), allowed));
            if entry.queue.0 > last {
                return error(format!("a queue of the port, 0 to {last}"));
            }
            match known.get_mut(usize::from(entry.dscp)) {
                None => return error(format!("a DSCP from 0 to {}", DSCPS - 1)),
                Some(Some(_)) => return error(String::from("each DSCP once")),
                Some(slot) => *slot = Some(entry.queue),
            }
        }
        if config.queues.is_empty() {
            for (slot, queue) in known.iter_mut().zip(0..=last) {
                *slot = Some(QueueId(queue));
            }
        }
        Ok(Self { queues: known.map(|queue| queue.unwrap_or(unknown)) })
    }

    /// The queue of a packet whose DS field (IPv4 type of service, IPv6 traffic class) is `field`:
    /// six bits of DSCP above two bits of ECN.
    #[inline]
    pub const fn queue(&self, field: u8) -> QueueId {
        // The shift leaves six bits: always a valid index.
        self.queues[(field >> 2) as usize]
    }
}

const DSCPS: usize = 64;

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use tidegate_units::Settings;

    use super::*;

    fn config(queues: &str, unknown: Unknown) -> Config {
        let mut config = Config { unknown, ..Config::default() };
        config.set("queues", queues).unwrap();
        assert_eq!(config.value("queues").as_deref(), Some(queues));
        config
    }

    fn queues_of<const N: usize>(map: &DscpMap, dscps: [u8; N]) -> [u8; N] {
        dscps.map(|dscp| map.queue(dscp << 2).0)
    }

    #[test]
    fn by_default_each_dscp_has_the_queue_of_its_number_and_others_the_first() {
        let map = DscpMap::new(&Config::default(), 4).unwrap();
        assert_eq!(queues_of(&map, [0, 1, 2, 3, 4, 63]), [0, 1, 2, 3, 0, 0]);
        // 64 codepoints at most: queues above 63 have no DSCP.
        let map = DscpMap::new(&Config::default(), 128).unwrap();
        assert_eq!(queues_of(&map, [0, 62, 63]), [0, 62, 63]);
    }

    #[test]
    fn a_class_out_of_range_goes_to_the_last_queue_as_in_ns2() {
        let map = DscpMap::new(&config("", Unknown::Last), 4).unwrap();
        assert_eq!(queues_of(&map, [0, 3, 4, 63]), [0, 3, 3, 3]);
        let map = DscpMap::new(&config("", Unknown::Last), 1).unwrap();
        assert_eq!(queues_of(&map, [0, 1]), [0, 0]);
    }

    #[test]
    fn listed_codepoints_replace_the_default() {
        let map = DscpMap::new(&config("46:0, 10:1, 12:1", Unknown::Last), 3).unwrap();
        assert_eq!(queues_of(&map, [46, 10, 12, 0, 1]), [0, 1, 1, 2, 2]);
    }

    #[test]
    fn the_ecn_bits_do_not_matter() {
        let map = DscpMap::new(&Config::default(), 64).unwrap();
        assert_eq!([0xB8, 0xB9, 0xBA, 0xBB, 0xBC].map(|f| map.queue(f).0), [46, 46, 46, 46, 47]);
        assert_eq!(map.queue(0xFF), QueueId(63));
    }

    #[test]
    fn impossible_maps_are_named() {
        let error = |text, queues| {
            DscpMap::new(&config(text, Unknown::First), queues).unwrap_err().to_string()
        };
        let refused =
            |value, allowed| ConfigError::out_of_range("queues", value, allowed).to_string();
        assert_eq!(error("", 0), refused("0", "1 to 128 queues"));
        assert_eq!(error("", 129), refused("129", "1 to 128 queues"));
        assert_eq!(error("0:4", 4), refused("0:4", "a queue of the port, 0 to 3"));
        assert_eq!(error("64:0", 4), refused("64:0", "a DSCP from 0 to 63"));
        assert_eq!(error("1:0, 1:2", 4), refused("1:2", "each DSCP once"));
        assert!(DscpMap::new(&config("63:3", Unknown::First), 4).is_ok());
    }

    #[test]
    fn an_entry_is_two_numbers_and_a_colon() {
        assert_eq!(Entry::read(" 46 : 7 "), Ok(Entry { dscp: 46, queue: QueueId(7) }));
        for text in ["46", "46:", ":0", "46:0:1", "256:0", "0:256", "ef:0"] {
            let error = Entry::read(text).unwrap_err().to_string();
            assert!(error.contains("a DSCP and its queue, such as 46:0"), "{error}");
        }
    }
}
