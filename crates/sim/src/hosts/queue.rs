//! Host queues: packets that a host has sent wait here until its wire is free.
//!
//! Under `fq` this is Linux's packet scheduler `fq` (`net/sched/sch_fq.c`) with TCP small queues
//! (`tcp_small_queue_check`, `net/ipv4/tcp_output.c`). Each end of a connection is a flow with a
//! FIFO of its own. Deficit round robin serves new flows, which have just become active, before old
//! ones. A flow starts with a credit of ten packets and gets two packets for every turn. A sender
//! whose flow exceeds its limit waits until one of its packets has left the host.
//!
//! Under `fifo` a packet's departure is known when it arrives, and it is sent at once. All packets
//! of a host are then one flow here, and only if the queue is observed.
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

/// Queues of all hosts.
pub(super) struct HostQueues {
    /// Whether each end has a flow of its own.
    is_fair: bool,
    /// Credit of a flow per turn, and of a new flow.
    quantum: i64,
    initial_quantum: i64,
    /// By link: number of its card, if a host sends on it.
    card_of: Vec<u32>,
    cards: Vec<Card>,
    /// Flows by end, or by card under `fifo`.
    flows: Vec<FlowQueue>,
    waiting: Slab<Waiting>,
    /// Times at which cards finish sending, if packets wait for it.
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    /// Bytes that every sender may hold.
    two_packets: u32,
}

/// Network card of a host, with the queue in front of it.
struct Card {
    byte_time: ByteTime,
    /// Time at which the wire is free.
    free_at: Time,
    /// Flow and length of the packet on the wire, until its bytes are subtracted from its flow.
    on_wire: Option<(u32, u32)>,
    /// Whether the card is in `wakes`.
    wakes: bool,
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    bytes: u32,
    packets: u32,
    observers: Option<Box<Observers>>,
}

/// Packets of an end that wait at its host.
#[derive(Clone, Copy)]
struct FlowQueue {
    head: u32,
    tail: u32,
    credit: i64,
    /// Bytes of packets with payload in the queue and on the wire.
    held: u64,
    card: u32,
    /// Time at which the flow left the lists.
    emptied_at: Time,
    is_listed: bool,
    /// Whether its sender waits for a departure.
    is_throttled: bool,
}

/// A packet in a queue.
#[derive(Clone, Copy)]
struct Waiting {
    packet: Packet,
    came_at: Time,
    next: u32,
}

/// A packet that left a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Sending end.
    pub(super) from: EndId,
    /// Arrival in the queue, and departures of the first and last bits.
    pub(super) times: [Time; 3],
}

/// The only queue of a host, for observers.
const QUEUE: QueueId = QueueId(0);

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A flow that was idle for longer has credit for at least one turn (`flow_refill_delay`).
const REFILL_DELAY: Span = Span::from_ms(40);

/// Queue of a host, for observers.
#[derive(Clone, Copy)]
pub(crate) struct HostQueueView<'a> {
    /// Waiting bytes.
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
    /// Creates the queues that a setup needs, if any.
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

    /// Next time at which a card finishes sending, if packets wait for it.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.wakes.peek().map_or(Time::MAX, |Reverse((at, _))| *at)
    }

    /// View of the queue of the host that sends on a link.
    pub(super) fn view(&self, link: LinkId) -> Option<HostQueueView<'_>> {
        let card = self.cards.get(self.card_of[link.index()] as usize)?;
        Some(HostQueueView {
            bytes: card.bytes,
            packets: card.packets,
            observers: card.observers.as_deref(),
        })
    }

    /// Resets the flow of an end that belongs to a new connection.
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

    /// Whether an end holds more than it may, so that it waits for a departure. It may hold two
    /// packets or the bytes that its pacing rate sends in 1/1024 s, and at most `limit`.
    pub(super) fn throttles(
        &mut self,
        end: EndId,
        limit: u64,
        paced: impl FnOnce() -> u32,
        now: Time,
    ) -> bool {
        let held = self.held(end, now);
        // As in Linux, a sender may continue if it holds exactly its limit.
        let may_send = |most: u32| held <= limit.min(most.into());
        if may_send(self.two_packets) || may_send(self.two_packets.max(paced())) {
            return false;
        }
        self.flows[end.0 as usize].is_throttled = true;
        self.wake_later(self.flows[end.0 as usize].card);
        true
    }

    /// Bytes of packets with payload in an end's queue and on its wire.
    pub(super) fn held(&mut self, end: EndId, now: Time) -> u64 {
        let Some(flow) = self.flows.get(end.0 as usize) else {
            return 0;
        };
        if flow.held > 0 {
            self.settle(flow.card, now);
        }
        self.flows[end.0 as usize].held
    }

    /// Subtracts the packet on a wire from its flow, if it has left. Returns the flow.
    fn settle(&mut self, card: u32, now: Time) -> Option<u32> {
        let card = &mut self.cards[card as usize];
        let (flow, len) = card.on_wire.filter(|_| card.free_at <= now)?;
        card.on_wire = None;
        self.flows[flow as usize].held -= u64::from(len);
        Some(flow)
    }

    /// Records that packets wait for a card to finish sending.
    fn wake_later(&mut self, number: u32) {
        let card = &mut self.cards[number as usize];
        if !card.wakes {
            card.wakes = true;
            self.wakes.push(Reverse((card.free_at, number)));
        }
    }

    /// Sends a packet, or queues it. Returns the departure.
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
            let id = fabric.packets.insert(packet);
            fabric.send(id, now);
        }
        let queue = &mut self.flows[flow as usize];
        queue.card = number;
        if packet.payload() > 0 {
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

    /// Appends a packet to its flow, which becomes new if it was idle.
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
                    // It waits for a turn of the others before it can become new again.
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

    /// Handles a card that has finished sending. Returns the next departure, and the sender that
    /// waited for the packet that has left, if there are any.
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

    /// Puts a packet on the free wire.
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
        card.on_wire = (packet.payload() > 0).then_some((flow, packet.pkt.len));
        if self.is_fair {
            let id = fabric.packets.insert(packet);
            fabric.send(id, now);
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
