//! DiffECN: a queue for each active flow; marks on dequeue when the flow's queue is longer than its
//! fair share of the port's threshold.
//!
//! Huang et al., "DiffECN: Differential ECN Marking for Datacenter Networks", IEEE/ACM Transactions
//! on Networking 2024, sections IV and V. The queue mapping unit chooses the queue of an arriving
//! packet ([`assign`](Marker::assign)); the selective marking unit marks departing packets of flows
//! that hold more than `K_p = λ · RTT · C / N_flow`, read from a table of thresholds rounded down,
//! one for each number of flows up to the number of queues.
//!
//! The scheduler must serve the high-priority queue strictly first, otherwise flows that leave that
//! queue would be reordered; other schedulers are refused. It should serve the ordinary queues in
//! turn: strict priority over DWRR with a quantum of one packet.
//!
//! Where the paper is silent or at odds with itself:
//!
//! - The high-priority queue is one of the port's queues, and is marked like the others.
//! - The length includes the departing packet, because section IV-C.2 compares before dequeuing; so
//!   does the exact number of flows. The length without it is an option.
//! - Entries of the hardware flow map end when their queue is empty (section IV-B) or after an idle
//!   period (section VII-B): an option.
//! - The bytes that a flow has passed through the high-priority queue include the arriving packet,
//!   which agrees with figure 8; the other reading is an option.
//! - Zero flows count as one.

mod flow_count;
mod flow_map;
mod flow_table;
mod hash;
mod profile;
mod queue_map;
#[cfg(test)]
mod tests;

pub use profile::Profile;
pub use queue_map::{PassCount, Release, Tables};

use alloc::boxed::Box;

use tidegate_units::{Bytes, ConfigError, QueueId, Ratio, Size, Span, Time, settings};

use self::flow_count::FlowCount;
pub(super) use self::queue_map::{Options, QueueMap};
use super::red::Reading;
use super::{Cx, MarkDecision, Marker, PortInfo, Queues};
use crate::{Pkt, Rule};

settings! {
    /// Parameters of DiffECN.
    #[named("diff-ecn", "marks flows that hold more than their share of the port",
        "schemes/diff-ecn.md",
        "scheduler = { kind = \"sp-dwrr\", strict = 1, quanta = [1500, 1500, 1500, 1500, 1500, 1500, 1500] }\n")]
    pub struct Config {
        /// Published setup that supplies every value left at `none` below.
        pub profile: Profile = Profile::Simulation,
        /// Threshold for one active flow (`K`): mark strictly above this length. `none` derives it
        /// as λ × RTT × link speed (equation 1).
        #[is(threshold)]
        pub threshold: Option<Size> = None,
        /// Factor of a derived threshold (`λ`): 0.17 for DCTCP in theory (section II-B). `none`
        /// gives the printed threshold of the profile at its speed and round-trip time: 13/120 in
        /// the simulations, 408/2375 in the testbed.
        pub lambda: Option<Ratio> = None,
        /// Base round-trip time (`RTT`), of which a derived threshold and the period are multiples.
        /// `none`: 120us in the simulations, 190us in the testbed.
        pub rtt: Option<Span> = None,
        /// Unit of thresholds: they are whole numbers of such cells. `none`: 1 byte in the
        /// simulations, which means no further rounding, and Tofino's 80 bytes in the testbed
        /// (section VI-B).
        pub cell: Option<Bytes> = None,
        /// Whether the queue length includes the departing packet (section IV-C.2).
        pub reading: Reading = Reading::Inclusive,
        /// Memory and count of flows. `none`: exact in the simulations, the tables of the switch
        /// program in the testbed (section V).
        pub tables: Option<Tables> = None,
        /// The queue that the scheduler serves strictly first (section IV-B.2). All others are
        /// ordinary.
        pub priority_queue: u8 = 0,
        /// Bytes that an active flow may pass through the high-priority queue, above zero (section
        /// VI-C.4).
        pub pass_limit: Size = Size::Packets(10),
        /// Whether the arriving packet counts towards the bytes that its flow has passed (figure
        /// 8).
        pub pass_count: PassCount = PassCount::WithArrival,
        /// Bytes of a full packet, for amounts in packets.
        pub mtu: u32 = 1500,
        /// Hardware tables only: the event at which the flow map forgets a flow.
        pub release: Release = Release::QueueEmpty,
        /// Hardware tables only: the period of the flow count and of the idle release (`T_period`),
        /// in round-trip times (section VI-B.2).
        pub period: Ratio = PERIOD_RTTS,
        /// Hardware tables only: entries of the flow map for each queue (section IV-B.3). The sum
        /// is rounded up to a power of two.
        pub map_entries: u32 = 512,
        /// Hardware tables only: registers of the flow count (section V-B), rounded up to a power
        /// of two.
        pub count_registers: u32 = 1 << 14,
        /// Packets between updates of the queue lengths that the queue mapping sees (section
        /// VII-C); 1 updates with each packet.
        pub update_packets: u32 = 1,
        /// Shortest time between such updates: the time that a packet needs to carry the lengths
        /// around (section VII-C).
        pub update_time: Span = Span::ZERO,
    }
}

