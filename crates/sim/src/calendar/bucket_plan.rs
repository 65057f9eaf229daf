//! Plan of time buckets for a run, and the order in which ports are served in a bucket.

use std::ops::Range;

use tidegate_units::{Span, Time};

use crate::routes::Routes;
use crate::setup::Setup;

/// Division of time into buckets.
///
/// Everything that arrives in a bucket must be known before the bucket is served. If buckets are no
/// longer than the shortest link, it is known when the bucket begins. But if ports do not depend on
/// each other, and a packet never returns to a port without having been at a host, ports can be
/// served in the order in which packets reach them, level by level: a packet that a port sends may
/// arrive at a higher level, or at a host, in the same bucket. Then only the links that leave hosts
/// must be longer.
#[derive(Clone, Debug)]
pub(crate) struct BucketPlan {
    /// Length of a bucket, as a power of two in picoseconds.
    width: u32,
    /// Length of a step, as a power of two in picoseconds. No packet that leaves a port in a step
    /// arrives anywhere in it. Never longer than a bucket.
    step: u32,
    /// Level of the port of each link. Lower levels are served first.
    levels: Box<[u8]>,
    count: u8,
}

/// Most bytes that a link carries in a bucket, if there is more than one level. Above it ports have
/// more arrivals to sort, and packets have left the cache before they reach the next level.
const MAX_BYTES: u32 = 1 << 15;

impl BucketPlan {
    /// Creates the plan for a setup whose packets take these routes.
    pub(crate) fn new(setup: &Setup, routes: &Routes) -> Self {
        let network = &setup.network;
        let links = network.links();
        let step = width(setup.shortest(|_| true));
        let flat = Self { width: step, step, levels: vec![0; links.len()].into(), count: 1 };
        let full = links.iter().map(|link| link.rate.time_for(MAX_BYTES)).min();
        let from_hosts = setup.shortest(|link| network.is_host(link.from));
        let width = width(full.unwrap_or_default().min(from_hosts));
        if width <= step {
            return flat;
        }
        match routes.levels() {
            None => flat,
            Some(levels) => Self {
                width,
                step,
                count: levels.iter().max().map_or(1, |last| last + 1),
                levels: levels.into(),
            },
        }
    }

    /// Length of a bucket, as a power of two in picoseconds.
    pub(crate) const fn width(&self) -> u32 {
        self.width
    }

    /// Most windows for which switches with shared buffers are checked.
    pub(crate) const MAX_WINDOWS: usize = 4;

    /// Length of a window: a bucket, half of it, and so on.
    pub(crate) const fn span(&self, window: usize) -> Span {
        Span::from_ps(1 << self.width >> window)
    }

    /// Windows that begin at `time` and are longer than a step.
    pub(crate) fn windows(&self, time: Time) -> Range<usize> {
        let longer = ((self.width - self.step) as usize).min(Self::MAX_WINDOWS);
        let first = (self.width as usize).saturating_sub(time.as_ps().trailing_zeros() as usize);
        first.min(longer)..longer
    }

    /// End of the window that contains `time`.
    pub(crate) const fn end_of_window(&self, time: Time, window: usize) -> Time {
        let width = self.width - window as u32;
        Time::from_ps(((time.as_ps() >> width) + 1).saturating_mul(1 << width))
    }

    /// End of the step that contains `time`.
    pub(crate) const fn end_of_step(&self, time: Time) -> Time {
        Time::from_ps(((time.as_ps() >> self.step) + 1).saturating_mul(1 << self.step))
    }

    /// Start of the bucket that contains `time`.
    pub(crate) const fn begin_of_bucket(&self, time: Time) -> Time {
        Time::from_ps(time.as_ps() >> self.width << self.width)
    }

    /// End of the bucket that contains `time`.
    pub(crate) const fn end_of_bucket(&self, time: Time) -> Time {
        let width = self.width;
        Time::from_ps(((time.as_ps() >> width) + 1).saturating_mul(1 << width))
    }

    /// Number of levels.
    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    /// Levels of the ports of all links.
    pub(crate) fn levels(&self) -> impl Iterator<Item = usize> {
        self.levels.iter().map(|&level| usize::from(level))
    }
}

/// Length of the longest bucket that is not longer than this, as a power of two in picoseconds.
const fn width(lookahead: Span) -> u32 {
    let ps = lookahead.as_ps();
    if ps == 0 { 0 } else { ps.ilog2() }
}

#[cfg(test)]
mod tests {
    use tidegate_dataplane::{buffer, mark};
    use tidegate_units::Rate;

    use super::*;
    use crate::topology::leaf_spine;

