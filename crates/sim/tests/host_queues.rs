//! Host queues: the order in which packets leave, the limit of a connection's waiting bytes, and
//! interaction of flows from one host.

mod common;

use common::{Dice, flow, ports, run, setup, stack, star, tcp};
use tidegate_sim::observe::journal::Journal;
use tidegate_sim::observe::{Sampling, Which};
use tidegate_sim::setup::{Stack, Stop};
use tidegate_sim::{Flow, LinkId, Outcome, Setup};
use tidegate_transport::config::Qdisc;
use tidegate_units::{Bytes, QueueId, Rate, Ratio, Size, Span, Time};

/// The link from host 0 of a star.
const FROM_HOST: LinkId = LinkId(0);

/// A packet of 1500 bytes takes 1.2 µs at 10 Gb/s.
const PACKET: Span = Span::from_ns(1_200);

/// DCTCP that sends `window` packets at once, on hosts with this qdisc.
fn sender(qdisc: Qdisc, window: u32) -> Stack {
    let mut stack = stack("tcn-sim", "dctcp");
    stack.config.qdisc = qdisc;
    stack.config.initial_window = Size::Packets(window);
    stack
}

/// Records every packet of host 0, for these flows over cables of 10 Gb/s that are so long that no
/// ACK returns within 200 µs.
fn journal(stack: Stack, flows: Vec<Flow>) -> Vec<(u32, Time, Time)> {
    let mut setup = Setup {
        transports: vec![tcp(stack)],
        stop: Stop { at: Time::from_us(200), ..Stop::default() },
        ..setup(star(4, Span::from_us(100)), flows)
    };
    assert_eq!(setup.network.link(FROM_HOST).from.0, 0);
    setup.observe.journal = Some(Journal { ports: vec![FROM_HOST], ..Journal::default() });
    let outcome = run(&setup);
    let mut packets: Vec<(u32, Time, Time)> = outcome.observed.journals[0]
        .packets
        .iter()
        .map(|packet| {
            let flow = packet.flow.expect("the run has no probes");
            (flow, packet.arrived, packet.left)
        })
        .collect();
    packets.sort_by_key(|&(_, _, left)| left);
    packets
}

/// Flows of the departed packets, as runs of one flow.
fn turns(packets: &[(u32, Time, Time)]) -> Vec<(u32, usize)> {
    let chunks = packets.chunk_by(|one, other| one.0 == other.0);
    chunks.map(|chunk| (chunk[0].0, chunk.len())).collect()
}

fn us(tenths: u64) -> Time {
    Time::from_ns(tenths * 100)
}

/// Both flows hand over 40 packets at the same time. The first packet finds the card idle and costs
/// no credit. Of the others each flow, still new, may send 15,000 bytes: ten packets. Every later
/// turn is worth 3,000 bytes: two packets.
#[test]
fn flows_take_turns_of_two_packets_after_their_first_ten() {
    let flows = [1, 2].map(|dst| flow(Time::ZERO, 0, dst, 40 * 1460));
    let packets = journal(sender(Qdisc::Fq, 40), flows.to_vec());
    let mut expected = vec![(0, 11), (1, 10)];
    // 29 and 30 packets are left.
    for _ in 0..14 {
        expected.extend([(0, 2), (1, 2)]);
    }
    expected.extend([(0, 1), (1, 2)]);
    assert_eq!(turns(&packets), expected);
    // The wire is never idle in between.
    for (number, &(_, came, left)) in (0_u64..).zip(&packets) {
        assert_eq!((came, left), (Time::ZERO, Time::ZERO + PACKET * number));
    }
    // With first in, first out, they leave in order of arrival.
    let flows = [1, 2].map(|dst| flow(Time::ZERO, 0, dst, 40 * 1460));
    let packets = journal(sender(Qdisc::Fifo, 40), flows.to_vec());
    assert_eq!(turns(&packets), [(0, 40), (1, 40)]);
}

