//! DiffECN's ideal marker: a queue for each active flow; marks on dequeue when the flow has sent
//! more than its max-min share of the link.
//!
//! Huang et al., "DiffECN: Differential ECN Marking for Datacenter Networks", IEEE/ACM Transactions
//! on Networking 2024, sections III-B and IV-C.2, figure 10: the ideal that DiffECN's test of queue
//! lengths approximates. No switch can implement it; it is a yardstick.
//!
//! A flow's rate is the number of its bytes that arrived at the port within the last window.
//! Water-filling takes these rates as demands and gives the shares. If all demands fit on the link,
//! no flow is above its share. Queues and their mapping are DiffECN's, with exact memory.
//!
//! Where the paper is silent: rates are measured at arrival, over one round trip, to the packet.
//! They decide alone unless a threshold of the port is set too.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tidegate_units::{ConfigError, FlowId, QueueId, Rate, Size, Span, Time, settings};

use super::diff_ecn::{Options, PassCount, QueueMap};
use super::{Cx, MarkDecision, Marker, PortInfo, Queues};
use crate::{Pkt, Rule};

settings! {
    /// Parameters of the ideal marker.
    #[named("ideal-share", "marks flows that send more than their max-min share",
        "schemes/ideal-share.md",
        "scheduler = { kind = \"sp-dwrr\", strict = 1, quanta = [1500, 1500, 1500, 1500, 1500, 1500, 1500] }\n")]
    pub struct Config {
        /// Time over which rates are measured: one round trip, by default DiffECN's in the
        /// simulations.
        pub window: Span = Span::from_us(120),
        /// Mark only while the port holds strictly more than this, the packet included; `none` for
        /// a decision by rates alone.
        #[is(threshold)]
        pub threshold: Option<Size> = None,
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
    }
}

/// The ideal marker.
#[derive(Clone, Debug)]
pub struct IdealShare(Box<State>);

#[derive(Clone, Debug)]
struct State {
    map: QueueMap,
    meter: ShareMeter,
    /// Threshold in bytes; `None` if rates decide alone.
    threshold: Option<u64>,
}

impl IdealShare {
    /// Builds the ideal marker with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let options = Options {
            priority_queue: config.priority_queue,
            pass_limit: config.pass_limit,
            pass_count: config.pass_count,
            mtu: config.mtu,
            ..Options::plain()
        };
        Ok(Self(Box::new(State {
            map: QueueMap::new(&options, port)?,
            meter: ShareMeter::new(config.window, port.rate)?,
            threshold: config.threshold.map(|size| size.in_bytes(config.mtu)),
        })))
    }
}

impl Marker for IdealShare {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, _: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        self.0.map.assign(pkt, queues, now)
    }

    fn chooses_queues(&self) -> bool {
        true
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        self.0.map.on_queued(cx);
        self.0.meter.on_arrival(cx.pkt.flow, cx.pkt.len, cx.now);
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        let state = &mut *self.0;
        state.map.on_departed(cx);
        let held = u64::from(cx.port_bytes) + u64::from(cx.pkt.len);
        let is_congested = state.threshold.is_none_or(|threshold| held > threshold);
        let marks = is_congested && state.meter.is_above(cx.pkt.flow, cx.now);
        MarkDecision::mark_if(marks, Rule::FlowShare)
    }

    fn flows(&self) -> Option<u32> {
        self.0.map.active_flows()
    }
}

/// Meter that finds flows whose arrival rate exceeds their max-min share of a link.
#[derive(Clone, Debug)]
pub(crate) struct ShareMeter {
    window: Span,
    /// Bytes that the link can carry in the window.
    capacity: u64,
    /// Arrivals within the window, in order of time.
    arrivals: VecDeque<(Time, FlowId, u32)>,
    /// Flows of these arrivals with the sum of their bytes, unordered.
    flows: Vec<(FlowId, u64)>,
}

impl ShareMeter {
    /// Creates a meter over `window` at a link of this rate.
    pub(crate) fn new(window: Span, rate: Rate) -> Result<Self, ConfigError> {
        let capacity = rate.bytes_in(window);
        if capacity == 0 {
            let allowed = "long enough for a byte at the speed of the link";
            return Err(ConfigError::out_of_range("window", window, allowed));
        }
        Ok(Self { window, capacity, arrivals: VecDeque::new(), flows: Vec::new() })
    }

    /// Records an arriving packet of `flow`. Time must not go back.
    pub(crate) fn on_arrival(&mut self, flow: FlowId, len: u32, now: Time) {
        self.forget(now);
        // A packet of zero length adds no demand: flows are tracked by their bytes.
        if len == 0 {
            return;
        }
        self.arrivals.push_back((now, flow, len));
        match self.flows.iter_mut().find(|(it, _)| *it == flow) {
            None => self.flows.push((flow, len.into())),
            Some((_, bytes)) => *bytes += u64::from(len),
        }
    }

    /// Whether `flow` exceeds its share at `now`.
    ///
    /// Let `f(x)` be the sum of all flows' bytes, each cut at `x`. If not all fit, the water level
    /// is the `l` with `f(l) = capacity`, and `f` rises strictly up to the largest flow. So a flow
    /// is above the level if and only if `f` of its bytes is above the capacity.
    pub(crate) fn is_above(&mut self, flow: FlowId, now: Time) -> bool {
        self.forget(now);
        let own = self.flows.iter().find(|(it, _)| *it == flow);
        let own = own.map_or(0, |&(_, bytes)| bytes);
        let cut: u64 = self.flows.iter().map(|&(_, bytes)| bytes.min(own)).sum();
        cut > self.capacity
    }

