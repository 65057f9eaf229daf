//! Ping probes: small packets at fixed times that measure the round trip with negligible load.

use tidegate_units::{ConfigError, Setting, Span, Time, settings};

use super::{Env, Hosts};
use crate::network::HostId;

/// A series of probes from one host to another and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Host that sends requests.
    pub src: HostId,
    /// Host that answers.
    pub dst: HostId,
    /// Departure of the first probe.
    pub start: Time,
    /// Time from one probe to the next.
    pub every: Span,
    /// Number of probes; [`Probe::ENDLESS`] until the run ends.
    pub count: u32,
    /// Length of each probe as an IP packet, in both directions.
    pub bytes: u32,
    /// Service, which selects the queue in the switches.
    pub class: u8,
}

impl Probe {
    /// A count that is never reached.
    pub const ENDLESS: u32 = u32::MAX;
}

settings! {
    /// Parameters of probes from each sender to the receiver.
    #[named("probe", "pings beside the flows, with recorded round trips",
        "workloads.md#Probes",
        "[[probe]]\nfrom = \"0\"\nto = \"1\"\nevery = \"100us\"\n")]
    pub struct Config {
        /// Hosts that send requests.
        pub from: Hosts = Hosts::one(0),
        /// Host that answers.
        pub to: Hosts = Hosts::one(1),
        /// Departure of the first probe.
        pub start: Span = Span::ZERO,
        /// Time from one probe to the next.
        pub every: Span = Span::from_ms(1),
        /// Number of probes; `none` to continue until the run ends.
        pub count: Option<u32> = None,
        /// Length of each probe as an IP packet, in both directions: `ping` sends 84.
        pub bytes: u32 = 84,
        /// Service, which selects the queue in the switches.
        pub class: u8 = 0,
    }
}

impl Config {
    /// The series of probes, one for each sender.
    pub(super) fn probes(&self, env: &Env) -> Result<Vec<Probe>, ConfigError> {
        let from = self.from.resolve("from", env.hosts)?;
        let dst = self.to.only("to", env.hosts)?;
        if from.contains(&dst) {
            let allowed = format!("hosts other than the receiver, {dst}");
            return Err(ConfigError::out_of_range("from", self.from.write(), allowed));
        }
        if self.every == Span::ZERO {
            return Err(ConfigError::out_of_range("every", "0ps", "above zero"));
        }
        if self.count == Some(0) {
            return Err(ConfigError::out_of_range("count", 0, "at least 1, or none"));
        }
        if !(28..=65_535).contains(&self.bytes) {
            let allowed = "28, the headers of IP and ICMP, to 65535";
            return Err(ConfigError::out_of_range("bytes", self.bytes, allowed));
        }
        let probe = |src| Probe {
            src,
            dst,
            start: Time::ZERO + self.start,
            every: self.every,
            count: self.count.unwrap_or(Probe::ENDLESS),
            bytes: self.bytes,
            class: self.class,
        };
        Ok(from.into_iter().map(probe).collect())
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Settings;

    use super::*;

    fn probes(settings: &[(&str, &str)]) -> Result<Vec<Probe>, ConfigError> {
        let mut config = Config::default();
        for (field, text) in settings {
            config.set(field, text)?;
        }
        config.probes(&Env { hosts: 4, rack: &|_| 0, seed: 1, stream: 0 })
    }

    #[test]
    fn each_sender_has_its_series() {
        let found = probes(&[("from", "0-1"), ("to", "3"), ("class", "2"), ("start", "1ms")]);
        let expected = |src| Probe {
            src: HostId(src),
            dst: HostId(3),
            start: Time::from_ms(1),
            every: Span::from_ms(1),
            count: Probe::ENDLESS,
            bytes: 84,
            class: 2,
        };
        assert_eq!(found, Ok(vec![expected(0), expected(1)]));
    }

    #[test]
    fn impossible_probes_are_refused() {
        for (field, text) in [
            ("from", "0-1"),
            ("to", "0-1"),
            ("to", "4"),
            ("every", "0s"),
            ("count", "0"),
            ("bytes", "27"),
            ("bytes", "65536"),
        ] {
            match probes(&[(field, text)]) {
                Err(ConfigError::OutOfRange { field: named, .. }) => assert_eq!(named, field),
                other => panic!("{other:?}"),
            }
        }
    }
}
