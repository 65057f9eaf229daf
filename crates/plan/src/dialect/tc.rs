//! Linux: a batch of `tc` for software switches and switchdev hardware.
//!
//! TCN is CoDel with `ce_threshold`: packets that waited longer are marked, and CoDel's own law is
//! set so far above that it acts on queues only that do not react. RED of Linux looks at an average
//! of the length.

use tidegate_units::{Bytes, Rate, Span};

use super::draft::{Draft, exact, groups, of_row, rows};
use super::{Dialect, NotEcn, Refusal, Request, Scheme, Support};
use crate::formula::limit;
use crate::marking::{Marking, Ramp, time};
use crate::plan::{Plan, Row};

/// Clock tick of CoDel in nanoseconds.
const TICK: u64 = 1024;

/// Linux tc.
pub(super) struct Tc;

impl Dialect for Tc {
    fn title(&self) -> &'static str {
        "Linux tc"
    }

    fn support(&self, scheme: Scheme) -> Support {
        match scheme {
            Scheme::QueueRed => Support::Yes("red, on an average of the length"),
            Scheme::Tcn => Support::Yes("codel with ce_threshold"),
            Scheme::EcnSharp => {
                Support::No("tcn at λ·RTT of the 90th percentile, its instantaneous part")
            }
            Scheme::Bcc => Support::No("tcn: ports of Linux share no pool"),
        }
    }

    fn not_ecn(&self) -> NotEcn {
        NotEcn::Kept(
            "`ce_threshold` of CoDel leaves them alone, and `nodrop` keeps them under `red`",
        )
    }

    fn default_scheme(&self) -> Scheme {
        Scheme::Tcn
    }

    fn replaces_ports(&self) -> bool {
        false
    }

    fn emit(&self, plan: &Plan<'_>, request: &Request<'_>, out: &mut Draft) -> Result<(), Refusal> {
        let scheme = request.scheme;
        if let Some(queue) = plan.network.lossless().next() {
            let what = format!("queue {} is lossless, and tc has no PFC", queue.id);
            return Err(Refusal::new(what, "the nearest is the same queue without `lossless`"));
        }
        for (_, ports, first) in groups(plan) {
            for i in 0..ports.count {
                let device = format!("swp{}", first + i + 1);
                port(plan, scheme, &device, ports.speed, out)?;
            }
        }
        out.note("run with: tc -batch FILE");
        Ok(())
    }
}

/// Emits a port: one queue is a qdisc of the device; several are bands, strict ones first.
fn port(
    plan: &Plan<'_>,
    scheme: Scheme,
    device: &str,
    speed: Rate,
    out: &mut Draft,
) -> Result<(), Refusal> {
    // A used handle cannot go to a qdisc of another kind, and filters outlive their classes. A root
    // of a kind that is used nowhere else removes the old tree with all of them.
    out.line(format!(
        "qdisc replace dev {device} root bfifo limit {}",
        memory(plan).min(u64::from(u32::MAX))
    ));
    let mut bands: Vec<&Row<'_>> = rows(plan, speed).collect();
    if let [row] = bands.as_slice() {
        let leaf = leaf(plan, row, scheme, out)?;
        out.line(format!("qdisc replace dev {device} root handle 1: {leaf}"));
        return Ok(());
    }
    // The strict queue with the highest number is served first.
    bands.sort_by_key(|row| (row.queue.weight.is_some(), std::cmp::Reverse(row.queue.id)));
    let strict = bands.iter().filter(|row| row.queue.weight.is_none()).count();
    let weights: Vec<u32> = bands.iter().filter_map(|row| row.queue.weight).collect();
    let least = weights.iter().min().copied().unwrap_or(1);
    let quantum = |weight: &u32| {
        (u64::from(*weight) * u64::from(plan.network.mtu)).div_ceil(u64::from(least))
    };
    let quanta: Vec<String> = weights.iter().map(|weight| quantum(weight).to_string()).collect();
    let mut ets = vec![format!("ets bands {}", bands.len())];
    if strict > 0 {
        ets.push(format!("strict {strict}"));
    }
    if !quanta.is_empty() {
        ets.push(format!("quanta {}", quanta.join(" ")));
    }
    let ets = ets.join(" ");
    let default = plan.network.default_queue().id;
    let place = |id: u8| bands.iter().position(|row| row.queue.id == id).unwrap_or(0);
    let priorities = vec![place(default).to_string(); 16];
    out.line(format!(
        "qdisc replace dev {device} root handle 1: {ets} priomap {}",
        priorities.join(" ")
    ));
    for (band, row) in bands.iter().enumerate() {
        let leaf = leaf(plan, row, scheme, out)?;
        let class = band + 1;
        out.line(format!("qdisc replace dev {device} parent 1:{class} handle {class}0: {leaf}"));
    }
    for (band, row) in bands.iter().enumerate() {
        if row.queue.id == default {
            continue;
        }
        for point in &row.queue.dscp {
            let field = point << 2;
            out.line(format!(
                "filter add dev {device} parent 1: protocol ip prio 1 u32 match ip dsfield \
                 {field:#04x} 0xfc classid 1:{}",
                band + 1
            ));
            out.line(format!(
                "filter add dev {device} parent 1: protocol ipv6 prio 2 u32 match ip6 priority \
                 {field:#04x} 0xfc classid 1:{}",
                band + 1
            ));
        }
    }
    Ok(())
}

