//! Segments in one line of text: `0-1000 CWR ect0`, `ack=4000 ECE sack=5000-6000`.
//!
//! Numbers count from the first data byte of their sender, so scripts do not depend on initial
//! sequence numbers. Words may come in any order:
//!
//! | word | means |
//! |---|---|
//! | `A-B` | carries the bytes from A up to B; `N-N` on a SYN that arrives: its number is N too large |
//! | `ack=N` | acknowledges everything before N; a RST that arrives has ACK if this is named |
//! | `SYN`, `FIN`, `RST`, `ECE`, `CWR` | that flag is set |
//! | `SYN-ACK` | both of a SYN's answer; every other segment but a SYN and a RST has ACK |
//! | `ce`, `ect0`, `ect1`, `not-ect` | the codepoint |
//! | `sack=A-B,C-D` | these blocks; `sack=none` for no block |
//! | `win=N` | the window, in bytes |
//! | `mss=N`, `sackok` | options of a SYN |

use tidegate_transport::{Flags, Range, SackBlocks, Segment, Seq};
use tidegate_units::Ecn;

/// Flags whose presence or absence a script states.
const STATED: [(Flags, &str); 5] = [
    (Flags::SYN, "SYN"),
    (Flags::FIN, "FIN"),
    (Flags::RST, "RST"),
    (Flags::ECE, "ECE"),
    (Flags::CWR, "CWR"),
];
const CODEPOINTS: [(Ecn, &str); 4] =
    [(Ecn::Ce, "ce"), (Ecn::Ect0, "ect0"), (Ecn::Ect1, "ect1"), (Ecn::NotEct, "not-ect")];

/// A segment as a script writes it: fields that it does not mention are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wire {
    range: Option<(u32, u32)>,
    ack: Option<u32>,
    /// Of the flags in `STATED`, and ACK on a SYN.
    flags: Flags,
    ecn: Option<Ecn>,
    sack: Option<Vec<(u32, u32)>>,
    window: Option<u32>,
    mss: Option<u16>,
    sack_permitted: bool,
}

/// The initial sequence numbers of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Of the endpoint under test.
    pub(crate) own: Seq,
    /// Of its peer, which the script plays.
    pub(crate) peer: Seq,
}

/// The last values of the script's peer, for fields that a line leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    ack: u32,
    window: u32,
    next: u32,
}

impl Default for Peer {
    fn default() -> Self {
        Self { ack: 0, window: 1 << 24, next: 0 }
    }
}

