//! Routes: the shortest paths of a network, and the choice among equal ones.
//!
//! Each host has one switch, so that it is enough to know the distance of every switch to every
//! switch that has hosts: two bytes a pair, 2 MiB for a fat-tree of 11,664 hosts. A path is found
//! link by link when a flow starts and then kept by the flow.

use std::collections::BTreeMap;

use tidegate_units::{ConfigError, choices};

use crate::network::{HostId, Link, LinkId, Network, NodeId};
use crate::workload::Shares;

choices! {
    /// Choice of a switch among links of equal cost, which it counts by number.
    pub enum Ecmp {
        /// The flow's hash modulo the number of links, the same at every switch. Both directions of
        /// a flow share a spine if they have the same hash; in a tree with more tiers the choices
        /// of different tiers are correlated.
        FlowOnly = "flow-only",
        /// A hash of the switch and the flow's hash: choices of different switches are independent
        /// (ns-2 of TCN).
        PerNode = "per-node",
        /// The flow's hash, shifted right by the number of links already passed, modulo the number
        /// of links (ns-2 of BCC, where the TTL counts the links).
        ShiftByTtl = "shift-by-ttl",
    }
}

/// Most pairs of switches whose distance is stored: 1 GiB.
const MAX_PAIRS: u64 = 1 << 29;

/// Most levels of links between switches: with more, each would have little work.
const MAX_LEVELS: u8 = 16;

/// Distance of an unreachable switch.
const UNREACHABLE: u16 = u16::MAX;

/// The shortest paths between all hosts of a network.
#[derive(Clone, Debug)]
pub struct Routes {
    ecmp: Ecmp,
    /// Cable of each host.
    uplinks: Vec<Uplink>,
    /// By switch: its row of `distances`. Unused for a switch without hosts.
    rows: Vec<u32>,
    /// For each switch with hosts, the distance in links of every switch.
    distances: Vec<u16>,
    /// By switch: start of its next hops in `next_hops`; at the end, the end of the last ones.
    first: Vec<u32>,
    /// Links between switches, by sending switch and then by number.
    next_hops: Vec<NextHop>,
    longest: u32,
}

/// A host's cable.
#[derive(Clone, Copy, Debug)]
struct Uplink {
    link: LinkId,
    /// Number of the switch that it leads to, or `None` if it leads to a host.
    switch: Option<u32>,
}

/// A link from a switch to another.
#[derive(Clone, Copy, Debug)]
struct NextHop {
    link: LinkId,
    /// Number of the other switch.
    to: u32,
}

/// A switch with more than one next hop.
struct Fork {
    node: NodeId,
    /// Number of links already passed.
    links: u32,
    /// Number of next hops.
    next_hops: u32,
}

impl Routes {
    /// Finds all shortest paths, or two hosts without any.
    pub fn new(network: &Network) -> Result<Self, ConfigError> {
        network.check()?;
        let uplinks = uplinks(network);
        let (first, next_hops) = next_hops(network);
        let (rows, edges) = rows(&uplinks, network.switches());
        let pairs = edges.len() as u64 * u64::from(network.switches());
        if pairs > MAX_PAIRS {
            let found = format!("{} and {} with hosts", network.switches(), edges.len());
            let allowed = format!("a product of at most {MAX_PAIRS}");
            return Err(ConfigError::out_of_range("switches", found, allowed));
        }
        let mut routes = Self {
            ecmp: Ecmp::PerNode,
            uplinks,
            rows,
            distances: vec![UNREACHABLE; pairs as usize],
            first,
            next_hops,
            longest: 0,
        };
        routes.measure(&edges)?;
        routes.check_reach(network)?;
        routes.longest = routes.find_longest(&edges);
        Ok(routes)
    }

    /// Sets another choice among equal links than [`Ecmp::PerNode`].
    #[must_use]
    pub fn with_ecmp(mut self, ecmp: Ecmp) -> Self {
        self.ecmp = ecmp;
        self
    }

    /// Writes the links from `src` to `dst` to `out`, replacing its contents. `hash` chooses among
    /// equal paths. The path from a host to itself is empty.
    pub fn path(&self, src: HostId, dst: HostId, hash: u64, out: &mut Vec<LinkId>) {
        self.walk(src, dst, out, |fork| self.ecmp.choose(hash, fork));
    }

