//! The answer for a network: what each queue should be marked at, by which formula, and what that means.

use tidegate_units::{Bytes, Rate, Span};

use crate::formula::bcc::PoolThresholds;
use crate::formula::ecn_sharp::Targets;
use crate::formula::{bcc, dcqcn, ecn_sharp, headroom, limit, sojourn, standard};
use crate::judge::{self, Judgement, judge};
use crate::marking::{Marking, Ramp, bytes, time};
use crate::network::{Network, Queue, Transport};

/// The answer for a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'a> {
    /// What was asked.
    pub network: &'a Network,
    /// One row for each queue and speed, in the order of queues, slow ports first.
    pub rows: Vec<Row<'a>>,
    /// What each scheme would be set to, whether or not the switch has it.
    pub schemes: Vec<Scheme>,
    /// The room for lossless classes, if there are any.
    pub headroom: Option<Headroom>,
    /// What would have to change, if no threshold works.
    pub changes: Vec<String>,
}

/// What one queue should be marked at, at ports of one speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// The queue.
    pub queue: &'a Queue,
    /// The speed.
    pub speed: Rate,
    /// By length.
    pub marking: Marking,
    /// By time, where the switch can measure it (TCN); `None` without a `λ`.
    pub sojourn: Option<Span>,
    /// How it was computed, with its numbers.
    pub formula: String,
    /// Where that is printed.
    pub section: &'static str,
    /// What it means.
    pub judgement: Judgement,
}

impl Row<'_> {
    /// Whether marks come before drops or pauses at one congested port at least; a queue that is not
    /// marked has none to come late.
    pub fn works(&self) -> bool {
        self.marking == Marking::Off || self.judgement.congested > 0
    }
}

/// What a scheme would be set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Its name.
    pub name: &'static str,
    /// Its parameters with their values.
    pub setting: String,
    /// Where that is printed.
    pub section: &'static str,
}

/// The room for lossless classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// For one port and class, by speed.
    pub of_port: Vec<(Rate, Bytes)>,
    /// For all of them.
    pub all: Bytes,
    /// What is left to share.
    pub left: Bytes,
}

impl<'a> Plan<'a> {
    /// Plans a network.
    pub fn new(network: &'a Network) -> Self {
        let mut rows = Vec::new();
        for queue in &network.queues {
            for speed in network.speeds() {
                rows.push(row(network, queue, speed));
            }
        }
        let mut plan = Self {
            network,
            rows,
            schemes: schemes(network),
            headroom: room(network),
            changes: Vec::new(),
        };
        plan.changes = plan.changes();
        plan
    }

    /// Whether some threshold works for every queue.
    pub fn works(&self) -> bool {
        self.changes.is_empty()
    }

    /// What would have to change for a threshold to work, each way alone.
    fn changes(&self) -> Vec<String> {
        let broken = self.rows.iter().filter(|row| !row.works());
        let length = |row: &Row<'_>| match row.marking {
            Marking::Length(ramp) => ramp.min,
            _ => Bytes(0),
        };
        let Some(worst) = broken.max_by_key(|row| length(row)) else {
            return Vec::new();
        };
        let network = self.network;
        let shared = judge::shared_memory(network);
        let room = judge::headroom_of_pool(network);
        if shared.0 == 0 {
            return vec![format!(
                "headroom for PFC takes all of the buffer: {} for {} lossless classes",
                bytes(room),
                network.lossless().count()
            )];
        }
        let needed = length(worst);
        let mut changes = Vec::new();
        if let Some(alpha) = least_alpha(network, worst.queue, shared, needed) {
            changes.push(format!("α of at least {alpha}"));
        }
        let pool = least_buffer(network, worst.queue, shared, needed);
        let whole = Bytes((pool.0 + room.0).saturating_mul(u64::from(network.switch.parts)));
        changes.push(format!("a buffer of at least {}", bytes(whole)));
        if let Some((lambda, _)) = worst.queue.lambda {
            let most = limit::of_queue(shared, network.switch.alpha, 1);
            let wait = judge::wait(worst.speed, most);
            let rtt = Span::from_ps(lambda.divide_up(wait.as_ps()));
            changes.push(format!("a round trip of at most {}", time(rtt)));
            let kept = judge(
                network,
                worst.queue,
                worst.speed,
                &Marking::Length(Ramp::step(most)),
            );
            if let Some(kept) = kept.kept {
                changes.push(format!(
                    "or {} of the throughput, with a threshold of {}",
                    judge::range(kept),
                    bytes(most)
                ));
            }
        }
        changes
    }
}

