//! Storm control: limits the frames to all ports that a port accepts per second.
//!
//! Only flooded frames count: frames for known stations cost nothing. A port in a loop accepts few
//! of them, because each dropped frame is one less that circulates forever.

use tidegate_units::{Span, Time};

use crate::config::Options;
use crate::counters::Loss;
use crate::frame::Mac;

/// Limits of a port.
#[derive(Clone, Debug)]
pub(super) struct Storm {
    broadcast: Meter,
    multicast: Meter,
    unknown: Meter,
    /// Common limit of all frames while the port is in a loop.
    looping: Meter,
}

/// Frames per second that a port in a loop accepts if they may circulate: enough for address
/// resolution.
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

    /// Admits a flooded frame to `destination`, or returns the limit that it exceeds.
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

    /// Whether a frame may be forwarded that came in at a port in a loop and may circulate.
    pub(super) fn admit_looping(&mut self, at: Time) -> bool {
        self.looping.admits(at)
    }
}

/// Limit of frames per second, a tenth of which may come at once.
#[derive(Clone, Debug)]
struct Meter {
    interval: Span,
    /// Time at which all admitted frames would have come at this rate.
    next: Time,
}

/// Largest lead of frames over their rate.
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
    fn a_port_accepts_its_limit_per_second_and_a_tenth_at_once() {
        let mut meter = Meter::new(Some(1_000));
        let mut admitted = |from_ms: u64, ms: u64, per_ms: u64| {
            let times = (from_ms..from_ms + ms).flat_map(|ms| (0..per_ms).map(move |_| ms));
            times.filter(|&ms| meter.admits(Time::from_ms(ms))).count()
        };
        assert_eq!(admitted(0, 1, 10_000), 101);
        assert_eq!(admitted(1, 1_000, 100), 1_000);
        // After a pause it is like at the start: 101, and 99 in the following 99 ms.
        assert_eq!(admitted(5_000, 100, 50), 200);
        assert_eq!(admitted(9_000, 1_000, 1), 1_000, "frames at the limit all pass");
    }

    #[test]
    fn no_limit_accepts_all_and_a_limit_of_zero_nothing() {
        let (mut any, mut none) = (Meter::new(None), Meter::new(Some(0)));
        for _ in 0..100_000 {
            assert!(any.admits(Time::from_us(1)) && !none.admits(Time::from_us(1)));
        }
    }
}
