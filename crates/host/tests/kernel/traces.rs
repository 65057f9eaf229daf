//! The same algorithm twice: the kernel and `tidegate-transport` on the ACKs of real connections.
//!
//! The rules that set the window themselves must have the same α, window and threshold after every
//! step. `tg_dctcp` leaves growth, the pace of a reduction (PRR) and recovery to the kernel: there
//! the same α after every ACK, and the same cuts at the same ACKs, from the window that the kernel
//! has then.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use tidegate_host::event::{Flags, Kind};
use tidegate_host::kernel::replay::Step;
use tidegate_transport::Seq;
use tidegate_transport::cc::{
    AckKind, Acked, CongestionControl, Dctcp, EcnStar, Odctcp, Phase, Reaction, dctcp, ecn_star,
    odctcp,
};
use tidegate_transport::config::SlowStart;
use tidegate_units::Time;

use super::bed::Bed;
use super::program::{Loaded, command};
use super::rules::{alpha, follow, params};

/// `tidegate host watch` in the background.
pub(crate) struct Watching {
    child: Child,
    lines: JoinHandle<String>,
}

impl Watching {
    /// Returns when it watches.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = command(&[&["watch"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = errors.next().unwrap().unwrap();
        assert!(first.starts_with("watching "), "{first}");
        thread::spawn(move || errors.for_each(drop));
        let mut out = child.stdout.take().unwrap();
        let lines = thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, lines }
    }

    /// Ends it. Returns its output, a value for each line.
    pub(crate) fn end(mut self) -> Vec<Value> {
        tidegate_live::ask_to_end(self.child.id()).unwrap();
        assert!(self.child.wait().unwrap().success());
        let text = self.lines.join().unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A step in the kernel and its result.
struct Recorded {
    step: Step,
    marked: u32,
    cwnd: u32,
}

fn recorded(value: &Value) -> Recorded {
    let number = |name: &str| u32::try_from(value[name].as_u64().unwrap()).unwrap();
    let flag = |name: &str, flag| {
        if value[name] == true { flag } else { Flags::default() }
    };
    let kind = match value["kind"].as_str().unwrap() {
        "begin" => Kind::Begin,
        "ack" => Kind::Ack,
        "loss" => Kind::Loss,
        "recovered" => Kind::Recovered,
        "timeout" => Kind::Timeout,
        "idle" => Kind::Idle,
        "cut" => Kind::Cut,
        "end" => Kind::End,
        "resync" => Kind::Resync,
        _ => Kind::Sample,
    };
    let window = number("window");
    Recorded {
        step: Step {
            kind,
            flags: flag("echo", Flags::ECHO)
                | flag("may_grow", Flags::MAY_GROW)
                | flag("repeated", Flags::REPEATED)
                | flag("in_recovery", Flags::IN_RECOVERY),
            ack: number("una"),
            sent: number("nxt"),
            bytes: if kind == Kind::Begin { window } else { number("acked") },
            mss: number("mss"),
            reduced: u32::from(value["reduced"] == true),
            window,
            ssthresh: number("ssthresh"),
            alpha: number("alpha"),
        },
        marked: number("marked"),
        cwnd: number("cwnd"),
    }
}

/// Sends data from the first host, which has the algorithm, through a switch that marks, then
/// through one that drops. Returns the steps of each connection at the sender.
fn record(name: &'static str, receiver: &str, ecn: u8) -> Vec<Vec<Recorded>> {
    let connections = observe(name, receiver, ecn, |bed| {
        for (mark, limit) in [(10, 500), (500, 12)] {
            let config = Bed::config("100Mbps", mark, limit);
            let counters = bed.run(&config, || bed.transfer(0, 2_000_000));
            let port = &counters.ports[1];
            assert!(port.marked > 20 || !port.drops.is_empty(), "{port:?}");
        }
    });
    assert_eq!(connections.len(), 2);
    connections
}

/// The steps of all connections that the first host opens meanwhile.
fn observe(
    name: &'static str,
    receiver: &str,
    ecn: u8,
    load: impl FnOnce(&Bed),
) -> Vec<Vec<Recorded>> {
    let loaded = Loaded::new(name, &[]);
    let bed = Bed::new();
    bed.choose(0, name, ecn);
    bed.choose(1, receiver, 2);
    let watching = Watching::start(&["--steps", name]);
    load(&bed);
    let status = loaded.status();
    assert_eq!(status["lost_samples"], 0, "{status}");
    assert_eq!(status["refused_ecn"], 0, "{status}");
    let events = watching.end();
    let of_sender = events.iter().filter(|event| {
        let local = event["local"].as_str().unwrap();
        local.starts_with("10.0.0.1:")
    });
    let mut connections: Vec<(String, Vec<Recorded>)> = Vec::new();
    for event in of_sender {
        let local = event["local"].as_str().unwrap().to_owned();
        if event["kind"] == "begin" {
            connections.push((local.clone(), Vec::new()));
        }
        let own = connections.iter_mut().rev().find(|(name, _)| *name == local);
        let (_, steps) = own.unwrap_or_else(|| panic!("no beginning before {event}"));
        steps.push(recorded(event));
    }
    connections.into_iter().map(|(_, steps)| steps).collect()
}

/// Events in the recorded connections.
#[derive(Debug, Default)]
struct Seen {
    acks: u32,
    cuts: u32,
    losses: u32,
    /// α before and after each idle time.
    idle: Vec<(u32, u32)>,
}

/// Follows recorded connections with a rule: the same after every step.
fn check<R: CongestionControl>(connections: &[Vec<Recorded>], make: impl Fn(u32) -> R) -> Seen {
    let mut seen = Seen::default();
    for steps in connections {
        let mut cc = make(steps[0].step.mss);
        for (number, Recorded { step, .. }) in steps.iter().enumerate() {
            if step.kind == Kind::Resync {
                cc.cwnd_mut().cut_to(step.window, step.ssthresh);
            }
            let before = alpha(&cc);
            let is_reduced = follow(&mut cc, step);
            match step.kind {
                Kind::Ack => seen.acks += 1,
                Kind::Loss => seen.losses += 1,
                Kind::Idle => seen.idle.push((before, alpha(&cc))),
                _ => {}
            }
            seen.cuts += u32::from(is_reduced);
            let ours = (is_reduced.into(), cc.window(), cc.ssthresh(), alpha(&cc));
            let theirs = (step.reduced, step.window, step.ssthresh, step.alpha);
            assert_eq!(theirs, ours, "step {number} of {}: {step:?}", steps.len());
        }
    }
    seen
}

/// With marks and with losses.
fn check_both<R: CongestionControl>(connections: &[Vec<Recorded>], make: impl Fn(u32) -> R) {
    let seen = check(connections, make);
    assert!(seen.acks > 300 && seen.cuts > 10 && seen.losses > 0, "{seen:?}");
}

/// After an idle time the estimate starts over (thesis, section 4.2.3).
pub(crate) fn odctcp_in_the_kernel_starts_over_after_an_idle_time() {
    let connections = observe("tg_odctcp_snd", "reno", 1, |bed| {
        bed.run(&Bed::config("100Mbps", 10, 500), || {
            let (mut client, mut server) = bed.connect();
            for _ in 0..2 {
                let mut data = vec![0; 600_000];
                thread::scope(|scope| {
                    let receiving = scope.spawn(|| server.read_exact(&mut data).unwrap());
                    client.write_all(&vec![7; 600_000]).unwrap();
                    receiving.join().unwrap();
                });
                // Longer than its retransmission timeout, which is a little more than 200 ms.
                let (_sender, nothing) = mpsc::channel::<()>();
                assert!(nothing.recv_timeout(Duration::from_secs(1)).is_err());
            }
        });
    });
    let config = odctcp::Config::default();
    let seen =
        check(&connections, |mss| Odctcp::new(&config, &params(mss, 2, SlowStart::UpTo)).unwrap());
    assert!(!seen.idle.is_empty(), "{seen:?}");
    assert!(seen.idle.iter().all(|&(before, after)| before > 0 && after == 0), "{seen:?}");
}

/// Packets: far fewer than the window would have.
const LIMIT: u32 = 14;

/// `cwnd lock` of a route, which all algorithms of the kernel keep.
pub(crate) fn a_window_stays_within_the_limit_of_the_route() {
    for name in ["tg_ecn_star", "tg_odctcp_snd"] {
        let connections = observe(name, "reno", 1, |bed| {
            let route = format!("route add 10.0.0.2/32 dev host cwnd lock {LIMIT}");
            bed.hosts[0].ip(&route).unwrap();
            // The kernel takes it from the metrics of an earlier connection to the same host.
            let keeps = bed.hosts[0].set("net/ipv4/tcp_no_metrics_save", "0");
            keeps.unwrap();
            bed.run(&Bed::config("100Mbps", 500, 500), || {
                bed.transfer(0, 30_000);
                bed.transfer(0, 600_000);
            });
        });
        let [_, steps] = connections.as_slice() else {
            panic!("{name}: {} connections", connections.len());
        };
        let most = steps.iter().map(|step| step.cwnd).max();
        assert_eq!(most, Some(LIMIT), "{name}");
        // The algorithm keeps the limit and does not grow beyond it.
        let most = steps.iter().map(|step| step.step.window / step.step.mss);
        assert!(most.max() <= Some(2 * LIMIT), "{name}");
        let config = odctcp::Config::default();
        if name == "tg_odctcp_snd" {
            check(&connections, |mss| {
                Odctcp::new(&config, &params(mss, 2, SlowStart::UpTo)).unwrap()
            });
        }
    }
}

pub(crate) fn odctcp_in_the_kernel_follows_transport_ack_by_ack() {
    let connections = record("tg_odctcp_snd", "reno", 1);
    let config = odctcp::Config::default();
    check_both(&connections, |mss| Odctcp::new(&config, &params(mss, 2, SlowStart::UpTo)).unwrap());
}

pub(crate) fn ecn_star_in_the_kernel_follows_transport_ack_by_ack() {
    let connections = record("tg_ecn_star", "reno", 1);
    let config = ecn_star::Config::default();
    check_both(&connections, |mss| {
        EcnStar::new(&config, &params(mss, 255, SlowStart::Below)).unwrap()
    });
}

pub(crate) fn dctcp_in_the_kernel_follows_transport_ack_by_ack() {
    let connections = record("tg_dctcp", "tg_dctcp", 2);
    let config = dctcp::Config::profile("linux-5.1").unwrap();
    let (mut acks, mut cuts, mut losses) = (0, 0, 0);
    for steps in &connections {
        let mss = steps[0].step.mss;
        let mut cc = Dctcp::new(&config, &params(mss, 255, SlowStart::Below)).unwrap();
        // The reduction by a mark, at the ACK before.
        let mut due = None;
        let mut in_recovery = false;
        for (number, Recorded { step, marked, cwnd }) in steps.iter().enumerate() {
            let place = || format!("step {number} of {}: {step:?}, {marked} marked", steps.len());
            match step.kind {
                Kind::Cut => {
                    let cut = due.take();
                    assert_eq!(Some(step.ssthresh), cut, "{}", place());
                    cuts += 1;
                }
                Kind::Ack => {
                    assert_eq!(due.take(), None, "no cut before {}", place());
                    // An ACK may end one reduction, which sets the window, and begin the next.
                    let next = steps.get(number + 1);
                    let next = next.filter(|next| next.step.kind == Kind::Cut);
                    let cwnd = next.map_or(*cwnd, |next| next.cwnd);
                    cc.cwnd_mut().cut_to(cwnd * mss, u32::MAX);
                    let advances = step.flags.has(Flags::MAY_GROW);
                    let is_reduced = cc.on_ack(&Acked {
                        now: Time::ZERO,
                        rtt: None,
                        ack: Seq(step.ack),
                        sent: Seq(step.sent),
                        bytes: if advances { step.bytes * mss } else { 0 },
                        delivered: step.bytes * mss,
                        flight: 0,
                        echo: step.flags.has(Flags::ECHO),
                        kind: if advances { AckKind::Advance } else { AckKind::Other },
                        phase: if in_recovery { Phase::FastRecovery } else { Phase::Open },
                        may_grow: false,
                    });
                    due = (is_reduced != Reaction::None).then(|| cc.ssthresh());
                    acks += 1;
                }
                Kind::Loss | Kind::Timeout => {
                    losses += 1;
                    // From here on the kernel repairs, and decides by itself when that is over.
                    in_recovery = true;
                    due = None;
                    let half = (cwnd / 2).max(2) * mss;
                    assert_eq!(step.ssthresh, half, "{}", place());
                }
                Kind::Begin => {
                    follow(&mut cc, step);
                }
                _ => {}
            }
            assert_eq!(step.alpha, alpha(&cc), "{}", place());
            if in_recovery {
                break;
            }
        }
    }
    assert!(acks > 300 && cuts > 10 && losses > 0, "{acks} ACKs, {cuts} cuts, {losses} losses");
}
