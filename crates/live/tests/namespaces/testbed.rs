//! Plans on testbeds: the plan is carried out, and the switch's counters agree with the kernels'.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidegate_dataplane::observe::Window;
use tidegate_dataplane::{mark, sched};
use tidegate_live::Config;
use tidegate_live::config::PortSettings;
use tidegate_live::testbed::{Bed, End, Flow, Opening, Ping, Plan, Sampling, Stop, Tcp, run};
use tidegate_units::{Rate, Span, Time};

/// A switch whose ports are 100 Mb/s, with two queues that mark above ten packets.
fn config(hosts: usize) -> Config {
    let mut config = Config::new();
    config.marking = mark::Config::named("queue-red").unwrap();
    config.marking.set("threshold", "15380B").unwrap();
    config.scheduling = sched::Config::named("dwrr").unwrap();
    config.scheduling.set("quanta", "1538, 1538").unwrap();
    config.buffer.set("limit", "2MB").unwrap();
    let rate: Rate = "100Mbps".parse().unwrap();
    for _ in 0..hosts {
        let mut port = PortSettings::new("", rate);
        port.uplink = Some(rate);
        port.delay = Span::from_us(100);
        config.ports.push(port);
    }
    config
}

fn flow(from: u16, dscp: u8, bytes: Option<u64>) -> Flow {
    Flow { start: Time::from_ms(10), bytes, from, to: 2, dscp, rate: None }
}

fn plan(opening: Opening, flows: Vec<Flow>) -> Plan {
    Plan {
        flows,
        pings: vec![Ping {
            from: 0,
            to: 2,
            start: Time::ZERO,
            every: Span::from_ms(5),
            count: Some(20),
            bytes: 84,
            dscp: 1,
        }],
        opening,
        stop: Stop { at: Some(Time::from_secs(20)), finished: None, stalled: Span::from_secs(10) },
        window: Window { from: Time::ZERO, to: Time::MAX },
        sampling: None,
        tcp: Tcp {
            congestion: "reno".into(),
            ecn: true,
            initial_window: Some(10),
            rto_min: Some(Span::from_ms(10)),
            quick_ack: false,
            slow_start_after_idle: true,
        },
    }
}

pub(crate) fn a_plan_is_carried_out_and_all_marks_arrive() {
    let bed = Bed::new(3).unwrap();
    let mut paced = flow(1, 0, Some(200_000));
    paced.rate = Some("20Mbps".parse().unwrap());
    for opening in [Opening::Handshake, Opening::Ready, Opening::Persistent] {
        let flows = vec![flow(0, 0, Some(2_000_000)), flow(1, 1, Some(2_000_000)), paced];
        let mut plan = plan(opening, flows);
        plan.sampling = Some(Sampling {
            from: Time::ZERO,
            to: Time::MAX,
            interval: Span::from_ms(10),
            limit: 1_000,
            flows: vec![1],
        });
        let outcome = run(&bed, &config(3), &plan, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.end, End::Finished, "{opening:?}");
        for (flow, result) in plan.flows.iter().zip(&outcome.flows) {
            assert!(result.started_at.unwrap() >= flow.start);
            assert!(result.received_at.unwrap() > result.started_at.unwrap());
            assert_eq!(Some(result.received_in_window), flow.bytes);
        }
        let received = &outcome.progress.unwrap().bytes[0];
        // All intervals except the incomplete one; two flows share 100 Mb/s.
        let sum: u64 = received.iter().sum();
        assert!((1_800_000..=2_000_000).contains(&sum), "{received:?}");
        assert!(received.iter().all(|&bytes| bytes <= 140_000), "{received:?}");
        let counters = &outcome.counters;
        assert_eq!(counters.imbalance(), 0, "{counters:?}");
        let marked: u64 = counters.ports.iter().map(|port| port.marked).sum();
        assert!(marked > 0, "{counters:?}");
        assert_eq!(marked, outcome.kernels.marked);
        assert_eq!(outcome.kernels.damaged, 0);
        assert!(outcome.pings[0].len() > 10, "{:?}", outcome.pings);
        let seen = &outcome.ports[2];
        // Each service had its own queue.
        assert!(seen.queues.iter().all(|queue| queue.sent() > 1_000));
    }
}

pub(crate) fn a_run_that_is_interrupted_ends_and_leaves_nothing() {
    let before = named_namespaces();
    let bed = Bed::new(3).unwrap();
    let endless = vec![flow(0, 0, None), flow(1, 1, None)];
    let plan = plan(Opening::Ready, endless);
    let interrupt = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| run(&bed, &config(3), &plan, &interrupt));
        thread::park_timeout(Duration::from_millis(600));
        interrupt.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap()
    });
    assert_eq!(outcome.end, End::Interrupted);
    assert!(outcome.flows.iter().all(|flow| flow.received_at.is_none()));
    drop(bed);
    assert_eq!(named_namespaces(), before);
}

pub(crate) fn a_congestion_control_that_the_kernel_lacks_is_named() {
    let bed = Bed::new(3).unwrap();
    let mut plan = plan(Opening::Ready, vec![flow(0, 0, Some(1))]);
    plan.tcp.congestion = "no-such".into();
    let error = run(&bed, &config(3), &plan, &AtomicBool::new(false)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no-such") && text.contains("reno"), "{text}");
}

fn named_namespaces() -> usize {
    std::fs::read_dir("/run/netns").map_or(0, Iterator::count)
}
