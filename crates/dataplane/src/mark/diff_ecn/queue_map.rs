//! The queue mapping unit (QMU): gives each active flow a queue of its own while enough queues are
//! free.
//!
//! DiffECN, section IV-B, figure 9, and algorithm 1, lines 1 to 24. One queue of the port is
//! reserved and served strictly first; the others are ordinary.
//!
//! - A new flow takes the lowest-numbered empty ordinary queue, or else the high-priority one.
//! - A flow in an ordinary queue stays there.
//! - A flow in the high-priority queue moves to an empty queue as soon as one of its packets finds
//!   one (packet-triggered probing). Past its limit it moves to the shortest ordinary queue, in
//!   bytes; of equally short ones, to the lowest-numbered. It does not come back while it is
//!   active.
//!
//! A flow's packets leave in order: packets in the high-priority queue leave before all others, and
//! a flow never returns to it. This needs a scheduler that serves that queue strictly first; any
//! other is refused.
//!
//! Under such a scheduler no ordinary queue empties while the high-priority queue holds packets. If
//! a flow is forgotten with its last packet, probing therefore succeeds only for a flow that is new
//! again, and the limit applies to one backlog. A flow that stays below the link's speed is limited
//! only if entries outlive their packets: hardware tables with the idle release.
//!
//! The ingress may see outdated queue lengths (section VII-C): empty and shortest queues are then
//! found from lengths that are updated every few packets or after some time. A queue that was just
//! given to a flow may be given to a second one before the next update. The mapping from flows to
//! queues is the ingress's own knowledge, and stays exact.
//!
//! A choice becomes the flow's queue when a packet is queued there, not before: a packet that the
//! buffer refuses changes nothing. On the chip the map is written ahead of the traffic manager.

use alloc::boxed::Box;
use alloc::vec;

use tidegate_units::{ConfigError, QueueId, Ratio, Size, Span, Time, choices};

use super::flow_map::{FlowMap, Life};
use super::flow_table::FlowTable;
use crate::mark::red::packet_size;
use crate::mark::{Cx, PortInfo, Queues};
use crate::{MAX_QUEUES, Pkt};

choices! {
    /// Memory and count of flows.
    #[non_exhaustive]
    pub enum Tables {
        /// Each active flow by its own id, as in the simulations (section IV-B).
        Exact = "exact",
        /// By hash, with the arrays of the switch program (section V).
        Hardware = "hardware",
    }
}

choices! {
    /// Event at which the hardware flow map forgets a flow.
    #[non_exhaustive]
    pub enum Release {
        /// The end of a period without a packet (section VII-B). Packets that wait longer than that
        /// can be reordered.
        Idle = "idle",
        /// The departure of the last packet from its queue (section IV-B).
        QueueEmpty = "queue-empty",
    }
}

choices! {
    /// Whether the arriving packet counts towards the bytes that its flow has passed.
    #[non_exhaustive]
    pub enum PassCount {
        /// Only the bytes before it, as the comment in algorithm 1 can be read.
        BeforeArrival = "before-arrival",
        /// Those bytes and its own: with a limit of two packets, two pass, as in figure 8.
        WithArrival = "with-arrival",
    }
}

impl Tables {
    /// Entries of the hardware flow map with `each` for each queue, rounded up to a power of two.
    pub(in crate::mark) fn map_entries(self, each: u32, queues: u8) -> u64 {
        match self {
            Self::Exact => 0,
            Self::Hardware => (u64::from(each) * u64::from(queues)).next_power_of_two(),
        }
    }
}

/// Settings of a queue map, shared by `DiffEcn` and `PerFlowTcn`.
#[derive(Clone, Debug)]
pub(in crate::mark) struct Options {
    pub(in crate::mark) tables: Tables,
    pub(in crate::mark) priority_queue: u8,
    pub(in crate::mark) pass_limit: Size,
    pub(in crate::mark) pass_count: PassCount,
    pub(in crate::mark) mtu: u32,
    pub(in crate::mark) map_entries: u32,
    pub(in crate::mark) release: Release,
    pub(in crate::mark) rtt: Span,
    pub(in crate::mark) period: Ratio,
    pub(in crate::mark) update_packets: u32,
    pub(in crate::mark) update_time: Span,
}

impl Options {
    /// Exact memory of flows, and otherwise the defaults of [`super::Config`].
    pub(in crate::mark) const fn plain() -> Self {
        Self {
            tables: Tables::Exact,
            priority_queue: 0,
            pass_limit: Size::Packets(10),
            pass_count: PassCount::WithArrival,
            mtu: 1500,
            map_entries: 512,
            release: Release::QueueEmpty,
            rtt: Span::ZERO,
            period: super::PERIOD_RTTS,
            update_packets: 1,
            update_time: Span::ZERO,
        }
    }
}