    /// Removes arrivals that are a window older than `now`, or more.
    fn forget(&mut self, now: Time) {
        while let Some(&(at, flow, len)) = self.arrivals.front()
            && now - at >= self.window
        {
            self.arrivals.pop_front();
            let place = self.flows.iter().position(|(it, _)| *it == flow);
            let place =
                place.expect("every flow with an arrival in the window is in the list of flows");
            self.flows[place].1 -= u64::from(len);
            if self.flows[place].1 == 0 {
                self.flows.swap_remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::{Bytes, Rng};

    use super::*;
    use crate::mark::testing::{cx, first_port_info as port_info};
    use crate::observe::max_min;

    /// 10 Gb/s over 8 µs carry 10 000 bytes.
    fn meter() -> ShareMeter {
        ShareMeter::new(Span::from_us(8), Rate::from_gbps(10)).unwrap()
    }

    #[test]
    fn a_flow_is_above_its_share_strictly() {
        // Alone, the flow's share is the whole link.
        for (bytes, above) in [(9_999, false), (10_000, false), (10_001, true)] {
            let mut meter = meter();
            meter.on_arrival(FlowId(1), bytes, Time::ZERO);
            assert_eq!(meter.is_above(FlowId(1), Time::ZERO), above, "{bytes}");
            assert!(!meter.is_above(FlowId(2), Time::ZERO), "it sent nothing");
        }
        // Beside another flow's 4 000 bytes the share is 6 000, and the other flow is below its
        // own.
        for (bytes, above) in [(6_000, false), (6_001, true)] {
            let mut meter = meter();
            meter.on_arrival(FlowId(1), bytes, Time::ZERO);
            meter.on_arrival(FlowId(2), 4_000, Time::ZERO);
            assert_eq!(meter.is_above(FlowId(1), Time::ZERO), above, "{bytes}");
            assert!(!meter.is_above(FlowId(2), Time::ZERO));
        }
    }

    #[test]
    fn an_arrival_counts_for_less_than_the_window() {
        let mut meter = meter();
        meter.on_arrival(FlowId(1), 6_000, Time::from_us(1));
        meter.on_arrival(FlowId(1), 6_000, Time::from_us(5));
        let last = Time::from_us(9) - Span::from_ps(1);
        assert!(meter.is_above(FlowId(1), last));
        assert!(!meter.is_above(FlowId(1), Time::from_us(9)));
        assert_eq!(meter.flows, [(FlowId(1), 6_000)]);
        assert!(!meter.is_above(FlowId(1), Time::from_us(13)));
        assert_eq!((meter.flows.len(), meter.arrivals.len()), (0, 0));
    }

    #[test]
    fn packets_of_zero_length_are_ignored() {
        let mut meter = meter();
        for len in [0, 5, 0] {
            meter.on_arrival(FlowId(1), len, Time::ZERO);
        }
        assert_eq!(meter.flows, [(FlowId(1), 5)]);
        assert!(!meter.is_above(FlowId(1), Time::from_us(8)));
        assert_eq!((meter.flows.len(), meter.arrivals.len()), (0, 0));
    }

    #[test]
    fn flows_above_their_share_agree_with_water_filling() {
        let mut rng = Rng::new(13, 0);
        let mut above = 0;
        for _ in 0..2_000 {
            let mut meter = meter();
            let flows = 1 + rng.next_u32() % 6;
            let demands: Vec<u64> = (0..flows).map(|_| u64::from(rng.next_u32() % 6_000)).collect();
            for (flow, &demand) in (0..).zip(&demands) {
                meter.on_arrival(FlowId(flow), demand as u32, Time::ZERO);
            }
            // Shares are whole bytes: of equal flows, one may be cut and the other not.
            let shares = max_min(10_000, &demands);
            let least = shares.iter().zip(&demands).filter(|(share, demand)| share < demand);
            let level = least.map(|(share, _)| *share).min();
            for (flow, &demand) in (0..).zip(&demands) {
                let expected = level.is_some_and(|level| demand > level);
                assert_eq!(meter.is_above(FlowId(flow), Time::ZERO), expected, "{demands:?}");
                above += u32::from(expected);
            }
        }
        assert!(above > 1_000, "{above}");
    }

    #[test]
    fn marks_need_the_port_threshold_as_well_as_the_rate() {
        let config = Config {
            window: Span::from_us(8),
            threshold: Some(Size::Bytes(Bytes(5_000))),
            ..Config::default()
        };
        for (port_bytes, expected) in [(3_500, false), (3_501, true)] {
            let mut scheme = IdealShare::new(&config, &port_info(3)).unwrap();
            let now = Time::from_us(1);
            for _ in 0..8 {
                scheme.on_queued(&Cx { now, ..cx() });
            }
            let leaving = Cx { now, port_bytes, queue_packets: 7, ..cx() };
            let verdict = scheme.on_dequeue(&leaving, Span::ZERO);
            assert_eq!(verdict, MarkDecision::mark_if(expected, Rule::FlowShare));
        }
    }

    #[test]
    fn a_window_without_a_byte_is_refused() {
        let config = Config { window: Span::ZERO, ..Config::default() };
        let error = IdealShare::new(&config, &port_info(3)).unwrap_err();
        assert!(matches!(error, ConfigError::OutOfRange { field: "window", .. }));
    }
}
