//! Cisco NX-OS: queuing policies in kilobytes.

use tidegate_units::Bytes;

use super::draft::{Draft, exact, groups, headroom_note, of_row, rows, short};
use super::{Dialect, NotEcn, Refusal, Request, Scheme, Support};
use crate::marking::{Marking, Ramp};
use crate::network::Queue;
use crate::plan::{Plan, Row};

/// Bytes of a kilobyte.
const KILOBYTE: u64 = 1000;

/// Most bytes of a packet of a lossless class.
const LONGEST_PACKET: u32 = 9216;

/// Cisco NX-OS.
pub(super) struct Nxos;

impl Dialect for Nxos {
    fn title(&self) -> &'static str {
        "Cisco NX-OS"
    }

    fn support(&self, scheme: Scheme) -> Support {
        match scheme {
            Scheme::QueueRed => Support::Yes("random-detect … ecn with weight 0"),
            Scheme::Tcn => Support::No("queue-red: K is T at the speed of each port"),
            Scheme::EcnSharp => {
                Support::No("queue-red at λ·C·RTT of the 90th percentile, its instantaneous part")
            }
            Scheme::Bcc => Support::No("queue-red; AFD with ETRAP marks large flows only"),
        }
    }

    fn not_ecn(&self) -> NotEcn {
        NotEcn::Unknown(
            "Cisco does not document `random-detect … ecn` for them: expect drops at the thresholds",
        )
    }

    fn emit(&self, plan: &Plan<'_>, _: &Request<'_>, out: &mut Draft) -> Result<(), Refusal> {
        let default = plan.network.default_queue().id;
        if default != 0 {
            let what =
                format!("NX-OS leaves other traffic to queue 0, but the plan to queue {default}");
            return Err(Refusal::new(what, "the nearest is a queue with id = 0 for DSCP 0"));
        }
        let mtu = plan.network.mtu;
        if mtu > LONGEST_PACKET && plan.headroom.is_some() {
            let what = format!("NX-OS has no lossless class with packets of {mtu} B");
            return Err(Refusal::new(what, format!("the nearest is mtu = {LONGEST_PACKET}")));
        }
        classes(plan, out);
        for speed in plan.network.speeds() {
            out.line(format!("policy-map type queuing TIDEGATE-{}", short(speed)));
            let mut level = 0;
            for row in rows(plan, speed).collect::<Vec<_>>().into_iter().rev() {
                out.line(format!("  class type queuing {}", queue_class(row.queue)));
                match row.queue.weight {
                    Some(weight) => out.line(format!("    bandwidth remaining percent {weight}")),
                    None => {
                        level += 1;
                        out.line(format!("    priority level {level}"));
                    }
                }
                if let Marking::Length(ramp) = row.marking {
                    thresholds(row, &ramp, out);
                }
            }
        }
        if plan.headroom.is_some() {
            out.line("policy-map type network-qos TIDEGATE-NQ");
            for queue in plan.network.lossless() {
                let name = if queue.id == 0 { "-default".to_owned() } else { queue.id.to_string() };
                out.line(format!("  class type network-qos c-8q-nq{name}"));
                out.line(format!("    pause pfc-cos {}", queue.id));
                out.line(format!("    mtu {}", mtu.max(1500)));
            }
            out.line("system qos");
            out.line("  service-policy type network-qos TIDEGATE-NQ");
        }
        for (_, ports, first) in groups(plan) {
            let range = match ports.count {
                1 => format!("1/{}", first + 1),
                count => format!("1/{}-{}", first + 1, first + count),
            };
            out.line(format!("interface Ethernet{range}"));
            if plan.headroom.is_some() {
                out.line("  priority-flow-control mode on");
            }
            out.line("  service-policy type qos input TIDEGATE-IN");
            out.line(format!(
                "  service-policy type queuing output TIDEGATE-{}",
                short(ports.speed)
            ));
        }
        out.note("α is not set: it depends on the platform (queue-limit dynamic)");
        headroom_note(plan, out);
        Ok(())
    }
}

fn queue_class(queue: &Queue) -> String {
    match queue.id {
        0 => "c-out-8q-q-default".to_owned(),
        id => format!("c-out-8q-q{id}"),
    }
}

/// Maps of code points to groups, which are queues.
fn classes(plan: &Plan<'_>, out: &mut Draft) {
    let named =
        || plan.network.queues.iter().filter(|queue| queue.id != 0 && !queue.dscp.is_empty());
    for queue in named() {
        let points: Vec<String> = queue.dscp.iter().map(ToString::to_string).collect();
        out.line(format!("class-map type qos match-any TIDEGATE-Q{}", queue.id));
        out.line(format!("  match dscp {}", points.join(",")));
    }
    out.line("policy-map type qos TIDEGATE-IN");
    for queue in named() {
        out.line(format!("  class TIDEGATE-Q{}", queue.id));
        out.line(format!("    set qos-group {}", queue.id));
    }
    out.line("  class class-default");
    out.line("    set qos-group 0");
}

fn thresholds(row: &Row<'_>, ramp: &Ramp, out: &mut Draft) {
    let why = "whole kilobytes";
    let min = out.multiple(&of_row(row, "minimum"), ramp.min, KILOBYTE, why).0 / KILOBYTE;
    // NX-OS requires a maximum above the minimum.
    let wanted = Bytes(ramp.max.0.max((min + 1) * KILOBYTE));
    if wanted != ramp.max {
        let what = of_row(row, "maximum");
        out.change(what, exact(ramp.max), exact(wanted), "above the minimum");
    }
    let max = out.multiple(&of_row(row, "maximum"), wanted, KILOBYTE, why).0 / KILOBYTE;
    let percent = out.percent(&of_row(row, "probability"), ramp.probability);
    out.line(format!(
        "    random-detect minimum-threshold {min} kbytes maximum-threshold {max} kbytes \
         drop-probability {percent} weight 0 ecn"
    ));
}
