//! Every buffer with every option, against a slow model that recomputes all sums.

use tidegate_dataplane::buffer::{AnyBuffer, Buffer, Charge, Config, PauseAction, Request};
use tidegate_testkit::oracle::mmu::{Ask, Egress, Ingress, Lossless, Mmu, Owner, Rule};
use tidegate_units::{PortId, QueueId, Rng};

const PORTS: u16 = 4;
const QUEUES: u8 = 3;
const CLASSES: u16 = 3;

fn config(name: &str, fields: &[(&str, &str)]) -> Config {
    let mut config = Config::named(name).expect("the name is known");
    for (field, text) in fields {
        config.set(field, text).expect("the value can be read");
    }
    config
}

/// Runs both over `steps` random arrivals and departures, and compares their answers.
fn compare(label: &str, mut buffer: AnyBuffer, mut oracle: Ingress, steps: u32, seed: u64) {
    let mut rng = Rng::new(seed, 0);
    let mut held: Vec<(u64, Charge)> = Vec::new();
    let mut drops = 0;
    for step in 0..steps {
        let draw = rng.next_u64();
        let mut events = Vec::new();
        // Long phases of filling and long phases of draining.
        let arrives = draw % 8 < if step / 100 % 2 == 0 { 6 } else { 2 };
        if arrives {
            let len = match draw >> 8 & 15 {
                0 => 0,
                1 => u32::MAX,
                2 => 9000,
                _ => (draw >> 12) as u32 % 1501,
            };
            let request = Request {
                port: PortId((draw >> 32) as u16 % PORTS),
                queue: QueueId((draw >> 40) as u8 % QUEUES),
                ingress: (draw >> 48) as u16 % (PORTS * CLASSES),
                len,
            };
            let ask = Ask {
                port: request.port.index(),
                queue: request.queue.index(),
                ingress: usize::from(request.ingress),
                len: len.into(),
            };
            let id = u64::from(step);
            let expected = oracle.admit(id, ask);
            match buffer.admit(request) {
                Ok(charge) => {
                    assert_eq!(charge.bytes(), len);
                    assert!(expected.is_ok(), "{label}, step {step}: {expected:?}");
                    held.push((id, charge));
                }
                Err(reason) => {
                    drops += 1;
                    assert_eq!(expected, Err(reason.name()), "{label}, step {step}");
                }
            }
            if expected == Ok(true) {
                events.push((request.ingress, PauseAction::Pause));
            }
        } else if !held.is_empty() {
            let (id, charge) = held.swap_remove((draw >> 8) as usize % held.len());
            buffer.release(charge);
            let resumed = oracle.release(id).map(|account| account as u16);
            events.extend(resumed.map(|account| (account, PauseAction::Resume)));
        }
        let reported: Vec<_> = std::iter::from_fn(|| buffer.poll_pause())
            .map(|pause| (pause.ingress, pause.action))
            .collect();
        assert_eq!(reported, events, "{label}, step {step}");
        let port = (draw >> 32) as u16 % PORTS;
        let pool = buffer.pool_bytes(PortId(port), QueueId(QUEUES - 1));
        assert_eq!(i128::from(pool), oracle.egress.pool(port.into()), "{label}");
    }
    assert!(drops > 0, "{label}: nothing was dropped");
}

/// An oracle without ingress accounting.
fn lossy(egress: Egress) -> Ingress {
    let none = Lossless {
        buffer: 0,
        classes: CLASSES.into(),
        bypass: (0..CLASSES.into()).collect(),
        reserve: 0,
        headrooms: vec![0; PORTS.into()],
        shifts: vec![0; PORTS.into()],
        per_account: false,
        rule: Rule::Shift { resume_offset: 0 },
    };
    Ingress::new(none, Mmu::new(egress, PORTS.into()))
}

#[test]
fn per_port_limits_agree_with_the_oracle() {
    for (seed, limit) in [1, 9000, 20_000, i128::from(u32::MAX)].into_iter().enumerate() {
        let buffer = config("per-port", &[("limit", &format!("{limit}B"))]);
        let oracle = lossy(Egress::PerPort { limit });
        compare("per-port", buffer.build(PORTS, QUEUES).unwrap(), oracle, 1000, seed as u64);
    }
}

#[test]
fn per_queue_limits_agree_with_the_oracle() {
    for (seed, port_limit) in [None, Some(1), Some(12_000)].into_iter().enumerate() {
        let text = port_limit.map_or("none".into(), |limit: i128| format!("{limit}B"));
        let limits = [("limit", "5000B, 9000B, 3000B"), ("port_limit", text.as_str())];
        let oracle = lossy(Egress::PerQueue { limits: vec![5000, 9000, 3000], port_limit });
        let buffer = config("per-queue", &limits).build(PORTS, QUEUES).unwrap();
        compare(&text, buffer, oracle, 1000, seed as u64);
    }
}

