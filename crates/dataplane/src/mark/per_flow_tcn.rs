//! Per-flow TCN (PFTCN): a queue for each active flow; mark on dequeue when the sojourn time
//! exceeds a threshold.
//!
//! Huang et al., "DiffECN: Differential ECN Marking for Datacenter Networks", IEEE/ACM Transactions
//! on Networking 2024, section VI-C.6: DiffECN's queue mapping unit with TCN's test, sojourn time >
//! λ × RTT, as a comparison. The threshold does not depend on the number of flows. As with DiffECN,
//! the scheduler must serve the high-priority queue strictly first.
//!
//! The paper gives no threshold for this scheme, so the profiles use its thresholds for TCN.

use alloc::boxed::Box;

use tidegate_units::{ConfigError, QueueId, Ratio, Size, Span, Time, settings};

use super::diff_ecn::{Options, PERIOD_RTTS, PassCount, Profile, QueueMap, Release, Tables};
use super::{Cx, MarkDecision, Marker, PortInfo, Queues};
use crate::{Pkt, Rule};

settings! {
    /// Parameters of per-flow TCN.
    #[named("per-flow-tcn", "TCN with a queue for each flow", "schemes/per-flow-tcn.md",
        "scheduler = { kind = \"sp-dwrr\", strict = 1, quanta = [1500, 1500, 1500, 1500, 1500, 1500, 1500] }\n")]
    pub struct Config {
        /// DiffECN's setup that supplies every value left at `none` below.
        pub profile: Profile = Profile::Simulation,
        /// Mark strictly above this sojourn time; `none` derives it as λ × RTT.
        #[is(threshold)]
        pub threshold: Option<Span> = None,
        /// Factor of a derived threshold (`λ`): 0.17 for DCTCP in theory (DiffECN, section II-B).
        /// `none` gives the threshold of TCN in the profile: 11/120, for 11us, in the simulations,
        /// and 3/19, for 30us, in the testbed.
        pub lambda: Option<Ratio> = None,
        /// Base round-trip time (`RTT`), of which a derived threshold and the period are
        /// multiples. `none`: 120us in the simulations, 190us in the testbed.
        pub rtt: Option<Span> = None,
        /// Memory of flows. `none`: exact in the simulations, DiffECN's hardware flow map in the
        /// testbed (section V).
        pub tables: Option<Tables> = None,
        /// The queue that the scheduler serves strictly first (DiffECN, section IV-B.2). All others
        /// are ordinary.
        pub priority_queue: u8 = 0,
        /// Bytes that an active flow may pass through the high-priority queue, above zero (DiffECN,
        /// section VI-C.4).
        pub pass_limit: Size = Size::Packets(10),
        /// Whether the arriving packet counts towards the bytes that its flow has passed (DiffECN,
        /// figure 8).
        pub pass_count: PassCount = PassCount::WithArrival,
        /// Bytes of a full packet, for amounts in packets.
        pub mtu: u32 = 1500,
        /// Hardware flow map only: the event at which it forgets a flow.
        pub release: Release = Release::QueueEmpty,
        /// Hardware flow map only: the period of the idle release (`T_period`), in round-trip
        /// times (DiffECN, section VI-B.2).
        pub period: Ratio = PERIOD_RTTS,
        /// Hardware flow map only: entries for each queue (DiffECN, section IV-B.3). The sum is
        /// rounded up to a power of two.
        pub map_entries: u32 = 512,
    }
}

impl Config {
    /// Sojourn time above which packets are marked: as configured, or λ × RTT.
    pub fn sojourn(&self) -> Span {
        let lambda = self.lambda.unwrap_or(self.profile.sojourn_lambda());
        let derived = lambda.of_span(self.rtt());
        self.threshold.unwrap_or(derived)
    }

    /// See [`super::Config::table_entries`].
    pub(super) fn table_entries(&self, queues: u8) -> u64 {
        self.tables().map_entries(self.map_entries, queues)
    }

    fn tables(&self) -> Tables {
        self.tables.unwrap_or(self.profile.tables())
    }

    fn rtt(&self) -> Span {
        self.rtt.unwrap_or(self.profile.rtt())
    }
}

/// Per-flow TCN.
#[derive(Clone, Debug)]
pub struct PerFlowTcn {
    threshold: Span,
    map: Box<QueueMap>,
}

