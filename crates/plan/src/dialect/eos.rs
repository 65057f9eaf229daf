//! Arista EOS: profiles of queues, and the interfaces that use them.

use super::draft::{Draft, groups, headroom_note, of_row, points, rows, short};
use super::{Dialect, NotEcn, Refusal, Request, Scheme, Support};
use crate::marking::{Marking, Ramp, time};
use crate::network::{Queue, Role};
use crate::plan::{Plan, Row};

/// Arista EOS.
pub(super) struct Eos;

impl Dialect for Eos {
    fn title(&self) -> &'static str {
        "Arista EOS"
    }

    fn support(&self, scheme: Scheme) -> Support {
        match scheme {
            Scheme::QueueRed => Support::Yes("random-detect ecn with weight 0"),
            Scheme::Tcn => Support::Some("random-detect ecn delay (7800 series)"),
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
            "Arista does not document whether `random-detect ecn` alone drops them: try it on the platform",
        )
    }

    fn emit(&self, plan: &Plan<'_>, request: &Request<'_>, out: &mut Draft) -> Result<(), Refusal> {
        let scheme = request.scheme;
        check_strict_queues(plan)?;
        let default = plan.network.default_queue().id;
        for queue in &plan.network.queues {
            let points: Vec<String> = queue.dscp.iter().map(ToString::to_string).collect();
            if !points.is_empty() && queue.id != default {
                out.line(format!(
                    "qos map dscp {} to traffic-class {}",
                    points.join(" "),
                    queue.id
                ));
            }
        }
        // In lines of limited length.
        for points in points(plan, plan.network.default_queue()).chunks(16) {
            let points: Vec<String> = points.iter().map(ToString::to_string).collect();
            let points = points.join(" ");
            out.line(format!("qos map dscp {points} to traffic-class {default}"));
        }
        for queue in &plan.network.queues {
            out.line(format!("qos map traffic-class {0} to tx-queue {0}", queue.id));
        }
        out.line("!");
        for speed in plan.network.speeds() {
            out.line(format!("qos profile {}", name(speed)));
            if plan.headroom.is_some() {
                out.line("   priority-flow-control on");
                for queue in plan.network.lossless() {
                    out.line(format!("   priority-flow-control priority {} no-drop", queue.id));
                }
            }
            for row in rows(plan, speed) {
                queue(row, scheme, out)?;
            }
            out.line("!");
        }
        for (role, ports, first) in groups(plan) {
            for i in 0..ports.count {
                let number = first + i + 1;
                // Ports of several lanes have the lane in their name.
                let lane = if role == Role::Uplink || ports.speed.as_bps() >= 40_000_000_000 {
                    "/1"
                } else {
                    ""
                };
                out.line(format!("interface Ethernet{number}{lane}"));
                out.line("   qos trust dscp");
                out.line(format!("   service-profile {}", name(ports.speed)));
                out.line("!");
            }
        }
        out.note("α is not set: it depends on the platform (platform … buffer profiles)");
        headroom_note(plan, out);
        Ok(())
    }
}

/// Checks that strict queues come last: EOS also serves every queue below a weighted one in turn.
fn check_strict_queues(plan: &Plan<'_>) -> Result<(), Refusal> {
    let queues = &plan.network.queues;
    let in_turn = queues.iter().filter(|queue| queue.weight.is_some());
    let Some(last) = in_turn.map(|queue| queue.id).max() else {
        return Ok(());
    };
    let is_below = |queue: &&Queue| queue.weight.is_none() && queue.id < last;
    match queues.iter().find(is_below) {
        None => Ok(()),
        Some(queue) => Err(Refusal::new(
            format!(
                "EOS has no strict queue below a queue with a weight: queue {} is below {last}",
                queue.id
            ),
            "the nearest is to change their numbers: strict queues have the highest (`id`)",
        )),
    }
}

fn name(speed: tidegate_units::Rate) -> String {
    format!("TIDEGATE-{}", short(speed))
}

fn queue(row: &Row<'_>, scheme: Scheme, out: &mut Draft) -> Result<(), Refusal> {
    out.line(format!("   tx-queue {}", row.queue.id));
    match row.queue.weight {
        Some(weight) => {
            out.line(format!("      bandwidth percent {weight}"));
            out.line("      no priority");
        }
        None => out.line("      priority strict"),
    }
    let Marking::Length(ramp) = row.marking else {
        return Ok(());
    };
    match (scheme, row.sojourn) {
        (Scheme::Tcn, Some(threshold)) => {
            let us = ((threshold.as_ns() + 500) / 1000).max(1);
            if us * 1000 != threshold.as_ns() {
                let what = of_row(row, "time");
                out.change(what, time(threshold), format!("{us} µs"), "whole microseconds");
            }
            out.line(format!("      random-detect ecn delay threshold {us} microseconds"));
            out.note("delay thresholds exist on some platforms only: compare with their guide");
        }
        (Scheme::Tcn, None) => {
            let what = format!(
                "queue {} has no sojourn time for {}",
                row.queue.id,
                row.queue.transport.name()
            );
            return Err(Refusal::new(what, "the nearest is --scheme queue-red"));
        }
        _ => length(row, &ramp, out),
    }
    out.line("      random-detect ecn count");
    Ok(())
}

fn length(row: &Row<'_>, ramp: &Ramp, out: &mut Draft) {
    let (min, max, percent) = out.ramp(row, ramp);
    out.line(format!(
        "      random-detect ecn minimum-threshold {min} bytes maximum-threshold {max} bytes \
         max-mark-probability {percent} weight 0"
    ));
}
