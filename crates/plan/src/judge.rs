//! Consequences of a marking threshold: added delay, kept throughput, and whether marks come before
//! drops and pauses.

use tidegate_units::{Bytes, Rate, Ratio, Span};

use crate::formula::{limit, throughput};
use crate::marking::{Marking, Ramp, bytes, percent, time};
use crate::measured::{self, Cost};
use crate::network::{Network, Queue};
use crate::threshold;

pub use throughput::Kept;

/// Consequences of a threshold for a queue at ports of one speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Queueing delay at which marks begin, if the queue has the port for itself.
    pub delay: Span,
    /// Queueing delay at which every packet is marked, if the queue has the port for itself.
    pub longest: Span,
    /// The same with every queue of the port backlogged, when this one gets its share; `None` for
    /// strict priority, which adds no further delay.
    pub shared: Option<Span>,
    /// Share of full throughput; `None` if it does not follow from a threshold.
    pub kept: Option<Kept>,
    /// Simulated cost of the threshold at a busy port; `None` if the transport ignores marks.
    pub cost: Option<Cost>,
    /// Number of ports of this speed that share the buffer.
    pub ports: u32,
    /// Number of ports that can be congested at once while marks still come before drops or pauses.
    pub congested: u32,
    /// Number of ports that can be in slow start at once without loss (BCC §4.3).
    pub without_loss: u32,
    /// Faults, worst first, a line each.
    pub risks: Vec<Risk>,
}

/// Fault of a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// Severity.
    pub severity: Severity,
    /// Effect, in a line.
    pub text: String,
}

/// Severity of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Marking or PFC does not work.
    Broken,
    /// Delay or throughput suffers.
    Costly,
    /// Information only.
    Note,
}

impl Severity {
    /// Name in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Costly => "costly",
            Self::Note => "note",
        }
    }
}

/// Judges `marking` for a queue at ports of this speed.
pub fn judge(network: &Network, queue: &Queue, speed: Rate, marking: &Marking) -> Judgement {
    let ramp = match *marking {
        Marking::Length(ramp) => ramp,
        Marking::Sojourn(span) => Ramp::step(Bytes(speed.bytes_in(span))),
        Marking::Off => return off(network, queue, speed),
    };
    let delay = wait(speed, ramp.min);
    let longest = wait(speed, ramp.max);
    let shared = match (marking, queue.weight) {
        // A sojourn time does not depend on the share.
        (Marking::Sojourn(span), _) => Some(*span),
        (_, Some(weight)) if weight > 0 => Some(stretched(longest, weight)),
        _ => None,
    };
    let buffer = network.shared_memory();
    let bdp = Bytes(speed.bytes_in(network.rtt.p90));
    let congested = congested(network, queue, ramp.min);
    let burst = Bytes(ramp.max.0.saturating_add(bdp.0));
    let without_loss = limit::queues_before_drops(buffer, network.switch.alpha, burst);
    let kept = kept(network, queue, bdp, ramp.min);
    let formula = threshold::ramp(network, queue, speed);
    let cost = formula.and_then(|formula| measured::cost(queue.transport, speed, formula, ramp));
    let ports = network.ports_of(speed);
    let mut judgement = Judgement {
        delay,
        longest,
        shared,
        kept,
        cost,
        ports,
        congested: congested.min(ports),
        without_loss: without_loss.min(ports),
        risks: Vec::new(),
    };
    judgement.risks = risks(network, queue, speed, &ramp, &judgement);
    judgement
}

/// Judges an unmarked queue, which grows until packets are dropped.
fn off(network: &Network, queue: &Queue, speed: Rate) -> Judgement {
    let buffer = network.shared_memory();
    let most = limit::of_queue(buffer, network.switch.alpha, 1);
    let delay = wait(speed, most);
    let mut risks = Vec::new();
    if queue.transport.reacts_to_marks() {
        let text = format!(
            "no marks: the queue grows to {} or {} before anything happens",
            bytes(most),
            time(delay)
        );
        risks.push(Risk { severity: Severity::Broken, text });
    }
    Judgement {
        delay,
        longest: delay,
        shared: queue.weight.map(|weight| stretched(delay, weight)),
        kept: None,
        cost: None,
        ports: network.ports_of(speed),
        congested: 0,
        without_loss: 0,
        risks,
    }
}

fn congested(network: &Network, queue: &Queue, length: Bytes) -> u32 {
    let buffer = network.shared_memory();
    congested_with(network, queue, length, buffer, network.switch.alpha)
}

