//! Sets of hosts as a setting.

use std::fmt::Write;

use tidegate_units::{ConfigError, Form, ParseError, Setting};

use crate::network::HostId;

/// Some hosts: `all`, or numbers and ranges such as `0-7, 9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Every host of the network.
    All,
    /// Ranges, including the last host of each.
    Ranges(Vec<(u32, u32)>),
}

const ACCEPTED: &str = "all, or host numbers and ranges such as 0-7, 9";

impl Hosts {
    /// A single host.
    pub fn one(host: u32) -> Self {
        Self::Ranges(vec![(host, host)])
    }

    /// Upper bound of the number of hosts in a network of `hosts`. Ranges may overlap, or end
    /// beyond it.
    pub(super) fn most(&self, hosts: u32) -> u32 {
        match self {
            Self::All => hosts,
            Self::Ranges(ranges) => {
                let lengths = ranges.iter().map(|&(first, last)| u64::from(last - first) + 1);
                lengths.sum::<u64>().min(hosts.into()) as u32
            }
        }
    }

    /// The hosts in a network of `hosts`, in order and without duplicates. An error names `field`.
    pub(super) fn resolve(
        &self,
        field: &'static str,
        hosts: u32,
    ) -> Result<Vec<HostId>, ConfigError> {
        let Self::Ranges(ranges) = self else {
            return Ok((0..hosts).map(HostId).collect());
        };
        let known = |&(_, last): &(u32, u32)| last < hosts;
        if ranges.is_empty() || !ranges.iter().all(known) {
            let allowed = format!("existing hosts: 0 to {}", hosts.saturating_sub(1));
            return Err(ConfigError::out_of_range(field, self.write(), allowed));
        }
        // Merges overlapping ranges, so that no list is longer than the network.
        let mut ranges = ranges.clone();
        ranges.sort_unstable();
        let mut all = Vec::new();
        let mut next = 0;
        for (first, last) in ranges {
            all.extend((first.max(next)..=last).map(HostId));
            next = next.max(last + 1);
        }
        Ok(all)
    }

    /// The host, if there is exactly one. An error names `field`.
    pub(super) fn only(&self, field: &'static str, hosts: u32) -> Result<HostId, ConfigError> {
        match self.resolve(field, hosts)?[..] {
            [host] => Ok(host),
            _ => {
                let allowed = "one host, such as 8";
                Err(ConfigError::out_of_range(field, self.write(), allowed))
            }
        }
    }
}

impl Setting for Hosts {
    const FORM: Form = Form::Text(ACCEPTED);

    fn read(text: &str) -> Result<Self, ParseError> {
        let unreadable = || ParseError::unreadable(text, ACCEPTED);
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unreadable());
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = (number(first)?, number(last)?);
            (range.0 <= range.1).then_some(range).ok_or_else(unreadable)
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self::Ranges)
    }

    fn write(&self) -> String {
        let Self::Ranges(ranges) = self else {
            return "all".into();
        };
        let mut text = String::new();
        for (first, last) in ranges {
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{first}");
            if first != last {
                let _ = write!(text, "-{last}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_hosts_read_back_as_written() {
        for text in ["all", "3", "0-7", "0-7, 9", "5, 1-2"] {
            assert_eq!(Hosts::read(text).unwrap().write(), text);
        }
        assert_eq!(Hosts::read(" 1 - 2 ,4").unwrap().write(), "1-2, 4");
        for text in ["", "7-0", "1,", "a", "-1", "1-2-3", "4294967296"] {
            assert!(Hosts::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_are_sorted_without_duplicates() {
        let numbers = |text: &str| -> Vec<u32> {
            let hosts = Hosts::read(text).unwrap().resolve("from", 10).unwrap();
            hosts.iter().map(|host| host.0).collect()
        };
        assert_eq!(numbers("4-5, 0-1, 5"), [0, 1, 4, 5]);
        assert_eq!(numbers("all").len(), 10);
    }

    #[test]
    fn a_host_that_does_not_exist_is_named() {
        let hosts = Hosts::read("0-10").unwrap();
        assert_eq!(
            hosts.resolve("from", 10),
            Err(ConfigError::out_of_range("from", "0-10", "existing hosts: 0 to 9"))
        );
        assert!(Hosts::All.only("to", 2).is_err());
        assert_eq!(Hosts::one(9).only("to", 10), Ok(HostId(9)));
    }
}
