//! Bytes received by selected flows over time.

use tidegate_units::{Span, Time};

/// Selected flows and intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Start of the first interval.
    pub from: Time,
    /// End of the intervals: later bytes do not count.
    pub to: Time,
    /// The length of an interval.
    pub interval: Span,
    /// Most intervals. When there would be one more, pairs of intervals are merged.
    pub limit: u32,
    /// Flows by number.
    pub flows: Vec<u32>,
}

/// Bytes by flow and interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The request, with the actual interval.
    pub sampling: Sampling,
    /// In order of `sampling.flows`. All lists have the same length.
    pub bytes: Vec<Vec<u64>>,
}

impl Progress {
    pub(super) fn new(sampling: &Sampling) -> Self {
        Self { sampling: sampling.clone(), bytes: vec![Vec::new(); sampling.flows.len()] }
    }

    /// Counts bytes of a flow.
    pub(super) fn add(&mut self, flow: usize, bytes: u64, now: Time) {
        let place = (self.sampling.flows.iter()).position(|&chosen| chosen as usize == flow);
        let (Some(place), Some(interval)) = (place, self.interval_of(now)) else {
            return;
        };
        let of_flow = &mut self.bytes[place];
        if of_flow.len() <= interval {
            of_flow.resize(interval + 1, 0);
        }
        of_flow[interval] += bytes;
    }

    /// Extends all flows to the end of the run.
    pub(super) fn finish(mut self, now: Time) -> Self {
        let last = now.min(self.sampling.to);
        let whole = last - self.sampling.from;
        let _ = self.interval_of(last - Span::from_ps(1));
        let intervals = (whole.as_ps() / self.sampling.interval.as_ps()) as usize;
        for of_flow in &mut self.bytes {
            // The last interval is incomplete and would be too low.
            of_flow.resize(intervals, 0);
        }
        self
    }

    /// Interval of a moment; widens the intervals if there would be too many.
    fn interval_of(&mut self, now: Time) -> Option<usize> {
        let Sampling { from, to, limit, .. } = self.sampling;
        if now < from || now >= to {
            return None;
        }
        loop {
            let interval = (now - from).as_ps() / self.sampling.interval.as_ps();
            if interval < u64::from(limit.max(1)) {
                return Some(interval as usize);
            }
            self.sampling.interval = self.sampling.interval * 2;
            for of_flow in &mut self.bytes {
                *of_flow = of_flow.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_ps(Span::from_ms(ms).as_ps())
    }

    fn progress(limit: u32) -> Progress {
        Progress::new(&Sampling {
            from: at(10),
            to: at(100),
            interval: Span::from_ms(10),
            limit,
            flows: vec![3, 1],
        })
    }

    #[test]
    fn bytes_count_in_the_interval_in_which_they_arrive() {
        let mut progress = progress(100);
        for (flow, bytes, ms) in
            [(3, 1, 9), (3, 2, 10), (3, 4, 19), (3, 8, 20), (2, 16, 20), (1, 32, 35), (3, 64, 100)]
        {
            progress.add(flow, bytes, at(ms));
        }
        // Bytes from 40 ms on belong to an incomplete interval.
        let progress = progress.finish(at(45));
        assert_eq!(progress.bytes, [vec![6, 8, 0], vec![0, 0, 32]]);
    }

    #[test]
    fn intervals_widen_at_their_limit() {
        let mut progress = progress(2);
        for (flow, bytes, ms) in [(3, 1, 10), (1, 2, 20), (3, 4, 30), (3, 8, 50)] {
            progress.add(flow, bytes, at(ms));
        }
        assert_eq!(progress.sampling.interval, Span::from_ms(40));
        let progress = progress.finish(at(90));
        assert_eq!(progress.bytes, [vec![5, 8], vec![2, 0]]);
    }

    #[test]
    fn a_run_that_ends_before_the_first_interval_has_none() {
        let progress = progress(2).finish(at(5));
        assert_eq!(progress.bytes, [[0_u64; 0]; 2]);
    }
}
