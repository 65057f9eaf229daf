//! From a setup of the simulator to a switch and a plan for a testbed, or why there is none.

use tidegate_dataplane::classify::Unknown;
use tidegate_dataplane::observe::Window;
use tidegate_live::Config;
use tidegate_live::config::{Count, OnLoop, PortSettings};
use tidegate_live::testbed::{self, Flow, Opening, Ping, Plan, Sampling, Stop, Tcp};
use tidegate_scenario::Built;
use tidegate_sim::setup::{self, Accounting, Setup, Stack, Transport};
use tidegate_sim::workload::Probe;
use tidegate_sim::{LinkId, NodeId};
use tidegate_transport::config::{Echo, IdleRestart};
use tidegate_units::{Rate, Size, Span, Time};

/// A switch, and the traffic through it.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The switch: a port for each host, in order.
    pub config: Config,
    /// Traffic of the hosts.
    pub plan: Plan,
}

/// The fastest cable that a testbed on one machine is trusted with.
const FASTEST: Rate = Rate::from_gbps(1);

/// Frames that can wait in the switch and on the imitated cables.
pub(super) const FRAMES: u32 = 32_768;

/// The testbed of a run, or the feature that it lacks.
pub fn rig(built: &Built) -> Result<Rig, String> {
    let setup = &built.setup;
    let tcp = tcp(setup)?;
    check(setup)?;
    let mut config = Config::new();
    config.marking = setup.switch.marking.clone();
    config.scheduling = setup.switch.scheduling.clone();
    config.buffer = setup.switch.buffer.clone();
    // A service is a codepoint. The last queue takes all further services, as in the simulator.
    config.dscp.unknown = Unknown::Last;
    config.options.non_ect = setup.switch.non_ect;
    config.options.seed = setup.seed;
    config.options.frames = FRAMES;
    // A star has no loops, and its wires should carry the scenario's traffic only.
    config.options.on_loop = OnLoop::Ignore;
    config.options.count = match setup.accounting {
        Accounting::ETHERNET => Count::Wire,
        accounting if accounting == Accounting::default() => Count::Ip,
        _ => return Err(only("transport.accounting", "`ip` or `ethernet`")),
    };
    config.ports = ports(setup)?;
    let stop = setup.stop;
    let plan = Plan {
        flows: setup.flows.iter().map(flow).collect(),
        pings: setup.probes.iter().map(ping).collect(),
        opening: match setup.opening {
            setup::Opening::Handshake => Opening::Handshake,
            setup::Opening::Persistent => Opening::Persistent,
            setup::Opening::Ready => Opening::Ready,
        },
        stop: Stop {
            at: (stop.at != Time::MAX).then_some(stop.at),
            finished: stop.finished,
            stalled: stop.stalled,
        },
        window: Window {
            from: setup.observe.window.from,
            to: setup.observe.window.to.min(stop.at),
        },
        sampling: setup.observe.series.as_ref().map(|series| {
            let window = series.window.unwrap_or(setup.observe.window);
            Sampling {
                from: window.from,
                to: window.to.min(stop.at),
                interval: series.interval,
                limit: series.limit,
                flows: series.flows.clone(),
            }
        }),
        tcp,
    };
    Ok(Rig { config, plan })
}

fn only(key: &str, allowed: &str) -> String {
    format!("`{key}` cannot be had on real packets as it is\nhint: only {allowed}")
}

/// Refuses features that only the simulator has.
fn check(setup: &Setup) -> Result<(), String> {
    if setup.network.switches() != 1 {
        return Err(only("topology", "a star: [topology] with kind = \"star\""));
    }
    if setup.nic.is_some() {
        return Err(only("nic", "hosts without it: their ports are the kernel's"));
    }
    if setup.tagging.is_some() {
        return Err(only("transport.tagging", "hosts without tags"));
    }
    if !setup.host_delay.values.is_empty() {
        return Err(only("transport.host_delay", "cables with a delay: topology.host_delays"));
    }
    if !setup.think_times.is_empty() {
        let allowed = "sources without pauses; `messages` runs in the simulator";
        return Err(only("traffic", allowed));
    }
    let services = setup.flows.iter().map(|flow| flow.service);
    let classes = setup.probes.iter().map(|probe| probe.class);
    if services.chain(classes).any(|service| service > 63) {
        return Err(only("service", "0 to 63, which are codepoints"));
    }
    Ok(())
}

/// The port of each host, with its cable.
fn ports(setup: &Setup) -> Result<Vec<PortSettings>, String> {
    let network = &setup.network;
    let mut ports = Vec::new();
    for host in 0..network.hosts() {
        let links = network.links().iter();
        let mut up = links.filter(|link| link.from == NodeId(host));
        let (Some(up), None) = (up.next(), up.next()) else {
            return Err(only("topology", "hosts with one cable each"));
        };
        if up.rate > FASTEST {
            let allowed =
                format!("cables up to {FASTEST}, such as topology.host_rate = \"100Mbps\"");
            return Err(only("topology.host_rate", &allowed));
        }
        let mut port = PortSettings::new("", up.rate);
        port.uplink = Some(up.rate);
        // Both directions of the cable, on ingress, so that the round trip is right.
        port.delay = up.delay + up.delay;
        ports.push(port);
    }
    Ok(ports)
}

