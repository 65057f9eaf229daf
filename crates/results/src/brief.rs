//! What summaries and pages read of flows, with room for very many of them.

use crate::record::{Class, Flow, Record};

/// What summaries and pages read of a flow, in as little room as can be read at once: a folder may
/// have ten millions of them. Each field is as in [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// When the application handed it over.
    pub start_ps: u64,
    bytes: Slim,
    fct_ps: Slim,
    ideal_ps: Slim,
    received: Slim,
    goodput_bps: Slim,
    /// Its number.
    pub number: u32,
    /// Segments sent again.
    pub retransmissions: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Marks.
    pub marks: u32,
    /// The service.
    pub service: u8,
    /// Small, medium or large.
    pub class: Class,
    /// Whether it counts.
    pub counts: bool,
}

const _: () = assert!(size_of::<Brief>() == 72, "less than half of a flow");

/// A number or none, which is the largest: no time and no size comes to it.
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
    /// Its size.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes.get()
    }

    /// Its completion time.
    pub fn fct_ps(&self) -> Option<u64> {
        self.fct_ps.get()
    }

    /// What that would be in an empty network.
    pub fn ideal_ps(&self) -> Option<u64> {
        self.ideal_ps.get()
    }

    /// Bytes that arrived in the observed window.
    pub fn received(&self) -> Option<u64> {
        self.received.get()
    }

    /// Its goodput.
    pub fn goodput_bps(&self) -> Option<u64> {
        self.goodput_bps.get()
    }
}

/// The flows of a packed record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Briefs(Box<[Brief]>);

impl Record {
    /// Keeps of the flows only what summaries and pages read, in less than half the room. `flows`
    /// is empty then.
    pub fn pack(&mut self) {
        self.briefs = Briefs(self.flows.iter().map(Brief::from).collect());
        self.flows = Vec::new();
    }

    /// Whether its flows are packed.
    pub const fn is_packed(&self) -> bool {
        !self.briefs.0.is_empty()
    }

    /// What summaries and pages read of its flows, whether they are packed or not.
    pub fn briefs(&self) -> impl Iterator<Item = Brief> {
        let packed = self.briefs.0.iter().copied();
        self.flows.iter().map(Brief::from).chain(packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_but_the_largest_is_kept() {
        for number in [None, Some(0), Some(1), Some(u64::MAX - 1)] {
            assert_eq!(Slim::new(number).get(), number);
        }
    }
}
