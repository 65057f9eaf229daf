//! Segmentation offload: how much a sender hands to its network card in one piece, and when it
//! waits for more.
//!
//! Linux, `net/ipv4/tcp_output.c`: `tcp_tso_autosize` says how large a burst is meant to be, and
//! `tcp_tso_should_defer` whether to wait for the ACKs that make room for one. The segments of a
//! burst leave at one moment, and a card that is first in, first out sends them back to back.
//!
//! Differs from Linux: written data is one stream without the boundaries of socket buffers.

use alloc::collections::VecDeque;

use tidegate_units::{Size, Span, Time};

use super::{Recovery, Sender};
use crate::config::{self, Config, TsoSizing};
use crate::seq::{Range, Seq};

/// A sender that has been silent for longer does not wait for a burst.
const RECENT: Span = Span::from_ms(1);

/// No burst is smaller on purpose (`tcp_min_tso_segs`).
const MIN_SEGMENTS: u32 = 2;

/// A burst may leave when the window has room for its share of it (`tcp_tso_win_divisor`).
const WINDOW_SHARE: u32 = 3;

/// Bursts in flight, and the one that is being sent.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    most: Size,
    sizing: TsoSizing,
    /// Whether anything was written.
    has_begun: bool,
    /// Bytes that may still leave in the burst in hand.
    left: u32,
    /// Data in flight, by the moment at which it was sent: one past its last byte, and when.
    sent: VecDeque<(Seq, Time)>,
}

impl Bursts {
    /// None have been sent; there may be none at all.
    pub(super) fn new(config: &Config) -> Option<Self> {
        config.tso.map(|most| Self {
            most,
            sizing: config.tso_sizing,
            has_begun: false,
            left: 0,
            sent: VecDeque::new(),
        })
    }

    /// Something is written.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Whether nothing was ever written.
    pub(super) const fn is_idle(&self) -> bool {
        !self.has_begun
    }

    /// A segment leaves.
    pub(super) fn on_sent(&mut self, range: Range, now: Time) {
        self.left = self.left.saturating_sub(range.len());
        match self.sent.back_mut() {
            Some((end, at)) if *at == now => *end = (*end).max(range.end),
            Some((end, _)) if !range.end.is_after(*end) => {}
            _ => self.sent.push_back((range.end, now)),
        }
    }

    /// Everything before `una` has arrived.
    pub(super) fn on_acked(&mut self, una: Seq) {
        while self.sent.front().is_some_and(|(end, _)| !end.is_after(una)) {
            self.sent.pop_front();
        }
    }

    /// Everything is sent again.
    pub(super) fn on_timeout(&mut self) {
        self.left = 0;
        self.sent.clear();
    }
}

/// Inputs of the size of a burst.
#[derive(Clone, Copy, Debug)]
struct Sizing {
    most: Size,
    rule: TsoSizing,
    mss: u32,
    window: u32,
    ssthresh: u32,
    outstanding: u32,
    round_trip: Option<Span>,
}

impl Sizing {
    /// How many bytes a burst is meant to have: whole segments.
    fn bytes(self) -> u32 {
        // Fits: a segment's payload.
        let most = config::bytes(self.most, self.mss as u16) / self.mss;
        let segments = match (self.rule, self.round_trip) {
            (TsoSizing::Rate, Some(round_trip)) => {
                let paced = self.paced_bytes(round_trip) / self.mss;
                paced.max(MIN_SEGMENTS).min(most)
            }
            _ => most,
        };
        segments.max(1) * self.mss
    }

