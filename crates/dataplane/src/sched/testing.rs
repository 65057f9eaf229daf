//! Fixture of the schedulers' unit tests: a port without marking that records turns.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use tidegate_units::{Bytes, FlowId, PktId, QueueId, Time};

use super::*;
use crate::buffer::PerPort;
use crate::mark::Marker;
use crate::{Port, PortConfig};

/// Records every turn, as `2 ended`.
#[derive(Debug, Default)]
pub(super) struct Recorder(Vec<String>);

impl Marker for Recorder {
    fn on_turn(&mut self, turn: &Turn) {
        let event = match turn.event {
            TurnEvent::Joined => String::from("joined"),
            TurnEvent::Ended => String::from("ended"),
            TurnEvent::Emptied { len } => format!("emptied {len}"),
            TurnEvent::Skipped => String::from("skipped"),
            TurnEvent::Withdrawn => String::from("withdrawn"),
        };
        self.0.push(format!("{} {event}", turn.queue));
    }
}

/// A port with an unlimited buffer, driven one packet at a time.
#[derive(Debug)]
pub(super) struct Bench<S> {
    pub(super) port: Port<Recorder, S>,
    buffer: PerPort,
    pub(super) now: Time,
}

impl<S: Scheduler> Bench<S> {
    pub(super) fn new(scheduler: S) -> Self {
        Self {
            port: Port::new(&PortConfig::default(), Recorder::default(), scheduler),
            buffer: PerPort::new(1, Bytes(u64::from(u32::MAX))).unwrap(),
            now: Time::ZERO,
        }
    }

    pub(super) fn enqueue(&mut self, id: u32, queue: u8, len: u32) {
        self.enqueue_ranked(id, queue, len, 0);
    }

    pub(super) fn enqueue_ranked(&mut self, id: u32, queue: u8, len: u32, rank: u64) {
        let pkt = Pkt { len, rank, ..Pkt::default() };
        self.put(id, queue, pkt);
    }

    /// Enqueues a packet of 100 bytes that belongs to a flow.
    pub(super) fn enqueue_of_flow(&mut self, id: u32, flow: FlowId, queue: u8, rank: u64) {
        let pkt = Pkt { len: 100, flow, rank, ..Pkt::default() };
        self.put(id, queue, pkt);
    }

    fn put(&mut self, id: u32, queue: u8, pkt: Pkt) {
        self.port.enqueue(PktId(id), pkt, QueueId(queue), self.now, &mut self.buffer).unwrap();
    }

    /// Id of the departing packet.
    pub(super) fn dequeue(&mut self) -> u32 {
        self.departure().0
    }

    /// Id, queue and length of the departing packet.
    pub(super) fn departure(&mut self) -> (u32, u8, u32) {
        let departure = self.port.dequeue(self.now, &mut self.buffer).unwrap();
        (departure.id.0, departure.queue.0, departure.len)
    }

    /// Whether all packets are held back, and none departs.
    pub(super) fn is_held(&mut self) -> bool {
        self.port.dequeue(self.now, &mut self.buffer).is_none()
    }

    /// Ids of all packets, in order of departure.
    pub(super) fn drain(&mut self) -> Vec<u32> {
        let mut ids = Vec::new();
        while self.port.packets() > 0 {
            ids.push(self.dequeue());
        }
        ids
    }

    /// The turns since the last call.
    pub(super) fn turns(&mut self) -> Vec<String> {
        core::mem::take(&mut self.port.marker_mut().0)
    }
}
