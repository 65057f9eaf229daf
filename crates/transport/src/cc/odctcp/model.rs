//! A second ODCTCP, slow and plain, written from the thesis and FreeBSD's code: positions never
//! wrap, every sample of a window of data is kept until it is over, and nothing is taken over from
//! [`Dctcp`](crate::cc::Dctcp). Random operations must leave both with the same window,
//! threshold and α.

use alloc::vec::Vec;

use tidegate_units::{Ratio, Rng, Time};

use super::{Config, Odctcp};
use crate::cc::{
    AckKind, Acked, CongestionControl, CwndParams, Flight, Phase, Reaction, Restart, Start, Timeout,
};
use crate::config::{Avoidance, Credit, SlowStart};
use crate::seq::Seq;

const MSS: u64 = 1448;
const INITIAL: u64 = 4 * MSS;
const MAX: u64 = 200 * MSS;
/// Positions wrap soon.
const FIRST: u32 = u32::MAX - 100_000;

/// An ACK that was counted: its bytes, and whether it had ECE.
struct Sample {
    bytes: u64,
    echo: bool,
}

struct Model {
    window: u64,
    threshold: u64,
    /// Bytes towards the next segment.
    credit: u64,
    /// Segments that an ACK counts for at most in slow start.
    limit: u64,
    /// In parts of 1024.
    alpha: u64,
    initial_alpha: u64,
    samples: Vec<Sample>,
    /// Whether the last ACK before the first sample had ECE.
    echoed: bool,
    /// The window of data is over with an ACK beyond this.
    end: u64,
    /// The window answers to no mark up to an ACK beyond this.
    answered: Option<u64>,
    /// The window that the last mark of those found.
    at_mark: Option<u64>,
}

impl Model {
    fn new(initial_alpha: u64) -> Self {
        Self {
            window: INITIAL,
            threshold: u64::from(u32::MAX),
            credit: 0,
            limit: 2,
            alpha: initial_alpha,
            initial_alpha,
            samples: Vec::new(),
            echoed: false,
            end: 0,
            answered: None,
            at_mark: None,
        }
    }

    /// Answers whether the window was cut.
    fn on_ack(
        &mut self,
        ack: u64,
        bytes: u64,
        echo: bool,
        phase: Phase,
        may_grow: bool,
        sent: u64,
    ) -> bool {
        if self.answered.is_some_and(|answered| ack > answered) {
            (self.answered, self.at_mark) = (None, None);
        }
        if echo && self.at_mark.is_some() {
            self.at_mark = Some(self.window);
        }
        let cuts = echo && phase == Phase::Open && self.answered.is_none();
        if cuts {
            self.at_mark = Some(self.window);
            let kept = self.window - self.window * self.alpha / 2048;
            let whole = (kept / MSS * MSS).max(2 * MSS);
            self.threshold = whole;
            self.window = whole.min(self.window);
            self.credit = 0;
        }
        self.samples.push(Sample { bytes, echo });
        if bytes > 0 && ack > self.end {
            self.sample(sent);
        }
        if cuts {
            self.answered = Some(sent);
        }
        if may_grow {
            self.grow(bytes);
        }
        cuts
    }

    /// α of all samples: an ACK for more than one segment at which ECE changes has one segment of
    /// the state before.
    fn sample(&mut self, sent: u64) {
        let (mut total, mut marked) = (0, 0);
        for Sample { bytes, echo } in self.samples.drain(..) {
            let older = if echo != self.echoed && bytes > MSS { MSS } else { 0 };
            total += bytes;
            marked += if echo { bytes - older } else { older };
            self.echoed = echo;
        }
        let share = (marked * 64).checked_div(total).unwrap_or(0);
        self.alpha = (self.alpha - self.alpha / 16 + share).min(1024);
        self.end = sent;
    }

    fn grow(&mut self, bytes: u64) {
        if self.window < self.threshold {
            self.window += bytes.min(self.limit * MSS);
        } else {
            self.limit = 2;
            self.credit += bytes;
            if self.credit >= self.window {
                self.credit = (self.credit - self.window).min(self.window);
                self.window += MSS;
            }
        }
        self.window = self.window.min(MAX);
    }

    fn on_loss(&mut self, sent: u64) {
        let half = (self.at_mark.unwrap_or(self.window) / 2).max(2 * MSS);
        self.threshold = half;
        self.window = half.min(self.window);
        self.credit = 0;
        self.answered = Some(sent);
    }

    fn on_recovered(&mut self, ack: u64) {
        (self.answered, self.at_mark) = (None, None);
        self.sample(ack);
    }

