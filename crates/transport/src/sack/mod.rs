//! The sender's scoreboard: which outstanding bytes have arrived, which are lost, which were sent
//! again (RFC 6675).
//!
//! `IsLost` is monotone: everything below a lost byte is lost too, unless it was SACKed. So one
//! edge covers all lost bytes and one all retransmitted bytes, and `pipe` is a sum of counters that
//! every change keeps up to date. An ACK costs a binary search per block.

use crate::lazy_deque::LazyDeque;
use crate::segment::SackBlocks;
use crate::seq::{Range, Seq};

/// The most ranges that are remembered. SACK blocks are hints: forgotten ranges are sent again.
const MAX_RANGES: usize = 1 << 15;

/// The scoreboard of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// The first byte that is not acknowledged (`HighACK` + 1).
    una: Seq,
    /// SACKed ranges after `una`: in order, disjoint, not touching each other.
    ranges: LazyDeque<Range>,
    /// Bytes in `ranges`.
    sacked: u32,
    /// Bytes before this that are not SACKed are lost.
    lost: Mark,
    /// Bytes before this that are not SACKed were sent again (`HighRxt` + 1).
    resent: Mark,
    /// A rescue retransmission is allowed once `una` is at this or later (`RescueRxt` + 1).
    rescue: Option<Seq>,
    threshold: u8,
    mss: u32,
}

/// A position and the number of SACKed bytes between `una` and it.
#[derive(Clone, Copy, Debug)]
struct Mark {
    edge: Seq,
    sacked: u32,
}

impl Mark {
    const fn new(edge: Seq) -> Self {
        Self { edge, sacked: 0 }
    }

    /// Bytes from `una` to the mark that are not SACKed.
    #[inline]
    fn missing(self, una: Seq) -> u32 {
        self.edge.since(una) - self.sacked
    }
}

impl Scoreboard {
    /// Nothing is outstanding; data begins at `una`. Loss is declared after `threshold` duplicates
    /// (`DupThresh`).
    pub(crate) fn new(una: Seq, threshold: u8, mss: u32) -> Self {
        Self {
            una,
            ranges: LazyDeque::new(),
            sacked: 0,
            lost: Mark::new(una),
            resent: Mark::new(una),
            rescue: None,
            threshold,
            mss,
        }
    }

    /// Nothing before `una` counts any more, however far away it is. The scoreboard must be blank.
    #[inline]
    pub(crate) fn move_to(&mut self, una: Seq) {
        self.una = una;
        self.lost = Mark::new(una);
        self.resent = Mark::new(una);
    }

    /// Whether nothing is known of any byte: nothing SACKed, lost or sent again.
    #[cfg(any(test, feature = "check"))]
    pub(crate) fn is_blank(&self) -> bool {
        let marks = [self.lost, self.resent];
        let at_una = marks.iter().all(|m| m.edge == self.una && m.sacked == 0);
        self.ranges.is_empty() && self.sacked == 0 && at_una && self.rescue.is_none()
    }