/// Number of congested ports at which a queue still reaches a length before drops or pauses, with
/// this shared memory and `α`.
pub(crate) fn congested_with(
    network: &Network,
    queue: &Queue,
    length: Bytes,
    buffer: Bytes,
    alpha: Ratio,
) -> u32 {
    if queue.lossless {
        let classes = u32::try_from(network.lossless().count()).unwrap_or(u32::MAX);
        limit::outputs_before_pauses(buffer, alpha, classes, length)
    } else {
        limit::queues_before_drops(buffer, alpha, length)
    }
}

#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
fn kept(network: &Network, queue: &Queue, bdp: Bytes, length: Bytes) -> Option<Kept> {
    let ratio = length.0 as f64 / bdp.0.max(1) as f64;
    let window = bdp.0 as f64 / f64::from(network.mtu);
    throughput::kept(queue.transport, ratio, window)
}

fn risks(
    network: &Network,
    queue: &Queue,
    speed: Rate,
    ramp: &Ramp,
    judgement: &Judgement,
) -> Vec<Risk> {
    let mut risks = Vec::new();
    let mut add = |severity, text: String| risks.push(Risk { severity, text });
    let alpha = network.switch.alpha;
    let (event, ports) = (event(queue), judgement.ports);
    match judgement.congested {
        0 if queue.lossless => add(
            Severity::Broken,
            format!("pauses come before marks even at one congested port, at α = {alpha}"),
        ),
        0 => {
            let most = limit::of_queue(network.shared_memory(), alpha, 1);
            add(
                Severity::Broken,
                format!(
                    "marking never starts before drops at α = {alpha}: a queue alone may hold {}",
                    bytes(most)
                ),
            );
        }
        some if queue.lossless
            && some.saturating_mul(2) < first_by_formula(network, queue, speed) =>
        {
            let formula = first_by_formula(network, queue, speed);
            add(
                Severity::Costly,
                format!(
                    "pauses come before marks once more than {some} of {ports} ports of {speed} are \
                     congested; with the formula, {formula}"
                ),
            );
        }
        some if some < ports => add(
            Severity::Note,
            format!(
                "{event} come before marks once more than {some} of {ports} ports of {speed} are \
                 congested"
            ),
        ),
        _ => {}
    }
    if let Some(cost) = judgement.cost {
        if cost.raises_tail() {
            let cause = cause(network, ramp, judgement);
            let tail = factor(cost.tail.ratio);
            let text =
                format!("{cause}: the p99 of small flows is {tail} the formula's, simulated");
            add(Severity::Costly, text);
        }
        if cost.loses_throughput() {
            let lost = (1.0 - cost.throughput.ratio) * 100.0;
            let text = format!(
                "{}: a busy port carries {lost:.0} % less than with the formula, simulated",
                marks(ramp)
            );
            add(Severity::Costly, text);
        }
    }
    if let Some(kept) = judgement.kept
        && kept.least < 0.95
    {
        let text = format!("below λ·C·RTT: keeps {} of the throughput of {speed}", range(kept));
        add(Severity::Costly, text);
    }
    if !queue.transport.reacts_to_marks() {
        let text = format!(
            "{}: most switches drop its packets where they would mark others",
            queue.transport.unmarked_because()
        );
        add(Severity::Costly, text);
    }
    risks.sort_by_key(|risk| risk.severity);
    risks
}

/// Event that marks should precede.
const fn event(queue: &Queue) -> &'static str {
    if queue.lossless { "pauses" } else { "drops" }
}

/// Number of ports that can be congested with marks first if the queue is set to the formula.
fn first_by_formula(network: &Network, queue: &Queue, speed: Rate) -> u32 {
    let ramp = threshold::ramp(network, queue, speed);
    let congested = ramp.map_or(0, |ramp| congested(network, queue, ramp.min));
    congested.min(network.ports_of(speed))
}

/// Reason why a ramp makes queues long.
fn cause(network: &Network, ramp: &Ramp, judgement: &Judgement) -> String {
    let rounds = judgement.delay.as_ps() / network.rtt.p90.as_ps().max(1);
    if rounds >= LATE {
        let delay = time(judgement.delay);
        return format!("adds {delay} before the first mark, {rounds} round trips");
    }
    marks(ramp)
}

/// Round trips before the first mark from which the text names the delay.
const LATE: u64 = 3;

/// Marking of a ramp, in words.
fn marks(ramp: &Ramp) -> String {
    if ramp.acts_as_step() {
        return format!("marks all above {}", bytes(ramp.min));
    }
    let (most, end) = (percent(ramp.probability), bytes(ramp.max));
    format!("marks {most} at most below {end}")
}

/// A ratio above one: `3.4 times`.
fn factor(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
}

/// A range of throughput in whole percent: `74-97%`.
pub fn range(kept: Kept) -> String {
    let percent = |share: f64| format!("{:.0}", (share * 100.0).min(100.0));
    let (least, most) = (percent(kept.least), percent(kept.most));
    if least == most { format!("{most}%") } else { format!("{least}-{most}%") }
}