/// All combinations of the shared buffer's options: text form and oracle.
fn shared_buffers() -> Vec<(Config, Egress)> {
    let mut all = Vec::new();
    let pools = [("", vec![0, 0, 1, 1]), ("0, 1, 0, 2", vec![0, 1, 0, 2])];
    let alphas = [
        ("4", vec![(4, 1); 3]),
        ("1/128", vec![(1, 128); 3]),
        ("1/3, 8, 0.7", vec![(1, 3), (8, 1), (7, 10)]),
        ("4294967295", vec![(u32::MAX.into(), 1); 3]),
    ];
    let reserves = [
        ("per-port", Owner::Port, false),
        ("per-queue", Owner::Queue, false),
        ("leaking", Owner::Port, true),
    ];
    for (pool_text, pools) in &pools {
        for (alpha_text, alphas) in &alphas {
            for (reserve_text, reserve, leaks) in reserves {
                for reserve_size in [0, 1500, 7000] {
                    for compare_text in ["with-packet", "before-packet"] {
                        for (length_text, length) in
                            [("queue", Owner::Queue), ("port", Owner::Port)]
                        {
                            let fields = [
                                ("pool_size", "30KB"),
                                ("ports_per_pool", "2"),
                                ("pools", *pool_text),
                                ("alpha", *alpha_text),
                                ("reserve", reserve_text),
                                ("reserve_size", &format!("{reserve_size}B")),
                                ("compare", compare_text),
                                ("length", length_text),
                            ];
                            let egress = Egress::Shared {
                                pool_size: 30_000,
                                pools: pools.clone(),
                                alphas: alphas.clone(),
                                reserve_size,
                                reserve,
                                leaks,
                                counts_packet: compare_text == "with-packet",
                                length,
                            };
                            all.push((config("dynamic-threshold", &fields), egress));
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn shared_buffers_agree_with_the_oracle() {
    for (seed, (config, egress)) in shared_buffers().into_iter().enumerate() {
        let buffer = config.build(PORTS, QUEUES).unwrap();
        compare(&format!("{config:?}"), buffer, lossy(egress), 400, seed as u64);
    }
}

#[test]
fn lossless_buffers_agree_with_the_oracle_alone_and_over_egress_buffers() {
    let rules = [
        ("shift", Rule::Shift { resume_offset: 700 }),
        ("factor", Rule::Factor(3, 2)),
        ("static", Rule::Static { xoff: 4000, xon: 1500 }),
    ];
    let (shared_config, shared) = shared_buffers().swap_remove(25);
    let egresses = [
        (None, Egress::Unlimited),
        (Some(config("per-port", &[("limit", "15KB")])), Egress::PerPort { limit: 15_000 }),
        (Some(shared_config), shared),
    ];
    let mut seed = 0;
    for (rule_text, rule) in rules {
        for (bypass_text, bypass) in [("0", vec![0]), ("", vec![]), ("1, 2", vec![1, 2])] {
            for (per_account, provision) in [(false, "per-port"), (true, "per-account")] {
                for reserve in [0, 1000] {
                    for (egress_config, egress) in &egresses {
                        let fields = [
                            ("buffer", "60KB"),
                            ("classes", "3"),
                            ("bypass", bypass_text),
                            ("reserve", &format!("{reserve}B")),
                            ("headroom", "2KB, 3KB, 0B, 1KB"),
                            ("provision", provision),
                            ("rule", rule_text),
                            ("shift", "0, 1, 2, 3"),
                            ("resume_offset", "700B"),
                            ("factor", "3/2"),
                            ("xoff", "4KB"),
                            ("xon", "1.5KB"),
                        ];
                        let Config::Pfc(pfc) = config("pfc", &fields) else {
                            panic!("the configuration is PFC");
                        };
                        let lossless = Lossless {
                            buffer: 60_000,
                            classes: CLASSES.into(),
                            bypass: bypass.clone(),
                            reserve,
                            headrooms: vec![2000, 3000, 0, 1000],
                            shifts: vec![0, 1, 2, 3],
                            per_account,
                            rule,
                        };
                        let all = match egress_config {
                            None => Config::Pfc(pfc),
                            Some(egress) => Config::PfcOver(Box::new((pfc, egress.clone()))),
                        };
                        let buffer = all.build(PORTS, QUEUES).unwrap();
                        let mmu = Mmu::new(egress.clone(), PORTS.into());
                        let oracle = Ingress::new(lossless, mmu);
                        compare(&format!("{all:?}"), buffer, oracle, 600, seed);
                        seed += 1;
                    }
                }
            }
        }
    }
}
