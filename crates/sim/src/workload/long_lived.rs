//! Listed flows, not drawn at random: long-lived ones, and ones limited by their application.

use tidegate_units::{Bytes, ConfigError, Rate, Setting, Span, Time, settings};

use super::{Env, Extent, Hosts, MAX_FLOWS};
use crate::flow::Flow;

settings! {
    /// Parameters of listed flows from each sender to the receiver.
    #[named("long-lived", "listed flows: endless, of a given size, or at a rate",
        "workloads.md#Sizes",
        "from = \"0\"\nto = \"1\"\n\n[measure]\nend = \"10ms\"\n")]
    pub struct Config {
        /// Sending hosts.
        pub from: Hosts = Hosts::one(0),
        /// Receiving host.
        pub to: Hosts = Hosts::one(1),
        /// Number of flows from each sender.
        pub flows: u32 = 1,
        /// Start of the first flow.
        pub start: Span = Span::ZERO,
        /// Time from the start of one flow to the next; zero for all at once.
        pub every: Span = Span::ZERO,
        /// Size of each flow; `none` to send until the run ends.
        pub bytes: Option<Bytes> = None,
        /// Rate at which the application writes; `none` if all bytes are available from the start.
        pub rate: Option<Rate> = None,
        /// Time at which an application with a rate stops: a flow has the bytes written until then.
        pub stop: Option<Span> = None,
        /// Service of the flows.
        pub service: u8 = 0,
        /// Group that their results belong to.
        pub group: u8 = 0,
    }
}

impl Config {
    /// Number of flows in a network of `hosts`.
    pub(super) fn extent(&self, hosts: u32) -> Extent {
        Extent {
            flows: Some(u64::from(self.from.most(hosts)) * u64::from(self.flows)),
            field: "flows",
        }
    }

    /// The flows, sender by sender.
    pub(super) fn flows(&self, env: &Env) -> Result<Vec<Flow>, ConfigError> {
        let from = self.from.resolve("from", env.hosts)?;
        let dst = self.to.only("to", env.hosts)?;
        if from.contains(&dst) {
            let allowed = format!("hosts other than the receiver, {dst}");
            return Err(ConfigError::out_of_range("from", self.from.write(), allowed));
        }
        let count = from.len() as u64 * u64::from(self.flows);
        if count == 0 || count > MAX_FLOWS {
            let allowed = format!("at least 1, and at most {MAX_FLOWS} from all senders");
            return Err(ConfigError::out_of_range("flows", self.flows, allowed));
        }
        if self.bytes == Some(Bytes(0)) {
            let allowed = "at least 1B, or none";
            return Err(ConfigError::out_of_range("bytes", "0B", allowed));
        }
        let one = |number: u64| {
            let start = self.start + self.every * number;
            let src = from[(number / u64::from(self.flows)) as usize];
            Ok(Flow {
                start: Time::ZERO + start,
                bytes: self.size(start)?,
                src,
                dst,
                rate: self.rate,
                service: self.service,
                group: self.group,
            })
        };
        (0..count).map(one).collect()
    }

    /// Bytes of a flow that starts at `start`.
    fn size(&self, start: Span) -> Result<u64, ConfigError> {
        let size = self.bytes.map_or(Flow::ENDLESS, |bytes| bytes.0);
        let Some(stop) = self.stop else {
            return Ok(size);
        };
        let allowed = match self.rate {
            None => "none without `rate`: only an application with a rate stops by time".into(),
            Some(rate) => match rate.bytes_in(stop - start) {
                0 => format!("late enough for a byte after the last start, {start}"),
                made => return Ok(size.min(made)),
            },
        };
        Err(ConfigError::out_of_range("stop", stop, allowed))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Settings;

    use super::*;
    use crate::network::HostId;

    fn flows(config: &Config) -> Result<Vec<Flow>, ConfigError> {
        config.flows(&Env { hosts: 5, rack: &|_| 0, seed: 1, stream: 0 })
    }

    #[test]
    fn flows_start_one_after_the_other_and_do_not_end() {
        let config = Config {
            from: Hosts::Ranges(vec![(0, 2)]),
            to: Hosts::one(4),
            start: Span::from_ms(10),
            every: Span::from_ms(100),
            service: 2,
            ..Config::default()
        };
        let flows = flows(&config).unwrap();
        let starts: Vec<_> = flows.iter().map(|flow| (flow.start, flow.src.0)).collect();
        let at = Time::from_ms;
        assert_eq!(starts, [(at(10), 0), (at(110), 1), (at(210), 2)]);
        assert!(flows.iter().all(|flow| flow.bytes == Flow::ENDLESS && flow.service == 2));
    }

    #[test]
    fn diff_ecns_application_limited_flow_has_its_rate() {
        let config = Config {
            from: Hosts::one(1),
            to: Hosts::one(4),
            start: Span::from_ms(30),
            rate: Some(Rate::from_gbps(13)),
            stop: Some(Span::from_ms(130)),
            ..Config::default()
        };
        let flow = flows(&config).unwrap()[0];
        // 13 Gb/s for 100 ms.
        assert_eq!((flow.bytes, flow.rate), (162_500_000, Some(Rate::from_gbps(13))));
        let bytes = Some(Bytes(1_000));
        let shorter = flows(&Config { bytes, ..config }).unwrap()[0];
        assert_eq!(shorter.bytes, 1_000);
    }

    #[test]
    fn several_flows_of_a_sender_are_distinguished_by_time_only() {
        let config = Config {
            from: Hosts::Ranges(vec![(0, 1)]),
            to: Hosts::one(4),
            flows: 2,
            bytes: Some(Bytes(500)),
            ..Config::default()
        };
        let senders: Vec<_> = flows(&config).unwrap().iter().map(|flow| flow.src).collect();
        assert_eq!(senders, [0, 0, 1, 1].map(HostId));
    }

    #[test]
    fn impossible_flows_are_refused() {
        for (settings, named) in [
            (&[("from", "0-1")][..], "from"),
            (&[("from", "5")], "from"),
            (&[("to", "1-2")], "to"),
            (&[("flows", "0")], "flows"),
            (&[("flows", "100000001")], "flows"),
            (&[("bytes", "0B")], "bytes"),
            (&[("stop", "1ms")], "stop"),
            (&[("stop", "1ms"), ("rate", "1Gbps"), ("start", "1ms")], "stop"),
        ] {
            let mut config = Config::default();
            for (field, text) in settings {
                config.set(field, text).unwrap();
            }
            match flows(&config) {
                Err(ConfigError::OutOfRange { field, .. }) => assert_eq!(field, named),
                other => panic!("{settings:?}: {other:?}"),
            }
        }
    }
}