    /// Like [`path`](Self::path), but takes next hop number `choice` at the first switch that has a
    /// choice. If there is no such next hop, the error says how many there are.
    pub fn path_by_choice(
        &self,
        src: HostId,
        dst: HostId,
        choice: u32,
        hash: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<(), ConfigError> {
        let choices = self.choices(src, dst);
        if choice >= choices {
            let allowed = format!("0 to {}", choices - 1);
            return Err(ConfigError::out_of_range("choice", choice, allowed));
        }
        let mut choice = Some(choice);
        self.walk(src, dst, out, |fork| {
            choice.take().unwrap_or_else(|| self.ecmp.choose(hash, fork))
        });
        Ok(())
    }

    /// Number of next hops at the first switch from `src` to `dst` that has a choice; one if none
    /// has.
    pub fn choices(&self, src: HostId, dst: HostId) -> u32 {
        let mut at = self.edge(src);
        while let (Some(switch), Some(row)) = (at, self.row(dst)) {
            let mut next_hops = self.shortest(row, switch);
            let one = next_hops.next();
            let others = next_hops.count() as u32; // a switch has fewer than 2^32 links
            if others > 0 {
                return others + 1;
            }
            at = one.map(|hop| hop.to);
        }
        1
    }

    /// Number of shortest paths from `src` to `dst`; saturates. One path leads to the host itself.
    pub fn paths(&self, src: HostId, dst: HostId) -> u64 {
        let (Some(start), Some(row), Some(end)) = (self.edge(src), self.row(dst), self.edge(dst))
        else {
            return 1;
        };
        // All switches of a front have the same distance from the end.
        let mut paths = vec![0_u64; self.rows.len()];
        paths[start as usize] = 1;
        let mut front = vec![start];
        for _ in 0..row[start as usize] {
            let mut next = Vec::new();
            for switch in front {
                for hop in self.shortest(row, switch) {
                    let known = paths[hop.to as usize];
                    if known == 0 {
                        next.push(hop.to);
                    }
                    paths[hop.to as usize] = known.saturating_add(paths[switch as usize]);
                }
            }
            front = next;
        }
        paths[end as usize]
    }

    /// Number of links of the longest path.
    pub const fn longest(&self) -> u32 {
        self.longest
    }

    /// Levels of the links that leave switches: on every path each link has a higher level than the
    /// link before it. `None` if there are too many levels, or if paths of different hosts form a
    /// cycle.
    pub(crate) fn levels(&self) -> Option<Vec<u8>> {
        let mut levels = vec![0_u8; self.next_hops.len() + 2 * self.uplinks.len()];
        let turns = Turns::new(self);
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for (link, ahead) in turns.iter(self) {
                let higher = levels[link.index()] + 1;
                if higher > MAX_LEVELS {
                    return None;
                }
                for next in ahead {
                    let level = &mut levels[next.index()];
                    is_done &= *level >= higher;
                    *level = higher.max(*level);
                }
            }
        }
        // Links to hosts have the highest level.
        let highest = self.next_hops.iter().map(|hop| levels[hop.link.index()] + 1);
        let highest = highest.max().unwrap_or(0);
        for uplink in &self.uplinks {
            levels[Network::reverse(uplink.link).index()] = highest;
        }
        Some(levels)
    }

    /// The switch of a host, or the host at the other end if there is no switch. Hosts with the
    /// same switch share a rack.
    pub fn rack(&self, host: HostId) -> NodeId {
        let hosts = self.uplinks.len() as u32; // host numbers are u32
        match self.edge(host) {
            Some(switch) => NodeId(hosts + switch),
            None => NodeId(hosts - 1 - host.0), // the only other host
        }
    }

    /// Adds amounts between hosts to the links on their paths, divided evenly over paths of equal
    /// length.
    pub(crate) fn spread(&self, network: &Network, shares: &Shares, links: &mut [f64]) {
        for (host, amount) in &shares.sent {
            links[self.uplinks[host.index()].link.index()] += amount;
        }
        for (host, amount) in &shares.received {
            // Two hosts on one cable have no other link.
            if self.edge(*host).is_some() {
                let uplink = self.uplinks[host.index()].link;
                links[Network::reverse(uplink).index()] += amount;
            }
        }
        let switch = |node: u32| node.checked_sub(network.hosts());
        let mut towards: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
        for (&(from, to), &amount) in &shares.between {
            if let (Some(from), Some(to)) = (switch(from), switch(to)) {
                towards.entry(to).or_default().push((from, amount));
            }
        }
        for (to, from) in towards {
            self.spread_towards(to, &from, links);
        }
    }

