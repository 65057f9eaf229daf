//! Probes that detect loops: each port sends one periodically, and none should ever come back.
//!
//! A probe names the port that sent it and a round of probes, with a proof that cannot be forged
//! without the key of this switch. Only probes of this round and the last one count: a replayed old
//! one is ignored. Bridges forward it like any multicast, without a VLAN tag.

use std::hash::{BuildHasher, RandomState};

use tidegate_units::{PortId, Span, Time};

use crate::frame::{self, ADDRESSES, Mac};

/// State of a switch's probes.
#[derive(Debug)]
pub(super) struct Prober {
    /// A new key for each switch.
    key: RandomState,
    source: Mac,
    every: Span,
    next: Time,
    round: u64,
}

/// A loop: a probe came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Port that sent the probe.
    pub from: PortId,
    /// Port at which the probe came back: the same one if the loop is behind it.
    pub to: PortId,
    /// Port that is blocked because of the loop, if any.
    pub blocked: Option<PortId>,
}

/// Bytes of a probe: the shortest Ethernet frame.
pub(super) type Frame = [u8; 60];

impl Prober {
    pub(super) fn new(every: Span) -> Self {
        let key = RandomState::new();
        let [_, _, mut source @ ..] = key.hash_one("source").to_be_bytes();
        // A locally administered individual address.
        source[0] = 0x02;
        // Two switches that start together do not probe at the same time.
        let phase = Span::from_ps(key.hash_one("phase") % every.as_ps().max(1));
        Self { source: Mac::new(source), every, next: Time::ZERO + phase, round: 0, key }
    }

    /// Whether a round is due; if so, schedules the next one.
    pub(super) fn begin_round(&mut self, now: Time) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.every;
            self.round += 1;
        }
        is_due
    }

    /// Probe of a port in this round.
    pub(super) fn frame(&self, port: PortId) -> Frame {
        let mut frame = [0; 60];
        let [_, _, source @ ..] = self.source.number().to_be_bytes();
        frame[..6].copy_from_slice(&EVERYBODY);
        frame[6..ADDRESSES].copy_from_slice(&source);
        frame[TYPE..ROUND - 2].copy_from_slice(&LOCAL_EXPERIMENT);
        frame[ROUND - 2..ROUND].copy_from_slice(&port.0.to_be_bytes());
        frame[ROUND..PROOF].copy_from_slice(&self.round.to_be_bytes());
        frame[PROOF..END].copy_from_slice(&self.proof(port, self.round).to_be_bytes());
        frame
    }

    /// Source address of all probes of this switch.
    #[inline]
    pub(super) const fn source(&self) -> Mac {
        self.source
    }

    /// Port that sent a frame, if the frame is a recent probe of this switch.
    pub(super) fn sender(&self, frame: &[u8]) -> Option<PortId> {
        // Another switch may have inserted tags between the addresses and the rest.
        let tags = frame::type_offset(frame)? - TYPE;
        let frame: &Frame = frame.get(tags..)?.first_chunk()?;
        let number = |from: usize, to: usize| {
            let bytes = frame[from..to].iter();
            bytes.fold(0, |number: u64, &byte| number << 8 | u64::from(byte))
        };
        let round = number(ROUND, PROOF);
        let port = PortId(number(ROUND - 2, ROUND) as u16);
        let is_ours = frame[TYPE..ROUND - 2] == LOCAL_EXPERIMENT
            && (self.round.saturating_sub(1)..=self.round).contains(&round)
            && number(PROOF, END) == self.proof(port, round);
        is_ours.then_some(port)
    }

    /// Time after its last returned probe at which a loop is assumed to be gone.
    pub(super) const fn loop_timeout(&self) -> Span {
        Span::from_ps(self.every.as_ps().saturating_mul(3))
    }

    fn proof(&self, port: PortId, round: u64) -> u64 {
        self.key.hash_one((port.0, round))
    }
}

/// A locally administered group address: bridges forward it, and hosts ignore it.
const EVERYBODY: [u8; 6] = [0x03, 0x74, 0x67, 0x6C, 0x6F, 0x70];

/// First type for local experiments of IEEE 802, whose frames do not leave a site.
const LOCAL_EXPERIMENT: [u8; 2] = [0x88, 0xB5];

const TYPE: usize = ADDRESSES;
const ROUND: usize = TYPE + 4;
const PROOF: usize = ROUND + 8;
const END: usize = PROOF + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_knows_its_own_probes_and_no_others() {
        let every = Span::from_secs(2);
        let (mut ours, mut theirs) = (Prober::new(every), Prober::new(every));
        let begun = ours.begin_round(Time::from_secs(2)) && theirs.begin_round(Time::from_secs(2));
        assert!(begun && !ours.begin_round(Time::from_secs(3)));
        let probe = ours.frame(PortId(7));
        let facts = frame::parse(&probe).unwrap();
        assert_eq!((facts.source, facts.ip), (ours.source(), None));
        assert!(!facts.source.is_group() && facts.destination.is_group());
        assert!(!facts.destination.is_link_local() && !facts.destination.is_broadcast());
        assert_eq!(ours.sender(&probe), Some(PortId(7)));
        assert_eq!(theirs.sender(&probe), None);
        for at in TYPE..END {
            let mut forged = probe;
            forged[at] ^= 1;
            assert_eq!(ours.sender(&forged), None, "byte {at}");
        }
        assert_eq!(ours.sender(&probe[..59]), None);
    }

    #[test]
    fn a_probe_that_comes_back_with_tags_is_known() {
        let mut prober = Prober::new(Span::from_secs(2));
        assert!(prober.begin_round(Time::from_secs(2)));
        let mut probe = prober.frame(PortId(3)).to_vec();
        for tag in [[0x81, 0, 0, 5], [0x88, 0xA8, 0, 7]] {
            probe.splice(ADDRESSES..ADDRESSES, tag);
            assert_eq!(prober.sender(&probe), Some(PortId(3)));
        }
        assert_eq!(prober.sender(&probe[..ADDRESSES + 2]), None);
    }

    #[test]
    fn an_old_probe_is_ignored() {
        let mut prober = Prober::new(Span::from_secs(2));
        assert!(prober.begin_round(Time::from_secs(2)));
        let probe = prober.frame(PortId(0));
        assert!(prober.begin_round(Time::from_secs(4)));
        assert_eq!(prober.sender(&probe), Some(PortId(0)));
        assert!(prober.begin_round(Time::from_secs(6)));
        assert_eq!(prober.sender(&probe), None);
    }
}
