//! Queues of hosts: what a host has sent waits here until its wire is free.
//!
//! Under `fq` this is the packet scheduler `fq` of Linux (`net/sched/sch_fq.c`) with TCP small
//! queues (`tcp_small_queue_check`, `net/ipv4/tcp_output.c`). Each end of a connection is a flow
//! with a FIFO of its own. Deficit round robin serves flows: new ones, which have just become busy,
//! before old ones. A flow has a credit of ten packets at first and gets two packets for every
//! turn. A sender whose flow holds more than its limit waits until one of its packets has left the
//! host.
//!
//! Under `fifo` it is known when a packet leaves as soon as it comes, and it is sent at once. All
//! packets of a host are then one flow here, and only if somebody looks at the queue.
//!
//! Differs from Linux: packets wait in the queue and nowhere behind it, no flow is paced, no queue
//! has a limit in packets, and a burst of segmentation offload is as many packets as it has
//! segments.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tidegate_dataplane::{Accepted, Departure, PortStats};
use tidegate_units::{ByteTime, ConfigError, PktId, QueueId, Span, Time};

use crate::calendar::Calendar;
use crate::fabric::Fabric;
use crate::network::LinkId;
use crate::observe::port::Observers;
use crate::packet::{EndId, Packet};
use crate::setup::Setup;
use crate::slab::Slab;

/// The queues of all hosts.
pub(super) struct HostQueues {
    /// Whether each end has a flow of its own.
    is_fair: bool,
    /// Credit that a flow gets for a turn, and that of a new one.
    quantum: i64,
    initial_quantum: i64,
    /// By link: the number of its card, if a host sends on it.
    card_of: Vec<u32>,
    cards: Vec<Card>,
    /// By end, or by card under `fifo`.
    flows: Vec<FlowQueue>,
    waiting: Slab<Waiting>,
    /// When cards finish sending, of those for which something waits.
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    /// The bytes that a sender may hold in any case.
    two_packets: u32,
}

/// The network card of a host, with the queue in front of it.
struct Card {
    byte_time: ByteTime,
    /// When the wire is free.
    free_at: Time,
    /// The flow of the packet on the wire and its length, until that is taken off what the flow
    /// holds.
    on_wire: Option<(u32, u32)>,
    /// Whether it is among the cards that wake.
    wakes: bool,
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    bytes: u32,
    packets: u32,
    observers: Option<Box<Observers>>,
}

/// The packets of an end that wait at its host.
#[derive(Clone, Copy)]
struct FlowQueue {
    head: u32,
    tail: u32,
    credit: i64,
    /// Bytes of packets with payload in the queue and on the wire.
    held: u64,
    card: u32,
    /// When it left the lists.
    emptied_at: Time,
    is_listed: bool,
    /// Whether its sender waits for a packet to leave.
    is_throttled: bool,
}

/// A packet in a queue.
#[derive(Clone, Copy)]
struct Waiting {
    packet: Packet,
    came_at: Time,
    next: u32,
}

/// What left a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The end that sent it.
    pub(super) from: EndId,
    /// When it came into the queue, and when its first and last bits left.
    pub(super) times: [Time; 3],
}

/// The only queue of a host, as observers see it.
const QUEUE: QueueId = QueueId(0);

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A flow that was idle for longer has credit for a turn at least (`flow_refill_delay`).
const REFILL_DELAY: Span = Span::from_ms(40);

/// A host's queue as observers see it.
#[derive(Clone, Copy)]
pub(crate) struct HostQueueView<'a> {
    /// What waits.
    pub(crate) bytes: u32,
    pub(crate) packets: u32,
    pub(crate) observers: Option<&'a Observers>,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { packet: Packet::default(), came_at: Time::ZERO, next: NONE }
    }
}

impl HostQueues {
    /// The queues that a setup asks for, if any.
    pub(super) fn new(setup: &Setup) -> Result<Option<Box<Self>>, ConfigError> {
        let is_fair = setup.has_fair_hosts();
        if !is_fair && !setup.observes_ideal_hosts() {
            return Ok(None);
        }
        let links = (0..).map(LinkId).zip(setup.network.links());
        let mut card_of = Vec::new();
        let mut cards = Vec::new();
        for (id, link) in links {
            if !setup.network.is_host(link.from) {
                card_of.push(NONE);
                continue;
            }
            card_of.push(cards.len() as u32);
            cards.push(Card {
                byte_time: ByteTime::new(link.rate),
                free_at: Time::ZERO,
                on_wire: None,
                wakes: false,
                new_flows: VecDeque::new(),
                old_flows: VecDeque::new(),
                bytes: 0,
                packets: 0,
                observers: Observers::new(id, link.rate, &setup.observe, 1, &PortStats::default())?
                    .map(Box::new),
            });
        }
        let longest = setup.longest_packet();
        let mut queues = Self {
            is_fair,
            quantum: 2 * i64::from(longest),
            initial_quantum: 10 * i64::from(longest),
            card_of,
            flows: Vec::new(),
            waiting: Slab::new(),
            wakes: BinaryHeap::with_capacity(cards.len()),
            two_packets: 2 * longest,
            cards,
        };
        if !is_fair {
            queues.make_room(queues.cards.len());
        }
        Ok(Some(Box::new(queues)))
    }

