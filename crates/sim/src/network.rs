//! A network: hosts and switches, and the links between them.
//!
//! Hosts come first: node `n` is host `n` as long as `n` is below the number of hosts, and a switch
//! from there on. A link goes one way; a cable is two links. The egress port of a link belongs to the
//! node that the link leaves, so that ports and links have the same numbers.

use tidegate_units::{ConfigError, Rate, Span};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a `Vec` of such things.
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
    /// A host. Its number is also that of its node.
    HostId;
    /// A link of one direction, and the egress port that feeds it.
    LinkId;
    /// A host or a switch.
    NodeId;
}

impl HostId {
    /// The node that the host is.
    pub const fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The node that sends on it.
    pub from: NodeId,
    /// The node that receives from it.
    pub to: NodeId,
    /// Its speed.
    pub rate: Rate,
    /// How long a bit travels.
    pub delay: Span,
}

/// Hosts, switches and links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    hosts: u32,
    switches: u32,
    links: Vec<Link>,
}

impl Network {
    /// A network without links.
    pub const fn new(hosts: u32, switches: u32) -> Self {
        Self {
            hosts,
            switches,
            links: Vec::new(),
        }
    }

    /// Adds a cable: a link from `a` to `b` and, with the next number, one back.
    pub fn connect(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) -> LinkId {
        let there = LinkId(self.links.len() as u32);
        let link = |from, to| Link {
            from,
            to,
            rate,
            delay,
        };
        self.links.extend([link(a, b), link(b, a)]);
        there
    }

    /// The link of the other direction of the same cable.
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

    /// The switch with number `switch`, counted from zero, as a node.
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

    /// A link.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// Checks that a simulation can run on it: every host has exactly one cable, every cable joins
    /// two different nodes that exist, and there are at least two hosts.
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
                return Err(ConfigError::out_of_range(
                    "link",
                    found,
                    "one link per host",
                ));
            }
        }
        Ok(())
    }
}