    /// Everything before `una` was acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self, una: Seq) {
        self.una = una;
        if self.ranges.is_empty() {
            // With nothing SACKed the marks carry no count; they only must not fall behind.
            self.lost = Mark::new(self.lost.edge.max(una));
            self.resent = Mark::new(self.resent.edge.max(una));
        } else {
            self.drop_before(una);
        }
    }

    #[cold]
    fn drop_before(&mut self, una: Seq) {
        // A range that begins at or before `una` and ends after it contradicts the acknowledgement:
        // the peer has dropped it again, or never had it. It is forgotten, so that the first
        // missing byte is never thought to have arrived.
        while let Some(&first) = self.ranges.front()
            && !first.start.is_after(una)
        {
            self.sacked -= first.len();
            self.lost.sacked -= first.len_before(self.lost.edge);
            self.resent.sacked -= first.len_before(self.resent.edge);
            self.ranges.pop_front();
        }
        for mark in [&mut self.lost, &mut self.resent] {
            if mark.edge.is_before(una) {
                *mark = Mark::new(una);
            }
        }
    }

    /// Takes in the SACK blocks of an ACK; `sent` is the end of data sent so far. Answers how many
    /// bytes are newly known to have arrived. Blocks that make no sense are ignored, and so are
    /// reports of duplicates.
    #[inline]
    pub(crate) fn take(&mut self, blocks: &SackBlocks, sent: Seq) -> u32 {
        if blocks.is_empty() { 0 } else { self.take_blocks(blocks, sent) }
    }

    fn take_blocks(&mut self, blocks: &SackBlocks, sent: Seq) -> u32 {
        let mut fresh = 0;
        for block in blocks.as_slice() {
            // After the first missing byte, not inverted, and not beyond the last byte sent.
            let makes_sense = block.start.is_after(self.una)
                && block.end.is_after(block.start)
                && block.end.is_within(self.una, sent);
            if makes_sense {
                fresh += self.insert(*block);
            }
        }
        if fresh > 0 {
            self.find_lost();
        }
        fresh
    }

    /// Adds a range and answers how many of its bytes are new.
    fn insert(&mut self, range: Range) -> u32 {
        let from = self.ranges.partition_point(|held| held.end.is_before(range.start));
        let to = self.ranges.partition_point(|held| !held.start.is_after(range.end));
        if from == to && self.ranges.len() >= MAX_RANGES {
            return 0;
        }
        let mut fresh = range.len();
        let mut fresh_lost = range.len_before(self.lost.edge);
        let mut fresh_resent = range.len_before(self.resent.edge);
        let mut merged = range;
        for held in self.ranges.range(from..to) {
            let start = held.start.max(range.start);
            let overlap = Range::new(start, held.end.min(range.end));
            fresh -= overlap.len();
            fresh_lost -= overlap.len_before(self.lost.edge.max(start));
            fresh_resent -= overlap.len_before(self.resent.edge.max(start));
            merged = Range::new(merged.start.min(held.start), merged.end.max(held.end));
        }
        if from < to {
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        } else {
            self.ranges.insert(from, merged);
        }
        self.sacked += fresh;
        self.lost.sacked += fresh_lost;
        self.resent.sacked += fresh_resent;
        fresh
    }

    /// Moves the edge of loss up: below the range at which enough has arrived later, counted in
    /// ranges or in bytes (`IsLost`, RFC 6675, section 4).
    fn find_lost(&mut self) {
        let enough = u64::from(self.threshold - 1) * u64::from(self.mss);
        let mut above = 0;
        let mut count = 0;
        for held in self.ranges.iter().rev() {
            above += held.len();
            count += 1;
            if count >= u32::from(self.threshold) || u64::from(above) > enough {
                if held.start.is_after(self.lost.edge) {
                    self.lost = Mark { edge: held.start, sacked: self.sacked - above };
                }
                return;
            }
        }
    }

    /// Fast recovery begins: nothing counts as sent again yet.
    pub(crate) fn begin_recovery(&mut self) {
        self.resent = Mark::new(self.una);
        self.rescue = None;
    }

    /// Fast recovery is over.
    pub(crate) fn end_recovery(&mut self) {
        self.begin_recovery();
    }

    /// Forgets everything, as after a timeout: the receiver may have dropped SACKed data (RFC 2018,
    /// section 8).
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.sacked = 0;
        self.lost = Mark::new(self.una);
        self.resent = Mark::new(self.una);
        self.rescue = None;
    }

    /// The first bytes after the last retransmission that are lost (rule 1 of `NextSeg`), at most
    /// a segment.
    pub(crate) fn next_lost(&self) -> Option<Range> {
        let hole = self.next_hole()?;
        let end = hole.end.min(self.lost.edge);
        end.is_after(hole.start).then_some(Range::new(hole.start, end))
    }

    /// The first bytes after the last retransmission that are not SACKed while later ones are
    /// (rule 3 of `NextSeg`), at most a segment.
    pub(crate) fn next_hole(&self) -> Option<Range> {
        let edge = self.resent.edge;
        let mut later =
            self.ranges.range(self.ranges.partition_point(|held| !held.end.is_after(edge))..);
        let mut held = *later.next()?;
        let mut start = edge;
        if !held.start.is_after(start) {
            start = held.end;
            held = *later.next()?;
        }
        Some(Range::new(start, held.start.min(start + self.mss)))
    }

    /// The first segment's worth of bytes that were not SACKed: what fast retransmit sends.
    pub(crate) fn first_hole(&self, sent: Seq) -> Range {
        let end = self.ranges.front().map_or(sent, |first| first.start);
        Range::new(self.una, end.min(self.una + self.mss))
    }

    /// The last bytes before `sent` that are not SACKed, at most a segment, if a rescue
    /// retransmission is allowed (rule 4 of `NextSeg`).
    pub(crate) fn rescue(&self, sent: Seq) -> Option<Range> {
        let allowed = self.rescue.is_some_and(|after| !self.una.is_before(after));
        let (mut start, mut end) = (self.una, sent);
        let mut below = self.ranges.iter().rev();
        if let Some(last) = below.next() {
            start = last.end;
            if last.end == sent {
                end = last.start;
                start = below.next().map_or(self.una, |held| held.end);
            }
        }
        let start = start.max(end - self.mss);
        // Bytes that were already sent again do not need to be rescued.
        (allowed && end.is_after(start) && !end.is_within(self.una, self.resent.edge))
            .then_some(Range::new(start, end))
    }

    /// `range`, found by `next_lost`, `next_hole` or `first_hole`, was sent again.
    pub(crate) fn on_resent(&mut self, range: Range) {
        if range.end.is_after(self.resent.edge) {
            let passed = self.sacked_between(self.resent.edge, range.end);
            self.resent.edge = range.end;
            self.resent.sacked += passed;
        }
        // RFC 6675, section 5, step 4.3: the first retransmission starts the wait for a rescue.
        self.rescue.get_or_insert(range.end);
    }

    /// The rescue retransmission was sent; there is none before `point` is acknowledged.
    pub(crate) fn on_rescued(&mut self, point: Seq) {
        self.rescue = Some(point + 1);
    }

    /// If `seq` is SACKed, the end of its range.
    #[inline]
    pub(crate) fn sacked_until(&self, seq: Seq) -> Option<Seq> {
        if self.ranges.is_empty() {
            return None;
        }
        let index = self.ranges.partition_point(|held| !held.end.is_after(seq));
        let held = self.ranges.get(index)?;
        held.contains(seq).then_some(held.end)
    }

    /// The first SACKed byte at or after `seq`.
    #[inline]
    pub(crate) fn next_sacked(&self, seq: Seq) -> Option<Seq> {
        if self.ranges.is_empty() {
            return None;
        }
        let index = self.ranges.partition_point(|held| !held.end.is_after(seq));
        self.ranges.get(index).map(|held| held.start.max(seq))
    }

    /// SACKed bytes between `seq` and `una`.
    pub(crate) fn sacked_before(&self, seq: Seq) -> u32 {
        if self.ranges.is_empty() { 0 } else { self.sacked_between(self.una, seq) }
    }

    /// Bytes in flight (`SetPipe`), of those sent up to `sent`: bytes that are neither SACKed nor
    /// lost, and retransmitted bytes.
    #[inline]
    pub(crate) fn pipe(&self, sent: Seq) -> u32 {
        let outstanding = sent - self.una;
        outstanding - self.sacked - self.lost.missing(self.una) + self.resent.missing(self.una)
    }

    /// Whether the first outstanding byte is lost (`IsLost(HighACK + 1)`).
    #[inline]
    pub(crate) fn is_first_lost(&self) -> bool {
        self.lost.edge.is_after(self.una)
    }

    /// Bytes SACKed.
    pub(crate) const fn sacked(&self) -> u32 {
        self.sacked
    }

    fn sacked_between(&self, from: Seq, to: Seq) -> u32 {
        let first = self.ranges.partition_point(|held| !held.end.is_after(from));
        self.ranges
            .range(first..)
            .take_while(|held| held.start.is_before(to))
            .map(|held| Range::new(held.start.max(from), held.end.min(to)).len())
            .sum()
    }
}

#[cfg(any(test, feature = "check"))]
impl Scoreboard {
    /// Checks the invariants against a slow count.
    pub(crate) fn check(&self, sent: Seq) {
        let mut last = self.una;
        for held in self.ranges.iter() {
            assert!(!held.is_empty() && !held.start.is_before(last), "{self:?}");
            assert!(held.start != last || last == self.una, "ranges touch: {self:?}");
            assert!(!held.end.is_after(sent), "{self:?} beyond {sent:?}");
            last = held.end;
        }
        assert_eq!(self.sacked, self.sacked_between(self.una, sent));
        for mark in [self.lost, self.resent] {
            assert!(mark.edge.is_within(self.una, sent), "{self:?} {sent:?}");
            assert_eq!(mark.sacked, self.sacked_between(self.una, mark.edge), "{self:?}");
        }
    }
}

#[cfg(test)]
mod tests;
