//! Devices that accept no frames: when they are tried again, and when a frame is given up.
//!
//! A device that is only busy is tried again, less and less often. After a second its frames are
//! given up, one burst per second. A device without a buffer does not say whether it will have one
//! soon or never for a frame of this length: the frame is tried a few times within some tens of
//! microseconds. Once one is given up, frames that are not shorter have one attempt until one of
//! them gets through. So frames that are too long for a receiver do not delay the others of their
//! port.

use tidegate_units::{Span, Time};

/// State of a device that did not accept a frame.
#[derive(Clone, Debug)]
pub(super) struct Stall {
    /// First and last time at which it did not accept a frame.
    since: Time,
    last: Time,
    /// Time of the next attempt.
    again: Time,
    /// Number of attempts without a buffer for the first frame.
    tries: u32,
    is_stalled: bool,
    /// Time since which the first frame waits for room.
    waits_since: Option<Time>,
    /// Length of the shortest frame given up since one as long was sent.
    shortest_lost: usize,
}

/// Fate of frames that were not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// They are tried again.
    Wait,
    /// They are dropped.
    GiveUp,
}

impl Stall {
    pub(super) const fn new() -> Self {
        Self {
            since: Time::ZERO,
            last: Time::ZERO,
            again: Time::ZERO,
            tries: 0,
            is_stalled: false,
            waits_since: None,
            shortest_lost: usize::MAX,
        }
    }

    /// Records that a frame of `len` bytes was sent.
    #[inline]
    pub(super) const fn on_sent(&mut self, len: usize) {
        self.is_stalled = false;
        self.waits_since = None;
        self.tries = 0;
        if len >= self.shortest_lost {
            self.shortest_lost = usize::MAX;
        }
    }

    /// Records frames lost without further attempts, because the link is down or the device refuses
    /// them. The next frames have the full time.
    #[cold]
    pub(super) const fn on_lost(&mut self) {
        self.is_stalled = false;
        self.waits_since = None;
        self.tries = 0;
        self.again = Time::ZERO;
    }

    /// Handles a device that has no room now but will have later.
    #[cold]
    pub(super) fn on_wait(&mut self, now: Time) -> Patience {
        self.note(now);
        let span = now - *self.waits_since.get_or_insert(now);
        // Tried at once for a while, then less and less often.
        self.again = match span {
            span if span < BRIEF => now,
            span => now + Span::from_ps(span.as_ps() / 8).min(LONGEST_PAUSE),
        };
        if span < LONGEST {
            return Patience::Wait;
        }
        self.again = now + LONGEST;
        Patience::GiveUp
    }

    /// Handles a device without a buffer for a frame of `len` bytes.
    #[cold]
    pub(super) fn on_no_buffer(&mut self, now: Time, len: usize) -> Patience {
        self.note(now);
        self.tries += 1;
        self.again = now;
        if self.tries < TRIES && len < self.shortest_lost {
            self.again = now + FIRST_PAUSE * (1 << (self.tries - 1));
            return Patience::Wait;
        }
        self.tries = 0;
        self.waits_since = None;
        self.shortest_lost = self.shortest_lost.min(len);
        Patience::GiveUp
    }

    /// Time of the next attempt.
    #[inline]
    pub(super) const fn again(&self) -> Time {
        self.again
    }

    /// Time for which the device has accepted nothing, as of the last attempt.
    pub(super) fn span(&self) -> Span {
        if self.is_stalled { self.last - self.since } else { Span::ZERO }
    }

    /// Records that nothing was accepted.
    const fn note(&mut self, now: Time) {
        if !self.is_stalled {
            self.since = now;
        }
        self.is_stalled = true;
        self.last = now;
    }
}

/// Attempts for a frame without a buffer, and the pause after the first; each further pause is
/// twice as long. Together they take the time of some full frames at 1 Gb/s.
const TRIES: u32 = 4;
const FIRST_PAUSE: Span = Span::from_us(10);

/// Time for which a busy device is tried without a pause.
const BRIEF: Span = Span::from_us(100);
const LONGEST_PAUSE: Span = Span::from_ms(1);

/// Time for which frames wait for a device that accepts none.
const LONGEST: Span = Span::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_frame_is_given_up_longer_ones_have_one_attempt() {
        let mut stall = Stall::new();
        let mut now = Time::from_us(5);
        let mut tries = |stall: &mut Stall, len| {
            let mut tries = 1;
            while stall.on_no_buffer(now, len) == Patience::Wait {
                now = stall.again();
                tries += 1;
            }
            tries
        };
        assert_eq!(tries(&mut stall, 1_400), 4);
        assert_eq!(stall.again(), Time::from_us(75), "10, 20 and 40 µs");
        assert_eq!(tries(&mut stall, 1_400), 1);
        assert_eq!(tries(&mut stall, 1_500), 1);
        assert_eq!(tries(&mut stall, 1_300), 4);
        stall.on_sent(1_299);
        assert_eq!(tries(&mut stall, 1_300), 1, "a shorter frame proves nothing for longer ones");
        stall.on_sent(1_300);
        assert_eq!(tries(&mut stall, 1_300), 4, "there is room again");
    }

    #[test]
    fn a_wait_long_after_a_give_up_starts_over() {
        let mut stall = Stall::new();
        while stall.on_no_buffer(Time::ZERO, 1_400) == Patience::Wait {}
        assert_eq!(stall.on_wait(Time::from_secs(10)), Patience::Wait);
        stall.on_lost();
        assert_eq!(stall.span(), Span::ZERO);
        assert_eq!(stall.on_wait(Time::from_secs(20)), Patience::Wait);
    }

    #[test]
    fn a_device_that_accepts_nothing_is_given_up_after_a_second() {
        let mut stall = Stall::new();
        let begin = Time::from_ms(1);
        let (mut now, mut tries) = (begin, 1);
        while stall.on_wait(now) == Patience::Wait {
            tries += 1;
            // A loop of one microsecond.
            now = stall.again().max(now + Span::from_us(1));
        }
        assert_eq!(stall.span(), now - begin);
        assert!(stall.span() >= Span::from_secs(1) && stall.span() < Span::from_ms(1_010));
        assert!(tries < 1_500, "{tries}");
        // The next burst has one attempt per second.
        assert_eq!(stall.again(), now + Span::from_secs(1));
        assert_eq!(stall.on_wait(stall.again()), Patience::GiveUp);
        stall.on_sent(60);
        assert_eq!(stall.span(), Span::ZERO);
    }
}
