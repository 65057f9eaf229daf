//! The same algorithm twice: random traces through the C functions that the kernel runs, and
//! through `tidegate-transport`.

use tidegate_host::algorithm::Algorithm;
use tidegate_host::event::{Flags, Kind};
use tidegate_host::kernel::replay::{Replay, Step};
use tidegate_transport::Seq;
use tidegate_transport::cc::{
    AckKind, Acked, CongestionControl, CwndParams, Dctcp, EcnStar, Flight, Phase, Reaction,
    Restart, Start, Timeout, dctcp, ecn_star,
};
use tidegate_transport::config::{Avoidance, Credit, SlowStart};
use tidegate_units::{Ratio, Rng, Setting, Time};

pub(crate) const MSS: u32 = 1448;
const INITIAL: u32 = 10 * MSS;

/// As the kernel's rules count: bytes, with a limit for an ACK in slow start.
pub(crate) fn params(mss: u32, abc: u8, slow_start: SlowStart) -> CwndParams {
    CwndParams {
        mss,
        initial: INITIAL,
        max: 1 << 30,
        abc: Some(abc),
        slow_start,
        avoidance: Avoidance::Bytes,
        credit: Credit::Dropped,
    }
}

/// α in 1/1024.
pub(crate) fn alpha(cc: &impl CongestionControl) -> u32 {
    // Fits: at most 1024.
    cc.alpha().map_or(0, |alpha| alpha.of(1024) as u32)
}

/// A connection of which random things are made up.
struct Trace {
    rng: Rng,
    una: u32,
    nxt: u32,
    in_recovery: bool,
}

impl Trace {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0);
        // Sequence numbers wrap.
        let first = rng.next_u32();
        Self { rng, una: first, nxt: first, in_recovery: false }
    }

    /// True once in `n` times.
    fn once_in(&mut self, n: u32) -> bool {
        self.rng.next_u32().is_multiple_of(n)
    }

    fn below(&mut self, n: u32) -> u32 {
        self.rng.next_u32() % n
    }

    /// Draws the next event.
    fn step(&mut self) -> Step {
        let segments = self.below(4);
        self.nxt = self.nxt.wrapping_add(segments * MSS);
        if self.once_in(20) {
            self.nxt = self.nxt.wrapping_add(1 + self.below(MSS));
        }
        let flight = self.nxt.wrapping_sub(self.una);
        let mut step =
            Step { kind: Kind::Ack, sent: self.nxt, ack: self.una, mss: MSS, ..Step::default() };
        match self.below(400) {
            0 if !self.in_recovery => {
                step.kind = Kind::Loss;
                self.in_recovery = true;
            }
            1..=40 if self.in_recovery => {
                step.kind = Kind::Recovered;
                self.una = self.nxt;
                step.ack = self.una;
                self.in_recovery = false;
            }
            41 => {
                step.kind = Kind::Timeout;
                step.bytes = flight;
                step.flags = if self.once_in(3) { Flags::REPEATED } else { Flags::default() };
                self.in_recovery = false;
            }
            42 => {
                step.kind = Kind::Idle;
                step.bytes = INITIAL;
            }
            _ => {
                let acked = match self.below(6) {
                    0 => 0,
                    1 => self.below(flight + 1),
                    _ => (1 + self.below(2)) * MSS,
                };
                step.bytes = acked.min(flight);
                self.una = self.una.wrapping_add(step.bytes);
                step.ack = self.una;
                let flag = |is_set, flag| if is_set { flag } else { Flags::default() };
                let grows = step.bytes > 0 && !self.in_recovery && !self.once_in(5);
                step.flags = flag(self.once_in(4), Flags::ECHO)
                    | flag(grows, Flags::MAY_GROW)
                    | flag(self.in_recovery, Flags::IN_RECOVERY);
            }
        }
        step
    }
}

