use tidegate_units::Rng;

use super::*;
use crate::buffer::testing::error;
use crate::buffer::{PerPort, PerQueue, per_queue};

const PAUSE: PauseAction = PauseAction::Pause;
const RESUME: PauseAction = PauseAction::Resume;

/// One class, no reserve, a pool of 8000 bytes beside a headroom of 2000 for each of two ports.
fn plain() -> Config {
    Config {
        buffer: Bytes(12_000),
        classes: 1,
        bypass: vec![],
        reserve: Bytes(0),
        headroom: vec![Bytes(2000)],
        shift: vec![1],
        resume_offset: Bytes(500),
        ..Config::default()
    }
}

fn from(ingress: u16, len: u32) -> Request {
    Request { port: PortId(0), queue: QueueId(0), ingress, len }
}

#[expect(clippy::unnecessary_wraps, reason = "has the type that polling returns")]
fn event(ingress: u16, action: PauseAction) -> Option<Pause> {
    Some(Pause { ingress, action })
}

#[test]
fn an_account_is_paused_at_its_threshold() {
    // Pool 8000, shift 1: held x pauses at x >= (8000 − x)/2, which is at 2666 (2667 against 2666).
    for (held, pauses) in [(2665, false), (2666, false), (2667, true)] {
        let mut pfc = Pfc::over(&plain(), 2, Unlimited).unwrap();
        let _held = pfc.admit(from(0, held)).unwrap();
        assert_eq!(pfc.poll_pause().is_some(), pauses, "{held}");
    }
}

#[test]
fn a_paused_account_runs_again_at_the_offset_below_the_threshold() {
    // 2700 held against (8000 − 2700)/2 = 2650: paused. After a departure x is left, and the
    // account resumes if x + 500 <= (8000 − x)/2, which is up to x = 2333 (2833 against 2833).
    for (left, resumes) in [(2332, true), (2333, true), (2334, false)] {
        let mut pfc = Pfc::over(&plain(), 2, Unlimited).unwrap();
        let _left = pfc.admit(from(1, left)).unwrap();
        let leaves = pfc.admit(from(1, 2700 - left)).unwrap();
        assert_eq!(pfc.poll_pause(), event(1, PAUSE));
        assert_eq!(pfc.poll_pause(), None);
        pfc.release(leaves);
        assert_eq!(pfc.poll_pause(), event(1, RESUME).filter(|_| resumes), "{left}");
    }
}

#[test]
fn an_account_in_its_headroom_is_paused_until_it_is_empty() {
    // The second packet would make 4000 against (8000 − 2000)/2 = 3000.
    let mut pfc = Pfc::over(&plain(), 2, Unlimited).unwrap();
    let first = pfc.admit(from(0, 2000)).unwrap();
    assert_eq!(pfc.poll_pause(), None);
    let second = pfc.admit(from(0, 1999)).unwrap();
    assert_eq!((pfc.accounts[0].headroom, pfc.shared_bytes()), (1999, 2000));
    assert_eq!(pfc.poll_pause(), event(0, PAUSE));
    assert_eq!(pfc.admit(from(0, 1002)), Err(DropReason::HeadroomFull));
    let third = pfc.admit(from(0, 1)).unwrap();
    assert_eq!(pfc.accounts[0].headroom, 1999, "2001 fit below the threshold of 3000");
    // The departure of the first packet empties the headroom, although the second filled it.
    pfc.release(first);
    assert_eq!((pfc.accounts[0].headroom, pfc.shared_bytes()), (0, 2000));
    assert_eq!(pfc.poll_pause(), event(0, RESUME));
    for charge in [second, third] {
        pfc.release(charge);
    }
    assert_eq!((pfc.held, pfc.shared), (0, 0));
}

#[test]
fn the_headroom_takes_packets_up_to_its_limit() {
    for (len, fits) in [(1999, true), (2000, true), (2001, false)] {
        let config = Config { rule: Rule::Static, xoff: Bytes(1000), xon: Bytes(0), ..plain() };
        let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
        let _held = pfc.admit(from(0, 1000)).unwrap();
        let result = pfc.admit(from(0, len));
        assert_eq!(result.is_ok(), fits, "{len}");
        assert!(fits || result == Err(DropReason::HeadroomFull));
    }
}

