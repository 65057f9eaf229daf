//! NVIDIA Cumulus Linux: `nv set` lines.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use tidegate_units::{Bytes, Ratio};

use super::draft::{
    Draft, cable_metres, exact, exponent_below, groups, of_row, points, rows, short,
};
use super::{Dialect, NotEcn, Refusal, Request, Scheme, Support};
use crate::formula::limit::{self, alpha_of_exponent};
use crate::judge;
use crate::marking::{Marking, Ramp};
use crate::plan::{Plan, Row};

/// Exponents of two that `α` can be set to.
const EXPONENTS: RangeInclusive<i32> = -7..=6;

/// Longest cable that can be set, in metres.
const LONGEST_CABLE: u64 = 100_000;

/// NVIDIA Cumulus Linux (NVUE).
pub(super) struct Nvue;

impl Dialect for Nvue {
    fn title(&self) -> &'static str {
        "NVIDIA Cumulus Linux (NVUE)"
    }

    fn support(&self, scheme: Scheme) -> Support {
        match scheme {
            Scheme::QueueRed => Support::Yes("congestion-control profiles"),
            Scheme::Tcn => Support::No("queue-red: K is T at the speed of each port"),
            Scheme::EcnSharp => {
                Support::No("queue-red at λ·C·RTT of the 90th percentile, its instantaneous part")
            }
            Scheme::Bcc => Support::Some("mode relative (Cumulus 5.17, Spectrum-4)"),
        }
    }

    fn not_ecn(&self) -> NotEcn {
        NotEcn::Kept("with `red disable`, which is emitted, they are dropped at the tail only")
    }

    fn exponents(&self) -> Option<RangeInclusive<i32>> {
        Some(EXPONENTS)
    }

    fn emit(&self, plan: &Plan<'_>, request: &Request<'_>, out: &mut Draft) -> Result<(), Refusal> {
        let scheme = request.scheme;
        let pools = Pools::of(plan)?;
        mapping(plan, out);
        for queue in &plan.network.queues {
            let path = format!("qos egress-scheduler TIDEGATE traffic-class {}", queue.id);
            match queue.weight {
                Some(weight) => {
                    set(out, &format!("{path} mode dwrr"));
                    set(out, &format!("{path} bw-percent {weight}"));
                }
                None => set(out, &format!("{path} mode strict")),
            }
        }
        pools.emit(plan, out);
        alpha(plan, out);
        for speed in plan.network.speeds() {
            for row in rows(plan, speed) {
                match (row.marking, scheme) {
                    (Marking::Length(ramp), Scheme::Bcc) => relative(&pools, row, &ramp, out),
                    (Marking::Length(ramp), _) => profile(row, &ramp, out),
                    _ => {}
                }
            }
        }
        if plan.headroom.is_some() {
            let numbers: Vec<String> =
                plan.network.lossless().map(|queue| queue.id.to_string()).collect();
            set(out, &format!("qos pfc TIDEGATE switch-priority {}", numbers.join(",")));
            set(out, "qos pfc TIDEGATE tx enable");
            set(out, "qos pfc TIDEGATE rx enable");
            set(out, &format!("qos pfc TIDEGATE cable-length {}", cable(plan)?));
        }
        for (_, ports, first) in groups(plan) {
            let range = match ports.count {
                1 => format!("swp{}", first + 1),
                count => format!("swp{}-{}", first + 1, first + count),
            };
            let marks =
                plan.rows.iter().any(|row| row.speed == ports.speed && row.marking != Marking::Off);
            set(out, &format!("interface {range} qos mapping profile TIDEGATE"));
            set(out, &format!("interface {range} qos egress-scheduler profile TIDEGATE"));
            if marks {
                let profile = short(ports.speed);
                set(
                    out,
                    &format!("interface {range} qos congestion-control profile TIDEGATE-{profile}"),
                );
            }
            if plan.headroom.is_some() {
                set(out, &format!("interface {range} qos pfc profile TIDEGATE"));
            }
        }
        out.line("nv config apply");
        Ok(())
    }
}

