//! The scenarios as setups of the simulator, with the transport of ns-3.37's DCTCP.

use std::num::NonZeroUsize;

use tidegate_dataplane::NonEct;
use tidegate_dataplane::buffer::{self, dynamic_threshold};
use tidegate_dataplane::mark::{self, queue_red, tcn};
use tidegate_dataplane::sched::{self, dwrr};
use tidegate_sim::observe::Observe;
use tidegate_sim::setup::{
    Accounting, HostDelay, HostReceive, Opening, Ports, Setup, Stack, Stop, Tcp, Transport,
};
use tidegate_sim::topology::{leaf_spine, star};
use tidegate_sim::{Ecmp, Flow, Network};
use tidegate_transport::cc::{self, dctcp};
use tidegate_transport::config::{
    Avoidance, Config, Credit, Echo, Ect, Growth, IdleRestart, SynLoss,
};
use tidegate_units::{ByteTime, Bytes, ConfigError, Settings, Size};

use crate::flows::Racks;
use crate::options::{Options, Scenario};

/// Bytes of the IP and TCP headers.
pub(crate) const HEADERS: u16 = 40;

/// Complete setup for these flows, with the spine of each; `paths` is empty for any spine.
pub(crate) fn setup(options: &Options, flows: Vec<Flow>, paths: Vec<u32>) -> Result<Setup, String> {
    let stack =
        Stack { config: stack(options)?, cc: cc::Config::Dctcp(congestion_control(options)?) };
    let mut stop = Stop::default();
    if let Some(at) = options.time("time-limit-s")? {
        stop.at = at;
    }
    Ok(Setup {
        network: network(options)?,
        flows,
        paths,
        think_times: Vec::new(),
        probes: Vec::new(),
        switch: ports(options)?,
        custom: None,
        // A host's queue is as long as its window needs.
        nic: None,
        transports: vec![Transport::Tcp(Box::new(Tcp { source: stack.clone(), sink: stack }))],
        accounting: accounting(options)?,
        opening: Opening::Handshake,
        tagging: None,
        host_delay: HostDelay::default(),
        host_receive: HostReceive::default(),
        flow_control: None,
        threads: NonZeroUsize::MIN,
        ecmp: Ecmp::FlowOnly,
        observe: Observe::default(),
        stop,
        seed: 1,
    })
}

fn network(options: &Options) -> Result<Network, String> {
    let (rate, delay) = (options.rate()?, options.delay()?);
    let network = match options.scenario()? {
        Scenario::LeafSpine => {
            let racks = Racks::of(options)?;
            let config = leaf_spine::Config {
                leaves: racks.leaves,
                spines: racks.spines,
                hosts_per_leaf: racks.hosts_per_leaf,
                host_rate: rate,
                fabric_rate: rate,
                host_delay: delay,
                fabric_delay: delay,
            };
            config.build()
        }
        Scenario::Star => {
            let config = star::Config {
                hosts: options.number("hosts", 2, 60_000)?,
                host_rate: rate,
                host_delay: delay,
                ..star::Config::default()
            };
            config.build()
        }
    };
    network.map_err(|error| error.to_string())
}

fn accounting(options: &Options) -> Result<Accounting, String> {
    Ok(Accounting {
        per_packet: HEADERS + options.number::<u16>("framing-bytes", 0, 1000)?,
        least: 0,
    })
}

