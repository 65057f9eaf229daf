//! A device that takes no frames: how often it is tried, and when a frame is given up.
//!
//! A device that only waits is asked again, less and less often, and after a second its frames are
//! given up, a burst each second. One that has no buffer does not say whether it has one soon or
//! never for a frame like this: the frame is tried a few times within some tens of microseconds.
//! Once one is given up, those that are no shorter have one try, until one of them gets through:
//! frames that are too long for a receiver cost the others of its port no time.

use tidegate_units::{Span, Time};

/// What a device has not taken.
#[derive(Clone, Debug)]
pub(super) struct Stall {
    /// When it did not take a frame for the first time, and for the last.
    since: Time,
    last: Time,
    /// When it is to be tried again.
    again: Time,
    /// How often it had no buffer for the first frame.
    tries: u32,
    is_stalled: bool,
    /// Since when the first frame waits for room.
    waits_since: Option<Time>,
    /// The shortest frame that was given up since one as long was sent.
    shortest_lost: usize,
}

/// What becomes of frames that were not taken.
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

    /// A frame of `len` bytes was sent.
    #[inline]
    pub(super) const fn on_sent(&mut self, len: usize) {
        self.is_stalled = false;
        self.waits_since = None;
        self.tries = 0;
        if len >= self.shortest_lost {
            self.shortest_lost = usize::MAX;
        }
    }

    /// Frames are gone without a try to come: the link is down, or the device refuses them. Those
    /// that come next have all of their time.
    #[cold]
    pub(super) const fn on_lost(&mut self) {
        self.is_stalled = false;
        self.waits_since = None;
        self.tries = 0;
        self.again = Time::ZERO;
    }

    /// The device has no room now and will have.
    #[cold]
    pub(super) fn on_wait(&mut self, now: Time) -> Patience {
        self.note(now);
        let span = now - *self.waits_since.get_or_insert(now);
        // At once for a while, then less and less often.
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

    /// The device has no buffer for a frame of `len` bytes.
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

    /// When the device is to be tried again.
    #[inline]
    pub(super) const fn again(&self) -> Time {
        self.again
    }

    /// For how long the device has taken nothing, when it was last tried.
    pub(super) fn span(&self) -> Span {
        if self.is_stalled { self.last - self.since } else { Span::ZERO }
    }

    /// Notes that nothing was taken.
    const fn note(&mut self, now: Time) {
        if !self.is_stalled {
            self.since = now;
        }
        self.is_stalled = true;
        self.last = now;
    }
}

/// How often a frame is tried for which there is no buffer, and the pause after the first try; each
/// further one is twice as long: together the time of some full frames at 1 Gb/s.
const TRIES: u32 = 4;
const FIRST_PAUSE: Span = Span::from_us(10);

/// How long a device that waits is tried without a pause.
const BRIEF: Span = Span::from_us(100);
const LONGEST_PAUSE: Span = Span::from_ms(1);

/// How long frames wait for a device that takes none.
const LONGEST: Span = Span::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_without_a_buffer_has_some_tries_and_longer_ones_then_have_one() {
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
        assert_eq!(tries(&mut stall, 1_300), 1, "it says nothing of longer ones");
        stall.on_sent(1_300);
        assert_eq!(tries(&mut stall, 1_300), 4, "there is room again");
    }

    #[test]
    fn a_wait_long_after_a_frame_was_given_up_is_a_new_one() {
        let mut stall = Stall::new();
        while stall.on_no_buffer(Time::ZERO, 1_400) == Patience::Wait {}
        assert_eq!(stall.on_wait(Time::from_secs(10)), Patience::Wait);
        stall.on_lost();
        assert_eq!(stall.span(), Span::ZERO);
        assert_eq!(stall.on_wait(Time::from_secs(20)), Patience::Wait);
    }

    #[test]
    fn a_device_that_takes_nothing_is_tried_less_and_less_and_given_up_after_a_second() {
        let mut stall = Stall::new();
        let begin = Time::from_ms(1);
        let (mut now, mut tries) = (begin, 1);
        while stall.on_wait(now) == Patience::Wait {
            tries += 1;
            // A loop of a microsecond.
            now = stall.again().max(now + Span::from_us(1));
        }
        assert_eq!(stall.span(), now - begin);
        assert!(stall.span() >= Span::from_secs(1) && stall.span() < Span::from_ms(1_010));
        assert!(tries < 1_500, "{tries}");
        // The next burst has a try a second.
        assert_eq!(stall.again(), now + Span::from_secs(1));
        assert_eq!(stall.on_wait(stall.again()), Patience::GiveUp);
        stall.on_sent(60);
        assert_eq!(stall.span(), Span::ZERO);
    }
}