/// The smallest power of two for `α` with which one congested port marks first.
fn least_alpha(network: &Network, queue: &Queue, shared: Bytes, needed: Bytes) -> Option<String> {
    let classes = u32::try_from(network.lossless().count()).ok()?;
    let powers = (-8..=7).map(crate::dialect::alpha_of_exponent);
    let mut enough = powers.filter(|&alpha| {
        alpha > network.switch.alpha
            && if queue.lossless {
                limit::outputs_before_pauses(shared, alpha, classes, needed) > 0
            } else {
                limit::queues_before_drops(shared, alpha, needed) > 0
            }
    });
    enough.next().map(|alpha| alpha.to_string())
}

/// The smallest memory with which one congested port marks first, to three digits above.
fn least_buffer(network: &Network, queue: &Queue, shared: Bytes, needed: Bytes) -> Bytes {
    let alpha = network.switch.alpha;
    let classes = u32::try_from(network.lossless().count()).unwrap_or(1);
    let works = |size: u64| {
        if queue.lossless {
            limit::outputs_before_pauses(Bytes(size), alpha, classes, needed) > 0
        } else {
            limit::queues_before_drops(Bytes(size), alpha, needed) > 0
        }
    };
    let (mut low, mut high) = (shared.0, shared.0.saturating_mul(2).max(1));
    while !works(high) && high < u64::MAX / 4 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if works(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let unit = 10_u64.pow(high.ilog10().saturating_sub(2));
    Bytes(high.div_ceil(unit).saturating_mul(unit))
}

fn row<'a>(network: &'a Network, queue: &'a Queue, speed: Rate) -> Row<'a> {
    let rtt = network.rtt.p90;
    let (marking, formula, section) = match (queue.lambda, queue.transport) {
        (Some((lambda, source)), _) => {
            let threshold = standard::threshold(lambda, speed, rtt);
            let formula = format!(
                "K = λ·C·RTT = {} × {speed} × {rtt}; λ {source}",
                decimal(lambda)
            );
            (
                Marking::Length(Ramp::step(threshold)),
                formula,
                standard::SECTION,
            )
        }
        (None, Transport::Dcqcn) => {
            let (min, max) = dcqcn::thresholds(speed);
            let probability = dcqcn::PROBABILITY;
            let formula = format!("K_min = C × 32us, K_max = C × 128us, P_max = 20 % at {speed}");
            let ramp = Ramp {
                min,
                max,
                probability,
            };
            (Marking::Length(ramp), formula, dcqcn::SECTION)
        }
        (None, _) => {
            let formula = format!("{} ignores marks", queue.transport.name());
            (Marking::Off, formula, "RFC 3168 §5")
        }
    };
    Row {
        queue,
        speed,
        sojourn: queue
            .lambda
            .map(|(lambda, _)| sojourn::threshold(lambda, rtt)),
        formula,
        section,
        judgement: judge(network, queue, speed, &marking),
        marking,
    }
}

/// A ratio with two decimals.
pub(crate) fn decimal(ratio: tidegate_units::Ratio) -> String {
    let value = f64::from(ratio.numerator()) / f64::from(ratio.denominator());
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn schemes(network: &Network) -> Vec<Scheme> {
    let marked = network.queues.iter().find_map(|queue| queue.lambda);
    let Some((lambda, _)) = marked else {
        return Vec::new();
    };
    let rtt = network.rtt;
    let Targets {
        instantaneous,
        persistent,
        interval,
    } = ecn_sharp::targets(lambda, rtt);
    let mut schemes = vec![
        Scheme {
            name: "tcn",
            setting: format!(
                "T = λ·RTT = {} for all queues and speeds",
                time(sojourn::threshold(lambda, rtt.p90))
            ),
            section: sojourn::SECTION,
        },
        Scheme {
            name: "ecn-sharp",
            setting: format!(
                "ins_target {}, pst_target {} over {}",
                time(instantaneous),
                time(persistent),
                time(interval)
            ),
            section: ecn_sharp::SECTION,
        },
    ];
    let setting = match bcc::thresholds(network, lambda) {
        Ok(PoolThresholds {
            required, min, max, ..
        }) => format!(
            "pool {} to {}, 10%, B_R {}",
            bytes(min),
            bytes(max),
            bytes(required)
        ),
        Err(_) => "none: the pool is too small for B_R/α and C·N·h".to_owned(),
    };
    schemes.push(Scheme {
        name: "bcc",
        setting,
        section: bcc::SECTION,
    });
    schemes
}

fn room(network: &Network) -> Option<Headroom> {
    network.lossless().next()?;
    let of_port = |speed| {
        (
            speed,
            headroom::of_port(speed, network.link_delay, network.mtu),
        )
    };
    Some(Headroom {
        of_port: network.speeds().into_iter().map(of_port).collect(),
        all: judge::headroom_of_pool(network),
        left: judge::shared_memory(network),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(switch: &str, more: &str) -> Network {
        let text = format!(
            "fabric = {{ host_ports = \"8x25Gbps\", uplinks = \"2x100Gbps\" }}\n\
             switch = {{ {switch} }}\nrtt = {{ base = \"20us\" }}\n{more}"
        );
        Network::parse("a.toml", &text).unwrap()
    }

    #[test]
    fn each_queue_has_a_row_for_each_speed() {
        let network = network("buffer = \"16MB\"", "[[queue]]\n[[queue]]\n");
        let plan = Plan::new(&network);
        let rows: Vec<_> = plan
            .rows
            .iter()
            .map(|row| (row.queue.id, row.marking.to_string()))
            .collect();
        let expected = [(0, "45 KB"), (0, "180 KB"), (1, "45 KB"), (1, "180 KB")];
        assert_eq!(rows, expected.map(|(id, text)| (id, text.to_owned())));
        assert!(plan.works());
    }

    #[test]
    fn what_would_have_to_change_does_so() {
        let small = network("buffer = \"200KB\", alpha = \"1/8\"", "");
        let plan = Plan::new(&small);
        let expected = [
            "α of at least 16",
            "a buffer of at least 1.62 MB",
            "a round trip of at most 2.47 us",
        ];
        assert_eq!(plan.changes[..3], expected);
        for better in [
            "buffer = \"200KB\", alpha = 16",
            "buffer = \"1620KB\", alpha = \"1/8\"",
        ] {
            assert!(Plan::new(&network(better, "")).works(), "{better}");
        }
        for worse in [
            "buffer = \"200KB\", alpha = 8",
            "buffer = \"1610KB\", alpha = \"1/8\"",
        ] {
            assert!(!Plan::new(&network(worse, "")).works(), "{worse}");
        }
    }

    #[test]
    fn a_queue_whose_transport_ignores_marks_is_not_marked() {
        let network = network("buffer = \"16MB\"", "transport = \"reno\"\n");
        let plan = Plan::new(&network);
        assert!(plan.rows.iter().all(|row| row.marking == Marking::Off));
        assert!(plan.works() && plan.schemes.is_empty());
    }
}
