//! CoDel in fixed point against CoDel in real numbers.

use tidegate_dataplane::Pkt;
use tidegate_dataplane::mark::{self, Codel, Cx, MarkDecision, Marker, PortInfo};
use tidegate_testkit::oracle;
use tidegate_units::{Ecn, QueueId, Rate, Rng, Span, Time};

/// Picoseconds in a tick of the fixed-point clock.
const TICK: u64 = 1_024_000;

fn codel(config: &mark::codel::Config) -> Codel {
    let port = PortInfo {
        rate: Rate::from_gbps(10),
        queues: 1,
        round: &|_| None,
        first: None,
        scheduler: "fifo",
        seed: 0,
        stream: 0,
    };
    Codel::new(config, &port).expect("the parameters are in range")
}

/// A packet that leaves at this tick with 3000 bytes behind it.
fn at(tick: u64) -> Cx {
    Cx {
        now: Time::from_ps(tick * TICK),
        queue: QueueId(0),
        queue_bytes: 3000,
        queue_packets: 2,
        port_bytes: 3000,
        port_packets: 2,
        pool_bytes: 0,
        pkt: Pkt { len: 1500, ecn: Ecn::Ect0, ..Pkt::default() },
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "ticks of at most 40 bits")]
fn fixed_point_marks_as_often_as_real_numbers() {
    // A long interval, so that rounding a distance to ticks does not matter.
    let interval = 1_000_000;
    let config = mark::codel::Config {
        target: Span::from_ps(50 * TICK),
        interval: Span::from_ps(interval * TICK),
        ..mark::codel::Config::default()
    };
    for seed in 0..4 {
        let mut fixed = codel(&config);
        let mut real = oracle::codel::Codel::new(50.0, interval as f64, config.mtu);
        let mut rng = Rng::new(seed, 0);
        let (mut tick, mut counts) = (1000, [0_u32; 2]);
        for packet in 0..300_000_u32 {
            tick += u64::from(rng.next_u32() % 400);
            // Occasionally a packet with a short wait; never with the first seed.
            let good = seed > 0 && u64::from(packet >> 15) % 3 == seed % 3 && packet % 4096 == 0;
            let sojourn = if good { 10 } else { 60 };
            counts[0] += u32::from(
                fixed.on_dequeue(&at(tick), Span::from_ps(sojourn * TICK)) != MarkDecision::Pass,
            );
            counts[1] += u32::from(real.dequeue(tick as f64, sojourn as f64, 3000));
        }
        let [fixed, real] = counts;
        // The inaccurate first step moves every later mark forward by a fifth of an interval.
        assert!(real > 40, "{real}");
        assert!(fixed.abs_diff(real) <= 3 + real / 20, "seed {seed}: {fixed}, {real}");
    }
}
