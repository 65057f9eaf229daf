//! Messages with think times on one connection: an application that sends, waits, and sends again.

use tidegate_units::{Bytes, ConfigError, Setting, Span, Time, settings};

use super::{Env, Extent, Hosts};
use crate::flow::Flow;
use crate::setup::ThinkTime;

settings! {
    /// Parameters of messages: one flow from each sender, on a connection of its own.
    #[named("messages", "messages on one connection, with a think time between them",
        "workloads.md#Messages",
        "from = \"0\"\nto = \"1\"\nmessages = 3\nbytes = \"200KB\"\nidle = \"10ms\"\n")]
    pub struct Config {
        /// Sending hosts.
        pub from: Hosts = Hosts::one(0),
        /// Receiving host.
        pub to: Hosts = Hosts::one(1),
        /// Number of messages of each sender.
        pub messages: u32 = 10,
        /// Size of a message.
        pub bytes: Bytes = Bytes(200_000),
        /// Think time: how long a sender waits after the last ACK of a message before it writes the
        /// next.
        pub idle: Span = Span::from_secs(1),
        /// Start of the first message.
        pub start: Span = Span::ZERO,
        /// Service of the flows.
        pub service: u8 = 0,
        /// Group that their results belong to.
        pub group: u8 = 0,
    }
}

impl Config {
    /// Number of flows in a network of `hosts`.
    pub(super) fn extent(&self, hosts: u32) -> Extent {
        Extent { flows: Some(self.from.most(hosts).into()), field: "from" }
    }

    /// Think times within each flow.
    pub(super) const fn think_times(&self) -> ThinkTime {
        ThinkTime { message: self.bytes.0, pause: self.idle }
    }

    /// A flow for each sender, with all of its messages.
    pub(super) fn flows(&self, env: &Env) -> Result<Vec<Flow>, ConfigError> {
        let from = self.from.resolve("from", env.hosts)?;
        let dst = self.to.only("to", env.hosts)?;
        if from.is_empty() || from.contains(&dst) {
            let allowed = format!("hosts other than the receiver, {dst}");
            return Err(ConfigError::out_of_range("from", self.from.write(), allowed));
        }
        if self.messages == 0 {
            return Err(ConfigError::out_of_range("messages", 0, "at least 1"));
        }
        if self.idle == Span::ZERO {
            let allowed = "more than zero; without think times a flow is `long-lived`";
            return Err(ConfigError::out_of_range("idle", "0s", allowed));
        }
        let bytes = self.bytes.0.checked_mul(u64::from(self.messages));
        let Some(bytes @ 1..MOST) = bytes else {
            let allowed = "at least 1B, and below 1PB in all messages";
            return Err(ConfigError::out_of_range("bytes", self.bytes, allowed));
        };
        let flow = |src| Flow {
            start: Time::ZERO + self.start,
            bytes,
            src,
            dst,
            rate: None,
            service: self.service,
            group: self.group,
        };
        Ok(from.into_iter().map(flow).collect())
    }
}

/// Upper bound of the bytes of a flow.
const MOST: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use tidegate_units::Settings;

    use super::*;

    #[test]
    fn a_flow_carries_all_messages_of_its_sender() {
        let env = Env { hosts: 3, rack: &|_| 0, seed: 1, stream: 0 };
        let mut config = Config::default();
        config.set("from", "0-1").unwrap();
        config.set("to", "2").unwrap();
        config.set("messages", "4").unwrap();
        let flows = config.flows(&env).unwrap();
        let found: Vec<_> = flows.iter().map(|flow| (flow.src.0, flow.bytes)).collect();
        assert_eq!(found, [(0, 800_000), (1, 800_000)]);
        for (field, text) in [
            ("messages", "0"),
            ("idle", "0s"),
            ("bytes", "0B"),
            ("bytes", "1000000GB"),
            ("from", "0-2"),
        ] {
            let mut config = config.clone();
            config.set(field, text).unwrap();
            match config.flows(&env) {
                Err(ConfigError::OutOfRange { field: named, .. }) => assert_eq!(named, field),
                other => panic!("{field}: {other:?}"),
            }
        }
    }
}
