//! What summaries and pages read of flows, and room for very many of them.

use crate::record::{Class, Flow, Record};

/// What summaries and pages read of a flow; each field as in [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Its number.
    pub number: u32,
    /// The service.
    pub service: u8,
    /// Its size.
    pub bytes: Option<u64>,
    /// Small, medium or large.
    pub class: Class,
    /// Whether it counts.
    pub counts: bool,
    /// When the application handed it over.
    pub start_ps: u64,
    /// Its completion time.
    pub fct_ps: Option<u64>,
    /// What that would be in an empty network.
    pub ideal_ps: Option<u64>,
    /// Segments sent again.
    pub retransmissions: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Marks.
    pub marks: u32,
    /// Bytes that arrived in the observed window.
    pub received: Option<u64>,
    /// Its goodput.
    pub goodput_bps: Option<u64>,
}

impl From<&Flow> for Brief {
    fn from(flow: &Flow) -> Self {
        Self {
            number: flow.number,
            service: flow.service,
            bytes: flow.bytes,
            class: flow.class,
            counts: flow.counts,
            start_ps: flow.start_ps,
            fct_ps: flow.fct_ps,
            ideal_ps: flow.ideal_ps,
            retransmissions: flow.retransmissions,
            timeouts: flow.timeouts,
            marks: flow.marks,
            received: flow.received,
            goodput_bps: flow.goodput_bps,
        }
    }
}

/// Flows in as little room as can be read at once: a folder may have ten millions of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Briefs(Box<[Packed]>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    start_ps: u64,
    bytes: Slim,
    fct_ps: Slim,
    ideal_ps: Slim,
    received: Slim,
    goodput_bps: Slim,
    number: u32,
    retransmissions: u32,
    timeouts: u32,
    marks: u32,
    service: u8,
    class: Class,
    counts: bool,
}

const _: () = assert!(size_of::<Packed>() == 72, "less than half of a flow");

/// A number or none, which is the largest: no time and no size comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slim(u64);

impl From<Option<u64>> for Slim {
    fn from(number: Option<u64>) -> Self {
        Self(number.unwrap_or(u64::MAX))
    }
}

impl From<Slim> for Option<u64> {
    fn from(slim: Slim) -> Self {
        Some(slim.0).filter(|&number| number != u64::MAX)
    }
}

impl From<&Flow> for Packed {
    fn from(flow: &Flow) -> Self {
        Self {
            start_ps: flow.start_ps,
            bytes: flow.bytes.into(),
            fct_ps: flow.fct_ps.into(),
            ideal_ps: flow.ideal_ps.into(),
            received: flow.received.into(),
            goodput_bps: flow.goodput_bps.into(),
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

impl From<&Packed> for Brief {
    fn from(packed: &Packed) -> Self {
        Self {
            number: packed.number,
            service: packed.service,
            bytes: packed.bytes.into(),
            class: packed.class,
            counts: packed.counts,
            start_ps: packed.start_ps,
            fct_ps: packed.fct_ps.into(),
            ideal_ps: packed.ideal_ps.into(),
            retransmissions: packed.retransmissions,
            timeouts: packed.timeouts,
            marks: packed.marks,
            received: packed.received.into(),
            goodput_bps: packed.goodput_bps.into(),
        }
    }
}

impl Record {
    /// Keeps of the flows only what summaries and pages read, in less than half the room. `flows` is empty then.
    pub fn pack(&mut self) {
        self.briefs = Briefs(self.flows.iter().map(Packed::from).collect());
        self.flows = Vec::new();
    }

    /// Whether its flows are packed.
    pub const fn is_packed(&self) -> bool {
        !self.briefs.0.is_empty()
    }

    /// What summaries and pages read of its flows, whether they are packed or not.
    pub fn briefs(&self) -> impl Iterator<Item = Brief> {
        let packed = self.briefs.0.iter().map(Brief::from);
        self.flows.iter().map(Brief::from).chain(packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_flows_say_what_flows_say() {
        let flow = |number: u32, present: Option<u64>| Flow {
            number,
            name: String::new(),
            source: 0,
            src: 0,
            dst: 1,
            service: 3,
            bytes: present,
            class: Class::Medium,
            counts: number % 2 == 0,
            start_ps: 7,
            fct_ps: present.map(|number| number + 1),
            ideal_ps: present.map(|number| number + 2),
            retransmissions: 4,
            timeouts: 5,
            marks: 6,
            received: present.map(|number| number + 3),
            goodput_bps: present.map(|number| number + 4),
            rtt_ps: None,
            rtt_variation_ps: None,
        };
        for flow in [flow(0, None), flow(1, Some(0)), flow(2, Some(1 << 60))] {
            assert_eq!(Brief::from(&Packed::from(&flow)), Brief::from(&flow));
        }
    }
}