    /// A fabric with these delays in ns and this rate in Gb/s.
    fn fabric(host_delay: u64, fabric_delay: u64, rate: u32) -> Setup {
        let config = leaf_spine::Config {
            host_delay: Span::from_ns(host_delay),
            fabric_delay: Span::from_ns(fabric_delay),
            host_rate: Rate::from_gbps(rate),
            fabric_rate: Rate::from_gbps(rate),
            ..leaf_spine::Config::default()
        };
        Setup::new(config.build().unwrap(), Vec::new())
    }

    /// Number of levels and length of a bucket.
    fn plan(setup: &Setup) -> (usize, u32) {
        let plan = BucketPlan::new(setup, &Routes::new(&setup.network).unwrap());
        (plan.count(), plan.width())
    }

    #[test]
    fn a_bucket_is_as_long_as_the_links_of_hosts() {
        // An ACK of 40 bytes takes 32 ns more at 10 Gb/s. 2^24 ps are 16.8 us, 2^17 131 ns.
        assert_eq!(plan(&fabric(20_200, 200, 10)), (3, 24));
        // Links of hosts that are shorter than switches' links, or equal, leave no room for levels.
        assert_eq!(plan(&fabric(200, 20_200, 10)), (1, 17));
        assert_eq!(plan(&fabric(200, 200, 10)), (1, 17));
        // 2^20 ps are 1.05 us: the gain must be a power of two.
        assert_eq!(plan(&fabric(2_000, 1_100, 10)), (1, 20));
        assert_eq!(plan(&fabric(2_100, 1_100, 10)), (3, 21));
    }

    #[test]
    fn a_bucket_carries_few_packets() {
        // 32 KiB are 26 us at 10 Gb/s, 2.6 us at 100.
        assert_eq!(plan(&fabric(100_000, 200, 10)), (3, 24));
        assert_eq!(plan(&fabric(100_000, 200, 100)), (3, 21));
        // A bucket with levels is never shorter than one without.
        assert_eq!(plan(&fabric(100_000, 50_000, 100)), (1, 25));
    }

    #[test]
    fn a_bucket_has_steps_that_are_as_long_as_the_shortest_link() {
        let mut setup = fabric(20_200, 200, 10);
        setup.switch.buffer = buffer::Config::named("dynamic-threshold").unwrap();
        let plan = BucketPlan::new(&setup, &Routes::new(&setup.network).unwrap());
        let end = |ps| plan.end_of_step(Time::from_ps(ps)).as_ps();
        assert_eq!([end(0), end((1 << 17) - 1), end(1 << 17)], [1 << 17, 1 << 17, 2 << 17]);
    }

    #[test]
    fn windows_are_halves_of_halves_and_begin_where_they_would_end() {
        let setup = fabric(20_200, 200, 10);
        let plan = BucketPlan::new(&setup, &Routes::new(&setup.network).unwrap());
        let windows = |ps| plan.windows(Time::from_ps(ps));
        // A bucket of 2^24 ps has 128 steps.
        assert_eq!([windows(0), windows(5 << 24)], [0..4, 0..4]);
        assert_eq!([windows(1 << 23), windows(3 << 23)], [1..4, 1..4]);
        assert_eq!([windows(1 << 21), windows(3 << 22)], [3..4, 2..4]);
        assert!(windows(1 << 20).is_empty() && windows((1 << 23) + 1).is_empty());
        assert_eq!(plan.span(3), Span::from_ps(1 << 21));
        let end = plan.end_of_window(Time::from_ps(3 << 22), 2);
        assert_eq!(end, Time::from_ps(1 << 24));
        // If a bucket is a single step, no window is longer than a step.
        let setup = fabric(200, 200, 10);
        let plan = BucketPlan::new(&setup, &Routes::new(&setup.network).unwrap());
        assert!(plan.windows(Time::ZERO).is_empty());
    }

    #[test]
    fn a_scheme_for_fast_links_only_does_not_break_the_plan() {
        let mut setup = fabric(20_200, 200, 100);
        setup.switch.marking = mark::Config::named("ideal-red").unwrap();
        setup.switch.marking.set("capacities", "20Gbps").unwrap();
        assert_eq!(plan(&setup), (3, 21));
    }

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        let setup = fabric(20_200, 200, 10);
        let plan = BucketPlan::new(&setup, &Routes::new(&setup.network).unwrap());
        let end = |ps| plan.end_of_bucket(Time::from_ps(ps)).as_ps();
        assert_eq!([end(0), end((1 << 24) - 1), end(1 << 24)], [1 << 24, 1 << 24, 2 << 24]);
    }
}