    /// When a card finishes sending next, if something waits for that.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.wakes.peek().map_or(Time::MAX, |Reverse((at, _))| *at)
    }

    /// A queue to look at, if a host sends on the link.
    pub(super) fn view(&self, link: LinkId) -> Option<HostQueueView<'_>> {
        let card = self.cards.get(self.card_of[link.index()] as usize)?;
        Some(HostQueueView {
            bytes: card.bytes,
            packets: card.packets,
            observers: card.observers.as_deref(),
        })
    }

    /// An end belongs to a new connection: its flow is new too.
    pub(super) fn forget(&mut self, end: EndId) {
        if !self.is_fair {
            return;
        }
        let new = self.new_flow();
        if let Some(flow) = self.flows.get_mut(end.0 as usize) {
            let card = &mut self.cards[flow.card as usize];
            if flow.is_listed {
                card.new_flows.retain(|&listed| listed != end.0);
                card.old_flows.retain(|&listed| listed != end.0);
            }
            card.on_wire = card.on_wire.filter(|&(sent, _)| sent != end.0);
            *flow = new;
        }
    }

    /// Whether an end holds more than it may, so that it waits for a packet to leave. It may hold
    /// two packets or what its pacing rate sends in 1/1024 s, and no more than `limit`.
    pub(super) fn throttles(
        &mut self,
        end: EndId,
        limit: u64,
        paced: impl FnOnce() -> u32,
        now: Time,
    ) -> bool {
        let held = self.held(end, now);
        // As in Linux, a sender may go on if it holds just as much as it may.
        let may_send = |most: u32| held <= limit.min(most.into());
        if may_send(self.two_packets) || may_send(self.two_packets.max(paced())) {
            return false;
        }
        self.flows[end.0 as usize].is_throttled = true;
        self.wake_later(self.flows[end.0 as usize].card);
        true
    }

    /// Bytes with payload that an end has in its host's queue and on its wire.
    pub(super) fn held(&mut self, end: EndId, now: Time) -> u64 {
        let Some(flow) = self.flows.get(end.0 as usize) else {
            return 0;
        };
        if flow.held > 0 {
            self.settle(flow.card, now);
        }
        self.flows[end.0 as usize].held
    }

    /// Takes the packet on a wire off what its flow holds, if it has left. Returns the flow.
    fn settle(&mut self, card: u32, now: Time) -> Option<u32> {
        let card = &mut self.cards[card as usize];
        let (flow, len) = card.on_wire.filter(|_| card.free_at <= now)?;
        card.on_wire = None;
        self.flows[flow as usize].held -= u64::from(len);
        Some(flow)
    }

    /// Something waits for a card to finish sending.
    fn wake_later(&mut self, number: u32) {
        let card = &mut self.cards[number as usize];
        if !card.wakes {
            card.wakes = true;
            self.wakes.push(Reverse((card.free_at, number)));
        }
    }

    /// Sends a packet, or has it wait. Returns what left.
    pub(super) fn send<C: Calendar>(
        &mut self,
        fabric: &mut Fabric<C>,
        packet: Packet,
        now: Time,
    ) -> Option<Left> {
        let link = fabric.first_link(&packet);
        let number = self.card_of[link.index()];
        let flow = if self.is_fair { packet.end().peer().0 } else { number };
        self.make_room(flow as usize + 1);
        let slot = self.waiting.insert(Waiting { packet, came_at: now, next: NONE });
        if !self.is_fair {
            fabric.send(packet, now);
        }
        let queue = &mut self.flows[flow as usize];
        queue.card = number;
        if packet.header.len > 0 {
            queue.held += u64::from(packet.pkt.len);
        }
        let card = &mut self.cards[number as usize];
        if let Some(observers) = &mut card.observers {
            let accepted = Accepted::waiting(QUEUE, &packet.pkt);
            let stats = PortStats::default();
            let met = (card.bytes, card.bytes);
            observers.on_accepted(now, (PktId(slot), &packet.pkt), accepted, met, &stats);
        }
        if card.free_at <= now && card.packets == 0 {
            return Some(self.transmit(fabric, number, slot, now));
        }
        card.bytes += packet.pkt.len;
        card.packets += 1;
        self.enqueue(flow, slot, now);
        self.wake_later(number);
        None
    }

    /// Puts a packet at the end of its flow, which is a new one if it was idle.
    fn enqueue(&mut self, flow: u32, slot: u32, now: Time) {
        let quantum = self.quantum;
        let queue = &mut self.flows[flow as usize];
        if !queue.is_listed {
            queue.is_listed = true;
            if now - queue.emptied_at > REFILL_DELAY {
                queue.credit = queue.credit.max(quantum);
            }
            self.cards[queue.card as usize].new_flows.push_back(flow);
        }
        if queue.head == NONE {
            queue.head = slot;
        } else {
            self.waiting[queue.tail].next = slot;
        }
        queue.tail = slot;
    }

    /// The next packet by round robin. Without one, all flows leave the lists.
    fn dequeue(&mut self, card: u32, now: Time) -> Option<u32> {
        let card = &mut self.cards[card as usize];
        loop {
            let is_new = !card.new_flows.is_empty();
            let list = if is_new { &mut card.new_flows } else { &mut card.old_flows };
            let flow = *list.front()?;
            let queue = &mut self.flows[flow as usize];
            if queue.credit <= 0 {
                queue.credit += self.quantum;
                list.pop_front();
                card.old_flows.push_back(flow);
            } else if queue.head == NONE {
                list.pop_front();
                if is_new {
                    // It waits for a turn of the others before it can be new again.
                    card.old_flows.push_back(flow);
                } else {
                    queue.is_listed = false;
                    queue.emptied_at = now;
                }
            } else {
                let slot = queue.head;
                queue.head = self.waiting[slot].next;
                queue.credit -= i64::from(self.waiting[slot].packet.pkt.len);
                return Some(slot);
            }
        }
    }

    /// The next card has finished sending. Returns what leaves it next, and the sender that waited
    /// for the packet that has left, if there are any.
    pub(super) fn go_on<C: Calendar>(
        &mut self,
        fabric: &mut Fabric<C>,
    ) -> (Option<Left>, Option<EndId>) {
        let Some(Reverse((now, number))) = self.wakes.pop() else {
            return (None, None);
        };
        let sent = self.settle(number, now);
        let woken = sent.filter(|&flow| {
            let flow = &mut self.flows[flow as usize];
            std::mem::take(&mut flow.is_throttled)
        });
        self.cards[number as usize].wakes = false;
        let left = self.dequeue(number, now).map(|slot| {
            let card = &mut self.cards[number as usize];
            card.bytes -= self.waiting[slot].packet.pkt.len;
            card.packets -= 1;
            let is_last = card.packets == 0;
            let left = self.transmit(fabric, number, slot, now);
            if is_last {
                // Nothing is left to send: the flows leave the lists.
                let none = self.dequeue(number, now);
                debug_assert_eq!(none, None);
            } else {
                self.wake_later(number);
            }
            left
        });
        (left, woken.map(EndId))
    }

    /// Puts a packet on the wire, which is free.
    fn transmit<C: Calendar>(
        &mut self,
        fabric: &mut Fabric<C>,
        number: u32,
        slot: u32,
        now: Time,
    ) -> Left {
        self.settle(number, now);
        let Waiting { packet, came_at, .. } = self.waiting.take(slot);
        let from = packet.end().peer();
        let card = &mut self.cards[number as usize];
        if let Some(observers) = &mut card.observers {
            let departure = Departure::sent(QUEUE, PktId(slot), &packet.pkt, [came_at, now]);
            observers.on_departures(&[departure], &PortStats::default());
        }
        card.free_at = now + card.byte_time.span(packet.pkt.len);
        let flow = if self.is_fair { from.0 } else { number };
        card.on_wire = (packet.header.len > 0).then_some((flow, packet.pkt.len));
        if self.is_fair {
            fabric.send(packet, now);
        }
        Left { from, times: [came_at, now, card.free_at] }
    }

    fn new_flow(&self) -> FlowQueue {
        FlowQueue {
            head: NONE,
            tail: NONE,
            credit: self.initial_quantum,
            held: 0,
            card: 0,
            emptied_at: Time::ZERO,
            is_listed: false,
            is_throttled: false,
        }
    }

    fn make_room(&mut self, flows: usize) {
        if self.flows.len() < flows {
            let new = self.new_flow();
            self.flows.resize(flows, new);
        }
    }
}