#[test]
fn static_thresholds_pause_at_xoff_and_resume_at_xon() {
    let config = Config { rule: Rule::Static, xoff: Bytes(3000), xon: Bytes(1000), ..plain() };
    for (held, pauses) in [(2999, false), (3000, true), (3001, true)] {
        let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
        let _first = pfc.admit(from(0, 1500)).unwrap();
        let _held = pfc.admit(from(0, held - 1500)).unwrap();
        assert_eq!(pfc.accounts[0].headroom > 0, held == 3001);
        assert_eq!(pfc.poll_pause().is_some(), pauses, "{held}");
    }
    for (left, resumes) in [(999, true), (1000, true), (1001, false)] {
        let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
        let _left = pfc.admit(from(0, left)).unwrap();
        let leaves = pfc.admit(from(0, 3000 - left)).unwrap();
        assert_eq!(pfc.poll_pause(), event(0, PAUSE));
        pfc.release(leaves);
        assert_eq!(pfc.poll_pause().is_some(), resumes, "{left}");
    }
}

#[test]
fn the_factor_rule_pauses_above_its_share_and_uses_headroom_when_the_pool_is_full() {
    let config = Config { rule: Rule::Factor, factor: Ratio::new(3, 1).unwrap(), ..plain() };
    // x > 3·(8000 − x) from x = 6001 on; 6000 equals.
    for (held, pauses) in [(5999, false), (6000, false), (6001, true)] {
        let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
        let _held = pfc.admit(from(0, held)).unwrap();
        assert_eq!(pfc.poll_pause().is_some(), pauses, "{held}");
    }
    // x < 3·(8000 − x − 16) up to x = 5987 (5987 against 5991); 5988 equals.
    for (left, resumes) in [(5987, true), (5988, false), (5989, false)] {
        let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
        let _left = pfc.admit(from(0, left)).unwrap();
        let leaves = pfc.admit(from(0, 8000 - left)).unwrap();
        assert_eq!(pfc.poll_pause(), event(0, PAUSE));
        assert_eq!(pfc.accounts[0].headroom, 0);
        pfc.release(leaves);
        assert_eq!(pfc.poll_pause().is_some(), resumes, "{left}");
    }
    let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
    let _all = pfc.admit(from(0, 7999)).unwrap();
    let last = pfc.admit(from(1, 2)).unwrap();
    assert_eq!((pfc.accounts[1].headroom, pfc.shared), (2, 7999));
    assert_eq!([pfc.poll_pause(), pfc.poll_pause()], [event(0, PAUSE), event(1, PAUSE)]);
    pfc.release(last);
    assert_eq!(pfc.poll_pause(), event(1, RESUME), "nothing shared is held");
}

#[test]
fn the_reserve_is_private_and_not_part_of_the_pool() {
    let config = Config { buffer: Bytes(14_000), reserve: Bytes(1000), ..plain() };
    let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
    assert_eq!(pfc.pool, 8000);
    let first = pfc.admit(from(0, 1000)).unwrap();
    assert_eq!(pfc.shared_bytes(), 0);
    let second = pfc.admit(from(0, 700)).unwrap();
    assert_eq!(pfc.shared_bytes(), 700);
    pfc.release(first);
    assert_eq!((pfc.shared_bytes(), pfc.held), (0, 700));
    // 300 of the reserve are left: 1300 needs 1000 of the pool.
    let third = pfc.admit(from(0, 1300)).unwrap();
    assert_eq!(pfc.shared_bytes(), 1000);
    for charge in [second, third] {
        pfc.release(charge);
    }
    assert_eq!((pfc.shared_bytes(), pfc.held), (0, 0));
}

#[test]
fn a_full_pool_pauses_an_account_until_its_last_packet_leaves() {
    let config = Config { buffer: Bytes(14_000), reserve: Bytes(1000), shift: vec![0], ..plain() };
    let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
    let _all = pfc.admit(from(0, 9000)).unwrap();
    assert_eq!((pfc.shared, pfc.poll_pause()), (8000, event(0, PAUSE)));
    let small = pfc.admit(from(1, 100)).unwrap();
    assert_eq!(pfc.poll_pause(), event(1, PAUSE), "0 shared against a threshold of 0");
    pfc.release(small);
    assert_eq!(pfc.poll_pause(), event(1, RESUME));
}

