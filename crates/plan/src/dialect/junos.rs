//! Juniper Junos: drop profiles in percent of a queue's memory, or a threshold of latency.

use tidegate_units::Bytes;

use super::draft::{Draft, cable_metres, exact, groups, of_row, points, rows, short};
use super::{Dialect, NotEcn, Refusal, Request, Scheme, Support};
use crate::formula::limit;
use crate::marking::{Marking, Ramp, time};
use crate::network::Queue;
use crate::plan::{Plan, Row};

/// Greatest latency that can be set, in nanoseconds.
const LONGEST: u64 = 1_000_000_000;

/// Juniper Junos.
pub(super) struct Junos;

impl Dialect for Junos {
    fn title(&self) -> &'static str {
        "Juniper Junos"
    }

    fn support(&self, scheme: Scheme) -> Support {
        match scheme {
            Scheme::QueueRed => Support::Yes("drop profiles, in percent of the queue"),
            Scheme::Tcn => Support::Some("latency-ecn (Junos Evolved 25.2X100, PTX)"),
            Scheme::EcnSharp => {
                Support::No("tcn at λ·RTT of the 90th percentile, its instantaneous part")
            }
            Scheme::Bcc => {
                Support::No("queue-red; on Tomahawk 5 with dynamic ECN (D-ECN) beside it")
            }
        }
    }

    fn not_ecn(&self) -> NotEcn {
        NotEcn::Unknown(
            "QFX queues with ECN drop them at their tail only; QFX5100, EX4600 and older use the drop profile \
             for them",
        )
    }

    fn emit(&self, plan: &Plan<'_>, request: &Request<'_>, out: &mut Draft) -> Result<(), Refusal> {
        let scheme = request.scheme;
        let strict = plan.network.queues.iter().filter(|queue| queue.weight.is_none()).count();
        if strict > 1 {
            let what = format!("Junos has one strict-high queue, but the plan has {strict}");
            return Err(Refusal::new(
                what,
                "the nearest is one strict queue, and weights for the others",
            ));
        }
        for queue in &plan.network.queues {
            let lossless = if queue.lossless {
                format!(" no-loss pfc-priority {}", queue.id)
            } else {
                String::new()
            };
            set(
                out,
                &format!(
                    "forwarding-classes class {} queue-num {}{lossless}",
                    class(queue),
                    queue.id
                ),
            );
        }
        classifier(plan, out);
        for speed in plan.network.speeds() {
            for row in rows(plan, speed) {
                scheduler(plan, row, scheme, out)?;
            }
        }
        let has_pauses = pauses(plan, out);
        for (_, ports, first) in groups(plan) {
            for i in 0..ports.count {
                let port = format!("interfaces et-0/0/{}", first + i);
                set(out, &format!("{port} scheduler-map TIDEGATE-{}", short(ports.speed)));
                set(out, &format!("{port} unit 0 classifiers dscp TIDEGATE"));
                if has_pauses {
                    set(out, &format!("{port} congestion-notification-profile TIDEGATE"));
                }
            }
        }
        out.note("ports are named et-0/0/0 and up: compare with show interfaces terse");
        Ok(())
    }
}

fn set(out: &mut Draft, statement: &str) {
    out.line(format!("set class-of-service {statement}"));
}

fn class(queue: &Queue) -> String {
    format!("TIDEGATE-Q{}", queue.id)
}

fn classifier(plan: &Plan<'_>, out: &mut Draft) {
    for queue in &plan.network.queues {
        let points = points(plan, queue);
        if points.is_empty() {
            continue;
        }
        let bits: Vec<String> = points.iter().map(|point| format!("{point:06b}")).collect();
        set(
            out,
            &format!(
                "classifiers dscp TIDEGATE forwarding-class {} loss-priority low code-points [ {} ]",
                class(queue),
                bits.join(" ")
            ),
        );
    }
}

/// Bytes of header, tag and checksum around a packet.
const FRAMING: u32 = 22;