impl Wire {
    /// Reads one line.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let mut wire = Self::default();
        for word in line.split_whitespace() {
            wire.take(word).map_err(|problem| format!("`{word}` in `{line}` {problem}"))?;
        }
        if line.trim().is_empty() {
            return Err("a segment has at least one word, such as `ack=0`".to_owned());
        }
        Ok(wire)
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        if let Some(&(flag, _)) = STATED.iter().find(|(_, name)| *name == word) {
            self.flags |= flag;
        } else if word == "SYN-ACK" {
            self.flags |= Flags::SYN | Flags::ACK;
        } else if let Some(&(ecn, _)) = CODEPOINTS.iter().find(|(_, name)| *name == word) {
            self.ecn = Some(ecn);
        } else if word == "sackok" {
            self.sack_permitted = true;
        } else if let Some((key, value)) = word.split_once('=') {
            match key {
                "ack" => self.ack = Some(number(value)?),
                "win" => self.window = Some(number(value)?),
                "mss" => {
                    let mss = u16::try_from(number(value)?);
                    self.mss = Some(mss.map_err(|_| "is more than 65535".to_owned())?);
                }
                "sack" if value == "none" => self.sack = Some(Vec::new()),
                "sack" => {
                    let blocks: Result<Vec<_>, _> = value.split(',').map(block).collect();
                    let blocks = blocks?;
                    if blocks.len() > SackBlocks::MAX {
                        return Err(format!("has more than {} blocks", SackBlocks::MAX));
                    }
                    self.sack = Some(blocks);
                }
                _ => return Err("has a key that is none of ack, mss, sack, win".to_owned()),
            }
        } else {
            let (start, end) = block(word)?;
            if end < start {
                return Err("ends before it begins".to_owned());
            }
            self.range = Some((start, end));
        }
        Ok(())
    }

    /// The segment that arrives from the peer. Fields that the line leaves out keep their last
    /// values: the acknowledgement, the window, and the next sequence number.
    pub(crate) fn arriving(&self, origin: Origin, peer: &mut Peer) -> Segment {
        let syn = self.flags.has(Flags::SYN);
        let (start, end) = self.range.unwrap_or((peer.next, peer.next));
        peer.ack = self.ack.unwrap_or(peer.ack);
        peer.window = self.window.unwrap_or(peer.window);
        if !syn {
            peer.next = peer.next.max(end);
        }
        let len = end - start;
        let mut flags = self.flags;
        if !syn && (!self.flags.has(Flags::RST) || self.ack.is_some()) {
            flags |= Flags::ACK;
        }
        let mut sack = SackBlocks::default();
        for &(start, end) in self.sack.iter().flatten() {
            sack.push(Range::new(origin.own + 1 + start, origin.own + 1 + end));
        }
        let with_data = if len > 0 { Ecn::Ect0 } else { Ecn::NotEct };
        Segment {
            seq: if syn {
                origin.peer + self.range.map_or(0, |(start, _)| start)
            } else {
                origin.peer + 1 + start
            },
            ack: origin.own + 1 + peer.ack,
            len,
            window: peer.window,
            sack,
            flags,
            ecn: self.ecn.unwrap_or(with_data),
            sack_permitted: self.sack_permitted,
            mss: self.mss.unwrap_or(0),
            ..Segment::default()
        }
    }

    /// Problem of a segment that left, compared with this line.
    pub(crate) fn mismatch(&self, segment: &Segment, origin: Origin) -> Option<&'static str> {
        let seen = Self::of(segment, origin);
        let differs = |stated: bool, equal: bool| stated && !equal;
        if seen.flags != self.flags {
            return Some("other flags");
        }
        if seen.range != self.range {
            return Some("other bytes");
        }
        let checks = [
            (differs(self.ack.is_some(), seen.ack == self.ack), "another acknowledgement"),
            (differs(self.ecn.is_some(), seen.ecn == self.ecn), "another codepoint"),
            (differs(self.sack.is_some(), seen.sack == self.sack), "other SACK blocks"),
            (differs(self.window.is_some(), seen.window == self.window), "another window"),
            (differs(self.mss.is_some(), seen.mss == self.mss), "another MSS"),
            (self.sack_permitted && !seen.sack_permitted, "no offer of SACK"),
        ];
        checks.iter().find(|(wrong, _)| *wrong).map(|&(_, what)| what)
    }

    /// The line for a segment that left, with everything it says.
    pub(crate) fn of(segment: &Segment, origin: Origin) -> Self {
        let own = |seq: Seq| seq.0.wrapping_sub(origin.own.0.wrapping_add(1));
        let peer = |seq: Seq| seq.0.wrapping_sub(origin.peer.0.wrapping_add(1));
        let stated = STATED
            .iter()
            .filter(|(flag, _)| segment.flags.has(*flag))
            .fold(Flags::NONE, |flags, &(flag, _)| flags | flag);
        let answer = Flags::SYN | Flags::ACK;
        let start = own(segment.seq);
        let blocks = segment.sack.as_slice();
        Self {
            range: (segment.len > 0).then(|| (start, start.wrapping_add(segment.len))),
            ack: segment.flags.has(Flags::ACK).then(|| peer(segment.ack)),
            flags: stated | answer.when(segment.flags.has(answer)),
            ecn: Some(segment.ecn),
            sack: Some(blocks.iter().map(|block| (peer(block.start), peer(block.end))).collect()),
            window: Some(segment.window),
            mss: (segment.mss > 0).then_some(segment.mss),
            sack_permitted: segment.sack_permitted,
        }
    }
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = Vec::new();
        if self.flags.has(Flags::SYN | Flags::ACK) {
            words.push("SYN-ACK".to_owned());
        }
        let names = STATED.iter().filter(|(flag, name)| {
            self.flags.has(*flag) && !(*name == "SYN" && self.flags.has(Flags::ACK))
        });
        words.extend(self.range.map(|(start, end)| format!("{start}-{end}")));
        words.extend(self.ack.map(|ack| format!("ack={ack}")));
        words.extend(names.map(|(_, name)| (*name).to_owned()));
        let codepoint = CODEPOINTS.iter().find(|(ecn, _)| Some(*ecn) == self.ecn);
        words.extend(codepoint.map(|(_, name)| (*name).to_owned()));
        if let Some(blocks) = self.sack.as_ref().filter(|blocks| !blocks.is_empty()) {
            let blocks: Vec<_> =
                blocks.iter().map(|(start, end)| format!("{start}-{end}")).collect();
            words.push(format!("sack={}", blocks.join(",")));
        }
        f.write_str(&words.join(" "))
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "is not a number below 2^32".to_owned())
}

fn block(text: &str) -> Result<(u32, u32), String> {
    let (start, end) =
        text.split_once('-').ok_or_else(|| "is not a word of a segment".to_owned())?;
    Ok((number(start)?, number(end)?))
}
