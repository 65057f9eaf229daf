//! The operation model on every scheme × scheduler; buffers, ways of driving and settings vary from
//! seed to seed.

use tidegate_dataplane::NonEct;
use tidegate_testkit::ops::Drive;
use tidegate_testkit::{fuzz, parts};
use tidegate_units::Rng;

/// Seeds per scheme and scheduler.
const SEEDS: u64 = 40;
/// Bytes per seed: about 300 operations.
const BYTES: usize = 1000;

/// To replay one run, insert its numbers here and run `cargo test -p tidegate-testkit --test
/// operations replay`.
const REPLAY: Run = Run { scheme: 0, scheduler: 0, seed: 0 };

#[derive(Clone, Copy, Debug)]
struct Run {
    scheme: usize,
    scheduler: usize,
    seed: u64,
}

impl Run {
    fn check(self) {
        let mut rng = Rng::new(self.seed, 0);
        let bytes: Vec<u8> = (0..BYTES).map(|_| rng.next_u32().to_le_bytes()[3]).collect();
        let scheme = parts::schemes()[self.scheme];
        let scheduler = parts::schedulers()[self.scheduler];
        let buffers = parts::buffers();
        let turn = self.seed as usize;
        let buffer = buffers[turn % buffers.len()];
        let drive = [Drive::Lazy, Drive::Present][turn / buffers.len() % 2];
        let non_ect = [NonEct::Pass, NonEct::Drop][turn / buffers.len() / 2 % 2];
        if let Err(problem) = fuzz::run(scheme, scheduler, buffer, (drive, non_ect), &bytes) {
            panic!(
                "{problem}\nto replay, set REPLAY in crates/testkit/tests/operations.rs to {self:?}"
            );
        }
    }
}

#[test]
fn replay() {
    REPLAY.check();
}

/// Every second scheme, so that two cores share the work.
fn half(first: usize) {
    for scheme in (first..parts::schemes().len()).step_by(2) {
        for scheduler in 0..parts::schedulers().len() {
            for seed in 0..SEEDS {
                Run { scheme, scheduler, seed }.check();
            }
        }
    }
}

#[test]
fn every_invariant_holds_for_even_schemes() {
    half(0);
}

#[test]
fn every_invariant_holds_for_odd_schemes() {
    half(1);
}
