//! Flow completion times by the definitions of papers and their scripts, and relative to the ideal.

use tidegate_units::{ConfigError, Span, choices};

use super::statistics;
use crate::flow::Flow;
use crate::hosts;
use crate::ideal::{self, Framing};
use crate::result::FlowResult;
use crate::routes::Routes;
use crate::run::Outcome;
use crate::setup::{Setup, Transport, Way};

choices! {
    /// Definition of small and large flows, of the completion of a flow, and of the 99th
    /// percentile. No two published evaluations agree on all of them.
    pub enum Convention {
        /// BCC's script: below 100 KiB, from 10 MiB on; until the sender has the last ACK.
        BccScript = "bcc-script",
        /// The text of ECN♯ and DiffECN: below 100 KB, above 10 MB; until the last byte arrives.
        EcnSharpPaper = "ecn-sharp-paper",
        /// ECN♯'s script: below 100 KB, above 10 MB, counting all bytes sent with headers of 52
        /// bytes and retransmissions; until the last byte arrives. The script also counts
        /// unfinished flows; here they are excluded.
        EcnSharpScript = "ecn-sharp-script",
        /// The text of TCN and BCC: up to 100 KB, above 10 MB; until the last byte arrives.
        TcnPaper = "tcn-paper",
        /// TCN's script: below 100 KiB, above 10 MiB; until the sender has the last ACK.
        TcnScript = "tcn-script",
        /// The traffic generator of the testbeds: below 100 KiB, from 10 MiB on; until the last
        /// byte arrives.
        TrafficGenerator = "traffic-generator",
    }
}

/// Size class of a flow, by which results are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeClass {
    /// Flows dominated by latency.
    Small,
    /// Flows in between.
    Medium,
    /// Flows dominated by throughput.
    Large,
}

/// Headers of a packet in ns-3 with TCP timestamps, as counted by ECN♯'s script.
const NS3_HEADERS: u64 = 52;

impl Convention {
    /// Class of a flow divided into packets with `framing`.
    pub fn class(self, flow: &Flow, result: &FlowResult, framing: Framing) -> SizeClass {
        let bytes = if self == Self::EcnSharpScript {
            let again = u64::from(result.retransmissions);
            let packets = framing.packets(flow.bytes).saturating_add(again);
            let headers = packets.saturating_mul(NS3_HEADERS);
            let payload = again.saturating_mul(framing.payload());
            flow.bytes.saturating_add(payload).saturating_add(headers)
        } else {
            flow.bytes
        };
        self.class_of(bytes)
    }

    /// Class of a flow that counts as `bytes`.
    pub const fn class_of(self, bytes: u64) -> SizeClass {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        const KB: u64 = 1_000;
        const MB: u64 = 1_000_000;
        // The largest small flow and the smallest large flow.
        let (small, large) = match self {
            Self::BccScript | Self::TrafficGenerator => (100 * KIB - 1, 10 * MIB),
            Self::EcnSharpPaper | Self::EcnSharpScript => (100 * KB - 1, 10 * MB + 1),
            Self::TcnPaper => (100 * KB, 10 * MB + 1),
            Self::TcnScript => (100 * KIB - 1, 10 * MIB + 1),
        };
        if bytes <= small {
            SizeClass::Small
        } else if bytes < large {
            SizeClass::Medium
        } else {
            SizeClass::Large
        }
    }

    /// Class of each flow of a run, in the order of the flows.
    pub fn classes(self, setup: &Setup, outcome: &Outcome) -> Result<Vec<SizeClass>, ConfigError> {
        let framings = framings(setup)?;
        let flows = setup.flows.iter().zip(&outcome.flows);
        Ok(flows
            .map(|(flow, result)| self.class(flow, result, of_group(&framings, flow)))
            .collect())
    }

    /// Completion time of a flow; `None` if it did not finish.
    pub fn time(self, flow: &Flow, result: &FlowResult) -> Option<Span> {
        match self {
            Self::BccScript | Self::TcnScript => result.acknowledged(flow),
            Self::EcnSharpPaper
            | Self::EcnSharpScript
            | Self::TcnPaper
            | Self::TrafficGenerator => result.completion(flow),
        }
    }
}

/// Completion times of a set of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// Times of finished flows, ascending.
    times: Vec<Span>,
    unfinished: usize,
}

impl Completions {
    /// Completion times of the flows that `wanted` accepts, such as a group or a class.
    pub fn new(
        setup: &Setup,
        outcome: &Outcome,
        convention: Convention,
        wanted: impl Fn(&Flow, SizeClass) -> bool,
    ) -> Result<Self, ConfigError> {
        let classes = convention.classes(setup, outcome)?;
        let (mut times, mut unfinished) = (Vec::new(), 0);
        for ((flow, result), class) in setup.flows.iter().zip(&outcome.flows).zip(classes) {
            if !wanted(flow, class) {
                continue;
            }
            match convention.time(flow, result) {
                None => unfinished += 1,
                Some(time) => times.push(time),
            }
        }
        times.sort_unstable();
        Ok(Self { times, unfinished })
    }

    /// Times, ascending.
    pub fn times(&self) -> &[Span] {
        &self.times
    }

    /// Number of unfinished flows, which have no time.
    pub const fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Mean time in picoseconds; `None` if no flow finished.
    pub fn mean(&self) -> Option<f64> {
        statistics::mean(self.times.iter().map(|time| time.as_ps()))
    }
}

