//! The reaction point: a rate that CNPs cut and that a timer and a byte counter win back.

use tidegate_units::{ConfigError, Rate, Ratio, Span, Time};

use super::{AlphaRule, Config, CutOrder, StageRule, TargetRule};

/// An estimate of congestion from 0 to 1, in units of 2^−32, rounded down at each step. It reaches
/// zero after some six thousand steps without marks at a gain of 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alpha(u64);

impl Alpha {
    /// One: every packet is marked.
    pub const ONE: Self = Self(1 << 32);

    /// In units of 2^−32, at most 2^32.
    #[inline]
    pub const fn as_q32(self) -> u64 {
        self.0
    }

    /// `ratio` in units of 2^−32, rounded down.
    pub(super) const fn share(ratio: Ratio) -> u64 {
        ratio.of(Self::ONE.0)
    }

    const fn new(ratio: Ratio) -> Self {
        Self(Self::share(ratio))
    }

    /// `(1 − g) α`.
    const fn lower(self, gain: u64) -> Self {
        // At most 2^32 · (2^32 − 1), as the gain is at least one unit.
        Self((self.0 * (Self::ONE.0 - gain)) >> 32)
    }

    /// `(1 − g) α + g`.
    const fn raise(self, gain: u64) -> Self {
        Self(self.lower(gain).0 + gain)
    }

    /// `rate · (1 − α/2)`, rounded down.
    const fn cut(self, rate: u64) -> u64 {
        let kept = (2 * Self::ONE.0 - self.0) as u128;
        // Smaller than `rate`: the factor is at most one.
        ((rate as u128 * kept) >> 33) as u64
    }
}

/// The sending rate of one flow. Inactive, at line rate, until the first CNP.
#[derive(Clone, Debug)]
pub struct Limiter {
    line: u64,
    min_rate: u64,
    /// `R_C`, bits per second, in `min_rate..=line`.
    rate: u64,
    /// `R_T`, bits per second, in `rate..=line`.
    target: u64,
    alpha: Alpha,
    initial_alpha: Alpha,
    /// In units of 2^−32.
    gain: u64,
    alpha_rule: AlphaRule,
    cut_order: CutOrder,
    target_rule: TargetRule,
    stage_rule: StageRule,
    /// A CNP came in the current slot of α.
    alpha_marked: bool,
    alpha_interval: Span,
    /// The next time at which α is lowered, or raised if `alpha_marked`.
    alpha_at: Time,
    decrease_interval: Option<Span>,
    /// The first CNP's arrival: decrease intervals are counted from it.
    since: Option<Time>,
    /// The end of the decrease interval in which a CNP came.
    cut_at: Option<Time>,
    increase_interval: Span,
    /// The timer's next expiry; it runs from a cut until the line rate is reached.
    increase_at: Option<Time>,
    byte_counter: Option<u64>,
    /// Bytes sent since the last cut or the counter's last expiry.
    bytes: u64,
    byte_stage: u32,
    time_stage: u32,
    fast_recovery: u32,
    additive: u64,
    hyper: u64,
}

impl Limiter {
    /// A limiter for a link of speed `line`.
    pub fn new(config: &Config, line: Rate) -> Result<Self, ConfigError> {
        config.check(line)?;
        Ok(Self {
            line: line.as_bps(),
            min_rate: config.min_rate.as_bps(),
            rate: line.as_bps(),
            target: line.as_bps(),
            alpha: Alpha::new(config.initial_alpha),
            initial_alpha: Alpha::new(config.initial_alpha),
            gain: Alpha::share(config.gain),
            alpha_rule: config.alpha_rule,
            cut_order: config.cut_order,
            target_rule: config.target_rule,
            stage_rule: config.stage_rule,
            alpha_marked: false,
            alpha_interval: config.alpha_interval,
            alpha_at: Time::MAX,
            decrease_interval: config.decrease_interval,
            since: None,
            cut_at: None,
            increase_interval: config.increase_interval,
            increase_at: None,
            byte_counter: config.byte_counter.map(|bytes| bytes.0),
            bytes: 0,
            byte_stage: 0,
            time_stage: 0,
            fast_recovery: config.fast_recovery,
            additive: config.additive_increase.as_bps(),
            hyper: config.hyper_increase.as_bps(),
        })
    }

    /// A congestion notification arrived: a CNP, or an ACK with the echo set.
    pub fn on_cnp(&mut self, now: Time) {
        self.settle(now);
        self.settle_alpha(now);
        let first = self.since.is_none();
        let since = *self.since.get_or_insert(now);
        match self.alpha_rule {
            // HPCC3 starts its slots with the first CNP and does not count that one.
            AlphaRule::Slotted if first => self.alpha_at = now + self.alpha_interval,
            AlphaRule::Slotted => self.alpha_marked = true,
            AlphaRule::PerCnp => {
                self.alpha_at = now + self.alpha_interval;
                if self.cut_order == CutOrder::RaiseFirst {
                    self.alpha = self.alpha.raise(self.gain);
                }
            }
        }
        match self.decrease_interval {
            None => self.cut(now),
            // The interval's end is known already if this is not its first CNP.
            Some(interval) if self.cut_at.is_none() => {
                let whole = (now - since).as_ps() / interval.as_ps();
                self.cut_at = Some(since + interval * (whole + 1));
            }
            Some(_) => {}
        }
        if self.alpha_rule == AlphaRule::PerCnp && self.cut_order == CutOrder::CutFirst {
            self.alpha = self.alpha.raise(self.gain);
        }
    }