/// A second flow hands over four packets while 31 of the first flow wait. The first flow has used
/// up its initial credit at 13.2 µs: its first packet left at 0, and ten others from 1.2 µs on.
#[test]
fn a_new_flow_goes_first() {
    let fresh = |start| {
        let flows = vec![flow(Time::ZERO, 0, 1, 40 * 1460), flow(start, 0, 2, 4 * 1460)];
        journal(sender(Qdisc::Fq, 40), flows)
    };
    // Both flows are new at 10 µs, and the first one's turn lasts until 13.2 µs.
    let packets = fresh(us(100));
    assert_eq!(turns(&packets), [(0, 11), (1, 4), (0, 29)]);
    assert_eq!(packets[11].2, us(132));
    // At 30 µs the 26th packet begins to leave, and the new flow is next, in the middle of a turn
    // of the old one.
    let packets = fresh(us(300));
    assert_eq!(turns(&packets), [(0, 26), (1, 4), (0, 14)]);
    assert_eq!(packets[26].2, us(312));
}

/// Times at which the packets of a flow enter their host's queue, depending on the limit of its
/// bytes there.
#[test]
fn a_sender_above_its_limit_waits_for_a_departure() {
    let came = |limit: u64| {
        let mut stack = sender(Qdisc::Fq, 40);
        stack.config.limit_output = Bytes(limit);
        let packets = journal(stack, vec![flow(Time::ZERO, 0, 1, 6 * 1460)]);
        // With any limit, the wire is busy until all packets have left.
        for (number, &(_, _, left)) in (0_u64..).zip(&packets) {
            assert_eq!(left, Time::ZERO + PACKET * number, "{limit}");
        }
        let came = packets.iter().map(|&(_, came, _)| came.as_ns() / 100);
        came.collect::<Vec<_>>()
    };
    // A flow may send while its waiting bytes are at most the limit. Below two packets: the third
    // waits until the first has left.
    // first has left.
    assert_eq!(came(2_999), [0, 0, 12, 24, 36, 48]);
    // Equal: the third comes at once, and the fourth when two are left.
    assert_eq!(came(3_000), [0, 0, 0, 12, 24, 36]);
    assert_eq!(came(4_499), [0, 0, 0, 12, 24, 36]);
    assert_eq!(came(4_500), [0, 0, 0, 0, 12, 24]);
    // Less than one packet: still one at a time.
    assert_eq!(came(1), [0, 12, 24, 36, 48, 60]);
    assert_eq!(came(1 << 20), [0; 6]);
}

/// Smallest and largest number of bytes waiting at a host of 1 Gb/s in the steady state, for a flow
/// limited by its own card, with a window of at most 800 KB and no marks.
fn own_bottleneck(qdisc: Qdisc) -> [u64; 2] {
    let network = tidegate_sim::topology::star::Config {
        hosts: 2,
        host_rate: Rate::from_gbps(1),
        host_delay: Span::from_us(20),
        ..Default::default()
    };
    let mut sender = stack("rfc", "dctcp");
    sender.config.qdisc = qdisc;
    sender.config.max_window = Some(Size::Bytes(Bytes(800_000)));
    let mut setup = Setup {
        transports: vec![tcp(sender)],
        switch: ports("none", "fifo", "unlimited"),
        stop: Stop { at: Time::from_ms(600), ..Stop::default() },
        ..setup(
            network.build().expect("the topology's settings are valid"),
            vec![flow(Time::ZERO, 0, 1, Flow::ENDLESS)],
        )
    };
    setup.observe.ports = Which::Only(vec![FROM_HOST]);
    setup.observe.window.from = Time::from_ms(400);
    let outcome = run(&setup);
    assert!(outcome.links[0].bytes > 74_000_000, "the wire is always busy");
    let queue = outcome.observed.queue(FROM_HOST, QueueId(0));
    let bytes = &queue.expect("the queue is observed").bytes;
    let least = bytes.percentile(Ratio::new(1, 1_000).expect("the denominator is not zero"));
    [least.expect("the window is not empty"), bytes.max()]
}