/// One queue that marks like ns-3's RED with both thresholds equal: a packet that finds the
/// threshold reached is marked, without counting itself.
fn ports(options: &Options) -> Result<Ports, String> {
    let mss: u16 = options.number("mss", 1, 60_000)?;
    let full = accounting(options)?.size(u32::from(mss));
    let marking = queue_red::Config {
        threshold: vec![Size::Packets(options.number("threshold-packets", 1, 1_000_000)?)],
        reading: mark::red::Reading::Exclusive,
        compare: mark::red::Compare::AtLeast,
        packet_size: full,
        ..queue_red::Config::default()
    };
    let packets: u64 = options.number("buffer-packets", 1, 1_000_000)?;
    let limit = Bytes(packets * u64::from(full));
    if options.has_tcn()? {
        return shared_ports(options, full);
    }
    Ok(Ports {
        marking: mark::Config::QueueRed(marking),
        scheduling: sched::Config::named("fifo").expect("`fifo` is the name of a scheduler"),
        buffer: buffer::Config::PerPort(buffer::per_port::Config { limit: Size::Bytes(limit) }),
        non_ect: NonEct::Pass,
    })
}

/// Queues of a port with several of them.
pub(crate) const QUEUES: u8 = 8;

/// Queues served in turn, packet by packet, with marking by sojourn time, and a pool of which each
/// queue may hold four times the free space.
fn shared_ports(options: &Options, full: u32) -> Result<Ports, String> {
    let threshold: u32 = options.number("threshold-packets", 1, 10_000)?;
    let pool: u64 = options.number("pool-packets", 1, 1_000_000)?;
    let marking = tcn::Config {
        threshold: Some(ByteTime::new(options.rate()?).span(threshold * full)),
        ..tcn::Config::default()
    };
    let scheduling = dwrr::Config { quanta: vec![full; usize::from(QUEUES)] };
    let buffer = dynamic_threshold::Config {
        pool_size: Bytes(pool * u64::from(full)),
        ports_per_pool: u16::MAX,
        reserve_size: Bytes(0),
        ..dynamic_threshold::Config::default()
    };
    Ok(Ports {
        marking: mark::Config::Tcn(marking),
        scheduling: sched::Config::Dwrr(scheduling),
        buffer: buffer::Config::DynamicThreshold(buffer),
        non_ect: NonEct::Pass,
    })
}

/// TCP as in ns-3.37, with the settings of ns-3's program.
fn stack(options: &Options) -> Result<Config, String> {
    let least = options.least_timeout()?;
    let mut config = Config {
        mss: options.number("mss", 1, 60_000)?,
        initial_window: Size::Packets(options.number("initial-window", 1, 10_000)?),
        rto_initial: least,
        rto_min: least,
        // Flows are never given up.
        max_retries: None,
        syn_loss: SynLoss::Ignored,
        delayed_ack: 1,
        prr: true,
        // Every acknowledged segment counts; no ACK covers this many.
        abc: Some(u8::MAX),
        avoidance: Avoidance::Segments,
        credit: Credit::Kept,
        growth: Growth::Always,
        idle_restart: IdleRestart::Off,
        echo: Echo::DctcpPaper,
        ect_syn: Ect::Always,
        ect_ack: Ect::Always,
        ect_retransmission: Ect::Always,
        ..Config::default()
    };
    change(options, "stack", &mut config)?;
    config.check().map_err(|error| format!("--stack: {error}"))?;
    Ok(config)
}

fn congestion_control(options: &Options) -> Result<dctcp::Config, String> {
    let mut config = dctcp::Config::profile("ns3").expect("`ns3` is the name of a profile");
    change(options, "window", &mut config)?;
    Ok(config)
}

/// Applies the `field=value` pairs of an option.
fn change(options: &Options, name: &str, settings: &mut impl Settings) -> Result<(), String> {
    let pairs = options.text(name)?.split(',').filter(|pair| !pair.is_empty());
    for pair in pairs {
        let (field, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("--{name} is '{pair}', allowed is field=value"))?;
        let set: Result<(), ConfigError> = settings.set(field, value);
        set.map_err(|error| format!("--{name}: {error}"))?;
    }
    Ok(())
}

/// Segment size of a setup's first transport.
pub(crate) fn mss(setup: &Setup) -> u16 {
    match &setup.transports[0] {
        Transport::Tcp(tcp) => tcp.source.config.mss,
        Transport::Other(_) => unreachable!("the scenarios use TCP only"),
    }
}
