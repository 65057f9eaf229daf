//! What Python sees of packets and ports: plain objects.

use pyo3::prelude::*;
use tidegate_dataplane::mark::{Cx, PortInfo as Info};
use tidegate_dataplane::{Accepted, Action, DropReason};
use tidegate_units::{Ecn, Span};

use crate::quantity::{name_of, seconds};

/// A packet that a scheme decides on, with what it finds at the port. Counts leave the packet
/// itself out.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct Packet {
    /// When it arrives, or when its transmission starts, in seconds.
    time: f64,
    /// The same in picoseconds.
    time_ps: u64,
    /// Its length in bytes.
    size: u32,
    /// The flow that it belongs to.
    flow: u32,
    /// Its codepoint: "not-ect", "ect0", "ect1" or "ce".
    ecn: &'static str,
    /// Its queue.
    queue: u8,
    /// Bytes in that queue.
    queue_bytes: u32,
    /// Packets in that queue.
    queue_packets: u32,
    /// Bytes in all queues of the port.
    port_bytes: u32,
    /// Packets in all queues of the port.
    port_packets: u32,
    /// How long it waited, in seconds; None on arrival.
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

/// The port that a scheme is made for.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct PortInfo {
    /// The speed of its link in bit/s.
    rate_bps: u64,
    /// Its number of queues.
    queues: u8,
    /// The name of its scheduler.
    scheduler: &'static str,
    /// The seed of the run.
    seed: u64,
    /// A number that no other port of the run has: a scheme that draws at random seeds with both.
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

/// What became of a packet that was offered to a port.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct Enqueued {
    /// Its number: packets are counted from 0.
    id: u32,
    /// Whether it waits now; otherwise it was dropped.
    accepted: bool,
    /// The queue that it waits in; None if it was dropped.
    queue: Option<u8>,
    /// Its codepoint now; None if it was dropped.
    ecn: Option<&'static str>,
    /// Whether it was marked on arrival.
    marked: bool,
    /// Why it was dropped, or None.
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

/// A packet that left its queue.
#[pyclass(frozen, get_all, module = "tidegate")]
#[derive(Debug)]
pub(crate) struct Departure {
    /// The number that it got when it was offered.
    id: u32,
    /// When its transmission starts, in seconds.
    time: f64,
    /// The same in picoseconds.
    time_ps: u64,
    /// How long it waited, in seconds.
    sojourn: f64,
    /// The same in picoseconds.
    sojourn_ps: u64,
    /// Its length in bytes.
    size: u32,
    /// The flow that it belongs to.
    flow: u32,
    /// The queue that it waited in.
    queue: u8,
    /// Its codepoint now.
    ecn: &'static str,
    /// Whether it is marked: here, or before it came.
    marked: bool,
    /// Why it was dropped on the way out, or None: it is sent.
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
