//! BFC, backpressure flow control: each flow has a queue of its own. A queue that is too long
//! pauses only the upstream queues that its packets came from.
//!
//! Goyal et al., "Backpressure Flow Control", NSDI 2022. The rules follow the re-implementation in
//! the published simulator of Pyrrha, by the authors of Floodgate. `docs/flow-control/bfc.md` lists
//! differences and omissions.
//!
//! - A flow keeps its queue while it has packets waiting and for some time after that. Otherwise an
//!   arriving packet gets the lowest queue that is empty and not paused, or a random one. A lone
//!   flow whose packets leave as they arrive has an empty queue: by default another flow may take
//!   it, and both share it.
//! - A queue is too long above the number of bytes that its share of the link sends in a round trip
//!   of the link that the packet came over. The share counts queues that hold packets and are not
//!   paused.
//! - Every packet that finds its queue too long, itself included, is flagged. While any flagged
//!   packet of an upstream queue waits at the switch, that queue is paused.
//! - Hosts have a queue for each flow. They send at the speed of their link.

use tidegate_dataplane::sched::QueueSet;
use tidegate_units::{
    ConfigError, FlowId, QueueId, Rate, Ratio, Rng, Span, Time, choices, settings,
};

choices! {
    /// Identification of flows at a switch.
    pub enum FlowIds {
        /// Each flow by its own id.
        Exact = "exact",
        /// By a hash, the same at all switches: flows with the same hash count as one.
        Hashed = "hashed",
    }
}

choices! {
    /// Queues that a new flow may take before it must share one.
    pub enum Takes {
        /// Queues without packets, even if another flow keeps them and may return.
        Empty = "empty",
        /// Queues that no other flow keeps.
        Unkept = "unkept",
    }
}

settings! {
    /// Parameters of BFC.
    #[named("bfc", "pauses the queues of single flows upstream", "flow-control/bfc.md",
        "\n[switch.scheduler]\nkind = \"sp-dwrr\"\nstrict = 1\nquanta = [1500, 1500, 1500, 1500, 1500, 1500, 1500]\n\
         \n[nic.scheduler]\nkind = \"sp-dwrr\"\nstrict = 1\nquanta = [1500, 1500, 1500, 1500, 1500, 1500, 1500]\n")]
    pub struct Config {
        /// Identification of flows at a switch.
        pub flow_ids: FlowIds = FlowIds::Hashed,
        /// Hashed flows only: number of hash values for each queue of a switch.
        pub ids_per_queue: u32 = 100,
        /// Time for which a flow keeps its queue after its last packet has left, in round trips of
        /// the link that it comes over.
        pub sticky: Ratio = Ratio::whole(2),
        /// Queues that a new flow may take before it must share one.
        pub takes: Takes = Takes::Empty,
    }
}

impl Config {
    /// Checks the settings and names the first that cannot be used.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.ids_per_queue == 0 {
            let allowed = "at least 1";
            return Err(ConfigError::out_of_range("ids_per_queue", 0, allowed));
        }
        Ok(())
    }

    /// Number of hash values at a switch with `queues` queues in total; `None` if flows are
    /// identified exactly.
    pub(crate) fn ids(&self, queues: u64) -> Option<u64> {
        let hashed = self.flow_ids == FlowIds::Hashed;
        let ids = queues.saturating_mul(self.ids_per_queue.into());
        hashed.then_some(ids.min(u32::MAX.into()))
    }

    /// Times by which BFC judges packets that come over a link of this delay. Serialization is not
    /// included.
    pub(crate) fn hop(&self, delay: Span) -> Hop {
        let round_trip = delay * 2;
        Hop { round_trip, sticky: self.sticky.of_span(round_trip) }
    }
}

/// Properties of the link that a packet came over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Twice its delay (`HRTT`).
    pub(crate) round_trip: Span,
    /// Time for which a flow that comes over it keeps an empty queue.
    pub(crate) sticky: Span,
}

/// Queue of control packets, which is never paused.
pub(crate) const CONTROL: QueueId = QueueId(0);

/// A set of queues: one bit each.
type Bits = u128;

fn bit(queue: QueueId) -> Bits {
    1 << queue.index()
}

/// All queues except the queue of control packets.
fn data_queues(queues: u8) -> Bits {
    // Two shifts, because a shift by 128 bits would shift by none.
    !(Bits::MAX << (queues - 1) << 1) & !bit(CONTROL)
}

fn set_of(mut bits: Bits) -> QueueSet {
    let mut set = QueueSet::default();
    while bits != 0 {
        set.insert(QueueId(bits.trailing_zeros() as u8));
        bits &= bits - 1;
    }
    set
}