/// Map from flows to the queues of their packets.
#[derive(Clone, Debug)]
pub(in crate::mark) struct QueueMap {
    /// One bit for each ordinary queue that is empty.
    empty: u128,
    /// One bit for each ordinary queue.
    ordinary: u128,
    priority_queue: QueueId,
    pass_count: PassCount,
    pass_limit: u32,
    memory: Memory,
    /// Queue lengths known to the ingress, if they can be outdated.
    view: Option<Box<View>>,
}

/// Queue lengths at the last update.
#[derive(Clone, Debug)]
struct View {
    /// Number of arrivals after which they are updated,
    every: u32,
    /// but not before this much time has passed.
    after: Span,
    /// Packets that arrived since the last update, and its time; `None` before the first packet.
    taken: Option<(u32, Time)>,
    bytes: Box<[u32]>,
    /// One bit for each queue that was empty.
    empty: u128,
}

#[derive(Clone, Debug)]
enum Memory {
    Exact(FlowTable),
    Hardware(FlowMap),
}

impl QueueMap {
    pub(in crate::mark) fn new(options: &Options, port: &PortInfo) -> Result<Self, ConfigError> {
        if !(2..=MAX_QUEUES).contains(&port.queues) {
            let allowed =
                alloc::format!("2 to {MAX_QUEUES}: one high-priority queue, the others ordinary");
            return Err(ConfigError::out_of_range("queues", port.queues, allowed));
        }
        if options.priority_queue >= port.queues {
            return Err(ConfigError::out_of_range(
                "priority_queue",
                options.priority_queue,
                alloc::format!("a queue of the port, 0 to {}", port.queues - 1),
            ));
        }
        check_first(options.priority_queue, port)?;
        let mtu = packet_size("mtu", options.mtu)?;
        let pass_limit = options.pass_limit.in_bytes(mtu);
        let (1.., Ok(pass_limit)) = (pass_limit, u32::try_from(pass_limit)) else {
            return Err(ConfigError::out_of_range(
                "pass_limit",
                options.pass_limit,
                alloc::format!("1 to {} bytes", u32::MAX),
            ));
        };
        let all = u128::MAX >> (MAX_QUEUES - port.queues);
        let priority_queue = QueueId(options.priority_queue);
        let ordinary = all & !bit(priority_queue);
        Ok(Self {
            empty: ordinary,
            ordinary,
            priority_queue,
            pass_count: options.pass_count,
            pass_limit,
            memory: Memory::new(options, port.queues)?,
            view: View::new(options, port.queues)?.map(Box::new),
        })
    }

    /// Queue for an arriving packet. Does not change the mapping: the packet may still be dropped.
    #[inline]
    pub(in crate::mark) fn assign(
        &mut self,
        pkt: &Pkt,
        queues: &impl Queues,
        now: Time,
    ) -> QueueId {
        if let Some(view) = &mut self.view {
            view.on_arrival(queues, now);
        }
        let known = match &self.memory {
            Memory::Exact(table) => table.find(pkt.flow),
            Memory::Hardware(map) => map.find(pkt.flow, now),
        };
        match known {
            Some((queue, _)) if queue != self.priority_queue => queue,
            Some((_, passed)) if self.is_past_limit(passed, pkt.len) => self.shortest(queues),
            _ => self.lowest_empty().unwrap_or(self.priority_queue),
        }
    }

    /// Records a queued packet.
    #[inline]
    pub(in crate::mark) fn on_queued(&mut self, cx: &Cx) {
        let (flow, queue) = (cx.pkt.flow, cx.queue);
        self.empty &= !bit(queue);
        let passed = if queue == self.priority_queue { cx.pkt.len } else { 0 };
        match &mut self.memory {
            Memory::Exact(table) => table.on_queued(flow, queue, passed),
            Memory::Hardware(map) => map.on_queued(flow, queue, passed, cx.now),
        }
    }

    /// Records a packet that left its queue.
    #[inline]
    pub(in crate::mark) fn on_departed(&mut self, cx: &Cx) {
        let emptied = cx.queue_packets == 0;
        if emptied {
            self.empty |= bit(cx.queue) & self.ordinary;
        }
        match &mut self.memory {
            Memory::Exact(table) => table.on_departed(cx.pkt.flow),
            Memory::Hardware(map) if emptied => map.on_emptied(cx.queue),
            Memory::Hardware(_) => {}
        }
    }

    /// Number of flows that have packets queued. `None` with the hardware map, which does not count
    /// them.
    #[inline]
    pub(in crate::mark) const fn active_flows(&self) -> Option<u32> {
        match &self.memory {
            Memory::Exact(table) => Some(table.flows()),
            Memory::Hardware(_) => None,
        }
    }