    /// Spreads amounts that start at switches over the links to the switch `to`, the farthest
    /// switches first.
    fn spread_towards(&self, to: u32, from: &[(u32, f64)], links: &mut [f64]) {
        let switches = self.rows.len();
        let row = self.row_of(to);
        let mut amounts = vec![0.0; switches];
        for &(switch, amount) in from {
            amounts[switch as usize] += amount;
        }
        let mut order: Vec<u32> = (0..switches as u32).collect();
        order.sort_by_key(|&switch| std::cmp::Reverse(row[switch as usize]));
        for switch in order {
            let amount = std::mem::take(&mut amounts[switch as usize]);
            if amount <= 0.0 {
                continue;
            }
            let next_hops = self.shortest(row, switch).count() as u32; // fewer than 2^32 links
            for hop in self.shortest(row, switch) {
                let part = amount / f64::from(next_hops);
                links[hop.link.index()] += part;
                amounts[hop.to as usize] += part;
            }
        }
    }

    fn walk(
        &self,
        src: HostId,
        dst: HostId,
        out: &mut Vec<LinkId>,
        mut choose: impl FnMut(&Fork) -> u32,
    ) {
        out.clear();
        if src == dst {
            return;
        }
        out.push(self.uplinks[src.index()].link);
        let (Some(mut at), Some(row)) = (self.edge(src), self.row(dst)) else {
            return;
        };
        for links in 1..=u32::from(row[at as usize]) {
            let next_hops = self.shortest(row, at).count() as u32; // fewer than 2^32 links
            let choice = if next_hops > 1 {
                let node = NodeId(self.uplinks.len() as u32 + at);
                choose(&Fork { node, links, next_hops })
            } else {
                0
            };
            let mut ahead = self.shortest(row, at);
            let hop = ahead.nth(choice as usize);
            let hop = hop.expect("a switch that is not the last has a next hop");
            out.push(hop.link);
            at = hop.to;
        }
        out.push(Network::reverse(self.uplinks[dst.index()].link));
    }

    /// Switch of a host.
    fn edge(&self, host: HostId) -> Option<u32> {
        self.uplinks[host.index()].switch
    }

    /// Distance of each switch to the switch of `host`.
    fn row(&self, host: HostId) -> Option<&[u16]> {
        Some(self.row_of(self.edge(host)?))
    }

    /// Next hops from `switch` on a shortest path, in order of number.
    fn shortest<'a>(&'a self, row: &'a [u16], switch: u32) -> impl Iterator<Item = NextHop> + 'a {
        let nearer = row[switch as usize].checked_sub(1);
        let next_hops = self.next_hops_from(switch).iter().copied();
        next_hops.filter(move |hop| Some(row[hop.to as usize]) == nearer)
    }

    fn next_hops_from(&self, switch: u32) -> &[NextHop] {
        let [begin, end] = [switch, switch + 1].map(|at| self.first[at as usize] as usize);
        &self.next_hops[begin..end]
    }

    /// Distance of each switch to a switch with hosts.
    fn row_of(&self, edge: u32) -> &[u16] {
        let switches = self.rows.len();
        &self.distances[self.rows[edge as usize] as usize * switches..][..switches]
    }

    /// The switches with hosts, grouped if their cables lead to the same switches: every other
    /// switch has the same distance to all switches of a group.
    fn twins(&self) -> Vec<Vec<u32>> {
        let mut edges: Vec<u32> = self.uplinks.iter().filter_map(|uplink| uplink.switch).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut twins: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for edge in edges {
            let mut beside: Vec<u32> = self.next_hops_from(edge).iter().map(|hop| hop.to).collect();
            beside.sort_unstable();
            beside.dedup();
            twins.entry(beside).or_default().push(edge);
        }
        twins.into_values().collect()
    }