/// DiffECN.
#[derive(Clone, Debug)]
pub struct DiffEcn(Box<State>);

#[derive(Clone, Debug)]
struct State {
    map: QueueMap,
    /// `None` if the map counts exactly.
    count: Option<FlowCount>,
    /// Thresholds in bytes, by number of flows. Zero flows count as one; the last entry, for as
    /// many flows as queues, also serves all larger numbers.
    thresholds: Box<[u32]>,
    reading: Reading,
}

impl DiffEcn {
    /// Builds DiffECN with these parameters.
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
                update_packets: config.update_packets,
                update_time: config.update_time,
            },
            port,
        )?;
        Ok(Self(Box::new(State {
            map,
            count: flow_count(config)?,
            thresholds: thresholds(config, port)?,
            reading: config.reading,
        })))
    }

    /// Number of active flows as counted: flows with packets queued or, with the hardware tables,
    /// the larger count of this period and the last one.
    pub fn active_flows(&self) -> u32 {
        self.0.active_flows()
    }
}

impl Marker for DiffEcn {
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
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        let state = &mut *self.0;
        if let Some(count) = &mut state.count {
            count.on_packet(cx.pkt.flow, cx.now);
        }
        // Read before the map forgets the packet: its flow is one of the active ones.
        let threshold = state.threshold();
        state.map.on_departed(cx);
        let own = match state.reading {
            Reading::Exclusive => 0,
            Reading::Inclusive => cx.pkt.len,
        };
        let length = u64::from(cx.queue_bytes) + u64::from(own);
        MarkDecision::mark_if(length > u64::from(threshold), Rule::FlowShare)
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
            // Without a flow count, the map counts.
            None => self.map.active_flows().unwrap_or(0),
            Some(count) => count.flows(),
        }
    }

    /// Threshold of every queue for the current number of flows (`K_p`).
    #[inline]
    fn threshold(&self) -> u32 {
        let most = self.thresholds.len() - 1;
        self.thresholds[most.min(self.active_flows() as usize)]
    }
}

impl Config {
    /// Time that a derived threshold takes at the port's speed (`λ × RTT`).
    pub fn derived_time(&self) -> Span {
        self.lambda().of_span(self.rtt())
    }

    /// See [`super::Config::table_entries`].
    pub(super) fn table_entries(&self, queues: u8) -> u64 {
        let registers = match self.tables() {
            Tables::Exact => 0,
            Tables::Hardware => self.count_registers,
        };
        self.tables().map_entries(self.map_entries, queues) + u64::from(registers)
    }

    fn rtt(&self) -> Span {
        self.rtt.unwrap_or(self.profile.rtt())
    }

    fn lambda(&self) -> Ratio {
        self.lambda.unwrap_or(self.profile.length_lambda())
    }

    fn tables(&self) -> Tables {
        self.tables.unwrap_or(self.profile.tables())
    }

    fn cell(&self) -> Bytes {
        self.cell.unwrap_or(self.profile.cell())
    }
}

/// DiffECN, section VI-B.2.
pub(super) const PERIOD_RTTS: Ratio = Ratio::new(3, 2).expect("the denominator is not zero");

/// Thresholds for zero to `port.queues` flows.
fn thresholds(config: &Config, port: &PortInfo) -> Result<Box<[u32]>, ConfigError> {
    let largest = u64::from(u32::MAX);
    let Bytes(cell @ 1..) = config.cell() else {
        return Err(ConfigError::out_of_range("cell", config.cell(), "1B or more"));
    };
    let allowed = alloc::format!("one cell ({}) to {}", config.cell(), Bytes(largest));
    let in_range = |bytes: &u64| (cell..=largest).contains(bytes);
    let whole = match config.threshold {
        Some(given) => Some(given.in_bytes(config.mtu))
            .filter(in_range)
            .ok_or_else(|| ConfigError::out_of_range("threshold", given, allowed))?,
        None => {
            Some(port.rate.bytes_in(config.derived_time())).filter(in_range).ok_or_else(|| {
                let allowed = alloc::format!("a threshold λ · RTT · C of {allowed}");
                ConfigError::out_of_range("lambda", config.lambda(), allowed)
            })?
        }
    };
    let cells = whole / cell;
    let threshold = |flows: u8| {
        // At most `whole`, which fits 32 bits.
        (cells / u64::from(flows.max(1)) * cell) as u32
    };
    Ok((0..=port.queues).map(threshold).collect())
}

fn flow_count(config: &Config) -> Result<Option<FlowCount>, ConfigError> {
    if config.tables() == Tables::Exact {
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
    Ok(Some(FlowCount::new(bits, config.period.of_span(config.rtt()))))
}

/// Most registers of the hardware flow count: 4 MiB of them.
const MAX_REGISTERS: u32 = 1 << 20;