/// Cable length, from which the switch computes the headroom.
fn cable(plan: &Plan<'_>) -> Result<u64, Refusal> {
    let metres = cable_metres(plan);
    if metres > LONGEST_CABLE {
        let what = format!("Cumulus Linux has no cable of {metres} m");
        return Err(Refusal::new(what, "the nearest is link_delay = \"500us\""));
    }
    Ok(metres)
}

/// Pools of Cumulus: lossless queues have a pool of their own.
#[derive(Clone, Copy, Debug)]
struct Pools {
    /// Memory that all queues of the plan share.
    shared: Bytes,
    /// Share of the lossless queues, in percent; `None` without such a queue.
    lossless: Option<u64>,
    /// `α` as emitted.
    alpha: Ratio,
}

impl Pools {
    /// Division for which marks come first at the greatest number of congested ports, in every
    /// queue.
    fn of(plan: &Plan<'_>) -> Result<Self, Refusal> {
        let network = plan.network;
        let exponent = exponent_below(network.switch.alpha, EXPONENTS);
        let whole = Self {
            shared: network.shared_memory(),
            lossless: None,
            alpha: alpha_of_exponent(exponent),
        };
        if plan.headroom.is_none() {
            return Ok(whole);
        }
        let of = |percent| Self { lossless: Some(percent), ..whole };
        // Of several equal ones, the division nearest to halves.
        let value = |percent: &u64| (of(*percent).congested(plan), Reverse(percent.abs_diff(50)));
        let best = of((1..100).max_by_key(value).unwrap_or(50));
        if best.congested(plan) == 0 {
            return Err(Refusal::new(
                "Cumulus Linux gives lossless queues a separate pool, and no threshold works with part of the memory",
                "needed change: a larger buffer, or all queues lossless or none",
            ));
        }
        Ok(best)
    }

    /// Memory of the lossless queues, or of the others.
    fn size(self, lossless: bool) -> Bytes {
        match (self.lossless, lossless) {
            (None, _) => self.shared,
            (Some(percent), true) => Bytes(self.shared.0 / 100 * percent),
            (Some(percent), false) => Bytes(self.shared.0 / 100 * (100 - percent)),
        }
    }

    /// Number of congested ports at which marks come first in every marked queue.
    fn congested(self, plan: &Plan<'_>) -> u32 {
        let marked = plan.rows.iter().filter_map(|row| match row.marking {
            Marking::Length(ramp) => Some((row.queue, ramp.min)),
            _ => None,
        });
        let congested = marked.map(|(queue, length)| {
            let memory = self.size(queue.lossless);
            judge::congested_with(plan.network, queue, length, memory, self.alpha)
        });
        congested.min().unwrap_or(u32::MAX)
    }

    fn emit(self, plan: &Plan<'_>, out: &mut Draft) {
        let Some(percent) = self.lossless else {
            return;
        };
        for (name, percent, lossless) in
            [("default-lossless", percent, true), ("default-lossy", 100 - percent, false)]
        {
            set(out, &format!("qos traffic-pool {name} memory-percent {percent}"));
            if plan.network.queues.iter().any(|queue| queue.lossless == lossless) {
                let what = format!("pool {name}");
                let emitted = format!("{percent}% = {}", exact(self.size(lossless)));
                let why = "lossless and lossy queues have separate pools";
                out.change(what, exact(self.shared), emitted, why);
            }
        }
        let ports = plan.network.pool().ports;
        let congested = self.congested(plan);
        if congested < ports {
            out.note(format!(
                "with separate pools, marks come first in every queue while at most {congested} of {ports} ports are congested"
            ));
        }
    }
}

fn set(out: &mut Draft, path: &str) {
    out.line(format!("nv set {path}"));
}

