//! DiffECN: a queue for each active flow; mark on dequeue when the flow's queue is longer than the
//! fair share of the port's threshold.
//!
//! Huang et al., "DiffECN: Differential ECN Marking for Datacenter Networks", IEEE/ACM Transactions
//! on Networking 2024, sections IV and V. The queue mapping unit chooses the queue of an arriving
//! packet ([`assign`](Marker::assign)); the selective marking unit marks departing packets of flows
//! that hold more than `K_p = λ · RTT · C / N_flow`, read from a table of thresholds rounded down,
//! one for each number of flows up to the number of queues.
//!
//! The scheduler must serve the high-priority queue strictly first and the ordinary ones in turn:
//! strict priority over DWRR with a quantum of one packet.
//!
//! Where the paper is silent or at odds with itself:
//!
//! - The high-priority queue is one of the port's queues, and is marked like the others.
//! - The length includes the departing packet, because section IV-C.2 compares before dequeuing; so
//!   does the exact number of flows. The length without it is an option.
//! - Entries of the hardware flow map end when their queue is empty (section IV-B) or after an idle
//!   period (section VII-B): an option.
//! - What a flow has passed through the high-priority queue includes the arriving packet, which is
//!   the reading that agrees with figure 8; the other is an option.
//! - No flows count as one.

mod flow_count;
mod flow_map;
mod flow_table;
mod hash;
mod queue_map;
#[cfg(test)]
mod tests;

pub use queue_map::{PassCount, Release, Tables};

use alloc::boxed::Box;

use tidegate_units::{Bytes, ConfigError, QueueId, Ratio, Size, Span, Time, settings};

use self::flow_count::FlowCount;
pub(super) use self::queue_map::{Options, QueueMap};
use super::red::Reading;
use super::{Cx, Marker, Queues, Site, Verdict};
use crate::{Pkt, Rule};

settings! {
    /// Parameters of DiffECN.
    pub struct Config {
        /// The threshold for one active flow (`K`): mark strictly above this length. `none` derives
        /// it as λ × RTT × link speed. The default is that of the testbed, 510 cells of 80 bytes
        /// (section VI-B); the simulations have 65KB.
        pub threshold: Option<Size> = Some(Size::Bytes(Bytes(40_800))),
        /// The factor of a derived threshold (`λ`): 0.17 for DCTCP (section II-B).
        pub lambda: Ratio = DCTCP_LAMBDA,
        /// The base round-trip time (`RTT`), of which a derived threshold and the period are
        /// multiples. The default is that of the testbed (section VI-B).
        pub rtt: Span = Span::from_us(190),
        /// Thresholds are whole numbers of such cells. 1 byte, as in the simulations, rounds to
        /// nothing coarser; Tofino has 80 (section VI-B).
        pub cell: Bytes = Bytes(1),
        /// Whether the departing packet is part of the queue length (section IV-C.2).
        pub reading: Reading = Reading::Inclusive,
        /// How flows are remembered and counted: exactly, as in the simulations, or with the
        /// tables of the switch program (section V).
        pub tables: Tables = Tables::Exact,
        /// The queue that is served strictly first (section IV-B.2). All others are ordinary.
        pub priority_queue: u8 = 0,
        /// Bytes that an active flow may pass through the high-priority queue (section VI-C.4).
        pub pass_limit: Size = Size::Packets(10),
        /// Whether the arriving packet is part of what its flow has passed (figure 8).
        pub pass_count: PassCount = PassCount::WithArrival,
        /// Bytes of a full packet, for amounts in packets.
        pub mtu: u32 = 1500,
        /// Of the hardware tables: when the flow map forgets a flow.
        pub release: Release = Release::QueueEmpty,
        /// Of the hardware tables: the period of the flow count and of the idle release
        /// (`T_period`), in round-trip times (section VI-B.2).
        pub period: Ratio = PERIOD_RTTS,
        /// Of the hardware tables: entries of the flow map for each queue (section IV-B.3). The sum
        /// is rounded up to a power of two.
        pub map_entries: u32 = 512,
        /// Of the hardware tables: registers of the flow count (section V-B), rounded up to a power
        /// of two.
        pub count_registers: u32 = 1 << 14,
    }
}

/// DiffECN.
#[derive(Clone, Debug)]
pub struct DiffEcn(Box<State>);

#[derive(Clone, Debug)]
struct State {
    map: QueueMap,
    /// `None` where the map counts exactly.
    count: Option<FlowCount>,
    /// In bytes, by number of flows. No flows count as one; the last entry, for as many flows as
    /// there are queues, is that of more flows too.
    thresholds: Box<[u32]>,
    reading: Reading,
}