    /// Bytes that the pacing rate sends in 1/1024 s.
    fn paced_bytes(self, round_trip: Span) -> u32 {
        let percent = if self.window < self.ssthresh / 2 { 200 } else { 120 };
        let window = u128::from(self.window.max(self.outstanding));
        let second = u128::from(Span::from_secs(1).as_ps());
        let per_second = window * percent * second / 100;
        let bytes = (per_second / u128::from(round_trip.as_ps().max(1))) >> 10;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

impl Sender {
    /// Nothing more leaves now: the next burst is decided on anew.
    #[inline]
    pub(super) fn end_burst(&mut self) {
        if let Some(bursts) = &mut self.bursts {
            bursts.left = 0;
        }
    }

    /// Whether new data that the window has room for waits until there is room for a burst.
    #[inline]
    pub(super) fn waits_for_burst(&mut self, range: Range, now: Time) -> bool {
        self.bursts.is_some() && self.decide_on_burst(range, now)
    }

    #[cold]
    fn decide_on_burst(&mut self, range: Range, now: Time) -> bool {
        let Some(bursts) = self.bursts.as_ref().filter(|bursts| bursts.left == 0) else {
            return false;
        };
        let size = self.burst_size(bursts);
        let room = self.window_room().min(self.edge.since(self.nxt));
        let waits = self.defers(range, room, size, now);
        if waits {
            // It is the window that holds the sender back, though it is not full.
            self.peak = self.peak.max(self.window);
        } else if let Some(bursts) = &mut self.bursts {
            bursts.left = room.min(size);
        }
        waits
    }

    /// Whether a burst is worth waiting for, when `room` bytes may leave and `size` are meant to.
    fn defers(&self, range: Range, room: u32, size: u32, now: Time) -> bool {
        let is_repair = range.start != self.max || self.recovery != Recovery::Open;
        let is_single = self.unsent <= u64::from(self.mss);
        if is_repair || is_single || room >= size || room >= self.usable_window() / WINDOW_SHARE {
            return false;
        }
        let oldest = self.bursts.as_ref().and_then(|bursts| bursts.sent.front());
        let Some(&(_, sent_at)) = oldest else {
            return false;
        };
        // An ACK that is half a round trip away or more comes too late.
        let round_trip = self.rtt.smoothed().unwrap_or_default();
        let is_ack_near = now - sent_at >= Span::from_ps(round_trip.as_ps() / 2);
        is_ack_near && now - self.last_sent <= RECENT
    }

    /// Bytes that the congestion window has room for: at least a segment, which was found to fit.
    fn window_room(&self) -> u32 {
        let room = match &self.prr {
            Some(prr) => prr.allowance(),
            None => self.window.saturating_sub(self.pipe()),
        };
        room.max(self.mss)
    }

    /// The window that a burst may take its share of. While a reduction thins sending out, it is
    /// the flight and the bytes that may follow.
    fn usable_window(&self) -> u32 {
        let window = self.pipe().saturating_add(self.window_room());
        window.min(self.edge.since(self.una))
    }

    fn burst_size(&self, bursts: &Bursts) -> u32 {
        self.sizing(bursts.most, bursts.sizing).bytes()
    }

    /// Bytes that the pacing rate sends in 1/1024 s: without a limit before the first round-trip
    /// sample, as in Linux.
    pub(crate) fn paced_bytes(&self) -> u32 {
        let sizing = self.sizing(Size::Packets(1), TsoSizing::Rate);
        let round_trip = self.rtt.smoothed();
        round_trip.map_or(u32::MAX, |round_trip| sizing.paced_bytes(round_trip))
    }

    fn sizing(&self, most: Size, rule: TsoSizing) -> Sizing {
        Sizing {
            most,
            rule,
            mss: self.mss,
            window: self.window,
            ssthresh: self.ssthresh,
            outstanding: self.outstanding(),
            round_trip: self.rtt.smoothed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZING: Sizing = Sizing {
        most: Size::Packets(44),
        rule: TsoSizing::Rate,
        mss: 1460,
        window: 20 * 1460,
        ssthresh: 10 * 1460,
        outstanding: 0,
        round_trip: Some(Span::from_ms(1)),
    };

    fn segments(sizing: Sizing) -> u32 {
        assert_eq!(sizing.bytes() % sizing.mss, 0, "whole segments");
        sizing.bytes() / sizing.mss
    }

    #[test]
    fn burst_is_one_millisecond_of_the_pacing_rate() {
        // 20 segments a millisecond, 1.2 times that, in 1/1024 s: 29200 · 1.2 / 1.024 = 34218
        // bytes.
        assert_eq!(segments(SIZING), 23);
        // With twice the round trip half: 17109 bytes.
        let slower = Sizing { round_trip: Some(Span::from_ms(2)), ..SIZING };
        assert_eq!(segments(slower), 11);
        // The outstanding bytes count if they are more than the window: 23.4 segments again.
        let beyond = Sizing { window: 10 * 1460, outstanding: 20 * 1460, ..SIZING };
        assert_eq!(segments(beyond), 23);
    }

    #[test]
    fn a_window_below_half_of_ssthresh_is_paced_at_twice_its_rate() {
        let at = |ssthresh| Sizing { ssthresh, ..SIZING };
        // 29200 bytes are half of 58400. Twice the rate: 57031 bytes, 39 segments.
        assert_eq!(segments(at(58_399)), 23);
        assert_eq!(segments(at(58_400)), 23);
        assert_eq!(segments(at(58_402)), 39);
    }

    #[test]
    fn burst_is_between_two_segments_and_the_limit() {
        // 29200 bytes in 12 ms: 2851 bytes in 1/1024 s, less than two segments.
        let after = |ms| Sizing { round_trip: Some(Span::from_ms(ms)), ..SIZING };
        assert_eq!(segments(after(12)), 2);
        assert_eq!(segments(after(1000)), 2);
        assert_eq!(segments(after(8)), 2);
        // 29200 · 1.2 / 7.8 / 1.024 = 4387 bytes, and 4380 are three.
        let three = Span::from_us(7_800);
        assert_eq!(segments(Sizing { round_trip: Some(three), ..SIZING }), 3);
        // 29200 bytes in 100 us are 342 KB in 1/1024 s.
        let fast = Sizing { round_trip: Some(Span::from_us(100)), ..SIZING };
        assert_eq!(segments(fast), 44);
        let in_bytes = Sizing { most: Size::Bytes(tidegate_units::Bytes::from_kib(64)), ..fast };
        // 65536 / 1460 = 44.9.
        assert_eq!(segments(in_bytes), 44);
    }

    #[test]
    fn burst_has_the_maximum_size_with_full_sizing_or_without_a_round_trip() {
        let unknown = Sizing { round_trip: None, ..SIZING };
        let full = Sizing { rule: TsoSizing::Full, ..SIZING };
        assert_eq!([segments(unknown), segments(full)], [44, 44]);
    }
}