/// A port of a switch: its flows, and the queue of each.
#[derive(Debug)]
pub(crate) struct SwitchPort {
    rate: Rate,
    /// Number of hash values; `None` if flows are identified exactly.
    ids: Option<u64>,
    seed: u64,
    takes: Takes,
    /// Flows, by id.
    flows: Vec<Entry>,
    /// By queue: waiting bytes.
    bytes: Box<[u32]>,
    holding: Bits,
    paused: Bits,
    draws: Rng,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u32,
    packets: u32,
    /// Time at which its last packet came or left.
    last: Time,
    /// Time after that for which it keeps its queue.
    sticky: Span,
    queue: QueueId,
}

impl Entry {
    /// Whether the flow still keeps its queue.
    fn keeps(&self, now: Time) -> bool {
        self.packets > 0 || now - self.last <= self.sticky
    }
}

impl SwitchPort {
    /// Creates a port with `queues` queues, at least two, of a switch with `ids` hash values.
    /// `stream` is a number that no other port has.
    pub(crate) fn new(
        rate: Rate,
        queues: u8,
        (ids, takes): (Option<u64>, Takes),
        (seed, stream): (u64, u64),
    ) -> Self {
        Self {
            rate,
            ids,
            seed,
            takes,
            flows: Vec::new(),
            bytes: vec![0; usize::from(queues)].into(),
            holding: 0,
            paused: 0,
            draws: Rng::new(seed, PORT_STREAM + stream),
        }
    }

    /// Selects the queue of an arriving data packet.
    pub(crate) fn assign(&mut self, flow: FlowId, sticky: Span, now: Time) -> QueueId {
        let id = self.id(flow);
        match self.find(id) {
            Ok(index) => {
                if !self.flows[index].keeps(now) {
                    self.flows[index].queue = self.pick(now);
                }
                let entry = &mut self.flows[index];
                entry.last = now;
                entry.sticky = sticky;
                entry.queue
            }
            Err(_) => {
                if self.flows.len() == self.flows.capacity() {
                    self.flows.retain(|entry| entry.keeps(now));
                }
                let queue = self.pick(now);
                let (Ok(index) | Err(index)) = self.find(id);
                let entry = Entry { id, packets: 0, last: now, sticky, queue };
                self.flows.insert(index, entry);
                queue
            }
        }
    }

    /// Records a packet in the queue just assigned to it. Returns whether the queue is too long.
    pub(crate) fn on_queued(
        &mut self,
        flow: FlowId,
        queue: QueueId,
        len: u32,
        round_trip: Span,
    ) -> bool {
        self.bytes[queue.index()] += len;
        self.holding |= bit(queue);
        self.entry(flow).packets += 1;
        let active = (self.holding & !self.paused).count_ones().max(1);
        u64::from(self.bytes[queue.index()]) * u64::from(active) > self.rate.bytes_in(round_trip)
    }

    /// Records that a packet begins to leave.
    pub(crate) fn on_departed(&mut self, flow: FlowId, queue: QueueId, len: u32, now: Time) {
        self.bytes[queue.index()] -= len;
        if self.bytes[queue.index()] == 0 {
            self.holding &= !bit(queue);
        }
        let entry = self.entry(flow);
        entry.packets -= 1;
        entry.last = now;
    }

    /// The lowest queue that may be taken and is not paused, or a random one.
    fn pick(&mut self, now: Time) -> QueueId {
        let queues = self.bytes.len() as u8;
        let taken = match self.takes {
            Takes::Empty => self.holding,
            Takes::Unkept => {
                let kept = self.flows.iter().filter(|entry| entry.keeps(now));
                kept.fold(0, |bits, entry| bits | bit(entry.queue))
            }
        };
        let usable = data_queues(queues) & !taken & !self.paused;
        if usable != 0 {
            return QueueId(usable.trailing_zeros() as u8);
        }
        let draw = u64::from(self.draws.next_u32()) * u64::from(queues - 1);
        QueueId(1 + (draw >> 32) as u8)
    }

    /// The flow of a packet that waits here or just arrived.
    fn entry(&mut self, flow: FlowId) -> &mut Entry {
        let index = self.find(self.id(flow));
        &mut self.flows[index.expect("a flow with packets is in the list of flows")]
    }

    fn find(&self, id: u32) -> Result<usize, usize> {
        self.flows.binary_search_by_key(&id, |entry| entry.id)
    }

    /// Id of a flow at this switch.
    fn id(&self, flow: FlowId) -> u32 {
        match self.ids {
            None => flow.0,
            Some(ids) => {
                let hash = Rng::new(self.seed, FLOW_STREAM + u64::from(flow.0)).next_u64();
                ((u128::from(hash) * u128::from(ids)) >> 64) as u32
            }
        }
    }
}

/// A port of a host: a queue for each flow, while there are enough queues.
#[derive(Debug)]
pub(crate) struct HostPort {
    /// Flows with waiting packets, ascending.
    flows: Vec<Waiting>,
    /// By queue: waiting packets.
    packets: Box<[u32]>,
    /// Paused flows, ascending.
    paused: Vec<FlowId>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    flow: FlowId,
    packets: u32,
    queue: QueueId,
}