fn mapping(plan: &Plan<'_>, out: &mut Draft) {
    set(out, "qos mapping TIDEGATE trust l3");
    set(out, &format!("qos mapping TIDEGATE port-default-sp {}", plan.network.default_queue().id));
    for queue in &plan.network.queues {
        for points in points(plan, queue).chunks(16) {
            let points: Vec<String> = points.iter().map(ToString::to_string).collect();
            set(
                out,
                &format!(
                    "qos mapping TIDEGATE dscp {} switch-priority {}",
                    points.join(","),
                    queue.id
                ),
            );
        }
        set(
            out,
            &format!(
                "qos egress-queue-mapping default-global switch-priority {0} traffic-class {0}",
                queue.id
            ),
        );
    }
}

/// Emits α. Spectrum has powers of two from 1/128 to 64. A lossless class is limited at the
/// ingress; its egress has no limit unless one is set.
fn alpha(plan: &Plan<'_>, out: &mut Draft) {
    let exponent = out.exponent(plan.network.switch.alpha, EXPONENTS);
    let name = match exponent {
        0.. => format!("alpha_{}", 1_u32 << exponent),
        _ => format!("alpha_1_{}", 1_u32 << -exponent),
    };
    let buffer = "qos advance-buffer-config default-global";
    let lossy = plan.network.queues.iter().filter(|queue| !queue.lossless);
    for queue in lossy {
        set(
            out,
            &format!("{buffer} egress-lossy-buffer traffic-class {} shared-alpha {name}", queue.id),
        );
    }
    if plan.headroom.is_some() {
        set(out, &format!("{buffer} ingress-lossless-buffer shared-alpha {name}"));
    }
}

fn profile(row: &Row<'_>, ramp: &Ramp, out: &mut Draft) {
    let (min, max, percent) = out.ramp(row, ramp);
    let path = format!(
        "qos congestion-control TIDEGATE-{} traffic-class {}",
        short(row.speed),
        row.queue.id
    );
    set(out, &format!("{path} ecn enable"));
    // The dynamic threshold alone drops packets that cannot be marked.
    set(out, &format!("{path} red disable"));
    set(out, &format!("{path} min-threshold {min}"));
    set(out, &format!("{path} max-threshold {max}"));
    set(out, &format!("{path} probability {percent}"));
}

/// Dynamic ECN: percent of the queue's dynamic threshold, which shrinks as the pool fills. A queue
/// alone is marked at its planned length; the more ports are congested, the earlier.
fn relative(pools: &Pools, row: &Row<'_>, ramp: &Ramp, out: &mut Draft) {
    let alone = limit::of_queue(pools.size(row.queue.lossless), pools.alpha, 1);
    let mut percent = |what: &str, length: Bytes| {
        let wide = u128::from(length.0) * 100;
        let whole = wide.div_ceil(u128::from(alone.0.max(1))).clamp(1, 100);
        let whole = u64::try_from(whole).unwrap_or(100);
        let emitted = Bytes(alone.0 / 100 * whole);
        if emitted != length {
            let emitted = format!("{whole}% = {}", exact(emitted));
            let why = "whole percent of the queue's quota";
            out.change(of_row(row, what), exact(length), emitted, why);
        }
        whole
    };
    let (min, max) = (percent("minimum", ramp.min), percent("maximum", ramp.max));
    let probability = out.percent(&of_row(row, "probability"), ramp.probability);
    let path = format!(
        "qos congestion-control TIDEGATE-{} traffic-class {}",
        short(row.speed),
        row.queue.id
    );
    set(out, &format!("{path} ecn enable"));
    set(out, &format!("{path} red disable"));
    set(out, &format!("{path} mode relative"));
    set(out, &format!("{path} min-threshold-percent {min}"));
    set(out, &format!("{path} max-threshold-percent {max}"));
    set(out, &format!("{path} probability {probability}"));
    if row.queue.lossless {
        out.note(format!(
            "queue {} is lossless: Cumulus limits it at the ingress; check the reference of mode relative",
            row.queue.id
        ));
    }
    out.note(
        "dynamic ECN is BCC's idea, not BCC: thresholds fall with the free memory of the pool",
    );
}
