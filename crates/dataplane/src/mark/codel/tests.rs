use tidegate_units::{Ecn, QueueId, Time};

use super::*;
use crate::Pkt;
use crate::mark::testing::{cx, port_info};

/// Picoseconds in a tick.
const TICK: u64 = 1_024_000;
const MARK: MarkDecision = MarkDecision::Mark(Rule::Persistent);

fn codel(profile: Profile) -> Codel {
    let config = Config { profile, ..Config::default() };
    Codel::new(&config, &port_info(2)).unwrap()
}

fn at(tick: u64) -> Cx {
    Cx { now: Time::from_ps(tick * TICK), queue_bytes: 3000, ..cx() }
}

/// Decides on a packet that waited 60 ticks, ten more than the target.
fn late(codel: &mut Codel, tick: u64) -> MarkDecision {
    codel.on_dequeue(&at(tick), Span::from_ps(60 * TICK))
}

/// The ticks in a range at which packets that waited 60 ticks are marked.
fn marks(codel: &mut Codel, ticks: core::ops::RangeInclusive<u64>) -> alloc::vec::Vec<u64> {
    ticks.filter(|&tick| late(codel, tick) == MARK).collect()
}

/// Starts at tick 1000 with the first packet above the target. Distances worked out by hand in the
/// golden vectors: 999, 500, 562 and 487 ticks.
const LINUX: [u64; 5] = [2001, 3000, 3500, 4062, 4549];

#[test]
fn marks_follow_the_fixed_point_control_law() {
    let mut codel = codel(Profile::Linux);
    assert_eq!(marks(&mut codel, 1000..=4549), LINUX);
}

#[test]
fn the_schedule_survives_the_wrap_of_the_clock() {
    for start in [(1 << 32) - 1500, (1 << 32) - 2000, (1 << 32) - 3000, (1 << 33) - 1000] {
        let mut codel = codel(Profile::Linux);
        let marked = marks(&mut codel, start..=start + 3549);
        assert_eq!(marked, LINUX.map(|tick| tick - 1000 + start), "{start}");
    }
}

#[test]
fn a_queue_above_its_target_for_an_hour_is_still_marked() {
    let mut codel = codel(Profile::Ns3);
    let marked = (1000..1 << 33).step_by(1 << 21);
    let count = marked.filter(|&tick| late(&mut codel, tick) == MARK).count();
    assert_eq!(count, (1 << 12) - 1, "all but the first");
}

#[test]
fn the_target_and_the_backlog_are_compared_as_published() {
    let below = |profile, sojourn: u64, backlog| {
        let mut codel = codel(profile);
        late(&mut codel, 1000);
        let cx = Cx { queue_bytes: backlog, ..at(3000) };
        codel.on_dequeue(&cx, Span::from_ps(sojourn * TICK)) == MarkDecision::Pass
    };
    for profile in [Profile::Es3, Profile::Linux, Profile::Ns3] {
        assert_eq!([49, 50, 51].map(|ticks| below(profile, ticks, 3000)), [true, false, false]);
    }
    let backlogs = [1499, 1500, 1501];
    assert_eq!(backlogs.map(|b| below(Profile::Es3, 60, b)), [true, false, false]);
    assert_eq!(backlogs.map(|b| below(Profile::Linux, 60, b)), [true, true, false]);
    assert_eq!(backlogs.map(|b| below(Profile::Ns3, 60, b)), [true, false, false]);
}

#[test]
fn sojourn_times_are_differences_of_rounded_stamps() {
    let decide = |arrival: u64, departure: u64| {
        let mut codel = codel(Profile::Linux);
        late(&mut codel, 1000);
        let cx = Cx { now: Time::from_ps(departure), ..at(0) };
        codel.on_dequeue(&cx, Span::from_ps(departure - arrival))
    };
    // A little over 49 ticks across 50 tick ends; and nearly 50 ticks across 49.
    assert_eq!(decide(2951 * TICK - 1, 3000 * TICK), MARK);
    assert_eq!(decide(2951 * TICK, 3001 * TICK - 1), MarkDecision::Pass);
}

#[test]
fn one_packet_below_the_target_ends_the_phase() {
    let mut codel = codel(Profile::Linux);
    assert_eq!(marks(&mut codel, 1000..=2001), [2001]);
    assert_eq!(codel.on_dequeue(&at(2002), Span::ZERO), MarkDecision::Pass);
    assert_eq!(marks(&mut codel, 2003..=4002), [3004]);
    assert_eq!(codel.queues[0].count, 1);
}

#[test]
fn a_marking_phase_soon_after_another_starts_at_its_rate() {
    let episodes = |second: u64| {
        let mut codel = codel(Profile::Linux);
        assert_eq!(marks(&mut codel, 1000..=4549), LINUX);
        codel.on_dequeue(&at(4550), Span::ZERO);
        late(&mut codel, second - 1001);
        assert_eq!(late(&mut codel, second - 1), MarkDecision::Pass);
        assert_eq!(late(&mut codel, second), MARK);
        (codel.queues[0].count, u64::from(codel.queues[0].mark_next))
    };
    // The first phase counted from 1 to 5. Its last step for 1/√5 goes from 31968/65536 to
    // 28935/65536: the next mark would have been due 441 ticks after 4549. The second phase starts
    // with the four marks after the first and one more step, to 32121/65536: 490 ticks. After
    // sixteen intervals or more a phase starts at one.
    assert_eq!([step(31_968, 5), step(28_935, 4)], [28_935, 32_121]);
    let horizon = 4549 + 441 + 16_000;
    assert_eq!(episodes(horizon - 1), (4, horizon - 1 + 490));
    assert_eq!(episodes(horizon), (1, horizon + 999));
}