impl PerFlowTcn {
    /// Builds per-flow TCN with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let map = QueueMap::new(
            &Options {
                tables: config.tables(),
                priority_queue: config.priority_queue,
                pass_limit: config.pass_limit,
                pass_count: config.pass_count,
                mtu: config.mtu,
                map_entries: config.map_entries,
                release: config.release,
                rtt: config.rtt(),
                period: config.period,
                ..Options::plain()
            },
            port,
        )?;
        Ok(Self { threshold: config.sojourn(), map: Box::new(map) })
    }
}

impl Marker for PerFlowTcn {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, _: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        self.map.assign(pkt, queues, now)
    }

    fn chooses_queues(&self) -> bool {
        true
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        self.map.on_queued(cx);
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        self.map.on_departed(cx);
        MarkDecision::mark_if(sojourn > self.threshold, Rule::Sojourn)
    }

    fn flows(&self) -> Option<u32> {
        self.map.active_flows()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use tidegate_units::FlowId;

    use super::*;
    use crate::mark::testing::{cx, first_port_info as port_info};

    /// Queues of these lengths in bytes.
    struct Lengths([u32; 3]);

    impl Queues for Lengths {
        fn count(&self) -> u8 {
            3
        }

        fn bytes(&self, queue: QueueId) -> u32 {
            self.0[queue.index()]
        }

        fn packets(&self, queue: QueueId) -> u32 {
            u32::from(self.bytes(queue) > 0)
        }
    }

    fn cx_of(flow: u32) -> Cx {
        let mut cx = cx();
        cx.pkt.flow = FlowId(flow);
        cx
    }

    #[test]
    fn a_packet_is_marked_strictly_above_the_threshold() {
        let given = Config { threshold: Some(Span::from_us(30)), ..Config::default() };
        let derived = Config {
            lambda: Ratio::new(17, 100),
            rtt: Some(Span::from_us(190)),
            ..Config::default()
        };
        let of = |profile| Config { profile, ..Config::default() };
        for (config, us) in [
            (given, 30_000),
            (derived, 32_300),
            (of(Profile::Simulation), 11_000),
            (of(Profile::Testbed), 30_000),
        ] {
            let mut scheme = PerFlowTcn::new(&config, &port_info(2)).unwrap();
            for (ns, expected) in [(us - 1, false), (us, false), (us + 1, true)] {
                let verdict = scheme.on_dequeue(&cx(), Span::from_ns(ns));
                assert_eq!(verdict, MarkDecision::mark_if(expected, Rule::Sojourn), "{ns}");
            }
        }
    }

    #[test]
    fn flows_are_mapped_as_by_diff_ecn() {
        for tables in [Tables::Exact, Tables::Hardware] {
            let config =
                Config { tables: Some(tables), pass_limit: Size::Packets(1), ..Config::default() };
            let mut scheme = PerFlowTcn::new(&config, &port_info(3)).unwrap();
            let mut arrive = |flow, lengths| {
                let mut cx = cx_of(flow);
                cx.queue = scheme.assign(&cx.pkt, QueueId(9), &Lengths(lengths), cx.now);
                scheme.on_queued(&cx);
                cx.queue.0
            };
            let queues = vec![
                arrive(1, [0, 0, 0]),
                arrive(1, [0, 1500, 0]),
                arrive(2, [0, 3000, 0]),
                arrive(3, [0, 3000, 1500]),
                arrive(3, [1500, 3000, 1500]),
                arrive(3, [1500, 3000, 3000]),
            ];
            assert_eq!(queues, [1, 1, 2, 0, 2, 2]);
            let counted = (tables == Tables::Exact).then_some(3);
            assert_eq!(scheme.flows(), counted, "the hardware map does not count");
            // Flow 1 leaves queue 1 empty, and the next flow takes it.
            for queue_packets in [1, 0] {
                let leaving = Cx { queue: QueueId(1), queue_packets, ..cx_of(1) };
                scheme.on_dequeue(&leaving, Span::ZERO);
            }
            let lengths = Lengths([1500, 0, 4500]);
            let next = scheme.assign(&cx_of(4).pkt, QueueId(9), &lengths, Time::ZERO);
            assert_eq!(next, QueueId(1));
        }
    }

    #[test]
    fn the_mapping_is_checked() {
        let config = Config { priority_queue: 2, ..Config::default() };
        let last = PortInfo { first: Some(QueueId(2)), ..port_info(3) };
        assert!(PerFlowTcn::new(&config, &last).is_ok());
        let error = PerFlowTcn::new(&config, &port_info(2)).unwrap_err();
        assert!(matches!(error, ConfigError::OutOfRange { field: "priority_queue", .. }));
    }
}
