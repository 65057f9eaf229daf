//! The timers of one connection: an array of deadlines, the next of which is their minimum.
//!
//! Lazy: moving a deadline is one store, and nothing is queued anywhere. The host asks for the
//! minimum and calls when it has come.

use tidegate_units::{Span, Time};

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Something sent was not acknowledged in time (RFC 6298). Set while anything is outstanding.
    Retransmit,
    /// The peer's window is closed or too small; it is probed (RFC 9293, section 3.8.6.1). Never
    /// set together with `Retransmit`.
    Persist,
    /// An ACK has waited long enough (RFC 5681, section 4.2).
    DelayedAck,
    /// The connection is over and forgotten after this.
    TimeWait,
    /// The pace lets the next segment leave.
    Pace,
}

const COUNT: usize = 5;

/// The last deadline that a sum beyond the end of time becomes: the end itself means off.
const LAST: Time = Time::from_ps(u64::MAX - 1);

/// All timers of a connection. A deadline of [`Time::MAX`] means that the timer is off.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    deadlines: [Time; COUNT],
    /// Whether one was set since the host has asked.
    is_new: bool,
}

impl Timers {
    /// All timers off.
    pub(crate) const fn new() -> Self {
        Self { deadlines: [Time::MAX; COUNT], is_new: false }
    }

    /// Sets a timer to run out `span` after `now`, or as late as there is time.
    #[inline]
    pub(crate) fn set(&mut self, timer: Timer, now: Time, span: Span) {
        let deadline = now.as_ps().checked_add(span.as_ps());
        self.deadlines[timer as usize] = deadline.map_or(LAST, Time::from_ps);
        self.is_new = true;
    }

    /// Turns a timer off.
    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = Time::MAX;
    }

    /// Turns all timers off.
    pub(crate) fn stop_all(&mut self) {
        *self = Self::new();
    }

    /// Whether a timer is on.
    #[inline]
    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize] != Time::MAX
    }

    /// Turns a timer off if it has run out by `now`, and answers whether it had.
    #[inline]
    pub(crate) fn take_expired(&mut self, timer: Timer, now: Time) -> bool {
        let expired = self.is_set(timer) && self.deadlines[timer as usize] <= now;
        if expired {
            self.stop(timer);
        }
        expired
    }

    /// The earliest deadline.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        let next = self.deadlines.into_iter().fold(Time::MAX, Time::min);
        (next != Time::MAX).then_some(next)
    }

    /// Whether a timer was set since [`take_next`](Self::take_next) was asked.
    #[inline]
    pub(crate) const fn is_new(&self) -> bool {
        self.is_new
    }

    /// The earliest deadline, for a host that remembers it until a timer is set again.
    #[inline]
    pub(crate) fn take_next(&mut self) -> Option<Time> {
        self.is_new = false;
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_new_until_it_was_taken() {
        let mut timers = Timers::new();
        assert!(!timers.is_new());
        timers.set(Timer::DelayedAck, Time::from_us(1), Span::from_us(4));
        assert_eq!((timers.next(), timers.is_new()), (Some(Time::from_us(5)), true));
        assert_eq!(timers.take_next(), Some(Time::from_us(5)));
        assert!(!timers.is_new(), "a host remembers it");
        timers.stop(Timer::DelayedAck);
        assert!(!timers.is_new(), "none is sooner than before");
        timers.set(Timer::Retransmit, Time::from_us(9), Span::from_us(4));
        assert!(timers.is_new());
    }

    #[test]
    fn a_deadline_beyond_the_end_of_time_is_on() {
        let mut timers = Timers::new();
        timers.set(Timer::Retransmit, LAST, Span::from_secs(60));
        assert!(timers.is_set(Timer::Retransmit));
        assert_eq!(timers.next(), Some(LAST));
        assert!(timers.take_expired(Timer::Retransmit, Time::MAX));
    }

    #[test]
    fn the_next_deadline_is_the_earliest() {
        let mut timers = Timers::new();
        assert_eq!(timers.next(), None);
        timers.set(Timer::Retransmit, Time::from_us(1), Span::from_us(9));
        timers.set(Timer::DelayedAck, Time::from_us(1), Span::from_us(4));
        assert_eq!(timers.next(), Some(Time::from_us(5)));
        assert!(!timers.take_expired(Timer::DelayedAck, Time::from_ns(4_999)));
        assert!(timers.take_expired(Timer::DelayedAck, Time::from_us(5)));
        assert!(!timers.take_expired(Timer::DelayedAck, Time::from_us(5)), "it runs out once");
        assert!(!timers.take_expired(Timer::Persist, Time::MAX));
        assert_eq!(timers.next(), Some(Time::from_us(10)));
        timers.stop_all();
        assert_eq!(timers.next(), None);
        assert!(!timers.is_set(Timer::Retransmit));
    }
}
