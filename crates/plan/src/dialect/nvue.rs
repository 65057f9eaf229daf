//! NVIDIA Cumulus Linux: `nv set` lines.

use std::ops::RangeInclusive;

use tidegate_units::Bytes;

use super::{Draft, Scheme, default_queue, groups, of_row, points, rows, short};
use crate::formula::limit;
use crate::judge;
use crate::marking::{Marking, Ramp};
use crate::plan::{Plan, Row};

/// The exponents of two that `α` can be set to.
pub(super) const EXPONENTS: RangeInclusive<i32> = -7..=6;

pub(super) fn emit(plan: &Plan<'_>, scheme: Scheme, out: &mut Draft) {
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
    alpha(plan, out);
    for speed in plan.network.speeds() {
        for row in rows(plan, speed) {
            match (row.marking, scheme) {
                (Marking::Length(ramp), Scheme::Bcc) => relative(plan, row, &ramp, out),
                (Marking::Length(ramp), _) => profile(row, &ramp, out),
                _ => {}
            }
        }
    }
    if plan.headroom.is_some() {
        let numbers: Vec<String> = plan
            .network
            .lossless()
            .map(|queue| queue.id.to_string())
            .collect();
        set(
            out,
            &format!("qos pfc TIDEGATE switch-priority {}", numbers.join(",")),
        );
        set(out, "qos pfc TIDEGATE tx enable");
        set(out, "qos pfc TIDEGATE rx enable");
    }
    for (_, ports, first) in groups(plan) {
        let range = match ports.count {
            1 => format!("swp{}", first + 1),
            count => format!("swp{}-{}", first + 1, first + count),
        };
        let marks = plan
            .rows
            .iter()
            .any(|row| row.speed == ports.speed && row.marking != Marking::Off);
        set(
            out,
            &format!("interface {range} qos mapping profile TIDEGATE"),
        );
        set(
            out,
            &format!("interface {range} qos egress-scheduler profile TIDEGATE"),
        );
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
}

fn set(out: &mut Draft, path: &str) {
    out.line(format!("nv set {path}"));
}

fn mapping(plan: &Plan<'_>, out: &mut Draft) {
    set(out, "qos mapping TIDEGATE trust l3");
    set(
        out,
        &format!(
            "qos mapping TIDEGATE port-default-sp {}",
            default_queue(plan).id
        ),
    );
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

/// Spectrum has powers of two from 1/128 to 64.
fn alpha(plan: &Plan<'_>, out: &mut Draft) {
    let exponent = out.exponent(plan.network.switch.alpha, EXPONENTS);
    let name = match exponent {
        0.. => format!("alpha_{}", 1_u32 << exponent),
        _ => format!("alpha_1_{}", 1_u32 << -exponent),
    };
    let lossy = plan.network.queues.iter().filter(|queue| !queue.lossless);
    for queue in lossy {
        let buffer = "qos advance-buffer-config default-global egress-lossy-buffer";
        set(
            out,
            &format!("{buffer} traffic-class {} shared-alpha {name}", queue.id),
        );
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
    // Packets that cannot be marked are left to the dynamic threshold.
    set(out, &format!("{path} red disable"));
    set(out, &format!("{path} min-threshold {min}"));
    set(out, &format!("{path} max-threshold {max}"));
    set(out, &format!("{path} probability {percent}"));
}

/// Dynamic ECN: percent of what the dynamic threshold leaves to the queue, which shrinks as the pool fills.
/// A queue alone is marked where its length says; the more ports are congested, the earlier.
fn relative(plan: &Plan<'_>, row: &Row<'_>, ramp: &Ramp, out: &mut Draft) {
    let network = plan.network;
    let alone = limit::of_queue(judge::shared_memory(network), network.switch.alpha, 1);
    let mut percent = |what: &str, length: Bytes| {
        let exact = u128::from(length.0) * 100;
        let whole = exact.div_ceil(u128::from(alone.0.max(1))).clamp(1, 100);
        let whole = u64::try_from(whole).unwrap_or(100);
        let emitted = Bytes(alone.0 / 100 * whole);
        if emitted != length {
            let emitted = format!("{whole}% = {}", super::exact(emitted));
            let why = "whole percent of the queue's quota";
            out.change(of_row(row, what), super::exact(length), emitted, why);
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
    out.note("dynamic ECN is BCC's idea, not BCC: thresholds fall with what is free of the pool");
}
