//! Flows in the compact form that summaries and pages read.

use crate::record::{
    Class, Counters, Flow, Link, Pauses, Probe, Queue, Record, Run, Series, TraceEvent,
};

/// The fields of a flow that summaries and pages read, in 72 bytes: a folder may hold ten million
/// flows. Each field means the same as in [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Start time: when the application handed the flow over.
    pub start_ps: u64,
    bytes: Slim,
    fct_ps: Slim,
    ideal_ps: Slim,
    received: Slim,
    goodput_bps: Slim,
    /// Flow number.
    pub number: u32,
    /// Retransmitted segments.
    pub retransmissions: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Marks.
    pub marks: u32,
    /// Class of service.
    pub service: u8,
    /// Size class.
    pub class: Class,
    /// Whether the flow counts in results.
    pub counts: bool,
}

const _: () = assert!(size_of::<Brief>() == 72, "less than half the size of a flow");

/// An optional number; the largest value stands for none, since no time or size reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slim(u64);

impl Slim {
    fn new(number: Option<u64>) -> Self {
        Self(number.unwrap_or(u64::MAX))
    }

    fn get(self) -> Option<u64> {
        Some(self.0).filter(|&number| number != u64::MAX)
    }
}

impl From<&Flow> for Brief {
    fn from(flow: &Flow) -> Self {
        Self {
            start_ps: flow.start_ps,
            bytes: Slim::new(flow.bytes),
            fct_ps: Slim::new(flow.fct_ps),
            ideal_ps: Slim::new(flow.ideal_ps),
            received: Slim::new(flow.received),
            goodput_bps: Slim::new(flow.goodput_bps),
            number: flow.number,
            retransmissions: flow.retransmissions,
            timeouts: flow.timeouts,
            marks: flow.marks,
            service: flow.service,
            class: flow.class,
            counts: flow.counts,
        }
    }
}

impl Brief {
    /// Size.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes.get()
    }

    /// Completion time.
    pub fn fct_ps(&self) -> Option<u64> {
        self.fct_ps.get()
    }

    /// Completion time in an empty network.
    pub fn ideal_ps(&self) -> Option<u64> {
        self.ideal_ps.get()
    }

    /// Bytes received in the observed window.
    pub fn received(&self) -> Option<u64> {
        self.received.get()
    }

    /// Goodput.
    pub fn goodput_bps(&self) -> Option<u64> {
        self.goodput_bps.get()
    }
}

/// A record for summaries and pages only: its flows take less than half the memory.
pub type PackedRecord = Record<Brief>;

impl From<Record> for PackedRecord {
    fn from(record: Record) -> Self {
        let flows = record.flows.iter().map(Brief::from).collect();
        let Record { run, counters, queues, links, port_flows, pauses, .. } = record;
        let Record { probes, series, trace, .. } = record;
        Self { run, counters, queues, links, port_flows, pauses, flows, probes, series, trace }
    }
}

/// A record of either form, as summaries and pages read it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The run.
    pub run: &'a Run,
    /// Totals over the whole network.
    pub counters: &'a Counters,
    /// The observed queues.
    pub queues: &'a [Queue],
    /// The observed links.
    pub links: &'a [Link],
    /// Pauses of classes of links.
    pub pauses: Option<&'a Pauses>,
    /// The answered probes.
    pub probes: &'a [Probe],
    /// Quantities sampled at a fixed interval.
    pub series: &'a Series,
    /// Events of a traced flow.
    pub trace: &'a [TraceEvent],
    /// One of the two is empty.
    flows: (&'a [Flow], &'a [Brief]),
}

impl<'a> View<'a> {
    fn new<F>(record: &'a Record<F>, flows: (&'a [Flow], &'a [Brief])) -> Self {
        let Record { run, counters, queues, links, pauses, probes, series, trace, .. } = record;
        let pauses = pauses.as_ref();
        Self { run, counters, queues, links, pauses, probes, series, trace, flows }
    }

    /// The flows.
    pub fn flows(self) -> impl Iterator<Item = Brief> + 'a {
        let (full, packed) = self.flows;
        full.iter().map(Brief::from).chain(packed.iter().copied())
    }
}

/// A flow in a record: [`Flow`], or [`Brief`] in a packed one.
pub trait RecordedFlow: Sized {
    /// The record as summaries and pages read it.
    fn view(record: &Record<Self>) -> View<'_>;
}

impl RecordedFlow for Flow {
    fn view(record: &Record) -> View<'_> {
        View::new(record, (&record.flows, &[]))
    }
}

impl RecordedFlow for Brief {
    fn view(record: &PackedRecord) -> View<'_> {
        View::new(record, (&[], &record.flows))
    }
}

impl<'a, F: RecordedFlow> From<&'a Record<F>> for View<'a> {
    fn from(record: &'a Record<F>) -> Self {
        F::view(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_except_the_largest_reads_back() {
        for number in [None, Some(0), Some(1), Some(u64::MAX - 1)] {
            assert_eq!(Slim::new(number).get(), number);
        }
    }
}
