//! Send times of segments, and the pace of small windows: for congestion controls that need them.

use alloc::collections::VecDeque;

use tidegate_units::{Rate, Time};

use super::Sender;
use crate::cc::CongestionControl;
use crate::seq::{Range, Seq};
use crate::timer::{Timer, Timers};

/// Send times and pace of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacing {
    /// End and send time of segments in flight, the oldest first. A retransmission empties it: the
    /// next ACK could answer either copy, or come late because of the hole that is repaired.
    sent: VecDeque<(Seq, Time)>,
    /// When the last segment left, and its length.
    last: Option<(Time, u32)>,
}

impl Pacing {
    /// A segment leaves.
    pub(super) fn on_sent(&mut self, range: Range, is_new: bool, now: Time) {
        if is_new {
            self.sent.push_back((range.end, now));
        } else {
            self.sent.clear();
        }
        self.last = Some((now, range.len()));
    }

    /// Everything before `ack` has arrived. Answers when the newest segment of that was sent.
    pub(super) fn on_ack(&mut self, ack: Seq) -> Option<Time> {
        let mut newest = None;
        while let Some(&(end, at)) = self.sent.front()
            && !end.is_after(ack)
        {
            newest = Some(at);
            self.sent.pop_front();
        }
        newest
    }

    /// When the next segment may leave at this rate.
    fn next(&self, rate: Rate) -> Time {
        self.last.map_or(Time::ZERO, |(at, bytes)| at + rate.time_for(bytes))
    }
}

impl Sender {
    /// Whether the pace lets nothing leave yet. A timer then brings the sender back.
    #[inline]
    pub(super) fn waits_for_pace(&self, now: Time, timers: &mut Timers) -> bool {
        self.pacing.as_ref().is_some_and(|pacing| self.waits_at_pace(pacing, now, timers))
    }

    #[cold]
    fn waits_at_pace(&self, pacing: &Pacing, now: Time, timers: &mut Timers) -> bool {
        let Some(next) = self.cc.pacing_rate().map(|rate| pacing.next(rate)) else {
            return false;
        };
        if next > now {
            timers.set(Timer::Pace, now, next - now);
        }
        next > now
    }
}
