//! Flows with gaps from a table: measured arrivals, which are rarely Poisson.

use tidegate_units::{Bytes, ConfigError, Rng, Setting, Span, Time, settings};

use super::draw::below;
use super::size::{Gaps, Rounding, Sizes};
use super::{Env, Extent, Hosts, MAX_FLOWS};
use crate::flow::Flow;
use crate::network::HostId;

settings! {
    /// Parameters of arrivals from a table.
    #[named("arrivals", "flows whose gaps come from a table of times",
        "workloads.md#Gaps", "gaps = \"0us 0.5; 10ms 0.8; 1s 1\"\nflows = 100\n")]
    pub struct Config {
        /// Gaps from one start to the next.
        pub gaps: Gaps = Gaps::fixed(Span::from_ms(1)),
        /// Number of flows.
        pub flows: u32 = 100,
        /// Start of the first gap.
        pub start: Span = Span::ZERO,
        /// Sending hosts, all equally likely.
        pub from: Hosts = Hosts::All,
        /// Receiving hosts, all equally likely.
        pub to: Hosts = Hosts::All,
        /// Sizes of flows.
        pub sizes: Sizes = Sizes::Uniform(Bytes(3_000), Bytes(60_000)),
        /// Rounding of sizes; `none` as for Poisson arrivals.
        pub rounding: Option<Rounding> = None,
        /// Payload of a full packet, for tables of packets.
        pub mss: u32 = 1460,
        /// Service of the flows.
        pub service: u8 = 0,
        /// Group that their results belong to.
        pub group: u8 = 0,
    }
}

impl Config {
    /// Number of flows.
    pub(super) fn extent(&self, _hosts: u32) -> Extent {
        Extent { flows: Some(self.flows.into()), field: "flows" }
    }

    /// The flows in order of start.
    pub(super) fn flows(&self, env: &Env) -> Result<Vec<Flow>, ConfigError> {
        let from = self.from.resolve("from", env.hosts)?;
        let to = self.to.resolve("to", env.hosts)?;
        let sizes = self.sizes.distribution().sampler(self.rounding, self.mss)?;
        let gaps = self.gaps.sampler()?;
        self.check(&from, &to)?;
        let mut rng = Rng::new(env.seed, env.stream);
        let mut at = Time::ZERO + self.start;
        let flow = |_| {
            at += gaps.draw(&mut rng);
            let src = from[below(&mut rng, from.len() as u64) as usize];
            let others = to.iter().filter(|&&dst| dst != src).count() as u64;
            let place = below(&mut rng, others) as usize;
            let mut others = to.iter().filter(|&&dst| dst != src);
            Flow {
                start: at,
                bytes: sizes.draw(&mut rng).max(1),
                src,
                dst: *others.nth(place).expect("`check` ensures a receiver for every sender"),
                rate: None,
                service: self.service,
                group: self.group,
            }
        };
        Ok((0..self.flows).map(flow).collect())
    }

    fn check(&self, from: &[HostId], to: &[HostId]) -> Result<(), ConfigError> {
        if self.flows == 0 || u64::from(self.flows) > MAX_FLOWS {
            let allowed = format!("1 to {MAX_FLOWS}");
            return Err(ConfigError::out_of_range("flows", self.flows, allowed));
        }
        let alone = |src: &HostId| to.iter().all(|dst| dst == src);
        if from.is_empty() || from.iter().any(alone) {
            let allowed = "a receiver for every sender other than itself";
            return Err(ConfigError::out_of_range("to", self.to.write(), allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Settings;

    use super::*;

    fn flows(settings: &[(&str, &str)]) -> Result<Vec<Flow>, ConfigError> {
        let mut config = Config::default();
        for (field, text) in settings {
            config.set(field, text).unwrap();
        }
        config.flows(&Env { hosts: 4, rack: &|_| 0, seed: 1, stream: 0 })
    }

    #[test]
    fn flows_arrive_with_the_gaps_of_the_table() {
        let made = flows(&[
            ("gaps", "1ms 0.5; 3ms 1"),
            ("flows", "1000"),
            ("start", "10ms"),
            ("from", "0-1"),
            ("to", "1-3"),
        ]);
        let made = made.unwrap();
        assert_eq!(made.len(), 1_000);
        let mut before = Time::from_ms(10);
        let mut exact = 0;
        for flow in &made {
            let gap = flow.start - before;
            assert!(gap >= Span::from_ms(1) && gap <= Span::from_ms(3), "{gap}");
            exact += usize::from(gap == Span::from_ms(1));
            assert!(flow.src != flow.dst && flow.src.0 < 2 && flow.dst.0 > 0);
            before = flow.start;
        }
        assert!((450..550).contains(&exact), "{exact}");
    }

    #[test]
    fn impossible_arrivals_are_refused() {
        for (field, text) in [("flows", "0"), ("to", "9")] {
            match flows(&[(field, text)]) {
                Err(ConfigError::OutOfRange { field: named, .. }) => assert_eq!(named, field),
                other => panic!("{field}: {other:?}"),
            }
        }
        assert!(flows(&[("from", "1"), ("to", "1")]).is_err());
    }
}