/// Takes a step with a rule of `tidegate-transport`. Says whether it reduced the window for a mark.
pub(crate) fn follow(cc: &mut impl CongestionControl, step: &Step) -> bool {
    let flight =
        Flight { now: Time::ZERO, bytes: step.bytes, una: Seq(step.ack), sent: Seq(step.sent) };
    match step.kind {
        Kind::Begin => cc.begin(&Start {
            mss: step.mss,
            initial: step.bytes,
            max: 1 << 30,
            first: Seq(step.sent),
        }),
        Kind::Ack => {
            let has = |flag| step.flags.has(flag);
            let acked = Acked {
                now: Time::ZERO,
                rtt: None,
                ack: Seq(step.ack),
                sent: Seq(step.sent),
                bytes: step.bytes,
                delivered: step.bytes,
                flight: 0,
                echo: has(Flags::ECHO),
                kind: if step.bytes > 0 { AckKind::Advance } else { AckKind::Other },
                phase: if has(Flags::IN_RECOVERY) { Phase::FastRecovery } else { Phase::Open },
                may_grow: has(Flags::MAY_GROW),
            };
            return cc.on_ack(&acked) != Reaction::None;
        }
        Kind::Loss => cc.on_loss(&flight),
        Kind::Recovered => cc.on_recovered(Seq(step.ack)),
        Kind::Timeout => {
            let is_repeated = step.flags.has(Flags::REPEATED);
            let timeout = if is_repeated { Timeout::Repeated } else { Timeout::First };
            cc.on_timeout(&flight, timeout);
        }
        Kind::Idle => cc.on_idle(Restart::AtMostInitial, Seq(step.sent)),
        Kind::Sample | Kind::Cut | Kind::End | Kind::Resync => {}
    }
    false
}

/// Both rules on the same random traces.
fn compare<R: CongestionControl>(algorithm: &Algorithm, mut make: impl FnMut() -> R) {
    let replay = Replay::new(algorithm).unwrap();
    let mut cuts = 0;
    for seed in 0..4 {
        let mut trace = Trace::new(seed);
        let mut cc = make();
        let begin = Step {
            kind: Kind::Begin,
            ack: trace.una,
            sent: trace.nxt,
            bytes: INITIAL,
            mss: MSS,
            ..Step::default()
        };
        let mut step = begin;
        for number in 0..5_000 {
            let kernel = replay.step(&step).unwrap();
            let is_reduced = follow(&mut cc, &step);
            cuts += u32::from(is_reduced);
            let ours = (is_reduced.into(), cc.window(), cc.ssthresh(), alpha(&cc));
            let theirs = (kernel.reduced, kernel.window, kernel.ssthresh, kernel.alpha);
            assert_eq!(theirs, ours, "seed {seed}, step {number}: {step:?}");
            step = trace.step();
        }
    }
    assert!(cuts > 500, "{cuts}");
}

fn with(name: &str, settings: &[(&str, &str)]) -> Algorithm {
    let mut algorithm = Algorithm::named(name).unwrap();
    for (field, text) in settings {
        algorithm.set(field, text).unwrap();
    }
    algorithm
}

pub(crate) fn odctcp_is_the_rule_of_transport_step_by_step() {
    let thesis = dctcp::Config::profile("freebsd-thesis").unwrap();
    let make = |config: &dctcp::Config, abc| {
        Dctcp::new(config, &params(MSS, abc, SlowStart::UpTo)).unwrap()
    };
    compare(&with("tg_odctcp_snd", &[]), || make(&thesis, 2));
    let other = dctcp::Config {
        initial_alpha: Ratio::ONE,
        gain: Ratio::new(1, 8).unwrap(),
        min_window: 4,
        regrowth: Setting::read("frozen").unwrap(),
        ..thesis
    };
    let settings = [
        ("initial_alpha", "1"),
        ("gain", "1/8"),
        ("min_window", "4"),
        ("regrowth", "frozen"),
        ("abc", "255"),
    ];
    compare(&with("tg_odctcp_snd", &settings), || make(&other, 255));
}

pub(crate) fn ecn_star_is_the_rule_of_transport_step_by_step() {
    for (regrowth, abc) in [("except-first-echo", 255), ("continues", 2), ("frozen", 1)] {
        let abc_text = abc.to_string();
        let algorithm = with("tg_ecn_star", &[("regrowth", regrowth), ("abc", &abc_text)]);
        let config = ecn_star::Config { regrowth: Setting::read(regrowth).unwrap() };
        compare(&algorithm, || EcnStar::new(&config, &params(MSS, abc, SlowStart::Below)).unwrap());
    }
}

