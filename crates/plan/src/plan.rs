//! The plan of a network: the marking threshold of each queue, its formula and its consequences.

use tidegate_units::{Bytes, Rate, Ratio};

use crate::change::changes;
use crate::formula::bcc::{Pool, PoolThresholds};
use crate::formula::ecn_sharp::Targets;
use crate::formula::{bcc, ecn_sharp, sojourn};
use crate::marking::{bytes, time};
use crate::network::Network;
use crate::row::rows;

pub use crate::row::Row;

/// Plan of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'a> {
    /// The network.
    pub network: &'a Network,
    /// One row for each queue and speed, in the order of queues, slow ports first.
    pub rows: Vec<Row<'a>>,
    /// Setting of each scheme, whether or not the switch has it.
    pub schemes: Vec<Scheme>,
    /// PFC headroom, if a class is lossless.
    pub headroom: Option<Headroom>,
    /// Changes to the network that would help, if no threshold works.
    pub changes: Vec<String>,
}

/// Setting of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name of the scheme.
    pub name: &'static str,
    /// Parameters with their values.
    pub setting: String,
    /// Source of the formula.
    pub section: &'static str,
}

/// PFC headroom of the lossless classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Headroom of one port and class, by speed.
    pub of_port: Vec<(Rate, Bytes)>,
    /// Sum over ports and classes.
    pub all: Bytes,
    /// Memory left to share.
    pub left: Bytes,
}

impl<'a> Plan<'a> {
    /// Plans a network.
    pub fn new(network: &'a Network) -> Self {
        let rows = rows(network);
        Self {
            network,
            schemes: schemes(network),
            headroom: room(network),
            changes: changes(network, &rows),
            rows,
        }
    }

    /// Whether some threshold works for every queue.
    pub fn works(&self) -> bool {
        self.rows.iter().all(Row::works)
    }
}

fn schemes(network: &Network) -> Vec<Scheme> {
    let owners = owners(network);
    let Some(greatest) = owners.iter().map(|&(lambda, _)| lambda).max() else {
        return Vec::new();
    };
    let rtt = network.rtt;
    let tcn = |lambda| time(sojourn::threshold(lambda, rtt.p90));
    let ecn_sharp = |lambda| {
        let Targets { instantaneous, persistent, interval } =
            ecn_sharp::targets(lambda, rtt.mean, rtt.p90);
        format!(
            "ins_target {}, pst_target {} over {}",
            time(instantaneous),
            time(persistent),
            time(interval)
        )
    };
    let each = |setting: &dyn Fn(Ratio) -> String| {
        let one = |(lambda, queues): &(Ratio, Vec<u8>)| {
            format!("{} for {}", setting(*lambda), numbered(queues))
        };
        owners.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    let (tcn, ecn_sharp) = match owners.as_slice() {
        [(lambda, queues)] if queues.len() == network.queues.len() => {
            let tcn = tcn(*lambda);
            (format!("{tcn} for all queues and speeds"), ecn_sharp(*lambda))
        }
        [(lambda, _)] => (format!("{} at all speeds", each(&tcn)), ecn_sharp(*lambda)),
        _ => (format!("{} at all speeds", each(&tcn)), each(&ecn_sharp)),
    };
    // The transport with the greatest need decides for the pool.
    let bcc = match bcc::thresholds(&pool(network), greatest) {
        Ok(PoolThresholds { required, min, max, .. }) => {
            format!("pool {} to {}, 10%, B_R {}", bytes(min), bytes(max), bytes(required))
        }
        Err(_) => "none: the pool is too small for B_R/α and C·N·h".to_owned(),
    };
    vec![
        Scheme { name: "tcn", setting: format!("T = λ·RTT = {tcn}"), section: sojourn::SECTION },
        Scheme { name: "ecn-sharp", setting: ecn_sharp, section: ecn_sharp::SECTION },
        Scheme { name: "bcc", setting: bcc, section: bcc::SECTION },
    ]
}

/// The pool of a leaf, for BCC.
fn pool(network: &Network) -> Pool {
    let speeds = network.speeds();
    Pool {
        shared: network.shared_memory(),
        reserve: network.switch.reserve,
        alpha: network.switch.alpha,
        ports: network.pool().ports,
        fastest: speeds[speeds.len() - 1],
        rtt: network.rtt.p90,
    }
}

/// Each `λ` with the ids of the queues that have it.
fn owners(network: &Network) -> Vec<(Ratio, Vec<u8>)> {
    let mut owners: Vec<(Ratio, Vec<u8>)> = Vec::new();
    for queue in &network.queues {
        let Some((lambda, _)) = queue.lambda else {
            continue;
        };
        match owners.iter_mut().find(|(of, _)| *of == lambda) {
            Some((_, queues)) => queues.push(queue.id),
            None => owners.push((lambda, vec![queue.id])),
        }
    }
    owners
}

/// `queue 0`, or `queues 0, 2`.
fn numbered(queues: &[u8]) -> String {
    let numbers: Vec<String> = queues.iter().map(ToString::to_string).collect();
    let noun = if queues.len() == 1 { "queue" } else { "queues" };
    format!("{noun} {}", numbers.join(", "))
}

fn room(network: &Network) -> Option<Headroom> {
    network.lossless().next()?;
    let of_port = |speed| (speed, network.headroom_of_port(speed));
    Some(Headroom {
        of_port: network.speeds().into_iter().map(of_port).collect(),
        all: network.headroom_of_pool(),
        left: network.shared_memory(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marking::Marking;

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
        let rows: Vec<_> =
            plan.rows.iter().map(|row| (row.queue.id, row.marking.to_string())).collect();
        let expected = [(0, "45 KB"), (0, "180 KB"), (1, "45 KB"), (1, "180 KB")];
        assert_eq!(rows, expected.map(|(id, text)| (id, text.to_owned())));
        assert!(plan.works());
    }

    #[test]
    fn each_suggested_change_makes_a_threshold_work() {
        let small = network("buffer = \"200KB\", alpha = \"1/8\"", "");
        let plan = Plan::new(&small);
        let expected =
            ["α of at least 16", "a buffer of at least 1.62 MB", "a round trip of at most 2.46 µs"];
        assert_eq!(plan.changes[..3], expected);
        for better in ["buffer = \"200KB\", alpha = 16", "buffer = \"1620KB\", alpha = \"1/8\""] {
            assert!(Plan::new(&network(better, "")).works(), "{better}");
        }
        for worse in ["buffer = \"200KB\", alpha = 8", "buffer = \"1610KB\", alpha = \"1/8\""] {
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

    #[test]
    fn a_sojourn_threshold_names_its_queues() {
        let of = |queues: &str| {
            let network = network("buffer = \"16MB\"", queues);
            Plan::new(&network).schemes[0].setting.clone()
        };
        let same = "[[queue]]\n[[queue]]\n";
        assert_eq!(of(same), "T = λ·RTT = 14.4 µs for all queues and speeds");
        let two = "[[queue]]\n[[queue]]\ntransport = \"ecn-star\"\n[[queue]]\n";
        let expected = "T = λ·RTT = 14.4 µs for queues 0, 2; 20 µs for queue 1 at all speeds";
        assert_eq!(of(two), expected);
        let one = "[[queue]]\n[[queue]]\ntransport = \"dcqcn\"\n";
        assert_eq!(of(one), "T = λ·RTT = 14.4 µs for queue 0 at all speeds");
    }
}
