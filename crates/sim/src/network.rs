//! A network: hosts and switches, and the links between them.
//!
//! Hosts come first: node `n` is host `n` if `n` is below the number of hosts, otherwise a switch.
//! A link has one direction; a cable is two links. The egress port of a link belongs to the node
//! that sends on the link, so that ports and links have the same numbers.

use tidegate_units::{ConfigError, Rate, Span};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a `Vec`.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

ids! {
    /// A host, with the same number as its node.
    HostId;
    /// A link in one direction, and the egress port that feeds it.
    LinkId;
    /// A host or a switch.
    NodeId;
}

impl HostId {
    /// Node of the host.
    pub const fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Sending node.
    pub from: NodeId,
    /// Receiving node.
    pub to: NodeId,
    /// Link speed.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
}

/// Hosts, switches and links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    hosts: u32,
    switches: u32,
    links: Vec<Link>,
    tiers: Vec<Tier>,
}

/// Switches of one kind, from number `first` up to the next tier's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tier {
    first: u32,
    name: &'static str,
}

/// Sending capacity of a switch in each direction, in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Capacity to its hosts.
    pub to_hosts: u64,
    /// Capacity to other switches.
    pub to_switches: u64,
}

impl Network {
    /// A network without links.
    pub const fn new(hosts: u32, switches: u32) -> Self {
        Self { hosts, switches, links: Vec::new(), tiers: Vec::new() }
    }

    /// Names the switches from number `first` on `name`, counted from zero. Tiers are named in
    /// order; a later call replaces the name from its `first` on.
    pub fn name_switches(&mut self, first: u32, name: &'static str) {
        self.tiers.push(Tier { first, name });
    }

    /// Adds a cable: a link from `a` to `b` and, with the next number, the reverse link.
    pub fn connect(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) -> LinkId {
        let there = LinkId(self.links.len() as u32);
        let link = |from, to| Link { from, to, rate, delay };
        self.links.extend([link(a, b), link(b, a)]);
        there
    }

    /// The link in the other direction of the same cable.
    #[inline]
    pub const fn reverse(link: LinkId) -> LinkId {
        LinkId(link.0 ^ 1)
    }

    /// Number of hosts.
    pub const fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Number of switches.
    pub const fn switches(&self) -> u32 {
        self.switches
    }

    /// Number of nodes.
    pub const fn nodes(&self) -> u32 {
        self.hosts + self.switches
    }

    /// Node of switch number `switch`, counted from zero.
    pub const fn switch(&self, switch: u32) -> NodeId {
        NodeId(self.hosts + switch)
    }

