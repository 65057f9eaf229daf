//! Packets and ports as plain Python objects.

use pyo3::prelude::*;
use tidegate_dataplane::mark::{Cx, PortInfo as Info};
use tidegate_dataplane::{Accepted, Action, DropReason};
use tidegate_units::{Ecn, Span};

use crate::quantity::{name_of, seconds};

/// Packet that a scheme decides on, with the state of its port. Counts exclude the packet itself.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct Packet {
    /// Time of arrival, or of the start of transmission, in seconds.
    time: f64,
    /// The same in picoseconds.
    time_ps: u64,
    /// Length in bytes.
    size: u32,
    /// Flow of the packet.
    flow: u32,
    /// Codepoint: "not-ect", "ect0", "ect1" or "ce".
    ecn: &'static str,
    /// Queue of the packet.
    queue: u8,
    /// Bytes in that queue.
    queue_bytes: u32,
    /// Packets in that queue.
    queue_packets: u32,
    /// Bytes in all queues of the port.
    port_bytes: u32,
    /// Packets in all queues of the port.
    port_packets: u32,
    /// Sojourn time in seconds; None on arrival.
    sojourn: Option<f64>,
    /// The same in picoseconds.
    sojourn_ps: Option<u64>,
}

impl Packet {
    pub(crate) fn new(cx: &Cx, sojourn: Option<Span>) -> Self {
        let sojourn_ps = sojourn.map(Span::as_ps);
        Self {
            time: seconds(cx.now.as_ps()),
            time_ps: cx.now.as_ps(),
            size: cx.pkt.len,
            flow: cx.pkt.flow.0,
            ecn: name_of(cx.pkt.ecn),
            queue: cx.queue.0,
            queue_bytes: cx.queue_bytes,
            queue_packets: cx.queue_packets,
            port_bytes: cx.port_bytes,
            port_packets: cx.port_packets,
            sojourn: sojourn_ps.map(seconds),
            sojourn_ps,
        }
    }
}

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        let sojourn = self.sojourn_ps.map(|ps| format!(", waited {}", Span::from_ps(ps)));
        format!(
            "<Packet of {} bytes at {}, queue {} has {} bytes{}>",
            self.size,
            Span::from_ps(self.time_ps),
            self.queue,
            self.queue_bytes,
            sojourn.unwrap_or_default()
        )
    }
}

/// Port of a scheme.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct PortInfo {
    /// Rate of the link in bit/s.
    rate_bps: u64,
    /// Number of queues.
    queues: u8,
    /// Name of the scheduler.
    scheduler: &'static str,
    /// Seed of the run.
    seed: u64,
    /// Number of the port, unique in the run: a scheme with random numbers seeds with both.
    number: u64,
}

impl PortInfo {
    pub(crate) fn new(port: &Info<'_>) -> Self {
        Self {
            rate_bps: port.rate.as_bps(),
            queues: port.queues,
            scheduler: port.scheduler,
            seed: port.seed,
            number: port.stream,
        }
    }
}

#[pymethods]
impl PortInfo {
    fn __repr__(&self) -> String {
        let Self { rate_bps, queues, scheduler, number, .. } = self;
        format!("<port {number}: {rate_bps} bit/s, {queues} queues under {scheduler}>")
    }
}

/// Outcome of a packet that was offered to a port.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct Enqueued {
    /// Number of the packet, from 0.
    id: u32,
    /// Whether the packet was queued; otherwise it was dropped.
    accepted: bool,
    /// Queue of the packet; None if it was dropped.
    queue: Option<u8>,
    /// Codepoint now; None if the packet was dropped.
    ecn: Option<&'static str>,
    /// Whether the packet was marked on arrival.
    marked: bool,
    /// Reason of the drop, or None.
    reason: Option<&'static str>,
}

impl Enqueued {
    pub(crate) fn new(id: u32, before: Ecn, answer: Result<Accepted, DropReason>) -> Self {
        match answer {
            Ok(Accepted { queue, ecn, .. }) => Self {
                id,
                accepted: true,
                queue: Some(queue.0),
                ecn: Some(name_of(ecn)),
                marked: before != Ecn::Ce && ecn == Ecn::Ce,
                reason: None,
            },
            Err(reason) => Self {
                id,
                accepted: false,
                queue: None,
                ecn: None,
                marked: false,
                reason: Some(reason.name()),
            },
        }
    }
}

#[pymethods]
impl Enqueued {
    fn __bool__(&self) -> bool {
        self.accepted
    }

    fn __repr__(&self) -> String {
        let id = self.id;
        match (self.reason, self.queue) {
            (None, Some(queue)) => {
                let marked = if self.marked { ", marked" } else { "" };
                format!("<packet {id} waits in queue {queue}{marked}>")
            }
            (reason, _) => format!("<packet {id} dropped: {}>", reason.unwrap_or_default()),
        }
    }
}

/// Packet that left its queue.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct Departure {
    /// Number of the packet from its offer.
    id: u32,
    /// Start of transmission in seconds.
    time: f64,
    /// The same in picoseconds.
    time_ps: u64,
    /// Sojourn time in seconds.
    sojourn: f64,
    /// The same in picoseconds.
    sojourn_ps: u64,
    /// Length in bytes.
    size: u32,
    /// Flow of the packet.
    flow: u32,
    /// Queue of the packet.
    queue: u8,
    /// Codepoint now.
    ecn: &'static str,
    /// Whether the packet is marked, here or before its arrival.
    marked: bool,
    /// Reason of a drop at departure; None if the packet is sent.
    reason: Option<&'static str>,
}

impl From<tidegate_dataplane::Departure> for Departure {
    fn from(departure: tidegate_dataplane::Departure) -> Self {
        Self {
            id: departure.id.0,
            time: seconds(departure.at.as_ps()),
            time_ps: departure.at.as_ps(),
            sojourn: seconds(departure.sojourn.as_ps()),
            sojourn_ps: departure.sojourn.as_ps(),
            size: departure.len,
            flow: departure.flow.0,
            queue: departure.queue.0,
            ecn: name_of(departure.ecn),
            marked: departure.ecn == Ecn::Ce,
            reason: match departure.action {
                Action::Drop(reason) => Some(reason.name()),
                Action::Send => None,
            },
        }
    }
}

#[pymethods]
impl Departure {
    fn __repr__(&self) -> String {
        let what = match self.reason {
            Some(reason) => format!("dropped: {reason}"),
            None if self.marked => "marked".to_owned(),
            None => "not marked".to_owned(),
        };
        let (at, waited) = (Span::from_ps(self.time_ps), Span::from_ps(self.sojourn_ps));
        format!("<packet {} leaves at {at} after {waited}, {what}>", self.id)
    }
}
