//! The receiving half: the data that has arrived, the ACKs that are due and when, the marks to
//! echo, and the room for more data.
//!
//! Delayed ACKs follow RFC 5681, section 4.2: at once for anything out of order, otherwise after a
//! number of segments or a time, or as `quick.rs` has it. [`Echo`] describes the echo rules.

use alloc::boxed::Box;

use tidegate_units::{Ecn, Span, Time};

use crate::config::{AckPolicy, Config, Echo, Reader};
use crate::quick::QuickAcks;
use crate::reassembly::{Arrival, Reassembly};
use crate::segment::{Flags, Header, SackBlocks, Segment};
use crate::seq::{Range, Seq};
use crate::timer::{Timer, Timers};

/// An acknowledgement to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The next byte expected.
    pub(crate) number: Seq,
    /// Whether it carries ECE.
    pub(crate) echo: bool,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    reassembly: Reassembly,
    /// Payload bytes received in order, and how many of them were not read.
    received: u64,
    unread: u32,
    /// The largest number that the peer was allowed to send, plus one.
    edge: Seq,
    buffer: u32,
    /// The least step of the window's edge that is worth announcing.
    step: u32,
    /// Whether all is in order; see [`Receiver::can_use_fast_path`]. Kept, because every segment
    /// needs it and only rare events change it.
    fast_path: bool,
    /// Whether anything has arrived or was read since the last segment left. If not, no ACK is owed
    /// or waits, and the window is where it was.
    changed: bool,
    /// Whether an ACK must leave now.
    ack_now: bool,
    /// Segments that wait for a delayed ACK.
    waiting: u8,
    /// The echo as it stands: ECE of the next ACK.
    echoing: bool,
    delayed_ack: u8,
    echo: Echo,
    reader: Reader,
    reports_duplicates: bool,
    delay: Span,
    /// What delays ACKs as Linux does; by RFC 5681 if there is none.
    quick: Option<Box<QuickAcks>>,
    /// The number of the peer's FIN, once it is known.
    fin: Option<Seq>,
    /// An ACK of earlier data that must leave before any other, with the echo of that time.
    earlier: Option<Ack>,
    /// A duplicate to report in the next ACK (RFC 2883).
    duplicate: Option<Range>,
    /// Segments that the host has merged into the one that is being taken in; usually one.
    merged: u32,
    /// Whether the fast path is never taken.
    #[cfg(test)]
    no_fast_path: bool,
}

impl Receiver {
    /// Nothing has arrived; data begins at `next`.
    pub(crate) fn new(config: &Config, next: Seq) -> Self {
        // Fits: the settings allow at most 2^30.
        let buffer = config.receive_window.0 as u32;
        Self {
            reassembly: Reassembly::new(next),
            received: 0,
            unread: 0,
            edge: next + buffer,
            fin: None,
            earlier: None,
            fast_path: config.acks == AckPolicy::Rfc5681,
            changed: false,
            ack_now: false,
            waiting: 0,
            echoing: false,
            duplicate: None,
            merged: 1,
            buffer,
            step: u32::from(config.mss).min(buffer / 2).max(1),
            delay: config.ack_delay,
            delayed_ack: config.delayed_ack,
            echo: config.echo,
            reader: config.reader,
            reports_duplicates: config.dsack,
            quick: (config.acks == AckPolicy::Linux).then(|| Box::new(QuickAcks::new(config))),
            #[cfg(test)]
            no_fast_path: false,
        }
    }

    /// The peer's SYN arrived: data begins at `next`.
    pub(crate) fn begin(&mut self, next: Seq) {
        self.reassembly = Reassembly::new(next);
        self.edge = next + self.buffer;
    }

    /// Whether everything that has arrived is in order and the end is not in sight, there is
    /// nothing to report but the next byte expected, and ACKs are delayed as in RFC 5681.
    fn can_use_fast_path(&self) -> bool {
        #[cfg(test)]
        if self.no_fast_path {
            return false;
        }
        self.reassembly.has_no_holes()
            && self.quick.is_none()
            && self.fin.is_none()
            && self.earlier.is_none()
            && self.duplicate.is_none()
    }

    /// The same, as kept.
    #[inline]
    pub(crate) const fn on_fast_path(&self) -> bool {
        self.fast_path
    }

