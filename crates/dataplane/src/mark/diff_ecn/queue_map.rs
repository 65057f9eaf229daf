//! The queue mapping unit (QMU): gives each active flow a queue of its own while there are enough.
//!
//! DiffECN, section IV-B, figure 9, and algorithm 1, lines 1 to 24. One queue of the port is set
//! aside and served strictly first; the others are ordinary.
//!
//! - A new flow takes the lowest-numbered empty ordinary queue, or else the high-priority one.
//! - A flow in an ordinary queue stays there.
//! - A flow in the high-priority queue moves to an empty queue as soon as one of its packets finds
//!   one (packet-triggered probing). Past its limit it moves to the shortest ordinary queue, in
//!   bytes; of equally short ones, to the lowest-numbered. It does not come back while it is
//!   active.
//!
//! A flow's packets leave in order: those in the high-priority queue go before any other, and a
//! flow never returns to it. This needs a scheduler that serves that queue strictly first; any
//! other is refused.
//!
//! Under such a scheduler no ordinary queue empties while the high-priority queue holds packets.
//! Where a flow is forgotten with its last packet, probing therefore succeeds only for a flow that
//! is new again, and the limit holds for one backlog. A flow that stays below the link's speed is
//! bounded only where entries outlive their packets: hardware tables with the idle release.
//!
//! The ingress may see queues as they were a while ago (section VII-C): what is empty and what is
//! shortest then comes from lengths that are brought up to date every few packets or after some
//! time. A queue that has just been given to a flow may be given to a second one before the next
//! update. Which flow has which queue is the ingress's own knowledge, and stays exact.
//!
//! A choice becomes the flow's queue when a packet is queued there, not before: one that the buffer
//! refuses changes nothing. On the chip the map is written ahead of the traffic manager.

use alloc::boxed::Box;
use alloc::vec;

use tidegate_units::{ConfigError, QueueId, Ratio, Size, Span, Time, choices};

use super::flow_map::{FlowMap, Life};
use super::flow_table::FlowTable;
use crate::mark::red::packet_size;
use crate::mark::{Cx, PortInfo, Queues};
use crate::{MAX_QUEUES, Pkt};

choices! {
    /// How flows are remembered and counted.
    #[non_exhaustive]
    pub enum Tables {
        /// Each active flow by its own id, as in the simulations (section IV-B).
        Exact = "exact",
        /// By hash, with the arrays of the switch program (section V).
        Hardware = "hardware",
    }
}

choices! {
    /// When the hardware flow map forgets a flow.
    #[non_exhaustive]
    pub enum Release {
        /// After a period without a packet (section VII-B). Packets can be reordered if they wait
        /// longer than that.
        Idle = "idle",
        /// When the last packet leaves its queue (section IV-B).
        QueueEmpty = "queue-empty",
    }
}

choices! {
    /// Whether the arriving packet is part of what its flow has passed.
    #[non_exhaustive]
    pub enum PassCount {
        /// The bytes before it, as the comment in algorithm 1 can be read.
        BeforeArrival = "before-arrival",
        /// Those bytes and its own: with a limit of two packets two pass, as in figure 8.
        WithArrival = "with-arrival",
    }
}

impl Tables {
    /// Entries of the hardware's flow map with `each` for each queue, a power of two in all.
    pub(in crate::mark) fn map_entries(self, each: u32, queues: u8) -> u64 {
        match self {
            Self::Exact => 0,
            Self::Hardware => (u64::from(each) * u64::from(queues)).next_power_of_two(),
        }
    }
}

/// What a queue map is made of: the settings that `DiffEcn` and `PerFlowTcn` have in common.
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
    /// Flows remembered exactly, and what [`super::Config`] has as default.
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

/// Which queue each flow's packets go to.
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
    /// What the ingress knows of the queues, where that is not always true.
    view: Option<Box<View>>,
}

/// The lengths of the queues as they were.
#[derive(Clone, Debug)]
struct View {
    /// They are taken anew with the arrival of every so many packets,
    every: u32,
    /// but not before so much time has passed.
    after: Span,
    /// Packets that have arrived since, and when they were taken; `None` before the first packet.
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
            let allowed = alloc::format!("2 to {MAX_QUEUES}: one set aside, the others ordinary");
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

    /// The queue for an arriving packet. Changes nothing of the mapping: the packet may still be
    /// dropped.
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

    /// Notes that a packet was queued.
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

    /// Notes that a packet left its queue.
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

    /// The number of flows that have packets queued. The hardware map does not know.
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
    /// `None` for one that is always up to date.
    fn new(options: &Options, queues: u8) -> Result<Option<Self>, ConfigError> {
        if options.update_packets == 0 {
            let allowed = "1 or more packets; 1 is with each";
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

/// Refuses a scheduler under which a flow that leaves the high-priority queue would be reordered.
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
            "one that serves a queue strictly first: sp-dwrr, sp-wfq or sp-wrr with strict = 1, or sp",
        )),
    }
}

impl Memory {
    fn new(options: &Options, queues: u8) -> Result<Self, ConfigError> {
        if options.tables == Tables::Exact {
            // Twice as many slots as queues: full when each queue has its flow.
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

/// Entries of the hardware map for each queue: with 128 queues, 2^23 entries in all.
const MAX_MAP_ENTRIES: u32 = 1 << 16;

/// The fewest bits that number `entries` things.
pub(super) const fn bits_for(entries: u32) -> u32 {
    entries.next_power_of_two().trailing_zeros()
}

/// The queue's bit in a map of queues, of which there are at most as many as bits.
#[inline]
const fn bit(queue: QueueId) -> u128 {
    1_u128.wrapping_shl(queue.0 as u32)
}