    /// Whether a node is a host.
    #[inline]
    pub const fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }

    /// All links, by number.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The link with this number.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// Name of a node in reports and messages: `host3`, `leaf0`, `spine2`.
    pub fn name(&self, node: NodeId) -> String {
        let Some(switch) = node.0.checked_sub(self.hosts) else {
            return format!("host{node}");
        };
        let tier = self.tiers.iter().rev().find(|tier| tier.first <= switch);
        let (name, first) = tier.map_or(("switch", 0), |tier| (tier.name, tier.first));
        format!("{name}{}", switch - first)
    }

    /// Name of a link in reports, messages and captures: `leaf0>host3`.
    pub fn link_name(&self, link: &Link) -> String {
        format!("{}>{}", self.name(link.from), self.name(link.to))
    }

    /// Rack of each host: the node at the other end of its cable.
    pub fn racks(&self) -> Vec<NodeId> {
        let mut racks = vec![NodeId::default(); self.hosts as usize];
        for link in self.links.iter().filter(|link| self.is_host(link.from)) {
            racks[link.from.index()] = link.to;
        }
        racks
    }

    /// Sending capacity of a switch to its hosts and to other switches. Their quotient is the
    /// oversubscription of a leaf.
    pub fn capacity(&self, switch: NodeId) -> Capacity {
        let mut capacity = Capacity::default();
        for link in self.links.iter().filter(|link| link.from == switch) {
            let side = if self.is_host(link.to) {
                &mut capacity.to_hosts
            } else {
                &mut capacity.to_switches
            };
            *side = side.saturating_add(link.rate.as_bps());
        }
        capacity
    }

    /// Propagation delay along `path`, without serialization.
    pub fn path_delay(&self, path: &[LinkId]) -> Span {
        let delays = path.iter().map(|&link| self.link(link).delay);
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    }

    /// Rate of the slowest link of `path`; `None` for an empty path.
    pub fn bottleneck(&self, path: &[LinkId]) -> Option<Rate> {
        path.iter().map(|&link| self.link(link).rate).min()
    }

    /// Checks that the network can be simulated: every host has exactly one cable, every cable
    /// connects two different existing nodes, and there are at least two hosts.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.hosts < 2 {
            return Err(ConfigError::out_of_range("hosts", self.hosts, "at least 2"));
        }
        let mut cables = vec![0_u32; self.nodes() as usize];
        for link in &self.links {
            let known = |node: NodeId| node.0 < self.nodes();
            if !known(link.from) || !known(link.to) || link.from == link.to {
                let ends = format!("{} to {}", link.from, link.to);
                let allowed = format!("two different nodes below {}", self.nodes());
                return Err(ConfigError::out_of_range("link", ends, allowed));
            }
            cables[link.from.index()] += 1;
        }
        for (host, &count) in cables.iter().enumerate().take(self.hosts as usize) {
            if count != 1 {
                let found = format!("{count} links at host {host}");
                return Err(ConfigError::out_of_range("link", found, "one link per host"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: Rate = Rate::from_gbps(1);
    const MICROSECOND: Span = Span::from_us(1);

    #[test]
    fn nodes_have_names_by_tier() {
        let mut network = Network::new(2, 5);
        let names = |network: &Network| -> Vec<String> {
            (0..7).map(|node| network.name(NodeId(node))).collect()
        };
        assert_eq!(names(&network)[1..4], ["host1", "switch0", "switch1"]);
        network.name_switches(1, "leaf");
        network.name_switches(3, "spine");
        let expected = ["host0", "host1", "switch0", "leaf0", "leaf1", "spine0", "spine1"];
        assert_eq!(names(&network), expected);
    }

    #[test]
    fn capacity_separates_hosts_from_switches() {
        let mut network = Network::new(3, 2);
        let (left, right) = (network.switch(0), network.switch(1));
        for host in 0..2 {
            network.connect(NodeId(host), left, GIGABIT, MICROSECOND);
        }
        network.connect(left, right, Rate::from_gbps(10), MICROSECOND);
        network.connect(right, NodeId(2), Rate::from_gbps(4), MICROSECOND);
        let capacity = |to_hosts, to_switches| Capacity { to_hosts, to_switches };
        let gigabits = 1_000_000_000;
        assert_eq!(network.capacity(left), capacity(2 * gigabits, 10 * gigabits));
        assert_eq!(network.capacity(right), capacity(4 * gigabits, 10 * gigabits));
        assert_eq!(network.racks(), [left, left, right]);
    }

    #[test]
    fn a_path_has_a_delay_and_a_slowest_link() {
        let mut network = Network::new(2, 1);
        let switch = network.switch(0);
        let up = network.connect(NodeId(0), switch, Rate::from_gbps(10), MICROSECOND);
        let down = network.connect(switch, NodeId(1), GIGABIT, Span::from_us(5));
        assert_eq!(network.path_delay(&[up, down]), Span::from_us(6));
        assert_eq!(network.bottleneck(&[up, down]), Some(GIGABIT));
        assert_eq!(network.path_delay(&[]), Span::ZERO);
        assert_eq!(network.bottleneck(&[]), None);
    }

    #[test]
    fn an_invalid_network_is_refused_with_the_reason() {
        let error = |network: &Network| network.check().unwrap_err().to_string();
        assert_eq!(error(&Network::new(1, 0)), "hosts = 1 is out of range; allowed: at least 2");
        let mut network = Network::new(2, 1);
        network.connect(NodeId(0), NodeId(2), GIGABIT, MICROSECOND);
        assert_eq!(
            error(&network),
            "link = 0 links at host 1 is out of range; allowed: one link per host"
        );
        network.connect(NodeId(1), NodeId(2), GIGABIT, MICROSECOND);
        assert_eq!(network.check(), Ok(()));
        for (a, b, ends) in [(2, 2, "2 to 2"), (2, 3, "2 to 3"), (3, 2, "3 to 2")] {
            let mut network = network.clone();
            network.connect(NodeId(a), NodeId(b), GIGABIT, MICROSECOND);
            let allowed = "allowed: two different nodes below 3";
            assert_eq!(error(&network), format!("link = {ends} is out of range; {allowed}"));
        }
    }
}