    /// Takes in the payload and FIN of an acceptable segment. `ecn` says whether marks count.
    pub(crate) fn on_data(&mut self, segment: &Segment, ecn: bool, now: Time, timers: &mut Timers) {
        let before = self.next();
        let timing = if ecn { self.echo(&segment.header(), before) } else { AckTiming::Normal };
        let range = self.admissible(segment);
        if self.reports_duplicates && segment.len > 0 {
            self.duplicate = self.reassembly.first_duplicate(range).or(self.duplicate);
        }
        let arrival = self.reassembly.insert(range);
        self.count(before);
        if arrival == Arrival::Duplicate {
            self.enter_quick_acks();
        }
        let delayable = arrival == Arrival::InOrder && !self.is_finished();
        let timing = if delayable { timing } else { AckTiming::Now };
        if self.quick.is_some() {
            let len = segment.len.div_ceil(self.merged);
            self.delay_ack_as_linux(timing, len, now, timers);
        } else {
            self.delay_ack(timing, now, timers);
        }
        self.fast_path = self.can_use_fast_path();
    }

    /// Whether a segment with payload is the next one of a peer whose segments come in order.
    #[inline]
    pub(crate) fn expects(&self, header: &Header) -> bool {
        let room = self.edge - self.next();
        self.fast_path && header.seq == self.next() && header.len <= room
    }

    /// Takes in such a segment, which has no FIN.
    #[inline]
    pub(crate) fn on_expected_data(
        &mut self,
        header: &Header,
        ecn: bool,
        now: Time,
        timers: &mut Timers,
    ) {
        let timing = if ecn { self.echo(header, self.next()) } else { AckTiming::Normal };
        self.reassembly.extend(header.len);
        self.add(header.len);
        self.delay_ack(timing, now, timers);
    }

    /// A segment waits for its ACK, which may be delayed unless it is urgent or one too many.
    #[inline]
    fn delay_ack(&mut self, timing: AckTiming, now: Time, timers: &mut Timers) {
        self.changed = true;
        self.waiting = self.waiting.saturating_add(1);
        if timing == AckTiming::Now || self.waiting >= self.delayed_ack {
            self.ack_now = true;
        } else if !timers.is_set(Timer::DelayedAck) {
            timers.set(Timer::DelayedAck, now, self.delay);
        }
    }

    /// The same for a segment of `len` bytes, if ACKs are delayed as in Linux.
    #[inline(never)]
    fn delay_ack_as_linux(&mut self, timing: AckTiming, len: u32, now: Time, timers: &mut Timers) {
        let is_read = self.unread == 0;
        let delay = (self.quick.as_mut()).map(|quick| quick.on_data(len, is_read, now));
        match delay {
            Some(Some(delay)) => {
                self.delay = delay;
                self.delay_ack(timing, now, timers);
            }
            Some(None) | None => self.delay_ack(AckTiming::Now, now, timers),
        }
    }

    /// The next segment is one that the host has merged from `segments`.
    pub(crate) fn begin_merged(&mut self, segments: u32) {
        self.merged = segments.max(1);
    }

    /// It was taken in: every merged segment waits for an ACK, and enough of them cause one at
    /// once.
    pub(crate) fn end_merged(&mut self) {
        let more = core::mem::replace(&mut self.merged, 1) - 1;
        if self.waiting > 0 && more > 0 {
            // Fits: cut to the largest.
            self.waiting = self.waiting.saturating_add(more.min(255) as u8);
            self.ack_now |= self.waiting >= self.delayed_ack;
        }
    }

    /// An ACK is owed at once: an answer to a segment that was not acceptable, or to a probe.
    pub(crate) fn acknowledge_now(&mut self) {
        self.changed = true;
        self.ack_now = true;
    }

    /// The peer repeats data that has arrived already: it waits for ACKs.
    fn enter_quick_acks(&mut self) {
        if let Some(quick) = &mut self.quick {
            quick.restart();
        }
    }

    /// A segment of nothing but old data arrived.
    pub(crate) fn on_old_data(&mut self, segment: &Segment) {
        self.enter_quick_acks();
        if self.reports_duplicates && segment.len > 0 {
            self.duplicate = Some(Range::new(segment.seq, segment.seq + segment.len));
            self.fast_path = false;
        }
    }