#[test]
fn all_accounts_together_never_hold_more_than_the_buffer() {
    // Two classes, but headroom reserved for one: 8000 + 2 · 2 · 2000 would be more than 12000.
    let config = |provision| Config { classes: 2, rule: Rule::Factor, provision, ..plain() };
    let mut pfc = Pfc::over(&config(Provision::PerPort), 2, Unlimited).unwrap();
    let _pool = pfc.admit(from(0, 8000)).unwrap();
    let _first = pfc.admit(from(1, 2000)).unwrap();
    let _second = pfc.admit(from(2, 1000)).unwrap();
    assert_eq!(pfc.admit(from(3, 1001)), Err(DropReason::PoolFull));
    let _last = pfc.admit(from(3, 1000)).unwrap();
    assert_eq!(pfc.held, 12_000);
    let pfc = Pfc::over(&config(Provision::PerAccount), 2, Unlimited).unwrap();
    assert_eq!(pfc.pool, 4000);
}

#[test]
fn each_port_has_its_shift_and_headroom_and_bypassed_classes_have_no_account() {
    let config = Config {
        buffer: Bytes(8000 + 2000 + 50),
        classes: 2,
        bypass: vec![0],
        headroom: vec![Bytes(2000), Bytes(50)],
        shift: vec![1, 3],
        ..plain()
    };
    let mut pfc = Pfc::over(&config, 2, Unlimited).unwrap();
    assert_eq!(pfc.pool, 8000);
    let ack = pfc.admit(from(2, u32::MAX)).unwrap();
    pfc.release(ack);
    assert_eq!((pfc.held, pfc.poll_pause()), (0, None));
    // 8000 >> 3 is 1000.
    let first = pfc.admit(from(3, 1000)).unwrap();
    assert_eq!(pfc.poll_pause(), event(3, PAUSE));
    assert_eq!(pfc.admit(from(3, 51)), Err(DropReason::HeadroomFull));
    pfc.release(first);
    assert_eq!(pfc.poll_pause(), event(3, RESUME));
    assert_eq!(pfc.admit(from(4, 1)), Err(DropReason::HeadroomFull), "the account does not exist");
}

#[test]
fn a_drop_at_egress_charges_nothing_at_ingress() {
    let egress = PerPort::new(1, Bytes(1500)).unwrap();
    let mut pfc = Pfc::over(&plain(), 2, egress).unwrap();
    let charge = pfc.admit(from(1, 1500)).unwrap();
    assert_eq!(pfc.admit(from(0, 1)), Err(DropReason::PortFull));
    assert_eq!((pfc.held, pfc.accounts[0].held), (1500, 0));
    pfc.release(charge);
    assert!(pfc.admit(from(0, 1500)).is_ok());
}

#[test]
fn the_largest_accounts_fit_one_receipt() {
    let config = Config {
        classes: 8,
        buffer: Bytes(u64::from(u32::MAX)),
        headroom: vec![Bytes(0)],
        ..plain()
    };
    let egress = per_queue::Config::default();
    let egress = PerQueue::new(&egress, 256, 128).unwrap();
    let mut pfc = Pfc::over(&config, 8192, egress).unwrap();
    let request = Request { port: PortId(255), queue: QueueId(127), ingress: u16::MAX, len: 1500 };
    let charge = pfc.admit(request).unwrap();
    assert_eq!(charge, Charge::new(1500, 0xFFFF_7FFF));
    pfc.release(charge);
    assert_eq!(pfc.held, 0);
    assert_eq!(error(Pfc::over(&config, 8193, Unlimited)), "ports");
}

#[test]
fn a_change_that_was_reversed_is_not_reported() {
    let mut pfc = Pfc::over(&plain(), 2, Unlimited).unwrap();
    let first = pfc.admit(from(0, 3000)).unwrap();
    let _second = pfc.admit(from(1, 2500)).unwrap();
    pfc.release(first);
    assert_eq!(pfc.poll_pause(), event(1, PAUSE));
    assert_eq!(pfc.poll_pause(), None);
}