/// In an endless slow start the pacing rate is twice the window per round trip. The limit L is the
/// number of bytes sent in 1/1024 s, and a round trip is 93 µs plus the time that L takes at 125
/// MB/s: L = 2 · 800 KB / 1024 / (93 µs + L / 125 MB/s), which gives 436 KB. Without a limit the
/// whole window waits, except for 12 KB in flight.
#[test]
fn a_lone_flow_holds_one_millisecond_of_its_pacing_rate() {
    let [least, most] = own_bottleneck(Qdisc::Fq);
    assert!(least > 425_000 && most < 447_000, "{least} to {most} bytes");
    let [least, _] = own_bottleneck(Qdisc::Fifo);
    assert!(least > 780_000, "{least} bytes");
}

/// Two endless flows from host 0, the second of which starts 5 ms later, and a short one at 20 ms.
fn shared_card(qdisc: Qdisc) -> Outcome {
    let mut sender = stack("rfc", "dctcp");
    sender.config.qdisc = qdisc;
    let mut setup = Setup {
        transports: vec![tcp(sender)],
        switch: ports("none", "fifo", "unlimited"),
        stop: Stop { at: Time::from_ms(60), ..Stop::default() },
        ..setup(
            star(4, Span::from_us(10)),
            vec![
                flow(Time::ZERO, 0, 1, Flow::ENDLESS),
                flow(Time::from_ms(5), 0, 2, Flow::ENDLESS),
                flow(Time::from_ms(20), 0, 3, 14_600),
                // The run continues after the short flow.
                flow(Time::from_ms(60), 1, 2, 1),
            ],
        )
    };
    setup.observe.flows = Which::Only(vec![0, 1]);
    setup.observe.window.from = Time::from_ms(20);
    setup.observe.host_waits = true;
    run(&setup)
}

#[test]
fn flows_of_one_host_share_its_card_equally_and_a_short_one_does_not_wait_behind_them() {
    let fair = shared_card(Qdisc::Fq);
    let share = fair.observed.fairness().expect("both flows received data");
    assert!(share > 0.9999, "Jain's index {share}");
    // Alone it takes 10 packets of 1.2 µs and a path of 22.4 µs. Beside the others it waits for the
    // packet on the wire and for one that is due: as a new flow it has credit for all ten packets.
    let time = fair.flows[2].received_at - Time::from_ms(20);
    assert!(time < Span::from_us(35 + 3), "{time}");
    assert!(fair.observed.host_waits[2] <= PACKET, "{:?}", fair.observed.host_waits);
    // In one queue it waits behind both windows.
    let unfair = shared_card(Qdisc::Fifo);
    let slow = unfair.flows[2].received_at - Time::from_ms(20);
    assert!(slow > Span::from_ms(5), "{slow}");
    let waited = unfair.observed.host_waits[2];
    assert!(waited < slow && slow - waited < Span::from_us(35 + 2), "{waited} of {slow}");
}

#[test]
fn observing_the_queue_of_a_host_changes_no_result() {
    let mut dice = Dice::new(9);
    for qdisc in [Qdisc::Fifo, Qdisc::Fq] {
        let flows = (0..60).map(|number| {
            let dst = 1 + dice.below(3) as u32;
            flow(Time::from_us(number * 20), 0, dst, 1 + dice.below(200_000))
        });
        let alone = Setup {
            transports: vec![tcp(sender(qdisc, 10))],
            stop: Stop { at: Time::from_ms(3), ..Stop::default() },
            ..setup(star(4, Span::from_us(5)), flows.collect())
        };
        let mut watched = alone.clone();
        watched.observe.ports = Which::Only(vec![FROM_HOST]);
        watched.observe.series =
            Some(Sampling { queues: vec![(FROM_HOST, QueueId(0))], ..Sampling::default() });
        let [alone, watched] = [&alone, &watched].map(run);
        assert_eq!(alone.fingerprint(), watched.fingerprint());
        assert_eq!(alone.links, watched.links);
        // The maximum of the series agrees with the histogram's: the peak of both is a window or
        // more.
        let queue = watched.observed.queue(FROM_HOST, QueueId(0));
        let peak = queue.expect("the queue is observed").bytes.max();
        let series = watched.observed.series.expect("the series was requested");
        let samples = series.queues[0].samples.iter();
        let most = samples.map(|sample| u64::from(sample.bytes)).max();
        assert!(most <= Some(peak) && most > Some(peak / 2), "{peak}");
    }
}