    /// A probe of the closed window arrived. It is answered at once, under every echo rule.
    pub(crate) fn on_probe(&mut self, header: &Header) {
        self.echo(header, self.next());
    }

    /// The delayed ACK timer ran out.
    pub(crate) fn on_delayed_ack_timeout(&mut self) {
        self.ack_now |= self.waiting > 0;
        if let Some(quick) = &mut self.quick {
            quick.on_delayed_ack_timeout();
        }
    }

    /// Payload was sent at `now`.
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        if let Some(quick) = &mut self.quick {
            quick.on_data_sent(now);
        }
    }

    /// The next ACK that must leave by itself.
    #[inline]
    pub(crate) fn poll_ack(&mut self, timers: &mut Timers) -> Option<Ack> {
        if self.earlier.is_some() {
            return self.take_earlier();
        }
        self.ack_now.then(|| self.piggyback(timers))
    }

    /// Whether an ACK of earlier data must leave before anything else.
    pub(crate) const fn earlier_ack_due(&self) -> bool {
        self.earlier.is_some()
    }

    #[cold]
    fn take_earlier(&mut self) -> Option<Ack> {
        let earlier = self.earlier.take()?;
        // The window of that time: from there on there was no more room than the buffer.
        let edge = self.open_edge().min(earlier.number + self.buffer);
        self.open_window(edge);
        self.fast_path = self.can_use_fast_path();
        Some(earlier)
    }

    /// An ACK has left, by itself or on data, other than on the fast path.
    pub(crate) fn on_ack_sent(&mut self) {
        if let Some(quick) = &mut self.quick {
            quick.on_ack_sent();
        }
    }

    /// Whether an ACK must leave by itself, when all is in order.
    #[inline]
    pub(crate) const fn ack_due(&self) -> bool {
        self.ack_now
    }

    /// The ACK that a segment carries; no other is owed after it.
    #[inline]
    pub(crate) fn piggyback(&mut self, timers: &mut Timers) -> Ack {
        if self.changed {
            self.changed = false;
            self.ack_now = false;
            self.waiting = 0;
            timers.stop(Timer::DelayedAck);
            self.open_window(self.open_edge());
        }
        Ack { number: self.next(), echo: self.echoing }
    }

    /// Moves the edge of the window to `edge`. It never moves back, and moves forward in steps
    /// worth announcing (RFC 9293, section 3.8.6.2.2).
    #[inline]
    fn open_window(&mut self, edge: Seq) {
        if edge.since(self.edge) >= self.step {
            self.edge = edge;
        }
    }

    /// The SACK blocks to send. There are none when all is in order.
    pub(crate) fn blocks(&mut self) -> SackBlocks {
        let blocks = self.reassembly.blocks(self.duplicate.take());
        self.fast_path = self.can_use_fast_path();
        blocks
    }

    /// Takes up to `bytes` bytes out of the buffer and answers how many. If that opens the window
    /// enough, it is announced to the peer.
    pub(crate) fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable());
        // Fits: at most the bytes that were there.
        self.unread -= taken as u32;
        self.changed = true;
        if self.open_edge().since(self.edge) >= self.step {
            self.ack_now = true;
        }
        taken
    }

    /// The next byte expected.
    #[inline]
    pub(crate) const fn next(&self) -> Seq {
        self.reassembly.next()
    }

    /// The number after the last one that may arrive.
    #[inline]
    pub(crate) const fn edge(&self) -> Seq {
        self.edge
    }

    /// Payload bytes received in order.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// Payload bytes received in order and not read.
    pub(crate) fn readable(&self) -> u64 {
        u64::from(self.unread)
    }

    /// Whether everything up to the peer's FIN has arrived.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next().is_after(fin))
    }

    /// The part of a segment that fits the window and comes before the end of data. Learns of the
    /// peer's FIN.
    #[inline]
    fn admissible(&mut self, segment: &Segment) -> Range {
        let payload_end = segment.seq + segment.len;
        let mut end = payload_end;
        if segment.flags.has(Flags::FIN) {
            // A FIN before data that has already arrived contradicts it, and is ignored.
            let believable = !payload_end.is_before(self.reassembly.highest())
                && payload_end.is_before(self.edge + 1);
            if believable {
                self.fin.get_or_insert(payload_end);
            }
        }
        if let Some(fin) = self.fin {
            // The FIN takes the number after the last byte; nothing comes after it.
            if segment.flags.has(Flags::FIN) && payload_end == fin {
                return Range::new(segment.seq, fin + 1);
            }
            end = end.min(fin);
        }
        Range::new(segment.seq, end.min(self.edge))
    }

    /// Counts the bytes that came into order since `before`, the FIN excluded.
    #[inline]
    fn count(&mut self, before: Seq) {
        let mut fresh = self.next() - before;
        if fresh > 0 && self.is_finished() {
            fresh -= 1;
        }
        self.add(fresh);
    }

    /// `bytes` more bytes of payload are in order.
    #[inline]
    fn add(&mut self, bytes: u32) {
        self.received += u64::from(bytes);
        if self.reader == Reader::Manual {
            // At most the buffer: the window lets no more in.
            self.unread += bytes;
        }
    }

    /// Where the window would end if all free space were announced.
    #[inline]
    fn open_edge(&self) -> Seq {
        self.next() + self.buffer.saturating_sub(self.unread)
    }

    /// Applies the echo rule to a segment with data. `next` is the number that was expected before
    /// it.
    #[inline]
    fn echo(&mut self, header: &Header, next: Seq) -> AckTiming {
        let marked = header.ecn == Ecn::Ce;
        let cwr = header.flags.has(Flags::CWR);
        if !(marked | cwr | self.echoing) {
            // No rule has anything to say.
            return AckTiming::Normal;
        }
        self.apply_echo(marked, cwr, next)
    }

    fn apply_echo(&mut self, marked: bool, cwr: bool, next: Seq) -> AckTiming {
        match self.echo {
            Echo::Off => AckTiming::Normal,
            Echo::Rfc3168 => {
                // RFC 3168, section 6.1.3: CWR ends the echo, a mark on the same segment starts it.
                self.echoing = marked || (self.echoing && !cwr);
                AckTiming::Normal
            }
            Echo::DctcpPaper => self.mirror(marked, next, AckTiming::Normal),
            Echo::DctcpCwrClears => self.mirror(marked && !cwr, next, AckTiming::Normal),
            Echo::DctcpTwoAcks => self.mirror(marked, next, AckTiming::Now),
            Echo::Dctcp | Echo::Odctcp | Echo::OdctcpInverted => {
                let changed = marked != self.echoing;
                self.echoing = marked;
                let at_once = match self.echo {
                    Echo::Odctcp => changed && !cwr,
                    Echo::OdctcpInverted => changed || cwr,
                    _ => changed,
                };
                if at_once { AckTiming::Now } else { AckTiming::Normal }
            }
        }
    }

    /// On a change, a delayed ACK leaves first, with the state before it.
    fn mirror(&mut self, marked: bool, next: Seq, on_change: AckTiming) -> AckTiming {
        if marked == self.echoing {
            return AckTiming::Normal;
        }
        if self.waiting > 0 {
            self.earlier = Some(Ack { number: next, echo: self.echoing });
            self.waiting = 0;
            self.fast_path = false;
        }
        self.echoing = marked;
        on_change
    }
}

/// How soon a segment is acknowledged, as the echo rule sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckTiming {
    /// As the rules of delayed ACKs have it.
    Normal,
    /// At once.
    Now,
}

#[cfg(any(test, feature = "check"))]
impl Receiver {
    /// From here on, the fast path is never taken.
    #[cfg(test)]
    pub(crate) fn disable_fast_path(&mut self) {
        self.no_fast_path = true;
        self.fast_path = false;
    }

    /// Checks the invariants, after every step.
    pub(crate) fn check(&self) {
        assert_eq!(self.fast_path, self.can_use_fast_path(), "{self:?}");
        assert!(self.unread <= self.buffer, "{self:?}");
        let owes = self.ack_now || self.waiting > 0;
        assert!(self.changed || !owes, "{self:?}");
        let kept = self.open_edge().since(self.edge) < self.step;
        assert!(self.changed || kept, "{self:?}");
    }
}
