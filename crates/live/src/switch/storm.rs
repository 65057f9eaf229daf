//! Storm control: how many of the frames that go to all ports a port takes in a second.
//!
//! Only frames that flood come here: one for a station that is known costs nothing. While a port is
//! in a loop it takes few of them: each that is dropped is one less that goes round for ever.

use tidegate_units::{Span, Time};

use crate::config::Options;
use crate::counters::Loss;
use crate::frame::Mac;

/// The limits of a port.
#[derive(Clone, Debug)]
pub(super) struct Storm {
    broadcast: Meter,
    multicast: Meter,
    unknown: Meter,
    /// All of them together while the port is in a loop.
    looping: Meter,
}

/// How many frames a second a port in a loop takes that may go round in it: enough to find an
/// address.
const LOOP_LIMIT: u32 = 100;

impl Storm {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            broadcast: Meter::new(options.broadcast_limit),
            multicast: Meter::new(options.multicast_limit),
            unknown: Meter::new(options.unknown_limit),
            looping: Meter::new(Some(LOOP_LIMIT)),
        }
    }

    /// Whether a frame to `destination` may flood, or which limit it exceeds.
    pub(super) fn admit(
        &mut self,
        destination: Mac,
        at: Time,
        is_looping: bool,
    ) -> Result<(), Loss> {
        if is_looping && !self.admit_looping(at) {
            return Err(Loss::LoopStorm);
        }
        let (meter, loss) = if destination.is_broadcast() {
            (&mut self.broadcast, Loss::BroadcastStorm)
        } else if destination.is_group() {
            (&mut self.multicast, Loss::MulticastStorm)
        } else {
            (&mut self.unknown, Loss::UnknownStorm)
        };
        if meter.admits(at) { Ok(()) } else { Err(loss) }
    }

    /// Whether a frame may go on that came in at a port in a loop and may go round in it.
    pub(super) fn admit_looping(&mut self, at: Time) -> bool {
        self.looping.admits(at)
    }
}

/// A number of frames in a second, of which a tenth may come at once.
#[derive(Clone, Debug)]
struct Meter {
    interval: Span,
    /// When all frames that were admitted would have come at this pace.
    next: Time,
}

/// How far frames may be ahead of their pace.
const BURST: Span = Span::from_ms(100);

impl Meter {
    fn new(limit: Option<u32>) -> Self {
        let second = Span::from_secs(1).as_ps();
        let interval = limit.map_or(0, |limit| second / u64::from(limit).max(1));
        Self {
            interval: Span::from_ps(interval),
            next: match limit {
                Some(0) => Time::MAX,
                _ => Time::ZERO,
            },
        }
    }

    fn admits(&mut self, at: Time) -> bool {
        let next = self.next.max(at);
        let is_within = next - at <= BURST;
        if is_within {
            self.next = next + self.interval;
        }
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_takes_its_limit_in_a_second_and_a_tenth_of_it_at_once() {
        let mut meter = Meter::new(Some(1_000));
        let mut admitted = |from_ms: u64, ms: u64, per_ms: u64| {
            let times = (from_ms..from_ms + ms).flat_map(|ms| (0..per_ms).map(move |_| ms));
            times.filter(|&ms| meter.admits(Time::from_ms(ms))).count()
        };
        assert_eq!(admitted(0, 1, 10_000), 101);
        assert_eq!(admitted(1, 1_000, 100), 1_000);
        // After a pause it is as in the beginning: 101, and 99 in the 99 ms from then on.
        assert_eq!(admitted(5_000, 100, 50), 200);
        assert_eq!(admitted(9_000, 1_000, 1), 1_000, "as many as may come all do");
    }

    #[test]
    fn no_limit_takes_all_and_a_limit_of_zero_nothing() {
        let (mut any, mut none) = (Meter::new(None), Meter::new(Some(0)));
        for _ in 0..100_000 {
            assert!(any.admits(Time::from_us(1)) && !none.admits(Time::from_us(1)));
        }
    }
}
