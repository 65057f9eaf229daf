//! Changes that would help a network on which no threshold works.
//!
//! Each change is verified: the network with the printed value is planned again and works.

use tidegate_units::{Bytes, Span};

use crate::formula::limit;
use crate::judge::{self, judge};
use crate::marking::{Marking, Ramp, bytes, time};
use crate::network::Network;
use crate::row::{Row, rows};

/// Changes of which each alone is enough; none if a threshold works for every queue.
pub(crate) fn changes(network: &Network, planned: &[Row<'_>]) -> Vec<String> {
    let broken = planned.iter().filter(|row| !row.works());
    let length = |row: &Row<'_>| match row.marking {
        Marking::Length(ramp) => ramp.min,
        _ => Bytes(0),
    };
    let Some(worst) = broken.max_by_key(|row| length(row)) else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    if let Some(alpha) = least_alpha(network) {
        changes.push(format!("α of at least {alpha}"));
    }
    let shared = network.shared_memory();
    if let Some(buffer) = least_buffer(network) {
        let least = bytes(buffer);
        changes.push(if shared.0 == 0 {
            let room = bytes(network.headroom_of_pool());
            format!("a buffer of at least {least}, as headroom for PFC takes {room}")
        } else {
            format!("a buffer of at least {least}")
        });
    }
    if let Some(rtt) = longest_rtt(network) {
        changes.push(format!("a round trip of at most {}", time(rtt)));
    }
    let sharing = match network.lossless().count() {
        classes if worst.queue.lossless => u32::try_from(classes).unwrap_or(u32::MAX),
        _ => 1,
    };
    let most = limit::of_queue(shared, network.switch.alpha, sharing);
    let step = Marking::Length(Ramp::step(most));
    let kept = judge(network, worst.queue, worst.speed, &step).kept;
    if let Some(kept) = kept.filter(|_| most.0 > 0) {
        changes.push(format!(
            "or {} of the throughput, with a threshold of {}",
            judge::range(kept),
            bytes(most)
        ));
    }
    changes
}

/// Whether some threshold works for every queue after a change.
fn works(network: &Network, change: impl FnOnce(&mut Network)) -> bool {
    let mut changed = network.clone();
    change(&mut changed);
    rows(&changed).iter().all(Row::works)
}

/// Smallest power of two for `α` that is enough.
fn least_alpha(network: &Network) -> Option<String> {
    let powers = (-8..=7).map(limit::alpha_of_exponent);
    let mut greater = powers.filter(|&alpha| alpha > network.switch.alpha);
    let enough = greater.find(|&alpha| works(network, |changed| changed.switch.alpha = alpha));
    enough.map(|alpha| alpha.to_string())
}

/// Smallest memory that is enough, rounded up to three digits.
fn least_buffer(network: &Network) -> Option<Bytes> {
    let enough = |size| works(network, |changed| changed.switch.buffer = Bytes(size));
    let (mut low, mut high) = (network.switch.buffer.0, network.switch.buffer.0.max(1));
    while !enough(high) {
        (low, high) = (high, high.checked_mul(2)?);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let unit = third_digit(high);
    Some(Bytes(high.div_ceil(unit).saturating_mul(unit)))
}

/// Longest 90th percentile of the round-trip time that is short enough, rounded down to three
/// digits.
fn longest_rtt(network: &Network) -> Option<Span> {
    let enough = |ps| {
        works(network, |changed| {
            changed.rtt.p90 = Span::from_ps(ps);
            changed.rtt.mean = changed.rtt.mean.min(changed.rtt.p90);
        })
    };
    // Nothing shorter is a round trip.
    let mut low = Span::from_ns(1).as_ps();
    let mut high = network.rtt.p90.as_ps();
    if !enough(low) {
        return None;
    }
    while high.saturating_sub(low) > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let unit = third_digit(low);
    Some(Span::from_ps(low / unit * unit))
}

/// Unit of the third digit of a number.
fn third_digit(number: u64) -> u64 {
    10_u64.pow(number.max(1).ilog10().saturating_sub(2))
}

#[cfg(test)]
mod tests {
    use tidegate_units::Ratio;

    use super::*;
    use crate::Plan;

    /// Networks with too little memory: lossless and not, with reserves and parts, of several
    /// transports.
    fn networks() -> impl Iterator<Item = Network> {
        let switches = [
            "buffer = \"1500KB\", alpha = \"1/64\", reserve = \"1KB\"",
            "buffer = \"300KB\", alpha = \"1/8\"",
            "buffer = \"300KB\", alpha = 1",
            "buffer = \"9MB\", alpha = \"1/64\", reserve = \"5KB\", parts = 4",
        ];
        let queues = [
            "[[queue]]\ntransport = \"ecn-star\"\n[[queue]]\n",
            "[[queue]]\ntransport = \"dcqcn\"\n[[queue]]\ntransport = \"ecn-star\"\n",
            "[[queue]]\nlossless = true\ntransport = \"dcqcn\"\n[[queue]]\n",
            "[[queue]]\nlossless = true\n[[queue]]\nlossless = true\n[[queue]]\n",
        ];
        switches.into_iter().flat_map(move |switch| {
            queues.into_iter().filter_map(move |queues| {
                let text = format!(
                    "fabric = {{ host_ports = \"8x10Gbps\", uplinks = \"4x100Gbps\" }}\n\
                     switch = {{ {switch} }}\nrtt = {{ base = \"77us\" }}\n{queues}"
                );
                Network::parse("a.toml", &text).ok()
            })
        })
    }

    /// The network after a change as it is printed.
    fn changed(network: &Network, change: &str) -> Option<Network> {
        let mut network = network.clone();
        let (what, value) = change.split_once(" of at ")?;
        let value = value.split_once(' ')?.1.replace(' ', "");
        let value = value.split(',').next()?;
        match what {
            "α" => network.switch.alpha = value.parse::<Ratio>().unwrap(),
            "a buffer" => network.switch.buffer = value.parse().unwrap(),
            "a round trip" => {
                network.rtt.p90 = value.parse().unwrap();
                network.rtt.mean = network.rtt.p90;
            }
            _ => return None,
        }
        Some(network)
    }

    #[test]
    fn each_suggested_change_is_enough_alone() {
        let mut tried = 0;
        for network in networks() {
            let changes = Plan::new(&network).changes;
            assert!(changes.iter().any(|change| change.starts_with("a buffer")));
            for change in &changes {
                if let Some(better) = changed(&network, change) {
                    assert!(Plan::new(&better).works(), "{change}\n{network:?}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 20, "{tried}");
    }

    #[test]
    fn a_shorter_round_trip_is_suggested_only_if_it_helps() {
        let text = "fabric = { host_ports = \"2x100Gbps\" }\n\
                    switch = { buffer = \"100KB\", alpha = \"1/8\" }\nrtt = { base = \"20us\" }\n\
                    transport = \"dcqcn\"\n";
        let network = Network::parse("a.toml", text).unwrap();
        let changes = Plan::new(&network).changes;
        assert!(changes.iter().all(|change| !change.contains("round trip")));
    }
}