/// Time to drain a queue of this length, rounded up.
pub(crate) fn wait(speed: Rate, length: Bytes) -> Span {
    let ps = u128::from(length.0) * 8 * 1_000_000_000_000;
    let ps = ps.div_ceil(u128::from(speed.as_bps()));
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

/// A delay with a share of the port, in percent, instead of the whole port.
fn stretched(span: Span, weight: u32) -> Span {
    Span::from_ps(span.as_ps().saturating_mul(100) / u64::from(weight.max(1)))
}

#[cfg(test)]
mod tests {
    use tidegate_units::Ratio;

    use super::*;

    fn network(alpha: &str, more: &str) -> Network {
        let text = format!(
            "fabric = {{ host_ports = \"48x25Gbps\" }}\n\
             switch = {{ buffer = \"9MB\", alpha = \"{alpha}\" }}\n\
             rtt = {{ base = \"30us\" }}\n{more}"
        );
        Network::parse("a.toml", &text).unwrap()
    }

    fn judged(network: &Network, ramp: Ramp) -> Judgement {
        let marking = Marking::Length(ramp);
        judge(network, &network.queues[0], network.host_ports.speed, &marking)
    }

    #[test]
    fn threshold_of_1_mib_at_25g_adds_335_us_and_marks_after_drops_at_alpha_one_eighth() {
        let ramp = Ramp {
            min: Bytes::from_kib(1024),
            max: Bytes::from_kib(2048),
            probability: Ratio::new(1, 20).unwrap(),
        };
        let judgement = judged(&network("1/8", ""), ramp);
        assert_eq!(judgement.delay.as_ns() / 1000, 335);
        assert_eq!(judgement.congested, 0);
        let first = &judgement.risks[0];
        assert_eq!(first.severity, Severity::Broken);
        assert_eq!(
            first.text,
            "marking never starts before drops at α = 1/8: a queue alone may hold 1 MB"
        );
        assert!(judgement.risks.iter().any(|risk| risk.text.starts_with("adds 336 µs")));
    }

    #[test]
    fn the_formula_has_no_risk_where_the_buffer_is_large_enough() {
        let network = network("4", "");
        let step = Ramp::step(Bytes(67_500));
        let judgement = judged(&network, step);
        assert_eq!(judgement.risks, []);
        assert_eq!(judgement.congested, 48);
        assert_eq!(range(judgement.kept.unwrap()), "100%");
    }

    #[test]
    fn smaller_share_lengthens_the_wait_of_a_length_threshold_only() {
        let network = network("1", "[[queue]]\nweight = 25\n[[queue]]\nweight = 75\n");
        let speed = network.host_ports.speed;
        let queue = &network.queues[0];
        let length = judge(&network, queue, speed, &Marking::Length(Ramp::step(Bytes(67_500))));
        assert_eq!(length.delay, Span::from_ns(21_600));
        assert_eq!(length.shared, Some(Span::from_ns(86_400)));
        let time = judge(&network, queue, speed, &Marking::Sojourn(Span::from_us(20)));
        assert_eq!(time.shared, Some(Span::from_us(20)));
    }

    #[test]
    fn lossless_headroom_is_taken_from_the_shared_pool() {
        let lossless = "[[queue]]\nlossless = true\ntransport = \"dcqcn\"\n";
        let network = network("1", lossless);
        let headroom = network.headroom_of_pool();
        let one = network.computed_headroom(network.host_ports.speed);
        assert_eq!(headroom.0, 48 * one.0);
        assert_eq!(network.shared_memory().0, 9_000_000 - headroom.0);
    }

    #[test]
    fn headroom_that_the_switch_reserves_today_replaces_the_computed_one() {
        let lossless = "[[queue]]\nlossless = true\ntransport = \"dcqcn\"\n";
        let mut network = network("1", lossless);
        let speed = network.host_ports.speed;
        // 48 ports with 150 KB each leave 1.8 of 9 MB: α = 1 and one class let 18 outputs reach 50
        // KB.
        network.switch.reservation.of_ports = [(speed, vec![Bytes(150_000)])].into();
        assert_eq!(network.headroom_of_port(speed), Bytes(150_000));
        assert_eq!(network.shared_memory(), Bytes(1_800_000));
        let step = Ramp::step(Bytes(50_000));
        assert_eq!(judged(&network, step).congested, 18);
        // A shared headroom pool of 6 MB instead leaves 3 MB, and 30 outputs.
        network.switch.reservation.pool = Some(Bytes(6_000_000));
        assert_eq!(network.shared_memory(), Bytes(3_000_000));
        assert_eq!(judged(&network, step).congested, 30);
        assert_eq!(crate::Plan::new(&network).headroom.unwrap().of_port, [(speed, Bytes(150_000))]);
    }
}