    #[inline]
    fn is_past_limit(&self, passed: u32, len: u32) -> bool {
        let arriving = match self.pass_count {
            PassCount::BeforeArrival => 0,
            PassCount::WithArrival => len,
        };
        u64::from(passed) + u64::from(arriving) > u64::from(self.pass_limit)
    }

    #[inline]
    fn lowest_empty(&self) -> Option<QueueId> {
        let empty = match &self.view {
            None => self.empty,
            Some(view) => view.empty & self.ordinary,
        };
        // At most 127 if a bit is set.
        (empty != 0).then(|| QueueId(empty.trailing_zeros() as u8))
    }

    #[cold]
    fn shortest(&self, queues: &impl Queues) -> QueueId {
        (0..MAX_QUEUES)
            .map(QueueId)
            .filter(|&queue| self.ordinary & bit(queue) != 0)
            .min_by_key(|&queue| match &self.view {
                None => queues.bytes(queue),
                Some(view) => view.bytes[queue.index()],
            })
            .expect("at least one queue is ordinary")
    }
}

impl View {
    /// Creates the view; `None` if lengths are always up to date.
    fn new(options: &Options, queues: u8) -> Result<Option<Self>, ConfigError> {
        if options.update_packets == 0 {
            let allowed = "1 or more packets; 1 updates with each packet";
            return Err(ConfigError::out_of_range("update_packets", 0, allowed));
        }
        if options.update_packets == 1 && options.update_time == Span::ZERO {
            return Ok(None);
        }
        Ok(Some(Self {
            every: options.update_packets,
            after: options.update_time,
            taken: None,
            bytes: vec![0; usize::from(queues)].into(),
            empty: 0,
        }))
    }

    fn on_arrival(&mut self, queues: &impl Queues, now: Time) {
        if let Some((packets, at)) = &mut self.taken {
            *packets = packets.saturating_add(1);
            if *packets < self.every || now - *at < self.after {
                return;
            }
        }
        self.taken = Some((0, now));
        self.empty = 0;
        for (number, bytes) in (0..).zip(&mut self.bytes) {
            let queue = QueueId(number);
            *bytes = queues.bytes(queue);
            if queues.packets(queue) == 0 {
                self.empty |= bit(queue);
            }
        }
    }
}

/// Refuses a scheduler that would reorder a flow which leaves the high-priority queue.
fn check_first(priority_queue: u8, port: &PortInfo) -> Result<(), ConfigError> {
    match port.first {
        Some(first) if first.0 == priority_queue => Ok(()),
        Some(first) => Err(ConfigError::out_of_range(
            "priority_queue",
            priority_queue,
            alloc::format!("{}, the queue that {} serves first", first.0, port.scheduler),
        )),
        None => Err(ConfigError::out_of_range(
            "scheduler",
            port.scheduler,
            "a scheduler that serves one queue strictly first: sp-dwrr, sp-wfq or sp-wrr with strict = 1, or sp",
        )),
    }
}

impl Memory {
    fn new(options: &Options, queues: u8) -> Result<Self, ConfigError> {
        if options.tables == Tables::Exact {
            // Twice as many slots as queues, so that the table is at its limit when each queue has
            // its flow.
            return Ok(Self::Exact(FlowTable::new(bits_for(u32::from(queues) * 2))));
        }
        if !(1..=MAX_MAP_ENTRIES).contains(&options.map_entries) {
            return Err(ConfigError::out_of_range(
                "map_entries",
                options.map_entries,
                alloc::format!("1 to {MAX_MAP_ENTRIES} for each queue"),
            ));
        }
        let period = options.period.of_span(options.rtt);
        if period == Span::ZERO {
            let field = if options.rtt == Span::ZERO { "rtt" } else { "period" };
            return Err(ConfigError::out_of_range(field, period, "above 0"));
        }
        let life = match options.release {
            Release::Idle => Life::Idle(period),
            Release::QueueEmpty => Life::Queue(vec![0; usize::from(queues)].into()),
        };
        let bits = bits_for(options.map_entries * u32::from(queues));
        Ok(Self::Hardware(FlowMap::new(bits, life)))
    }
}

/// Most entries of the hardware map for each queue: with 128 queues, 2^23 entries in all.
const MAX_MAP_ENTRIES: u32 = 1 << 16;

/// Smallest number of bits that can number `entries` entries.
pub(super) const fn bits_for(entries: u32) -> u32 {
    entries.next_power_of_two().trailing_zeros()
}

/// The queue's bit in a map of queues, which has a bit for each possible queue.
#[inline]
const fn bit(queue: QueueId) -> u128 {
    1_u128.wrapping_shl(queue.0 as u32)
}
