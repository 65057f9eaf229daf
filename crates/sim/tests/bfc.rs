//! BFC in whole runs: queues and idle times of links agree with theory, and pauses stop only the
//! intended flows.

#![expect(clippy::cast_precision_loss, reason = "shares of small numbers")]

mod common;

use common::{flow, link_to, ports, run, setup};
use tidegate_sim::flow_control;
use tidegate_sim::flow_control::bfc::{self, Takes};
use tidegate_sim::observe::Which;
use tidegate_sim::setup::{Accounting, Stop, Transport};
use tidegate_sim::topology::star;
use tidegate_sim::{Flow, HostId, Network, Outcome, Setup};
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{QueueId, Rate, Span, Time};

const RATE: Rate = Rate::from_gbps(40);
const PACKET: u32 = 1_000;
const QUEUES: &str = "sp-dwrr strict=1 quanta=1062,1062,1062,1062,1062,1062,1062";

/// Hosts that send at the speed of their links in any case, to the last one.
fn unbridled(network: Network, flows: Vec<Flow>) -> Setup {
    let config = dcqcn::Config {
        payload: PACKET,
        retransmit_timeout: Span::from_secs(10),
        ..dcqcn::Config::default()
    };
    Setup {
        switch: ports("none", QUEUES, "unlimited"),
        nic: Some(ports("none", QUEUES, "unlimited")),
        flow_control: Some(flow_control::Config::Bfc(bfc::Config::default())),
        transports: vec![Transport::other(config)],
        accounting: Accounting { per_packet: 62, least: 0 },
        ..setup(network, flows)
    }
}

/// Senders 13 us from the switch, and a receiver at 1 us.
fn senders(count: u32) -> Network {
    let config = star::Config {
        hosts: count + 1,
        host_rate: RATE,
        host_delay: Span::from_us(1),
        host_delays: vec![Span::from_us(13); count as usize],
        ..star::Config::default()
    };
    config.build().expect("the topology's settings are valid")
}

fn until(whole: &Setup, at: Time) -> Outcome {
    let stop = Stop { at, ..Stop::default() };
    run(&Setup { stop, ..whole.clone() })
}

/// A queue that is filled `a` times as fast as it drains is paused a round trip `H` of its link
/// after it got too long, when everything on its way is flagged. When the last flagged packet
/// leaves, the queue is empty, and stays empty for another `H`. This does not depend on whether
/// each flow has its own queue or all share one. The queue fills for `1 / (a - 1)`, overshoots for
/// 1, drains for `a`, and idles for 1, all in units of `H`, because its threshold is the number of
/// bytes that drain in `H`. So the link is idle for `1 / (2 + a + 1 / (a - 1))` of the time, and
/// the queue is at most `a` times its threshold.
#[test]
fn synchronized_flows_leave_the_link_idle_as_theory_predicts() {
    for (count, takes) in
        [(2, Takes::Unkept), (3, Takes::Unkept), (4, Takes::Unkept), (2, Takes::Empty)]
    {
        let flows = (0..count).map(|src| flow(Time::ZERO, src, count, Flow::ENDLESS));
        let mut whole = unbridled(senders(count), flows.collect());
        whole.flow_control =
            Some(flow_control::Config::Bfc(bfc::Config { takes, ..bfc::Config::default() }));
        let link = link_to(&whole.network, count);
        whole.observe.ports = Which::Only(vec![link]);
        let times = [10, 30].map(Time::from_ms);
        let [before, after] = times.map(|at| until(&whole, at));
        let bytes = after.links[link.index()].bytes - before.links[link.index()].bytes;
        let used = bytes as f64 * 8.0 / (RATE.as_bps() as f64 * 0.02);
        let a = f64::from(count);
        let period = 2.0 + a + 1.0 / (a - 1.0);
        let idle = 1.0 / period;
        assert!(
            ((1.0 - used) - idle).abs() < 0.01,
            "{count} flows: idle for {:.4}, not {idle:.4}",
            1.0 - used
        );
        // Each flow is paused once per period.
        let up = Network::reverse(link_to(&whole.network, 0));
        let pauses = after.links[up.index()].pauses - before.links[up.index()].pauses;
        let expected = 0.02 / (period * 26e-6);
        assert!(
            (f64::from(pauses) / expected - 1.0).abs() < 0.03,
            "{count} flows: {pauses} pauses, not {expected:.1}"
        );
        // The link sends 130 KB in a round trip: the peak of each queue. If a flow may take a queue
        // whose own flow has no packets there at the moment, the second flow shares the first one's
        // queue, because the first packet has left when it arrives.
        let peak = match takes {
            Takes::Empty => 130_000.0 * a,
            Takes::Unkept => 130_000.0,
        };
        let longest = after.observed.queues.iter().map(|(_, seen)| seen.bytes.max());
        let longest = longest.max().expect("the port is observed and has queues");
        assert!((longest as f64 / peak - 1.0).abs() < 0.05, "{count} flows: {longest} bytes");
        assert_eq!(after.tally.dropped, 0);
    }
}

