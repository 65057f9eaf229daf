//! Fixtures of the tests of whole runs.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod cases;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use tidegate_dataplane::{NonEct, buffer, mark, sched};
use tidegate_sim::observe::Observe;
use tidegate_sim::setup::{
    Accounting, HostDelay, HostReceive, Opening, Ports, Stack, Stop, Tcp, Transport,
};
use tidegate_sim::topology::{dumbbell, star};
use tidegate_sim::{Ecmp, Flow, HostId, LinkId, Network, Outcome, Setup, run};
use tidegate_transport::cc;
use tidegate_units::{Rate, Rng, Span, Time};

/// Packets of the default stacks: 1460 bytes of payload and 40 of headers.
pub(crate) const PACKET: u64 = 1500;

/// A scheme with some of its fields set: `"tcn threshold=78us"`.
pub(crate) fn marking(text: &str) -> mark::Config {
    let (mut config, fields) = named(text, mark::Config::named);
    for (field, value) in fields {
        config.set(field, value).expect("the test's settings are valid");
    }
    config
}

/// A scheduler with some of its fields set.
pub(crate) fn scheduling(text: &str) -> sched::Config {
    let (mut config, fields) = named(text, sched::Config::named);
    for (field, value) in fields {
        config.set(field, value).expect("the test's settings are valid");
    }
    config
}

/// A buffer with some of its fields set.
pub(crate) fn buffer(text: &str) -> buffer::Config {
    let (mut config, fields) = named(text, buffer::Config::named);
    for (field, value) in fields {
        config.set(field, value).expect("the test's settings are valid");
    }
    config
}

fn named<C>(text: &str, find: fn(&str) -> Option<C>) -> (C, Vec<(&str, &str)>) {
    let mut words = text.split_whitespace();
    let name = words.next().expect("the text begins with a name");
    let config = find(name).expect("the name is known");
    let fields = words.map(|word| word.split_once('=').expect("fields are given as a=b"));
    (config, fields.collect())
}

/// Ports by the texts of their three parts.
pub(crate) fn ports(marks: &str, schedules: &str, buffers: &str) -> Ports {
    Ports {
        marking: marking(marks),
        scheduling: scheduling(schedules),
        buffer: buffer(buffers),
        non_ect: NonEct::Pass,
    }
}

/// A published TCP stack with a congestion control.
pub(crate) fn stack(profile: &str, cc: &str) -> Stack {
    Stack {
        config: tidegate_transport::Config::profile(profile).expect("the profile is known"),
        cc: cc::Config::named(cc).expect("the rule is known"),
    }
}

/// The same stack at both ends.
pub(crate) fn tcp(stack: Stack) -> Transport {
    Transport::Tcp(Box::new(Tcp { source: stack.clone(), sink: stack }))
}

/// Bytes from one host to another, written at once.
pub(crate) fn flow(start: Time, src: u32, dst: u32, bytes: u64) -> Flow {
    Flow { start, bytes, src: HostId(src), dst: HostId(dst), rate: None, service: 0, group: 0 }
}

/// Hosts around a switch, with cables of 10 Gb/s and this delay.
pub(crate) fn star(hosts: u32, host_delay: Span) -> Network {
    let config = star::Config { hosts, host_delay, ..star::Config::default() };
    config.build().expect("the topology's settings are valid")
}

/// Switches in a ring, each with one host. If packets to the host two switches on all go around in
/// one direction, pauses can hold each other.
pub(crate) fn ring(switches: u32, rate: Rate, delay: Span) -> Network {
    let mut network = Network::new(switches, switches);
    for number in 0..switches {
        let own = network.switch(number);
        network.connect(HostId(number).node(), own, rate, delay);
    }
    for number in 0..switches {
        let next = network.switch((number + 1) % switches);
        network.connect(network.switch(number), next, rate, delay);
    }
    network
}

/// Hosts on both sides of a cable, all at 10 Gb/s except the given bottleneck.
pub(crate) fn dumbbell(left: u32, right: u32, bottleneck_rate: Rate) -> Network {
    let config = dumbbell::Config { left, right, bottleneck_rate, ..dumbbell::Config::default() };
    config.build().expect("the topology's settings are valid")
}

/// A run of DCTCP as in the TCN simulations, over connections with a completed handshake.
pub(crate) fn setup(network: Network, flows: Vec<Flow>) -> Setup {
    Setup {
        network,
        flows,
        paths: Vec::new(),
        think_times: Vec::new(),
        probes: Vec::new(),
        switch: ports("queue-red", "fifo", "per-port limit=1500KB"),
        flow_control: None,
        custom: None,
        nic: None,
        transports: vec![tcp(stack("tcn-sim", "dctcp"))],
        accounting: Accounting::default(),
        opening: Opening::Ready,
        tagging: None,
        host_delay: HostDelay::default(),
        host_receive: HostReceive::default(),
        threads: NonZeroUsize::MIN,
        ecmp: Ecmp::PerNode,
        observe: Observe::default(),
        stop: Stop::default(),
        seed: 1,
    }
}

/// Runs a valid setup.
pub(crate) fn run(setup: &Setup) -> Outcome {
    run::run(setup, &AtomicBool::new(false)).expect("the setup is valid")
}

/// The link to a host: the bottleneck of a star.
pub(crate) fn link_to(network: &Network, host: u32) -> LinkId {
    let links = network.links().iter();
    let index = links
        .enumerate()
        .find(|(_, link)| link.to == HostId(host).node())
        .expect("every host has a link")
        .0;
    LinkId(index as u32)
}

/// Random draws for test cases.
pub(crate) struct Dice(Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rng::new(seed, 0x7e57))
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// Draws an event with probability 1 in `count`.
    pub(crate) fn once_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len() as u64) as usize]
    }

    /// Time until the next event of a Poisson process, by inversion. The logarithm is computed in
    /// integers, because results must not depend on a machine's mathematics library.
    pub(crate) fn until_next(&mut self, mean: Span) -> Span {
        // −ln u = k · ln 2 + (−ln m) with u = m · 2^−k and m in [1/2, 1).
        let draw = self.0.next_u64() | 1;
        let zeros = draw.leading_zeros();
        let fraction = u128::from(draw << zeros); // m · 2^64
        // −ln m = Σ (1 − m)^i / i, in units of 2^−64.
        let rest = (1_u128 << 64) - fraction;
        let (mut power, mut sum) = (rest, 0_u128);
        for i in 1..=64 {
            sum += power / i;
            power = (power * rest) >> 64;
        }
        let ln_2 = 12_786_308_645_202_655_660_u128; // ln 2 · 2^64
        let minus_ln = u128::from(zeros) * ln_2 + sum;
        // Fits: below 45 times the mean, whose bits above 2^20 ps are not needed.
        let scaled = (minus_ln >> 20) * u128::from(mean.as_ps());
        Span::from_ps((scaled >> 44) as u64)
    }
}
