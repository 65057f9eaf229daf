//! The buckets that the time of a run is cut into, and the order in which ports are served in a
//! bucket.

use std::ops::Range;

use tidegate_units::{Span, Time};

use crate::routes::Routes;
use crate::setup::Setup;

/// How time is cut.
///
/// Everything that arrives in a bucket of time has to be known before it is served. If buckets are
/// no longer than the shortest link, it is known when the bucket begins. But where ports do not
/// depend on each other, and packets never come back to a port without having been at a host, ports
/// can be served in the order in which packets meet them, level by level: what a port sends in a
/// bucket may arrive at a higher level, or at a host, in the same bucket. Then only the links that
/// leave hosts have to be longer.
#[derive(Clone, Debug)]
pub(crate) struct BucketPlan {
    /// How long a bucket is, as a power of two in picoseconds.
    width: u32,
    /// How long a step is, in which nothing that leaves a port arrives anywhere, as a power of two
    /// in picoseconds. Never longer than a bucket.
    step: u32,
    /// By link: the level of its port. Lower ones are served first.
    levels: Box<[u8]>,
    count: u8,
}

/// The most bytes that a link carries in a bucket, if there is more than one level. With more,
/// ports have to put more arrivals in order, and packets are out of the cache before they come to
/// the next level.
const MAX_BYTES: u32 = 1 << 15;

impl BucketPlan {
    /// The plan for a setup whose packets go on these routes.
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

    /// How long a bucket is, as a power of two in picoseconds.
    pub(crate) const fn width(&self) -> u32 {
        self.width
    }

    /// The most windows that switches with shared buffers are asked about.
    pub(crate) const MAX_WINDOWS: usize = 4;

    /// How long a window is: a bucket, a half of it, and so on.
    pub(crate) const fn span(&self, window: usize) -> Span {
        Span::from_ps(1 << self.width >> window)
    }

    /// The windows that begin at `time` and are longer than a step.
    pub(crate) fn windows(&self, time: Time) -> Range<usize> {
        let longer = ((self.width - self.step) as usize).min(Self::MAX_WINDOWS);
        let first = (self.width as usize).saturating_sub(time.as_ps().trailing_zeros() as usize);
        first.min(longer)..longer
    }

    /// The end of the window that holds `time`.
    pub(crate) const fn end_of_window(&self, time: Time, window: usize) -> Time {
        let width = self.width - window as u32;
        Time::from_ps(((time.as_ps() >> width) + 1).saturating_mul(1 << width))
    }

    /// The end of the step that holds `time`.
    pub(crate) const fn end_of_step(&self, time: Time) -> Time {
        Time::from_ps(((time.as_ps() >> self.step) + 1).saturating_mul(1 << self.step))
    }

    /// The beginning of the bucket that holds `time`.
    pub(crate) const fn begin_of_bucket(&self, time: Time) -> Time {
        Time::from_ps(time.as_ps() >> self.width << self.width)
    }

    /// The end of the bucket that holds `time`.
    pub(crate) const fn end_of_bucket(&self, time: Time) -> Time {
        let width = self.width;
        Time::from_ps(((time.as_ps() >> width) + 1).saturating_mul(1 << width))
    }

    /// How many levels there are.
    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    /// The levels of the ports of all links.
    pub(crate) fn levels(&self) -> impl Iterator<Item = usize> {
        self.levels.iter().map(|&level| usize::from(level))
    }
}

/// The length of a bucket that is no longer than this, as a power of two in picoseconds.
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

    /// How many levels, and how long a bucket is.
    fn plan(setup: &Setup) -> (usize, u32) {
        let plan = BucketPlan::new(setup, &Routes::new(&setup.network).unwrap());
        (plan.count(), plan.width())
    }

    #[test]
    fn a_bucket_is_as_long_as_the_links_of_hosts() {
        // An ACK of 40 bytes takes 32 ns more at 10 Gb/s. 2^24 ps are 16.8 us, 2^17 131 ns.
        assert_eq!(plan(&fabric(20_200, 200, 10)), (3, 24));
        // Shorter links of hosts than of switches, and equal ones, leave no room.
        assert_eq!(plan(&fabric(200, 20_200, 10)), (1, 17));
        assert_eq!(plan(&fabric(200, 200, 10)), (1, 17));
        // 2^20 ps are 1.05 us: what is gained has to be a power of two.
        assert_eq!(plan(&fabric(2_000, 1_100, 10)), (1, 20));
        assert_eq!(plan(&fabric(2_100, 1_100, 10)), (3, 21));
    }

    #[test]
    fn a_bucket_carries_few_packets() {
        // 32 KiB are 26 us at 10 Gb/s, 2.6 us at 100.
        assert_eq!(plan(&fabric(100_000, 200, 10)), (3, 24));
        assert_eq!(plan(&fabric(100_000, 200, 100)), (3, 21));
        // With levels or without, a bucket is never shorter than without.
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
        // None is longer than a step where a bucket is one.
        let setup = fabric(200, 200, 10);
        let plan = BucketPlan::new(&setup, &Routes::new(&setup.network).unwrap());
        assert!(plan.windows(Time::ZERO).is_empty());
    }

    #[test]
    fn a_scheme_that_fits_only_fast_links_is_not_tried_on_slow_ones() {
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