/// A lone flow fills the link: it is never paused.
#[test]
fn a_flow_alone_is_not_paused() {
    let whole = unbridled(senders(1), vec![flow(Time::ZERO, 0, 1, 30_000_000)]);
    let outcome = run(&whole);
    assert!(outcome.links.iter().all(|link| link.pauses == 0));
    // 30,000 packets of 1062 bytes at 40 Gb/s and 14 us.
    let took = outcome.flows[0].received_at - Time::ZERO;
    let expected = RATE.time_for(PACKET + 62) * 30_001 + Span::from_us(14);
    assert_eq!(took, expected);
}

/// Host 0 sends to hosts 2 and 3 over the same link. Host 1 sends to host 2 too. The flow to the
/// shared destination is paused, the one beside it is not.
#[test]
fn a_pause_stops_one_flow_of_a_host_and_no_other() {
    let config = star::Config {
        hosts: 4,
        host_rate: RATE,
        host_delay: Span::from_us(13),
        ..star::Config::default()
    };
    let network = config.build().expect("the topology's settings are valid");
    let flows = vec![
        flow(Time::ZERO, 0, 2, Flow::ENDLESS),
        flow(Time::ZERO, 1, 2, Flow::ENDLESS),
        flow(Time::ZERO, 0, 3, Flow::ENDLESS),
    ];
    let whole = unbridled(network, flows);
    let [before, after] = [10, 30].map(|ms| until(&whole, Time::from_ms(ms)));
    let to = |host| {
        let link = link_to(&whole.network, host).index();
        (after.links[link].bytes - before.links[link].bytes) as f64 * 8.0 / 0.02 / 40e9
    };
    let up = Network::reverse(link_to(&whole.network, 0)).index();
    assert!(after.links[up].pauses > 50, "{}", after.links[up].pauses);
    // On host 0's link, flows that are paused at times and flows that are not fill the link
    // together.
    let of_host = (after.links[up].bytes - before.links[up].bytes) as f64 * 8.0 / 0.02 / 40e9;
    assert!(of_host > 0.99, "{of_host}");
    assert!(to(3) > 0.5, "{}", to(3));
}

/// Three switches in a row: the last one pauses a queue of the previous one, which pauses the host.
#[test]
fn pauses_go_back_hop_by_hop() {
    let mut network = Network::new(4, 2);
    let (first, second) = (network.switch(0), network.switch(1));
    let delay = Span::from_us(2);
    network.connect(HostId(0).node(), first, RATE, delay);
    network.connect(HostId(1).node(), first, RATE, delay);
    network.connect(HostId(2).node(), second, RATE, delay);
    network.connect(HostId(3).node(), second, RATE, delay);
    let between = network.connect(first, second, RATE, delay);
    let flows = vec![
        flow(Time::ZERO, 0, 3, 40_000_000),
        flow(Time::ZERO, 2, 3, 40_000_000),
        flow(Time::from_us(100), 1, 2, 4_000_000),
    ];
    let mut whole = unbridled(network, flows);
    whole.observe.ports = Which::Only(vec![between]);
    let outcome = run(&whole);
    assert_eq!(outcome.tally.dropped, 0);
    assert!(outcome.links[between.index()].pauses > 0);
    let up = |host| Network::reverse(link_to(&whole.network, host)).index();
    assert!(outcome.links[up(0)].pauses > 0);
    // Host 1's flow crosses the link between the switches, beside the paused queue, with at least
    // its share.
    let took = outcome.flows[2].completion(&whole.flows[2]);
    let took = took.expect("the flow finishes");
    let alone = RATE.time_for(PACKET + 62) * 4_000;
    assert!(took < alone * 3, "{took} against {alone} alone");
    let queues = outcome.observed.queues.iter();
    let used: Vec<QueueId> =
        queues.filter(|(_, seen)| seen.bytes.max() > 0).map(|(_, seen)| seen.queue).collect();
    assert!(used.len() >= 2, "{used:?}");
}