/// The port of the switch that a link leaves by, if it does.
pub(super) fn port_of(setup: &Setup, link: LinkId) -> Option<usize> {
    let link = setup.network.link(link);
    let is_of_switch = setup.network.is_host(link.to) && !setup.network.is_host(link.from);
    is_of_switch.then(|| link.to.index())
}

fn flow(flow: &tidegate_sim::Flow) -> Flow {
    Flow {
        start: flow.start,
        bytes: (flow.bytes != tidegate_sim::Flow::ENDLESS).then_some(flow.bytes),
        // A testbed has at most 250 hosts, and says so.
        from: flow.src.0 as u16,
        to: flow.dst.0 as u16,
        dscp: flow.service,
        rate: flow.rate,
    }
}

fn ping(probe: &Probe) -> Ping {
    Ping {
        from: probe.src.0 as u16,
        to: probe.dst.0 as u16,
        start: probe.start,
        every: probe.every,
        count: (probe.count != Probe::ENDLESS).then_some(probe.count),
        bytes: probe.bytes,
        dscp: probe.class,
    }
}

/// The settings of the kernel.
fn tcp(setup: &Setup) -> Result<Tcp, String> {
    let [Transport::Tcp(tcp)] = setup.transports.as_slice() else {
        return Err(only("transport", "one TCP for all hosts"));
    };
    let Stack { config, cc } = &tcp.source;
    let Some((wanted, ecn)) = candidates(cc.name(), config.echo) else {
        let allowed = "dctcp, odctcp, ecn-star, rfc3168, reno and cubic";
        return Err(only("transport.cc", allowed));
    };
    let available = testbed::available();
    let is_there = |name: &&&str| available.iter().any(|there| there == **name);
    let congestion = wanted.iter().find(is_there).or(wanted.last()).copied();
    let congestion = congestion.unwrap_or("reno");
    if config.mss != 1460 {
        return Err(only("transport.mss", "1460, what Ethernet carries"));
    }
    Ok(Tcp {
        congestion: congestion.to_owned(),
        ecn: ecn && config.ecn,
        initial_window: match config.initial_window {
            Size::Packets(packets) => Some(packets),
            Size::Bytes(bytes) => u32::try_from(bytes.0 / u64::from(config.mss)).ok(),
        },
        rto_min: Some(config.rto_min.max(SHORTEST_RTO)),
        quick_ack: config.delayed_ack <= 1,
        slow_start_after_idle: config.idle_restart != IdleRestart::Off,
    })
}

/// The kernel's names for a congestion control, the best first, and whether they use ECN. Names
/// that begin with `tg_` exist once `tidegate host` has loaded them.
fn candidates(cc: &str, echo: Echo) -> Option<(&'static [&'static str], bool)> {
    let echoes_as_odctcp = matches!(echo, Echo::Odctcp | Echo::OdctcpInverted);
    Some(match cc {
        "dctcp" => (&["tg_dctcp", "dctcp"], true),
        "odctcp" => (&["tg_odctcp_snd"], true),
        "ecn-star" => (&["tg_ecn_star", "reno"], true),
        "rfc3168" if echoes_as_odctcp => (&["tg_odctcp_rcv"], true),
        // As the kernel's Reno has it: half of the window, once a round trip.
        "rfc3168" => (&["reno"], true),
        "reno" => (&["reno"], false),
        "cubic" => (&["cubic"], true),
        _ => return None,
    })
}

/// The kernel's clock for retransmissions ticks in milliseconds.
const SHORTEST_RTO: Span = Span::from_ms(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transport_uses_its_kernel_congestion_control() {
        let first = |cc, echo| candidates(cc, echo).map(|(names, ecn)| (names[0], ecn));
        assert_eq!(first("dctcp", Echo::Dctcp), Some(("tg_dctcp", true)));
        assert_eq!(first("odctcp", Echo::Rfc3168), Some(("tg_odctcp_snd", true)));
        assert_eq!(first("ecn-star", Echo::Rfc3168), Some(("tg_ecn_star", true)));
        assert_eq!(first("rfc3168", Echo::Odctcp), Some(("tg_odctcp_rcv", true)));
        assert_eq!(first("rfc3168", Echo::Rfc3168), Some(("reno", true)));
        assert_eq!(first("reno", Echo::Rfc3168), Some(("reno", false)));
        assert_eq!(first("cubic", Echo::Rfc3168), Some(("cubic", true)));
        assert_eq!(first("swift", Echo::Rfc3168), None);
        assert_eq!(first("dcqcn", Echo::Rfc3168), None);
        // Without anything loaded there is the kernel's own, if it has one.
        let last = |cc| candidates(cc, Echo::Rfc3168).and_then(|(names, _)| names.last());
        assert_eq!((last("dctcp"), last("ecn-star")), (Some(&"dctcp"), Some(&"reno")));
    }
}