impl DiffEcn {
    /// DiffECN with these parameters.
    pub fn new(config: &Config, site: &Site) -> Result<Self, ConfigError> {
        let map = QueueMap::new(
            &Options {
                tables: config.tables,
                priority_queue: config.priority_queue,
                pass_limit: config.pass_limit,
                pass_count: config.pass_count,
                mtu: config.mtu,
                map_entries: config.map_entries,
                release: config.release,
                rtt: config.rtt,
                period: config.period,
            },
            site,
        )?;
        Ok(Self(Box::new(State {
            map,
            count: flow_count(config)?,
            thresholds: thresholds(config, site)?,
            reading: config.reading,
        })))
    }

    /// The number of active flows as it is counted: those with packets queued, or with the hardware
    /// tables the larger count of this period and the last one.
    pub fn active_flows(&self) -> u32 {
        self.0.active_flows()
    }
}

impl Marker for DiffEcn {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, _: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        self.0.map.assign(pkt, queues, now)
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        self.0.map.on_queued(cx);
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> Verdict {
        let state = &mut *self.0;
        if let Some(count) = &mut state.count {
            count.on_packet(cx.pkt.flow, cx.now);
        }
        // Before the map forgets the packet: its flow is one of the active ones.
        let threshold = state.threshold();
        state.map.on_departed(cx);
        let own = match state.reading {
            Reading::Exclusive => 0,
            Reading::Inclusive => cx.pkt.len,
        };
        let length = u64::from(cx.queue_bytes) + u64::from(own);
        Verdict::mark_if(length > u64::from(threshold), Rule::FlowShare)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        let queues = self.0.thresholds.len() - 1;
        (queue.index() < queues).then(|| self.0.threshold())
    }

    fn flows(&self) -> Option<u32> {
        Some(self.active_flows())
    }
}

impl State {
    #[inline]
    fn active_flows(&self) -> u32 {
        match &self.count {
            None => self.map.active_flows(),
            Some(count) => count.flows(),
        }
    }

    /// The threshold of every queue for the present number of flows (`K_p`).
    #[inline]
    fn threshold(&self) -> u32 {
        let most = self.thresholds.len() - 1;
        self.thresholds[most.min(self.active_flows() as usize)]
    }
}

/// DiffECN, section II-B.
pub(super) const DCTCP_LAMBDA: Ratio = Ratio::new(17, 100).expect("the denominator is not zero");
/// DiffECN, section VI-B.2.
pub(super) const PERIOD_RTTS: Ratio = Ratio::new(3, 2).expect("the denominator is not zero");

/// `factor` × `rtt`, rounded down to a picosecond.
pub(super) const fn rtts(factor: Ratio, rtt: Span) -> Span {
    Span::from_ps(factor.of(rtt.as_ps()))
}

/// The thresholds of zero to `site.queues` flows.
fn thresholds(config: &Config, site: &Site) -> Result<Box<[u32]>, ConfigError> {
    let largest = u64::from(u32::MAX);
    let Bytes(cell @ 1..) = config.cell else {
        return Err(ConfigError::out_of_range("cell", config.cell, "1B or more"));
    };
    let allowed = alloc::format!("one cell ({}) to {}", config.cell, Bytes(largest));
    let in_range = |bytes: &u64| (cell..=largest).contains(bytes);
    let whole = match config.threshold {
        Some(given) => Some(given.in_bytes(config.mtu))
            .filter(in_range)
            .ok_or_else(|| ConfigError::out_of_range("threshold", given, allowed))?,
        None => Some(site.rate.bytes_in(rtts(config.lambda, config.rtt)))
            .filter(in_range)
            .ok_or_else(|| {
                let allowed = alloc::format!("a threshold λ · RTT · C of {allowed}");
                ConfigError::out_of_range("lambda", config.lambda, allowed)
            })?,
    };
    let cells = whole / cell;
    let threshold = |flows: u8| {
        // At most `whole`, which fits 32 bits.
        (cells / u64::from(flows.max(1)) * cell) as u32
    };
    Ok((0..=site.queues).map(threshold).collect())
}

fn flow_count(config: &Config) -> Result<Option<FlowCount>, ConfigError> {
    if config.tables == Tables::Exact {
        return Ok(None);
    }
    if !(2..=MAX_REGISTERS).contains(&config.count_registers) {
        return Err(ConfigError::out_of_range(
            "count_registers",
            config.count_registers,
            alloc::format!("2 to {MAX_REGISTERS}"),
        ));
    }
    let bits = queue_map::bits_for(config.count_registers);
    Ok(Some(FlowCount::new(bits, rtts(config.period, config.rtt))))
}

/// Registers of the hardware flow count: 4 MiB of them.
const MAX_REGISTERS: u32 = 1 << 20;
