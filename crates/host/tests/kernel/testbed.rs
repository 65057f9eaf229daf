//! Scenarios on real packets choose the algorithms as any namespace does.

use std::sync::atomic::AtomicBool;

use tidegate_dataplane::observe::Window;
use tidegate_live::config::PortSettings;
use tidegate_live::testbed::{Bed, End, Flow, Opening, Plan, Stop, Tcp, run};
use tidegate_units::{Rate, Span, Time};

use super::program::Loaded;

/// Two flows into one cable.
fn plan(congestion: &str) -> Plan {
    let flow = |from| Flow {
        start: Time::from_ms(10),
        bytes: Some(1_500_000),
        from,
        to: 2,
        dscp: 0,
        rate: None,
    };
    Plan {
        flows: vec![flow(0), flow(1)],
        pings: Vec::new(),
        opening: Opening::Handshake,
        stop: Stop { at: Some(Time::from_secs(30)), finished: None, stalled: Span::from_secs(10) },
        window: Window { from: Time::ZERO, to: Time::MAX },
        sampling: None,
        tcp: Tcp {
            congestion: congestion.into(),
            ecn: true,
            initial_window: Some(10),
            rto_min: Some(Span::from_ms(10)),
            quick_ack: false,
            slow_start_after_idle: true,
        },
    }
}

pub(crate) fn scenarios_on_real_packets_run_with_each_algorithm() {
    let mut config = super::bed::Bed::config("100Mbps", 10, 500);
    let rate: Rate = "100Mbps".parse().unwrap();
    config.ports = vec![PortSettings::new("", rate); 3];
    for name in ["tg_dctcp", "tg_odctcp_snd", "tg_odctcp_rcv", "tg_ecn_star"] {
        let loaded = Loaded::new(name, &[]);
        let bed = Bed::new(3).unwrap();
        let outcome = run(&bed, &config, &plan(name), &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.end, End::Finished, "{name}");
        let counters = &outcome.counters;
        assert_eq!(counters.imbalance(), 0, "{name}: {counters:?}");
        assert!(outcome.kernels.marked > 0, "{name}: {counters:?}");
        let status = loaded.status();
        assert!(status["opened"].as_u64().unwrap() >= 4, "{status}");
        assert_eq!(status["refused_ecn"], 0, "{status}");
    }
}