/// Limit of a queue alone.
fn memory(plan: &Plan<'_>) -> u64 {
    let network = plan.network;
    limit::of_queue(network.shared_memory(), network.switch.alpha, 1).0
}

fn leaf(
    plan: &Plan<'_>,
    row: &Row<'_>,
    scheme: Scheme,
    out: &mut Draft,
) -> Result<String, Refusal> {
    let network = plan.network;
    let memory = memory(plan);
    let packets = memory / u64::from(network.mtu);
    let packets = packets.clamp(1, u64::from(u32::MAX));
    match (row.marking, scheme, row.sojourn) {
        (Marking::Length(_), Scheme::Tcn, Some(threshold)) => {
            let ticks = (threshold.as_ns() / TICK).max(1);
            let kept = Span::from_ns(ticks * TICK);
            if kept != threshold {
                out.change(of_row(row, "time"), time(threshold), time(kept), "ticks of 1.024 µs");
            }
            // Rounded up, as tc cuts to ticks itself.
            let us = |ticks: u64| (ticks * TICK).div_ceil(1000);
            Ok(format!(
                "codel limit {packets} target {}us interval {}us ce_threshold {}us ecn",
                us(ticks * 10),
                us(ticks * 100),
                us(ticks)
            ))
        }
        (Marking::Length(ramp), Scheme::Tcn, None) if !ramp.is_step() => {
            let what = format!(
                "queue {} has no sojourn time for {}",
                row.queue.id,
                row.queue.transport.name()
            );
            Err(Refusal::new(what, "the nearest is --scheme queue-red"))
        }
        (Marking::Length(ramp), _, _) => red(row, &ramp, memory, network.mtu, out),
        _ => Ok(format!("pfifo limit {packets}")),
    }
}

/// Greatest rate that `tc` reads for `red`: 32 bits of bytes a second.
const FASTEST: u64 = 34_359_000_000;

/// The kernel keeps the average of `red` shifted by [`SHIFT`] bits in 32.
const LONGEST: u64 = (1 << (31 - SHIFT)) - 1;

/// The average of `red` follows a packet by 1/2 to this power, which `tc` derives from `burst`.
const SHIFT: u32 = 2;

/// Bytes of the shortest packet: shorter thresholds are equivalent.
const SHORTEST: u64 = 64;

fn red(
    row: &Row<'_>,
    ramp: &Ramp,
    memory: u64,
    mtu: u32,
    out: &mut Draft,
) -> Result<String, Refusal> {
    let min = ramp.min.0.max(SHORTEST);
    let max = ramp.max.0.max(min);
    if max > LONGEST {
        let what = format!("red of Linux has no threshold of {max} B");
        return Err(Refusal::new(what, format!("the nearest is {LONGEST} B")));
    }
    if min != ramp.min.0 {
        let why = "the shortest packet";
        out.change(of_row(row, "minimum"), exact(ramp.min), exact(Bytes(min)), why);
    }
    // A limit at the threshold itself would drop packets instead of marking them.
    let limit = memory.max(max * 2).min(u64::from(u32::MAX));
    // The fastest average that tc allows: `burst` packets of `avpkt` are just above the minimum.
    let packet = u64::from(mtu).min(min / 4);
    let burst = min.div_ceil(packet) + 1;
    let percent = out.percent(&of_row(row, "probability"), ramp.probability);
    out.note(format!(
        "red marks on an average over about {} packets, not on the instantaneous length",
        1 << SHIFT
    ));
    Ok(format!(
        "red limit {limit} min {min} max {max} avpkt {packet} burst {burst} bandwidth {} \
         probability {} ecn{}",
        bandwidth(row.speed, out),
        f64::from(percent) / 100.0,
        // Without it, packets that cannot be marked are dropped.
        if row.queue.not_ecn { " nodrop" } else { "" }
    ))
}

/// Rate at which the average falls while the port is idle.
fn bandwidth(speed: Rate, out: &mut Draft) -> String {
    let bps = speed.as_bps();
    if bps > FASTEST {
        out.change(
            format!("bandwidth at {speed}"),
            speed.to_string(),
            "34.359Gbps".to_owned(),
            "limit of tc; the average falls at this rate while the port is idle",
        );
    }
    match bps.min(FASTEST) {
        bps if bps % 1_000_000 == 0 => format!("{}mbit", bps / 1_000_000),
        bps => format!("{bps}bit"),
    }
}