#[test]
fn pause_and_resume_alternate_and_the_sums_hold_at_every_step() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed, 1);
        let rule = [Rule::Factor, Rule::Shift, Rule::Static][seed as usize % 3];
        let config = Config {
            buffer: Bytes(40_000),
            classes: 3,
            bypass: vec![0],
            reserve: Bytes(500),
            rule,
            xoff: Bytes(4000),
            xon: Bytes(2000),
            ..plain()
        };
        let mut pfc = Pfc::over(&config, 3, Unlimited).unwrap();
        let capacity = pfc.changed.capacity();
        let mut held: Vec<(u16, Charge)> = Vec::new();
        let mut paused = [false; 9];
        for _ in 0..600 {
            let draw = rng.next_u32();
            if draw % 7 < 4 {
                let ingress = (draw >> 8) as u16 % 9;
                let admitted = pfc.admit(from(ingress, draw >> 21));
                held.extend(admitted.map(|charge| (ingress, charge)));
            } else if !held.is_empty() {
                let (_, charge) = held.swap_remove(draw as usize % held.len());
                pfc.release(charge);
            }
            // Sometimes polls late, which a host should not do.
            while let Some(pause) = (draw >> 30 != 0).then(|| pfc.poll_pause()).flatten() {
                let account = &mut paused[usize::from(pause.ingress)];
                assert_eq!(*account, pause.action == RESUME, "{seed}");
                *account = pause.action == PAUSE;
            }
            let mut total = 0;
            for (index, account) in pfc.accounts.iter().enumerate() {
                let own = held.iter().filter(|(ingress, _)| usize::from(*ingress) == index);
                let own: u32 = own.map(|(_, charge)| charge.bytes()).sum();
                let expected = if account.is_lossless { own } else { 0 };
                assert_eq!(account.held + account.headroom, expected);
                assert!(account.headroom <= account.headroom_limit);
                total += expected;
            }
            let shared = pfc.accounts.iter().map(|account| account.held.saturating_sub(500));
            assert_eq!((pfc.held, pfc.shared), (total, shared.sum()));
            assert!(pfc.shared <= pfc.pool);
            assert!(pfc.accounts.iter().all(|account| account.held <= pfc.most_held));
        }
        for (_, charge) in held {
            pfc.release(charge);
        }
        while let Some(pause) = pfc.poll_pause() {
            paused[usize::from(pause.ingress)] = pause.action == PAUSE;
        }
        assert_eq!((pfc.held, pfc.shared, paused), (0, 0, [false; 9]));
        assert_eq!(pfc.changed.capacity(), capacity);
    }
}

#[test]
fn impossible_parameters_are_named() {
    let with = |change: fn(&mut Config)| {
        let mut config = plain();
        change(&mut config);
        error(Pfc::over(&config, 2, Unlimited))
    };
    assert_eq!(error(plain().build(0, 1)), "ports");
    assert_eq!(with(|c| c.classes = 0), "classes");
    assert_eq!(with(|c| c.classes = 9), "classes");
    assert_eq!(with(|c| c.bypass = vec![1]), "bypass");
    assert_eq!(with(|c| c.bypass = vec![0]), "bypass");
    assert_eq!(with(|c| c.buffer = Bytes(1 << 32)), "buffer");
    assert_eq!(with(|c| c.buffer = Bytes(4000)), "buffer");
    assert_eq!(with(|c| c.buffer = Bytes(4001)), "none");
    assert_eq!(with(|c| c.reserve = Bytes(4000)), "buffer");
    assert_eq!(with(|c| c.reserve = Bytes(1 << 32)), "reserve");
    assert_eq!(with(|c| c.headroom = vec![]), "headroom");
    assert_eq!(with(|c| c.headroom = vec![Bytes(1); 3]), "headroom");
    assert_eq!(with(|c| c.headroom = vec![Bytes(1 << 32)]), "headroom");
    assert_eq!(with(|c| c.shift = vec![1; 3]), "shift");
    assert_eq!(with(|c| c.shift = vec![31]), "none");
    assert_eq!(with(|c| c.shift = vec![32]), "shift");
    assert_eq!(with(|c| c.resume_offset = Bytes(1 << 32)), "resume_offset");
    let rule = |change: fn(&mut Config)| {
        let mut config = plain();
        change(&mut config);
        error(config.build(2, 1))
    };
    assert_eq!(rule(|c| (c.rule, c.factor) = (Rule::Factor, Ratio::ZERO)), "factor");
    assert_eq!(rule(|c| (c.rule, c.xoff) = (Rule::Static, Bytes(0))), "xoff");
    assert_eq!(rule(|c| (c.rule, c.xoff, c.xon) = (Rule::Static, Bytes(10), Bytes(11))), "xon");
}