    /// Computes the distances from each switch with hosts, breadth first.
    fn measure(&mut self, edges: &[u32]) -> Result<(), ConfigError> {
        let switches = self.rows.len();
        let mut queue = Vec::with_capacity(switches);
        let mut distances = std::mem::take(&mut self.distances);
        for (row, &edge) in distances.chunks_exact_mut(switches.max(1)).zip(edges) {
            row[edge as usize] = 0;
            queue.clear();
            queue.push(edge);
            let mut next = 0;
            while let Some(&switch) = queue.get(next) {
                next += 1;
                let beyond = row[switch as usize] + 1;
                for hop in self.next_hops_from(switch) {
                    let distance = &mut row[hop.to as usize];
                    if *distance == UNREACHABLE {
                        if beyond == UNREACHABLE {
                            let allowed = format!("paths of less than {UNREACHABLE} links");
                            return Err(ConfigError::out_of_range("switches", switches, allowed));
                        }
                        *distance = beyond;
                        queue.push(hop.to);
                    }
                }
            }
        }
        self.distances = distances;
        Ok(())
    }

    /// Checks that host 0, and therefore every host, can reach every other.
    fn check_reach(&self, network: &Network) -> Result<(), ConfigError> {
        let origin = HostId(0);
        let reached = |host: HostId| match (self.row(origin), self.edge(host)) {
            (Some(row), Some(switch)) => row[switch as usize] != UNREACHABLE,
            _ => network.link(self.uplinks[0].link).to == host.node(),
        };
        match (1..network.hosts()).map(HostId).find(|&host| !reached(host)) {
            None => Ok(()),
            Some(host) => {
                let [from, to] = [origin, host].map(|host| network.name(host.node()));
                let found = format!("none from {from} to {to}");
                let allowed = "a path between any two hosts";
                Err(ConfigError::out_of_range("path", found, allowed))
            }
        }
    }

    fn find_longest(&self, edges: &[u32]) -> u32 {
        let switches = self.rows.len();
        let rows = self.distances.chunks_exact(switches.max(1));
        let between = rows.flat_map(|row| edges.iter().map(|&edge| row[edge as usize]));
        // The links of the two hosts and the links between their switches, or one cable between two
        // hosts.
        between.max().map_or(1, |most| u32::from(most) + 2)
    }
}

/// Possible successors of each link on a path: at each switch, for each link into it, one bit for
/// each link out of it. There are far fewer turns than paths, so each turn is found once.
struct Turns {
    /// By switch: start of its bits.
    first: Vec<usize>,
    bits: Vec<u64>,
}

impl Turns {
    fn new(routes: &Routes) -> Self {
        let switches = routes.rows.len();
        let mut first = Vec::with_capacity(switches);
        let mut words = 0;
        for switch in 0..switches as u32 {
            first.push(words);
            let links = routes.next_hops_from(switch).len();
            words += links * links.div_ceil(64);
        }
        let mut turns = Self { first, bits: vec![0_u64; words] };
        let mut nearer = Vec::new();
        let mut is_new = vec![true; switches];
        for twins in routes.twins() {
            for (number, &edge) in twins.iter().enumerate() {
                let row = routes.row_of(edge);
                if number == 0 {
                    (0..switches as u32).for_each(|at| turns.add(routes, row, at, &mut nearer));
                    continue;
                }
                // All other switches have the same distance to all twins: only here is anything
                // new.
                let beside = routes.next_hops_from(edge).iter().map(|hop| hop.to);
                for at in twins.iter().copied().chain(beside) {
                    // Two cables may lead to the same switch.
                    if std::mem::take(&mut is_new[at as usize]) {
                        turns.add(routes, row, at, &mut nearer);
                    }
                }
                let beside = routes.next_hops_from(edge).iter().map(|hop| hop.to);
                let seen = twins.iter().copied().chain(beside);
                seen.for_each(|at| is_new[at as usize] = true);
            }
        }
        turns
    }

    /// Adds the turns at a switch of paths to the edge whose distances are in `row`. `nearer` is
    /// working memory.
    fn add(&mut self, routes: &Routes, row: &[u16], switch: u32, nearer: &mut Vec<u64>) {
        let distance = row[switch as usize];
        let neighbours = routes.next_hops_from(switch);
        nearer.clear();
        nearer.resize(neighbours.len().div_ceil(64), 0_u64);
        for (place, hop) in neighbours.iter().enumerate() {
            let is_nearer = row[hop.to as usize].checked_add(1) == Some(distance);
            nearer[place / 64] |= u64::from(is_nearer) << (place % 64);
        }
        let own = &mut self.bits[self.first[switch as usize]..];
        let own = own.chunks_exact_mut(nearer.len().max(1));
        // A path from a neighbour that is farther away continues to one that is nearer.
        for (hop, out) in neighbours.iter().zip(own) {
            if Some(row[hop.to as usize]) == distance.checked_add(1) {
                for (out, nearer) in out.iter_mut().zip(&*nearer) {
                    *out |= nearer;
                }
            }
        }
    }