/// Ideal completion times: each flow alone in the network, with a sender that never waits.
#[derive(Debug)]
pub struct Ideals<'a> {
    setup: &'a Setup,
    routes: Routes,
    framings: Vec<Framing>,
}

impl<'a> Ideals<'a> {
    /// Creates the ideals of a setup's flows.
    pub fn new(setup: &'a Setup) -> Result<Self, ConfigError> {
        Ok(Self { routes: setup.routes()?, framings: framings(setup)?, setup })
    }

    /// Time from the first bit of a flow leaving to its last bit arriving, with the delay of the
    /// receiver's host. The handshake and the application's rate are not included, and the flow is
    /// assumed to have a connection of its own. `None` if the flow does not exist or has no end.
    pub fn time(&self, flow: u32) -> Option<Span> {
        let number = flow;
        let flow = self.setup.flows.get(number as usize)?;
        if flow.bytes == Flow::ENDLESS {
            return None;
        }
        let path = self.setup.path(&self.routes, number, Way::There).ok()?;
        let framing = of_group(&self.framings, flow);
        let sending = ideal::completion(&self.setup.network, &path, flow.bytes, framing);
        Some(sending + hosts::host_delay(&self.setup.host_delay, self.setup.seed, number as usize))
    }

    /// Slowdown: completion time of a flow relative to an empty network, until its last byte
    /// arrived; `None` if it did not finish.
    pub fn slowdown(&self, outcome: &Outcome, flow: u32) -> Option<f64> {
        let result = outcome.flows.get(flow as usize)?;
        let took = result.completion(&self.setup.flows[flow as usize])?;
        let ideal = self.time(flow)?;
        statistics::quotient(u128::from(took.as_ps()), u128::from(ideal.as_ps()))
    }
}

/// Division of flows into packets by each transport.
fn framings(setup: &Setup) -> Result<Vec<Framing>, ConfigError> {
    let framing = |transport: &Transport| {
        let accounting = setup.accounting;
        let framing = Framing::new(transport.payload(), u32::from(accounting.per_packet))?;
        Ok(framing.padded_to(u32::from(accounting.least)))
    };
    if setup.transports.is_empty() {
        return Err(ConfigError::out_of_range("transports", 0, "at least one"));
    }
    setup.transports.iter().map(framing).collect()
}

/// Framing of a flow: of its group's transport, or the last.
fn of_group(framings: &[Framing], flow: &Flow) -> Framing {
    framings[usize::from(flow.group).min(framings.len() - 1)]
}

#[cfg(test)]
mod tests {
    use tidegate_units::Time;

    use super::*;
    use crate::network::HostId;

    const ALL: [Convention; 6] = [
        Convention::BccScript,
        Convention::EcnSharpPaper,
        Convention::EcnSharpScript,
        Convention::TcnPaper,
        Convention::TcnScript,
        Convention::TrafficGenerator,
    ];

    fn flow(bytes: u64) -> Flow {
        Flow {
            start: Time::from_us(10),
            bytes,
            src: HostId(0),
            dst: HostId(1),
            rate: None,
            service: 0,
            group: 0,
        }
    }

    #[test]
    fn every_convention_has_its_own_class_limits() {
        use SizeClass::{Large, Medium, Small};
        let framing = Framing::new(1_000, 40).unwrap();
        let class = |convention: Convention, bytes| {
            convention.class(&flow(bytes), &FlowResult::PENDING, framing)
        };
        // The last small flow and the first large one.
        let lines = [
            (Convention::BccScript, 102_399, 10_485_760),
            (Convention::EcnSharpPaper, 99_999, 10_000_001),
            // 95 packets and 52 · 95 = 4,940 bytes of headers make 99,940 of 95,000 bytes; one byte
            // more needs another packet and stays small with 95,001 + 96 · 52 = 99,993, seven bytes
            // more do not. 9,505 · 52 + 9,505,000 = 9,999,260; 9,505,689 + 9,506 · 52 = 10,000,001.
            (Convention::EcnSharpScript, 95_007, 9_505_689),
            (Convention::TcnPaper, 100_000, 10_000_001),
            (Convention::TcnScript, 102_399, 10_485_761),
            (Convention::TrafficGenerator, 102_399, 10_485_760),
        ];
        for (convention, small, large) in lines {
            let found = [1, small, small + 1, large - 1, large].map(|b| class(convention, b));
            assert_eq!(found, [Small, Small, Medium, Medium, Large], "{convention:?}");
        }
        // Ten retransmitted packets are 10,520 bytes more.
        let again = FlowResult { retransmissions: 10, ..FlowResult::PENDING };
        let script = Convention::EcnSharpScript;
        assert_eq!(script.class(&flow(90_000), &again, framing), Medium);
        assert_eq!(class(script, 90_000), Small);
    }

    #[test]
    fn sender_side_scripts_wait_for_the_last_ack() {
        let result = FlowResult {
            received_at: Time::from_us(30),
            acked_at: Time::from_us(50),
            ..FlowResult::PENDING
        };
        let times = ALL.map(|convention| convention.time(&flow(1), &result).unwrap().as_ns());
        assert_eq!(times, [40_000, 20_000, 20_000, 20_000, 40_000, 20_000]);
        assert!(ALL.iter().all(|c| c.time(&flow(1), &FlowResult::PENDING).is_none()));
    }
}
