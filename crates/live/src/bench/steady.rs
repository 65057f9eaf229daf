//! Long-term rate of a shaped wire: second by second, with the steal time of each.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use tidegate_units::Span;

use super::{Forwarded, OVERLOAD, Row, SHAPED, WIRE_BITS};
use crate::config::Wait;
use crate::counters::{Pace, PortCounters};
use crate::error::Error;
use crate::machine::ProcessorTime;
use crate::run::Live;

/// A wire of 1 Gb/s with TCN, offered twice its rate, for a long time.
#[derive(Clone, Debug, Serialize)]
pub struct Steady {
    /// Configured wire bits per second.
    pub configured_bits_per_second: u64,
    /// Seconds in order, from the second one on: the load starts in the first.
    pub seconds: Vec<Second>,
    /// Final counters of the wire's port. Its lateness covers the last moments only.
    pub port: PortCounters,
    /// Offered and forwarded frames, over the whole time.
    pub forwarded: Forwarded,
}

/// A second or slightly more.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Second {
    /// Wire bits per second, framing included.
    pub bits_per_second: u64,
    /// 99th percentile of the lateness of packets.
    pub lateness_p99_ns: u64,
    /// Wire time lost to lateness that was not caught up.
    pub lost_ns: u64,
    /// Steal time: thousandths of processor time that a hypervisor gave to others.
    pub stolen: u32,
}

/// Shortest interval that counts as a second.
const SECOND: Span = Span::from_secs(1);

/// Shapes a wire for this time, or until `stop` is set. Needs `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
pub fn steady(span: Span, stop: &AtomicBool) -> Result<Steady, Error> {
    let row = Row::new()?;
    let mut recorder = RateRecorder::default();
    let load = || row.send(OVERLOAD, span, stop);
    let watched = row.watched(SHAPED, Wait::Spin, load, |live| recorder.sample(live))?;
    let (forwarded, mut counters, _) = watched;
    Ok(Steady {
        configured_bits_per_second: SHAPED.as_bps(),
        seconds: recorder.seconds.split_off(1.min(recorder.seconds.len())),
        port: counters.ports.swap_remove(1),
        forwarded,
    })
}

/// Observes a switch every second.
#[derive(Default)]
struct RateRecorder {
    last: Option<Snapshot>,
    seconds: Vec<Second>,
}

/// The wire and the machine at one moment.
#[derive(Clone, Copy)]
struct Snapshot {
    /// Time since the switch was opened.
    at: Span,
    pace: Pace,
    time: ProcessorTime,
}

impl RateRecorder {
    fn sample(&mut self, live: &mut Live) {
        let at = live.uptime();
        if self.last.is_some_and(|last| at - last.at < SECOND) {
            return;
        }
        let pace = live.take_paces().nth(1).unwrap_or_default();
        let time = ProcessorTime::now();
        let now = Snapshot { at, pace, time };
        if let Some(last) = self.last.replace(now) {
            self.seconds.push(between(&last, &now));
        }
    }
}

fn between(last: &Snapshot, now: &Snapshot) -> Second {
    let frames = u128::from(now.pace.sent - last.pace.sent);
    let ns = u128::from((now.at - last.at).as_ns().max(1));
    let bits = frames * u128::from(WIRE_BITS) * 1_000_000_000 / ns;
    Second {
        // No wire sends 2^64 bits in a second.
        bits_per_second: bits as u64,
        lateness_p99_ns: now.pace.lateness.p99_ns,
        lost_ns: (now.pace.lost - last.pace.lost).as_ns(),
        stolen: now.time.stolen_since(last.time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Quantiles;

    #[test]
    fn a_second_is_the_difference_of_two_samples() {
        let look = |ms, sent, lost, p99_ns| Snapshot {
            at: Span::from_ms(ms),
            pace: Pace {
                sent,
                lost: Span::from_us(lost),
                lateness: Quantiles { p99_ns, ..Quantiles::default() },
            },
            time: ProcessorTime::default(),
        };
        let second = between(&look(2_000, 100, 5, 1), &look(3_250, 101_125, 35, 2_000));
        // 101 025 frames of 12 304 bits in 1.25 s.
        assert_eq!(second.bits_per_second, 994_409_280);
        assert_eq!((second.lateness_p99_ns, second.lost_ns), (2_000, 30_000));
    }
}