    fn on_timeout(&mut self, flight: u64, sent: u64, timeout: Timeout) {
        if timeout == Timeout::First {
            self.threshold = (flight / 2).max(2 * MSS);
        }
        (self.window, self.credit, self.limit) = (MSS, 0, 1);
        (self.answered, self.at_mark) = (Some(sent), None);
        self.sample(sent);
    }

    fn on_idle(&mut self, next: u64) {
        self.window = self.window.min(INITIAL);
        self.credit = 0;
        self.alpha = self.initial_alpha;
        self.samples.clear();
        (self.echoed, self.end) = (false, next);
    }
}

fn seq(position: u64) -> Seq {
    Seq(FIRST.wrapping_add(position as u32))
}

/// The sender that is tried.
fn cc(initial_alpha: u64) -> Odctcp {
    let config = Config {
        initial_alpha: Ratio::new(initial_alpha as u32, 1024).unwrap(),
        ..Config::default()
    };
    let params = CwndParams {
        mss: MSS as u32,
        initial: INITIAL as u32,
        max: MAX as u32,
        abc: Some(2),
        slow_start: SlowStart::Below,
        avoidance: Avoidance::Bytes,
        credit: Credit::Dropped,
    };
    let mut cc = Odctcp::new(&config, &params).unwrap();
    cc.begin(&Start { mss: MSS as u32, initial: INITIAL as u32, max: MAX as u32, first: seq(0) });
    cc
}

/// One connection, step by step, with every event that a sender can meet.
fn connection(seed: u64) {
    let mut rng = Rng::new(seed, 0);
    let mut below = |limit: u64| rng.next_u64() % limit;
    let initial_alpha = [0, 1024, 512][below(3) as usize];
    let mut cc = cc(initial_alpha);
    let mut model = Model::new(initial_alpha);
    let (mut una, mut sent) = (0_u64, 0_u64);
    let mut recovery: Option<u64> = None;
    let mut timeout = Timeout::First;
    // Marks come in runs.
    let mut echo = false;
    for step in 0..2_000 {
        while sent < una + u64::from(cc.window()) {
            sent += MSS;
        }
        let flight =
            Flight { now: Time::ZERO, bytes: (sent - una) as u32, una: seq(una), sent: seq(sent) };
        if below(6) == 0 {
            echo = !echo;
        }
        let mut what = "ack";
        match below(100) {
            0 => {
                what = "timeout";
                cc.on_timeout(&flight, timeout);
                model.on_timeout(sent - una, sent, timeout);
                (timeout, recovery) = (Timeout::Repeated, None);
            }
            1 if recovery.is_none() => {
                what = "idle";
                una = sent;
                cc.on_idle(Restart::AtMostInitial, seq(sent));
                model.on_idle(sent);
            }
            2 | 3 if recovery.is_none() => {
                what = "loss";
                recovery = Some(sent);
                cc.on_loss(&flight);
                model.on_loss(sent);
            }
            number => {
                let is_duplicate = number < 12;
                let bytes = if is_duplicate {
                    0
                } else {
                    [MSS, 2 * MSS, 3 * MSS, 1, MSS + 1][below(5) as usize].min(sent - una)
                };
                let before = sent - una;
                una += bytes;
                if recovery.is_some_and(|point| una >= point) {
                    recovery = None;
                    cc.on_recovered(seq(una));
                    model.on_recovered(una);
                }
                let phase = match recovery {
                    Some(_) => Phase::FastRecovery,
                    None => Phase::Open,
                };
                let may_grow = bytes > 0 && phase == Phase::Open && below(5) > 0;
                let reaction = cc.on_ack(&Acked {
                    now: Time::ZERO,
                    rtt: None,
                    ack: seq(una),
                    sent: seq(sent),
                    bytes: bytes as u32,
                    delivered: bytes as u32,
                    flight: before as u32,
                    echo,
                    kind: if is_duplicate { AckKind::Duplicate } else { AckKind::Advance },
                    phase,
                    may_grow,
                });
                let cut = model.on_ack(una, bytes, echo, phase, may_grow, sent);
                assert_eq!(reaction != Reaction::None, cut, "seed {seed}, step {step}");
                if bytes > 0 {
                    timeout = Timeout::First;
                }
            }
        }
        let alpha = cc.alpha().unwrap().of(1024);
        let (window, threshold) = (u64::from(cc.window()), u64::from(cc.ssthresh()));
        assert_eq!(
            (window, threshold, alpha),
            (model.window, model.threshold, model.alpha),
            "seed {seed}, step {step}: {what}"
        );
    }
}

#[test]
fn random_operations_agree_with_the_slow_model() {
    for seed in 0..200 {
        connection(seed);
    }
}
