//! A warm switch allocates nothing for any frames.

use tidegate_harness::allocation::{self, Counting};
use tidegate_live::Switch;
use tidegate_live::device::{Device, Received, SendError};
use tidegate_units::{Span, Time};

use super::{config, frame};

#[global_allocator]
static COUNTING: Counting = Counting;

/// A wire on which the same frames arrive repeatedly, and that accepts every frame.
struct Loop {
    frames: Vec<Vec<u8>>,
    sent: u64,
}

impl Device for Loop {
    fn receive(&mut self, now: Time, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        for frame in self.frames.iter().cycle().take(most) {
            take(Received {
                bytes: frame,
                tag: None,
                len: frame.len(),
                arrival: now,
                is_unfinished: false,
            });
        }
        most
    }

    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError> {
        self.sent += frames.len() as u64;
        Ok(frames.len())
    }
}

#[test]
fn a_warm_switch_allocates_nothing() {
    let config = config(3);
    // Known stations, unknown ones that are flooded, marks, drops and runts.
    let frames = |from: u16, to: u16| {
        let mut frames = vec![frame(from, to, 0b10, 1514); 5];
        frames.push(frame(from, 77, 0, 60));
        frames.push(vec![0; 5]);
        frames
    };
    let devices =
        [(0, 1), (1, 2), (2, 0)].map(|(from, to)| Loop { frames: frames(from, to), sent: 0 });
    let mut switch = Switch::new(&config, devices.into()).unwrap();
    let mut now = Time::ZERO;
    let mut run = |switch: &mut Switch<Loop>, rounds| {
        for _ in 0..rounds {
            now += Span::from_us(500);
            switch.receive(now);
            switch.transmit(now);
            switch.maintain(now);
        }
    };
    run(&mut switch, 500);
    let before = allocation::count();
    run(&mut switch, 5_000);
    assert_eq!(allocation::count() - before, 0);
    let counters = switch.counters(Time::from_secs(10));
    assert_eq!(counters.imbalance(), 0);
    let port = &counters.ports[1];
    assert!(port.sent.packets > 10_000 && port.marked > 0 && port.dropped() > 0, "{port:?}");
    assert!(counters.ports.iter().all(|port| port.flooded > 0));
}