    /// A packet of `bytes` on the wire left.
    #[inline]
    pub fn on_sent(&mut self, bytes: u32, now: Time) {
        self.settle(now);
        let Some(limit) = self.byte_counter.filter(|_| self.increase_at.is_some()) else {
            return;
        };
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        if self.bytes >= limit {
            self.bytes = 0;
            self.increase(Counter::Bytes);
        }
    }

    /// The rate to send at (`R_C`).
    #[inline]
    pub fn rate(&mut self, now: Time) -> Rate {
        self.settle(now);
        Rate::from_bps(self.rate).expect("the rate is never below the least, which is not zero")
    }

    /// The rate that recovery aims at (`R_T`).
    pub fn target(&mut self, now: Time) -> Rate {
        self.settle(now);
        Rate::from_bps(self.target).expect("the target is never below the rate")
    }

    /// The estimate of congestion.
    pub fn alpha(&mut self, now: Time) -> Alpha {
        self.settle(now);
        self.settle_alpha(now);
        self.alpha
    }

    /// Whether a CNP has ever arrived.
    pub const fn is_active(&self) -> bool {
        self.since.is_some()
    }

    /// Lets cuts and increases happen that were due by `now`, in their order. A cut goes before an
    /// increase of the same instant, because it restarts the timer.
    #[inline]
    fn settle(&mut self, now: Time) {
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if due(self.cut_at) || due(self.increase_at) {
            self.settle_slowly(now);
        }
    }

    #[cold]
    fn settle_slowly(&mut self, now: Time) {
        loop {
            let cut = self.cut_at.filter(|&at| at <= now);
            let increase = self.increase_at.filter(|&at| at <= now);
            match (cut, increase) {
                (Some(cut), increase) if increase.is_none_or(|increase| cut <= increase) => {
                    self.cut_at = None;
                    self.settle_alpha(cut);
                    self.cut(cut);
                }
                (_, Some(at)) => {
                    self.increase(Counter::Timer);
                    let next = at + self.increase_interval;
                    // At line rate nothing is left to win, and the next cut starts the timer anew;
                    // at the end of time it would expire for ever.
                    let goes_on = self.rate < self.line && next > at;
                    self.increase_at = goes_on.then_some(next);
                }
                (_, None) => return,
            }
        }
    }

    /// Brings α up to date with the intervals that ended by `now`.
    fn settle_alpha(&mut self, now: Time) {
        if self.since.is_none() {
            self.alpha = self.initial_alpha;
            return;
        }
        while self.alpha_at <= now {
            if self.alpha_marked {
                self.alpha_marked = false;
                self.alpha = self.alpha.raise(self.gain);
            } else if self.alpha == Alpha::default() {
                let whole = (now - self.alpha_at).as_ps() / self.alpha_interval.as_ps();
                self.alpha_at += self.alpha_interval * whole;
            } else {
                self.alpha = self.alpha.lower(self.gain);
            }
            let next = self.alpha_at + self.alpha_interval;
            if next == self.alpha_at {
                return;
            }
            self.alpha_at = next;
        }
    }

    fn cut(&mut self, now: Time) {
        let keeps_target = self.target_rule == TargetRule::AfterIncrease
            && self.byte_stage == 0
            && self.time_stage == 0;
        if !keeps_target {
            self.target = self.rate;
        }
        self.rate = self.alpha.cut(self.rate).max(self.min_rate);
        self.byte_stage = 0;
        self.time_stage = 0;
        self.bytes = 0;
        self.increase_at = Some(now + self.increase_interval);
    }

    fn increase(&mut self, counter: Counter) {
        let (bytes, time) = match counter {
            Counter::Bytes => (self.byte_stage.saturating_add(1), self.time_stage),
            Counter::Timer => (self.byte_stage, self.time_stage.saturating_add(1)),
        };
        let before = self.byte_stage.max(self.time_stage);
        (self.byte_stage, self.time_stage) = (bytes, time);
        let (most, least) = (bytes.max(time), bytes.min(time));
        let limit = self.fast_recovery;
        let step = match self.stage_rule {
            StageRule::Above | StageRule::AtLeast if most < limit => 0,
            StageRule::Above if least > limit => {
                self.hyper.saturating_mul(u64::from(least - limit))
            }
            StageRule::AtLeast if least >= limit => {
                self.hyper.saturating_mul(u64::from(least - limit) + 1)
            }
            StageRule::CountLast if before < limit => 0,
            StageRule::CountLast if before > limit => self.hyper,
            StageRule::Above | StageRule::AtLeast | StageRule::CountLast => self.additive,
        };
        self.target = self.target.saturating_add(step).min(self.line);
        // Half the distance, rounded up so that the target is reached.
        self.rate += (self.target - self.rate).div_ceil(2);
    }
}

/// What asks for an increase.
#[derive(Clone, Copy, Debug)]
enum Counter {
    Bytes,
    Timer,
}