impl HostPort {
    /// Creates a port with `queues` queues, at least two.
    pub(crate) fn new(queues: u8) -> Self {
        Self { flows: Vec::new(), packets: vec![0; usize::from(queues)].into(), paused: Vec::new() }
    }

    /// Selects the queue of a data packet that the host sends. Flows share queues if there are too
    /// many.
    pub(crate) fn assign(&self, flow: FlowId) -> QueueId {
        match self.find(flow) {
            Ok(index) => self.flows[index].queue,
            Err(_) => {
                let data = &self.packets[1..];
                let empty = data.iter().position(|&packets| packets == 0);
                // The lowest bit of a flow's number is its direction.
                let queue = empty.unwrap_or((flow.0 >> 1) as usize % data.len());
                QueueId(1 + queue as u8)
            }
        }
    }

    /// Records a packet in its assigned queue. Returns whether the set of paused queues changes.
    pub(crate) fn on_queued(&mut self, flow: FlowId, queue: QueueId) -> bool {
        self.packets[queue.index()] += 1;
        match self.find(flow) {
            Ok(index) => {
                self.flows[index].packets += 1;
                false
            }
            Err(index) => {
                let packets = 1;
                let waiting = Waiting { flow, packets, queue };
                self.flows.insert(index, waiting);
                self.is_paused(flow)
            }
        }
    }

    /// Records that a packet begins to leave.
    pub(crate) fn on_departed(&mut self, flow: FlowId, queue: QueueId) {
        self.packets[queue.index()] -= 1;
        let index = self
            .find(flow)
            .expect("the flow of a departing packet is in the list of waiting flows");
        self.flows[index].packets -= 1;
        if self.flows[index].packets == 0 {
            self.flows.remove(index);
        }
    }

    fn find(&self, flow: FlowId) -> Result<usize, usize> {
        self.flows.binary_search_by_key(&flow, |entry| entry.flow)
    }

    fn is_paused(&self, flow: FlowId) -> bool {
        self.paused.binary_search(&flow).is_ok()
    }
}

/// A port that can be paused: at a switch by queue, at a host by flow.
#[derive(Debug)]
pub(crate) enum Sender {
    Host(HostPort),
    Switch(SwitchPort),
}

impl Sender {
    /// Pauses or resumes the object of a key: a queue of a switch, a flow of a host.
    pub(crate) fn pause(&mut self, key: u32, is_paused: bool) {
        match self {
            Self::Host(port) => match (port.paused.binary_search(&FlowId(key)), is_paused) {
                (Err(index), true) => port.paused.insert(index, FlowId(key)),
                (Ok(index), false) => {
                    port.paused.remove(index);
                }
                _ => {}
            },
            Self::Switch(port) => {
                let queue = bit(QueueId(key as u8));
                port.paused = if is_paused { port.paused | queue } else { port.paused & !queue };
            }
        }
    }

    /// Whether anything is paused.
    pub(crate) fn is_any_paused(&self) -> bool {
        match self {
            Self::Host(port) => !port.paused.is_empty(),
            Self::Switch(port) => port.paused != 0,
        }
    }

    /// Whether no data packet waits.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Host(port) => port.flows.is_empty(),
            Self::Switch(port) => port.holding == 0,
        }
    }

    /// Queues that must be paused.
    pub(crate) fn paused_queues(&self) -> QueueSet {
        match self {
            Self::Host(port) => {
                let waiting = port.flows.iter();
                let paused = waiting.filter(|entry| port.is_paused(entry.flow));
                set_of(paused.fold(0, |bits, entry| bits | bit(entry.queue)))
            }
            Self::Switch(port) => set_of(port.paused),
        }
    }
}

/// Flagged packets that wait at a switch and came over one link, counted by their upstream key: a
/// queue of a switch, a flow of a host.
#[derive(Debug, Default)]
pub(crate) struct Flagged(Vec<(u32, u32)>);

impl Flagged {
    /// Counts one more packet. Returns whether it is the first.
    pub(crate) fn raise(&mut self, key: u32) -> bool {
        match self.find(key) {
            Ok(index) => {
                self.0[index].1 += 1;
                false
            }
            Err(index) => {
                self.0.insert(index, (key, 1));
                true
            }
        }
    }

    /// Counts a departure. Returns whether it was the last.
    pub(crate) fn lower(&mut self, key: u32) -> bool {
        let index = self.find(key).expect("a flagged packet was counted on arrival");
        self.0[index].1 -= 1;
        let is_last = self.0[index].1 == 0;
        if is_last {
            self.0.remove(index);
        }
        is_last
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, key: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key)
    }
}

/// Random streams of ports and of flows.
const PORT_STREAM: u64 = 4 << 40;
const FLOW_STREAM: u64 = 5 << 40;

#[cfg(test)]
mod tests;