    /// Every link between switches, with the links that may follow it.
    fn iter<'a>(
        &'a self,
        routes: &'a Routes,
    ) -> impl Iterator<Item = (LinkId, impl Iterator<Item = LinkId> + 'a)> {
        let switches = (0..).zip(&self.first);
        switches.flat_map(move |(switch, &first)| {
            let neighbours = routes.next_hops_from(switch);
            let words = neighbours.len().div_ceil(64).max(1);
            let links = self.bits[first..].chunks_exact(words).zip(neighbours);
            links.map(move |(out, hop)| {
                let words = out.iter().zip(neighbours.chunks(64));
                let ahead = words.flat_map(|(&word, neighbours)| {
                    places(word).map(|place| neighbours[place].link)
                });
                (Network::reverse(hop.link), ahead)
            })
        })
    }
}

/// Positions of the bits that are set.
fn places(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        place
    })
}

impl Ecmp {
    #[inline]
    fn choose(self, hash: u64, fork: &Fork) -> u32 {
        let next_hops = u64::from(fork.next_hops);
        let hop = match self {
            Self::FlowOnly => hash % next_hops,
            Self::PerNode => fraction_of(next_hops, mix(hash, fork.node)),
            Self::ShiftByTtl => hash.checked_shr(fork.links).unwrap_or(0) % next_hops,
        };
        hop as u32 // below `next_hops`
    }
}

/// The fraction `part` / 2^64 of `whole`.
const fn fraction_of(whole: u64, part: u64) -> u64 {
    ((whole as u128 * part as u128) >> 64) as u64
}

/// A hash of a flow's hash and a node, so that flows with the same choice at one node separate at
/// the next.
const fn mix(hash: u64, node: NodeId) -> u64 {
    let salt = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(node.0 as u64 + 1);
    finish(finish(hash).wrapping_add(salt))
}

/// SplitMix64's last step (Steele et al., 2014): every input bit affects all output bits.
const fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn uplinks(network: &Network) -> Vec<Uplink> {
    let none = Uplink { link: LinkId(0), switch: None };
    let mut uplinks = vec![none; network.hosts() as usize];
    for (number, link) in (0..).zip(network.links()) {
        if network.is_host(link.from) {
            uplinks[link.from.index()] =
                Uplink { link: LinkId(number), switch: link.to.0.checked_sub(network.hosts()) };
        }
    }
    uplinks
}

/// Links between switches, by sending switch, and the start of each switch's links.
fn next_hops(network: &Network) -> (Vec<u32>, Vec<NextHop>) {
    let switch = |node: NodeId| node.0.checked_sub(network.hosts());
    let between = |(number, link): (u32, &Link)| {
        let hop = NextHop { link: LinkId(number), to: switch(link.to)? };
        Some((switch(link.from)?, hop))
    };
    let mut next_hops: Vec<(u32, NextHop)> =
        (0..).zip(network.links()).filter_map(between).collect();
    next_hops.sort_by_key(|&(from, _)| from); // stable: links of a switch stay in order
    let mut first = vec![0_u32; network.switches() as usize + 1];
    for &(from, _) in &next_hops {
        first[from as usize + 1] += 1;
    }
    for switch in 1..first.len() {
        first[switch] += first[switch - 1];
    }
    (first, next_hops.into_iter().map(|(_, hop)| hop).collect())
}

/// A row for each switch with hosts, by switch, and these switches by row.
fn rows(uplinks: &[Uplink], switches: u32) -> (Vec<u32>, Vec<u32>) {
    const NONE: u32 = u32::MAX;
    let mut rows = vec![NONE; switches as usize];
    let mut edges = Vec::new();
    for switch in uplinks.iter().filter_map(|uplink| uplink.switch) {
        let row = &mut rows[switch as usize];
        if *row == NONE {
            *row = edges.len() as u32; // there are at most as many as switches
            edges.push(switch);
        }
    }
    (rows, edges)
}

#[cfg(test)]
mod tests;
