//! Partition of a network among threads: whole switches with their hosts.

use crate::network::{HostId, LinkId, Network, NodeId};

/// Part that each node belongs to. It decides which thread does the work and never affects the
/// outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Part by node.
    nodes: Vec<u16>,
    count: u16,
}

impl Partition {
    /// Creates at most `most` parts with similar numbers of links: neighbouring switches with hosts
    /// are kept together, and a switch without hosts joins its neighbours if they are all in one
    /// part.
    pub(crate) fn new(network: &Network, most: usize) -> Self {
        const NONE: u16 = u16::MAX;
        let mut links = vec![0_u64; network.nodes() as usize];
        let mut switch_of = vec![None; network.hosts() as usize];
        let mut has_hosts = vec![false; network.nodes() as usize];
        for link in network.links() {
            links[link.from.index()] += 1;
            if network.is_host(link.from) && !network.is_host(link.to) {
                switch_of[link.from.index()] = Some(link.to);
                has_hosts[link.to.index()] = true;
            }
        }
        let edges: Vec<usize> = (0..has_hosts.len()).filter(|&node| has_hosts[node]).collect();
        let count = most.min(edges.len()).clamp(1, usize::from(u16::MAX)) as u64;
        let total: u64 = edges.iter().map(|&edge| links[edge]).sum();
        let mut nodes = vec![NONE; network.nodes() as usize];
        let mut loads = vec![0; count as usize];
        let mut before = 0;
        for &edge in &edges {
            // The part at the middle of its links among all links.
            let part = (2 * before + links[edge]) * count / (2 * total);
            nodes[edge] = part as u16; // less than `count`
            loads[part as usize] += links[edge];
            before += links[edge];
        }
        let mut neighbours = vec![Vec::new(); network.nodes() as usize];
        for link in network.links() {
            neighbours[link.from.index()].push(link.to.index());
        }
        let mut others: Vec<usize> =
            (network.hosts() as usize..nodes.len()).filter(|&node| nodes[node] == NONE).collect();
        while !others.is_empty() {
            let waiting = others.len();
            others.retain(|&node| {
                let mut known =
                    neighbours[node].iter().map(|&to| nodes[to]).filter(|&part| part != NONE);
                let Some(first) = known.next() else {
                    return true;
                };
                let lightest = (0..).zip(&loads).min_by_key(|(_, load)| **load);
                let part = if known.all(|part| part == first) {
                    first
                } else {
                    lightest.map_or(first, |(part, _)| part)
                };
                nodes[node] = part;
                loads[usize::from(part)] += links[node];
                false
            });
            if others.len() == waiting {
                // Switches that no cable connects.
                others.drain(..).for_each(|node| nodes[node] = 0);
            }
        }
        for (host, switch) in switch_of.into_iter().enumerate() {
            nodes[host] = switch.map_or(0, |switch: NodeId| nodes[switch.index()]);
        }
        Self { nodes, count: count as u16 }
    }

    /// Number of parts.
    pub(crate) fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Part of a node.
    pub(crate) fn of(&self, node: NodeId) -> u16 {
        self.nodes[node.index()]
    }

    /// Part of a host.
    pub(crate) fn of_host(&self, host: HostId) -> u16 {
        self.of(host.node())
    }

    /// Part of the sending node, by link.
    pub(crate) fn of_links(&self, network: &Network) -> Vec<u16> {
        let links = network.links().iter();
        links.map(|link| self.of(link.from)).collect()
    }

    /// Whether a link connects two parts.
    pub(crate) fn parts(&self, network: &Network, link: LinkId) -> bool {
        let link = network.link(link);
        self.of(link.from) != self.of(link.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{fat_tree, leaf_spine, star};

    fn sizes(partition: &Partition) -> Vec<usize> {
        let count = |part| partition.nodes.iter().filter(|&&it| it == part).count();
        (0..partition.count).map(count).collect()
    }

    #[test]
    fn hosts_are_with_their_switch() {
        let network = leaf_spine::Config::default().build().unwrap();
        for most in 1..20 {
            let partition = Partition::new(&network, most);
            for link in network.links().iter().filter(|link| network.is_host(link.from)) {
                assert_eq!(partition.of(link.from), partition.of(link.to));
            }
        }
    }

    #[test]
    fn parts_have_equal_sizes_where_possible() {
        let config = leaf_spine::Config {
            leaves: 8,
            spines: 8,
            hosts_per_leaf: 4,
            ..leaf_spine::Config::default()
        };
        let network = config.build().unwrap();
        assert_eq!(sizes(&Partition::new(&network, 2)), [24, 24]);
        assert_eq!(sizes(&Partition::new(&network, 8)), [6; 8]);
        let three = sizes(&Partition::new(&network, 3));
        assert!(three.iter().all(|&size| size >= 14), "{three:?}");
        // There are no more parts than switches with hosts.
        assert_eq!(Partition::new(&network, 99).count(), 8);
    }

    #[test]
    fn a_pod_stays_in_one_part() {
        let config = fat_tree::Config { k: 4, ..fat_tree::Config::default() };
        let network = config.build().unwrap();
        let partition = Partition::new(&network, 4);
        let crossing = (0..network.links().len() as u32)
            .filter(|&link| partition.parts(&network, LinkId(link)));
        // Each of the 4 cores is in one of the 4 pods, to which it has one of its 4 cables.
        assert_eq!(crossing.count(), 2 * 4 * 3);
        assert_eq!(sizes(&partition), [4 + 4 + 1; 4]);
    }

    #[test]
    fn one_switch_is_one_part() {
        let network = star::Config::default().build().unwrap();
        assert_eq!(Partition::new(&network, 8).count(), 1);
    }
}