#[test]
fn a_single_mark_is_no_rate_to_resume() {
    let mut codel = codel(Profile::Linux);
    assert_eq!(marks(&mut codel, 1000..=3000), [2001, 3000]);
    codel.on_dequeue(&at(3001), Span::ZERO);
    assert_eq!(marks(&mut codel, 3002..=5002), [4003, 5002], "999 ticks");
}

#[test]
fn ns3_counts_from_the_mark_and_linux_from_the_schedule() {
    let late_mark = |profile| {
        let mut codel = codel(profile);
        assert_eq!(marks(&mut codel, 1000..=2500), [2001]);
        // Due at 3000, but the next packet leaves at 3200. The distance is 500.
        assert_eq!(late(&mut codel, 3200), MARK);
        marks(&mut codel, 3201..=3700)
    };
    assert_eq!(late_mark(Profile::Linux), [3500]);
    assert_eq!(late_mark(Profile::Es3), [3500]);
    assert_eq!(late_mark(Profile::Ns3), [3700]);
}

#[test]
fn a_due_packet_that_cannot_be_marked_counts_except_in_es3() {
    let next = |profile| {
        let mut codel = codel(profile);
        assert_eq!(marks(&mut codel, 1000..=2999), [2001]);
        let cx = Cx { pkt: Pkt { ecn: Ecn::NotEct, ..cx().pkt }, ..at(3000) };
        assert_eq!(codel.on_dequeue(&cx, Span::from_ps(60 * TICK)), MARK);
        marks(&mut codel, 3001..=3500)
    };
    assert_eq!(next(Profile::Linux), [3500]);
    assert_eq!(next(Profile::Ns3), [3500]);
    assert_eq!(next(Profile::Es3), [3001, 3500]);
}

#[test]
fn queues_do_not_share_state_and_unknown_ones_pass() {
    let mut codel = codel(Profile::Linux);
    late(&mut codel, 1000);
    let other = |tick, queue| Cx { queue: QueueId(queue), ..at(tick) };
    let sojourn = Span::from_ps(60 * TICK);
    assert_eq!(codel.on_dequeue(&other(2001, 1), sojourn), MarkDecision::Pass);
    assert_eq!(codel.on_dequeue(&other(2001, 2), sojourn), MarkDecision::Pass);
    assert_eq!(late(&mut codel, 2001), MARK);
}

#[test]
fn impossible_parameters_are_named() {
    let field = |config: Config| match Codel::new(&config, &port_info(1)) {
        Err(ConfigError::OutOfRange { field, .. }) => Some(field),
        Err(other) => panic!("{other:?}"),
        Ok(_) => None,
    };
    let interval = |ps| Config { interval: Span::from_ps(ps), ..Config::default() };
    assert_eq!(field(interval(TICK - 1)), Some("interval"));
    assert_eq!(field(interval(TICK)), None);
    assert_eq!(field(interval((TICK << 27) - 1)), None);
    assert_eq!(field(interval(TICK << 27)), Some("interval"));
    let mtu = |mtu| Config { mtu, ..Config::default() };
    assert_eq!(field(mtu(0)), Some("mtu"));
    assert_eq!(field(mtu(1)), None);
    assert_eq!(field(mtu(u32::MAX)), None);
}

#[test]
fn the_extremes_neither_wrap_nor_panic() {
    let mut codel = codel(Profile::Linux);
    let cx = Cx { now: Time::MAX, queue_bytes: u32::MAX, ..cx() };
    assert_eq!(codel.on_dequeue(&cx, Span::MAX), MarkDecision::Pass);
    codel.queues[0] = State {
        phase: Phase::Marking,
        inverse_sqrt: 1,
        count: u32::MAX,
        first_count: 1,
        above_until: 0,
        mark_next: ticks(u64::MAX) as u32,
    };
    assert_eq!(codel.on_dequeue(&cx, Span::MAX), MARK);
    assert_eq!(codel.queues[0].count, u32::MAX);
    assert_eq!(size_of::<State>(), 20);
}

/// One Newton step in fixed point.
fn step(inverse_sqrt: u16, count: u32) -> u16 {
    let mut state = State {
        phase: Phase::Below,
        inverse_sqrt,
        count,
        first_count: 0,
        above_until: 0,
        mark_next: 0,
    };
    state.newton_step();
    state.inverse_sqrt
}

#[test]
fn the_inverse_square_root_is_a_newton_step_rounded_down() {
    const ONE: f64 = 65_536.0;
    let mut inverse = u16::MAX;
    for count in 2..100_000 {
        let before = f64::from(inverse) / ONE;
        let real = before * (3.0 - f64::from(count) * before * before) / 2.0;
        inverse = step(inverse, count);
        let error = real * ONE - f64::from(inverse);
        // One unit for truncation, and a hundredth for the two bits given up before.
        assert!((0.0..1.01).contains(&error), "{count}: {error}");

        let exact = 1.0 / f64::from(count).sqrt();
        let relative = (exact - f64::from(inverse) / ONE) / exact;
        // The first step is poor: 0.5 for 0.707. Later ones are good to three units.
        let allowed = match count {
            2 => 0.293,
            3..10 => 0.03,
            _ => 0.005 + 3.0 / (exact * ONE),
        };
        assert!((0.0..allowed).contains(&relative), "{count}: {relative}");
    }
}