/// Code points that send pauses, and queues that react to them. Returns whether there are any.
fn pauses(plan: &Plan<'_>, out: &mut Draft) -> bool {
    let profile = "congestion-notification-profile TIDEGATE";
    let mut is_any = false;
    for queue in plan.network.lossless() {
        let points = points(plan, queue);
        if points.is_empty() {
            out.note(format!(
                "queue {} is lossless, but no code point leads to it, so nothing pauses it",
                queue.id
            ));
            continue;
        }
        is_any = true;
        // The classifier's code points. The switch computes the headroom from the longest packet
        // and the cable.
        for point in points {
            let mru = plan.network.mtu + FRAMING;
            set(out, &format!("{profile} input dscp code-point {point:06b} pfc mru {mru}"));
        }
        let id = queue.id;
        set(
            out,
            &format!("{profile} output ieee-802.1 code-point {id:03b} flow-control-queue {id}"),
        );
    }
    if is_any {
        let metres = cable_metres(plan);
        set(out, &format!("{profile} input cable-length {metres}"));
    }
    if let Some(room) = &plan.headroom {
        let all = Bytes(room.all.0.saturating_mul(u64::from(plan.network.switch.parts)));
        out.note(format!(
            "headroom of all ports and lossless classes is {}: compare with the partition lossless-headroom of shared-buffer",
            exact(all)
        ));
    }
    is_any
}

fn scheduler(
    plan: &Plan<'_>,
    row: &Row<'_>,
    scheme: Scheme,
    out: &mut Draft,
) -> Result<(), Refusal> {
    let name = format!("TIDEGATE-Q{}-{}", row.queue.id, short(row.speed));
    match row.queue.weight {
        Some(weight) => set(out, &format!("schedulers {name} transmit-rate percent {weight}")),
        None => set(out, &format!("schedulers {name} priority strict-high")),
    }
    match (row.marking, scheme, row.sojourn) {
        (Marking::Length(_), Scheme::Tcn, Some(threshold)) => {
            let ns = threshold.as_ns().max(1);
            if ns > LONGEST {
                let what = format!("Junos has no latency threshold of {}", time(threshold));
                return Err(Refusal::new(what, "the nearest is 1 s"));
            }
            if ns * 1000 != threshold.as_ps() {
                let what = of_row(row, "time");
                out.change(
                    what,
                    format!("{} ps", threshold.as_ps()),
                    format!("{ns} ns"),
                    "whole nanoseconds",
                );
            }
            set(out, &format!("schedulers {name} explicit-congestion-notification"));
            set(out, &format!("schedulers {name} latency-ecn threshold {ns}"));
        }
        (Marking::Length(_), Scheme::Tcn, None) => {
            let what = format!(
                "queue {} has no sojourn time for {}",
                row.queue.id,
                row.queue.transport.name()
            );
            return Err(Refusal::new(what, "the nearest is --scheme queue-red"));
        }
        (Marking::Length(ramp), _, _) => {
            drop_profile(plan, row, &ramp, &name, out);
            set(
                out,
                &format!(
                    "schedulers {name} drop-profile-map loss-priority any protocol any drop-profile {name}"
                ),
            );
            set(out, &format!("schedulers {name} explicit-congestion-notification"));
        }
        _ => {}
    }
    let class = class(row.queue);
    set(
        out,
        &format!(
            "scheduler-maps TIDEGATE-{} forwarding-class {class} scheduler {name}",
            short(row.speed)
        ),
    );
    Ok(())
}

/// Emits a drop profile. Fill levels are percent of the queue's limit: the dynamic threshold of a
/// queue alone.
fn drop_profile(plan: &Plan<'_>, row: &Row<'_>, ramp: &Ramp, name: &str, out: &mut Draft) {
    let network = plan.network;
    let memory = limit::of_queue(network.shared_memory(), network.switch.alpha, 1);
    let percent = |length: Bytes| {
        let wide =
            (u128::from(length.0) * 100 + u128::from(memory.0) / 2) / u128::from(memory.0.max(1));
        u64::try_from(wide).unwrap_or(100).clamp(1, 99)
    };
    let low = percent(ramp.min);
    let high = percent(ramp.max).max(low + 1);
    let levels = [("minimum", ramp.min, low), ("maximum", ramp.max, high)];
    for (what, asked, level) in levels {
        let emitted = Bytes(memory.0 / 100 * level);
        if emitted != asked {
            let emitted = format!("{level}% = {}", exact(emitted));
            out.change(
                of_row(row, what),
                exact(asked),
                emitted,
                "whole percent of the queue's memory",
            );
        }
    }
    if memory.0 / 100 * low > ramp.min.0 / 2 * 3 {
        out.note("a percent of the queue's memory is far above the threshold: where the platform has it, --scheme tcn (latency-ecn) sets it exactly");
    }
    let probability = out.percent(&of_row(row, "probability"), ramp.probability);
    set(
        out,
        &format!(
            "drop-profiles {name} interpolate fill-level [ {low} {high} ] drop-probability [ 0 {probability} ]"
        ),
    );
    out.note(format!(
        "fill levels are percent of {}, the limit by α of a queue alone",
        exact(memory)
    ));
}