/// α after every ACK, and the window after a mark and after a loss, on random traces.
pub(crate) fn dctcp_is_the_rule_of_transport_step_by_step() {
    let linux = dctcp::Config::profile("linux-5.1").unwrap();
    let before = dctcp::Config {
        initial_alpha: Ratio::ZERO,
        gain: Ratio::new(1, 4).unwrap(),
        min_window: 3,
        loss: dctcp::LossCut::Alpha,
        loss_after_mark: dctcp::LossAfterMark::Cuts,
        min_threshold: 3,
        ..linux.clone()
    };
    let settings =
        [("initial_alpha", "0"), ("gain", "1/4"), ("min_window", "3"), ("loss", "alpha")];
    for (algorithm, config) in
        [(with("tg_dctcp", &[]), linux), (with("tg_dctcp", &settings), before)]
    {
        compare_dctcp(&algorithm, &config);
    }
}

fn compare_dctcp(algorithm: &Algorithm, config: &dctcp::Config) {
    let replay = Replay::new(algorithm).unwrap();
    let mut cc = Dctcp::new(config, &params(MSS, 255, SlowStart::Below)).unwrap();
    let mut trace = Trace::new(7);
    let mut step =
        Step { kind: Kind::Begin, sent: trace.nxt, mss: MSS, window: 10, ..Step::default() };
    let mut cuts = 0;
    for number in 0..20_000 {
        let kernel = replay.step(&step).unwrap();
        let packets = step.window;
        let is_reduced = if step.kind == Kind::Begin {
            follow(&mut cc, &Step { bytes: INITIAL, ..step })
        } else {
            cc.cwnd_mut().cut_to(packets * MSS, u32::MAX);
            let advances = step.flags.has(Flags::MAY_GROW);
            let acked = Acked {
                now: Time::ZERO,
                rtt: None,
                ack: Seq(step.ack),
                sent: Seq(step.sent),
                bytes: if advances { step.bytes * MSS } else { 0 },
                delivered: step.bytes * MSS,
                flight: 0,
                echo: step.flags.has(Flags::ECHO),
                kind: if advances { AckKind::Advance } else { AckKind::Duplicate },
                phase: Phase::Open,
                may_grow: false,
            };
            cc.on_ack(&acked) != Reaction::None
        };
        assert_eq!(kernel.alpha, alpha(&cc), "step {number}: {step:?}");
        if is_reduced {
            assert_eq!(kernel.ssthresh * MSS, cc.ssthresh(), "step {number}: {step:?}");
            cuts += 1;
        } else if step.kind == Kind::Ack {
            let mut lost = cc.clone();
            lost.on_loss(&Flight {
                now: Time::ZERO,
                bytes: packets * MSS,
                una: Seq(step.ack),
                sent: Seq(step.sent),
            });
            assert_eq!(kernel.reduced * MSS, lost.ssthresh(), "step {number}: {step:?}");
        }
        step = dctcp_step(&mut trace);
    }
    assert!(cuts > 500, "{cuts}");
}

/// An ACK of whole packets, or one that advances nothing and reports some by SACK.
fn dctcp_step(trace: &mut Trace) -> Step {
    trace.nxt = trace.nxt.wrapping_add(trace.below(3) * MSS);
    let flight = trace.nxt.wrapping_sub(trace.una) / MSS;
    let delivered = trace.below(4).min(flight);
    let advances = delivered > 0 && !trace.once_in(10);
    if advances {
        trace.una = trace.una.wrapping_add(delivered * MSS);
    }
    let flag = |is_set, flag| if is_set { flag } else { Flags::default() };
    Step {
        kind: Kind::Ack,
        flags: flag(trace.once_in(4), Flags::ECHO) | flag(advances, Flags::MAY_GROW),
        ack: trace.una,
        sent: trace.nxt,
        bytes: delivered,
        mss: MSS,
        window: 2 + trace.below(1000),
        ..Step::default()
    }
}
