//! Measured flows and the end of a run.
//!
//! | | warm-up | drain |
//! |---|---|---|
//! | TCN's and BCC's simulations | none | `nth-finish`: arrivals stop at N flows, the run at the N-th finish, so that its end is under-loaded |
//! | TrafficGenerator (TCN's, ECN♯'s and DiffECN's testbeds) | none | `all-finished` |
//! | ECN♯'s simulations | none | `fixed-time`: arrivals for 0.2 s of 0.5 s; unfinished flows count as they are |

use tidegate_units::{Bytes, ConfigError, Setting, Span, Time, choices, settings};

use crate::flow::Flow;

choices! {
    /// End of a run.
    pub enum Drain {
        /// The run ends when all flows that can end have ended.
        AllFinished = "all-finished",
        /// The run ends at `end`, whether flows are finished or not.
        FixedTime = "fixed-time",
        /// The run ends when `finishes` flows have ended.
        NthFinish = "nth-finish",
    }
}

settings! {
    /// Measured flows and the end of a run.
    pub struct Window {
        /// Flows that start before this time do not count.
        pub warm_up: Span = Span::ZERO,
        /// Number of first flows that do not count.
        pub warm_up_flows: u64 = 0,
        /// Only flows that start within this time after the warm-up count; `none` for all.
        pub measure: Option<Span> = None,
        /// Rule by which the run ends.
        pub drain: Drain = Drain::AllFinished,
        /// End of a `fixed-time` run; other runs are stopped at this time if they have not ended
        /// before.
        pub end: Option<Span> = None,
        /// Number of finished flows that ends an `nth-finish` run.
        pub finishes: Option<u64> = None,
        /// Sizes that separate flows into bins, besides the usual small, medium and large: a flow
        /// is in the bin of the first size that it does not exceed; larger flows are in one more
        /// bin.
        pub bins: Vec<Bytes> = Vec::new(),
    }
}

/// Most bins: more would be unreadable.
const MOST_BINS: usize = 32;

impl Window {
    /// Whether the flow with this `number`, counted from zero in order of start, is measured.
    #[inline]
    pub fn counts(&self, number: u64, flow: &Flow) -> bool {
        let begin = Time::ZERO + self.warm_up;
        let measured = self.measure.is_none_or(|measure| flow.start - begin < measure);
        number >= self.warm_up_flows && flow.start >= begin && measured
    }

    /// Whether a run is over at `now`, with `finished` of its `flows` ended. Endless flows are not
    /// among `flows`.
    #[inline]
    pub fn is_over(&self, now: Time, finished: u64, flows: u64) -> bool {
        let cut_off = self.end.is_some_and(|end| now >= Time::ZERO + end);
        cut_off
            || match self.drain {
                Drain::AllFinished => finished >= flows,
                Drain::FixedTime => false,
                Drain::NthFinish => finished >= self.finishes.unwrap_or(flows).min(flows),
            }
    }

    /// Checks that a run with these `flows` can end, and that some of them count.
    pub fn check(&self, flows: &[Flow]) -> Result<(), ConfigError> {
        if self.drain == Drain::FixedTime && self.end.is_none() {
            let allowed = "a time, because the run ends by `fixed-time`";
            return Err(ConfigError::out_of_range("end", "none", allowed));
        }
        if self.drain == Drain::NthFinish && self.finishes.is_none_or(|finishes| finishes == 0) {
            let written = self.finishes.map_or("none".into(), |finishes| finishes.to_string());
            let allowed = "at least 1, because the run ends by `nth-finish`";
            return Err(ConfigError::out_of_range("finishes", written, allowed));
        }
        if !self.bins.is_sorted_by(|a, b| a < b) || self.bins.first() == Some(&Bytes(0)) {
            let allowed = "ascending sizes above 0, such as 10KB, 100KB, 1MB";
            return Err(ConfigError::out_of_range("bins", self.bins.write(), allowed));
        }
        if self.bins.len() > MOST_BINS {
            let allowed = format!("at most {MOST_BINS} sizes");
            return Err(ConfigError::out_of_range("bins", self.bins.len(), allowed));
        }
        let endless = flows.iter().all(|flow| flow.bytes == Flow::ENDLESS);
        if endless && self.end.is_none() {
            let allowed = "a time, because no flow ends by itself";
            return Err(ConfigError::out_of_range("end", "none", allowed));
        }
        let counted = flows.iter().zip(0..).any(|(flow, number)| self.counts(number, flow));
        if !flows.is_empty() && !counted {
            let (field, value) = match self.warm_up_flows {
                0 => ("warm_up", self.warm_up.to_string()),
                count => ("warm_up_flows", count.to_string()),
            };
            let allowed = format!("less than all {} flows", flows.len());
            return Err(ConfigError::out_of_range(field, value, allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Settings;

    use super::*;
    use crate::network::HostId;

    fn flow(start: u64, bytes: u64) -> Flow {
        Flow {
            start: Time::from_us(start),
            bytes,
            src: HostId(0),
            dst: HostId(1),
            rate: None,
            service: 0,
            group: 0,
        }
    }

    fn window(settings: &[(&str, &str)]) -> Window {
        let mut window = Window::default();
        for (field, text) in settings {
            window.set(field, text).unwrap();
        }
        window
    }

    #[test]
    fn flows_count_from_the_warm_up_to_the_end_of_the_measurement() {
        let window = Window {
            warm_up: Span::from_us(10),
            warm_up_flows: 2,
            measure: Some(Span::from_us(5)),
            ..Window::default()
        };
        let counts = |number, start| window.counts(number, &flow(start, 1));
        assert!(!counts(2, 9));
        assert!(counts(2, 10) && counts(2, 14));
        assert!(!counts(2, 15));
        assert!(!counts(1, 12));
        assert!(Window::default().counts(0, &flow(0, 1)));
    }

    #[test]
    fn a_run_is_over_by_its_rule_or_by_its_end() {
        let over = |settings: &[(&str, &str)], finished| {
            window(settings).is_over(Time::from_us(100), finished, 10)
        };
        assert!(!over(&[], 9));
        assert!(over(&[], 10));
        let fifth = [("drain", "nth-finish"), ("finishes", "5")];
        assert!(!over(&fifth, 4));
        assert!(over(&fifth, 5));
        assert!(over(&[("drain", "nth-finish"), ("finishes", "50")], 10));
        assert!(!over(&[("drain", "fixed-time"), ("end", "101us")], 10));
        assert!(over(&[("drain", "fixed-time"), ("end", "100us")], 0));
        assert!(over(&[("end", "100us")], 0));
    }

    #[test]
    fn a_run_that_cannot_end_or_count_is_refused() {
        let flows = [flow(0, 5), flow(10, Flow::ENDLESS)];
        assert_eq!(Window::default().check(&flows), Ok(()));
        for (settings, flows, named) in [
            (&[][..], &flows[1..], "end"),
            (&[("drain", "fixed-time")], &flows, "end"),
            (&[("drain", "nth-finish")], &flows, "finishes"),
            (&[("drain", "nth-finish"), ("finishes", "0")], &flows, "finishes"),
            (&[("warm_up", "11us")], &flows, "warm_up"),
            (&[("warm_up_flows", "2")], &flows, "warm_up_flows"),
        ] {
            match window(settings).check(flows) {
                Err(ConfigError::OutOfRange { field, .. }) => assert_eq!(field, named),
                other => panic!("{settings:?}: {other:?}"),
            }
        }
    }
}
