use tidegate_units::{Rate, Rng, Setting, Span};

use super::*;
use crate::topology::{Config, fat_tree, leaf_spine};

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Span = Span::from_us(1);

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Network {
    let config =
        leaf_spine::Config { leaves, spines, hosts_per_leaf, ..leaf_spine::Config::default() };
    config.build().unwrap()
}

fn fat_tree(k: u32) -> Network {
    let config = fat_tree::Config { k, ..fat_tree::Config::default() };
    config.build().unwrap()
}

fn path(routes: &Routes, src: u32, dst: u32, hash: u64) -> Vec<LinkId> {
    let mut out = vec![LinkId(u32::MAX)]; // its contents are replaced
    routes.path(HostId(src), HostId(dst), hash, &mut out);
    out
}

/// Names of the nodes along a path.
fn names(network: &Network, path: &[LinkId]) -> Vec<String> {
    let first = path.first().map(|&link| network.link(link).from);
    let others = path.iter().map(|&link| network.link(link).to);
    first.into_iter().chain(others).map(|node| network.name(node)).collect()
}

/// A random network: switches connected at random, parallel cables included, and hosts.
fn random_network(rng: &mut Rng) -> Network {
    let mut below = |limit: u32| rng.next_u32() % limit;
    let (hosts, switches) = (2 + below(8), 1 + below(12));
    let mut network = Network::new(hosts, switches);
    for host in 0..hosts {
        let switch = network.switch(below(switches));
        network.connect(NodeId(host), switch, RATE, DELAY);
    }
    for _ in 0..below(3 * switches) {
        let (a, b) = (below(switches), below(switches));
        if a != b {
            network.connect(network.switch(a), network.switch(b), RATE, DELAY);
        }
    }
    network
}

/// Number of links and of shortest paths between all nodes, by repeated relaxation of all links.
/// Only the ends of a path are hosts.
fn brute_force(network: &Network, src: NodeId) -> (Vec<u32>, Vec<u64>) {
    let nodes = network.nodes() as usize;
    let mut distance = vec![u32::MAX; nodes];
    distance[src.index()] = 0;
    for _ in 0..nodes {
        for link in network.links() {
            let passes = link.from == src || !network.is_host(link.from);
            let from = distance[link.from.index()];
            if passes && from != u32::MAX {
                let to = &mut distance[link.to.index()];
                *to = (*to).min(from + 1);
            }
        }
    }
    let mut paths = vec![0_u64; nodes];
    paths[src.index()] = 1;
    for length in 1..=nodes as u32 {
        for link in network.links() {
            let passes = link.from == src || !network.is_host(link.from);
            let ends = [link.from, link.to].map(|node| distance[node.index()]);
            if passes && ends == [length - 1, length] {
                paths[link.to.index()] += paths[link.from.index()];
            }
        }
    }
    (distance, paths)
}

#[test]
fn paths_of_random_networks_are_connected_shortest_and_free_of_loops() {
    let mut rng = Rng::new(7, 0);
    let (mut whole, mut cut, mut forked) = (0, 0, 0);
    for round in 0..3_000 {
        let network = random_network(&mut rng);
        let hosts = network.hosts();
        let reached = |src: u32| {
            let (distance, _) = brute_force(&network, NodeId(src));
            (0..hosts).all(|dst| distance[dst as usize] != u32::MAX)
        };
        let routes = match Routes::new(&network) {
            Ok(routes) => routes,
            Err(error) => {
                assert!(!reached(0), "round {round}: {error}");
                cut += 1;
                continue;
            }
        };
        whole += 1;
        let mut longest = 0;
        for src in 0..hosts {
            let (distance, paths) = brute_force(&network, NodeId(src));
            for dst in 0..hosts {
                let hash = rng.next_u64();
                let out = path(&routes, src, dst, hash);
                let expected = distance[dst as usize];
                assert_eq!(out.len() as u32, expected, "round {round}: {src} to {dst}");
                longest = longest.max(expected);
                let mut at = NodeId(src);
                let mut seen = vec![at];
                for &link in &out {
                    assert_eq!(network.link(link).from, at, "round {round}: {out:?}");
                    at = network.link(link).to;
                    assert!(!seen.contains(&at), "round {round}: a loop in {out:?}");
                    seen.push(at);
                }
                assert_eq!(at, NodeId(dst), "round {round}");
                assert_eq!(
                    routes.paths(HostId(src), HostId(dst)),
                    paths[dst as usize],
                    "round {round}: {src} to {dst}"
                );
                forked += u32::from(paths[dst as usize] > 1);
            }
        }
        assert_eq!(routes.longest(), longest, "round {round}");
    }
    assert!(
        whole > 500 && cut > 500 && forked > 1_000,
        "the random networks are too uniform: {whole} whole, {cut} cut, {forked} with a choice"
    );
}

#[test]
fn every_hashed_path_is_found_and_counted() {
    let network = fat_tree(4);
    let routes = Routes::new(&network).unwrap();
    // Host 0 to another pod, to another edge of its pod, to its own edge, to itself.
    for (dst, count, choices) in [(15, 4, 2), (2, 2, 2), (1, 1, 1), (0, 1, 1)] {
        let mut found: Vec<_> = (0..200).map(|hash| path(&routes, 0, dst, hash)).collect();
        found.sort();
        found.dedup();
        assert_eq!(found.len() as u64, count, "to host {dst}");
        assert_eq!(routes.paths(HostId(0), HostId(dst)), count);
        assert_eq!(routes.choices(HostId(0), HostId(dst)), choices);
    }
}

#[test]
fn per_node_choices_spread_evenly_and_independently() {
    const FLOWS: u32 = 16_000;
    let network = fat_tree(8);
    let routes = Routes::new(&network).unwrap();
    // Host 0 is below edge 0; each of 4 aggregation switches leads to 4 cores.
    let mut cores = [0_u32; 16];
    let first = network.nodes() - 16;
    for hash in 0..FLOWS {
        let out = path(&routes, 0, 127, hash.into());
        cores[(network.link(out[2]).to.0 - first) as usize] += 1;
    }
    let expected = FLOWS / 16;
    let squares: u32 = cores.iter().map(|&n| n.abs_diff(expected).pow(2)).sum();
    // Chi-square with 15 degrees of freedom exceeds 37.7 once in a thousand.
    assert!(squares / expected < 38, "{cores:?}");
}

#[test]
fn per_node_choices_differ_between_switches_for_one_flow() {
    let network = leaf_spine(16, 8, 1);
    let routes = Routes::new(&network).unwrap();
    // The same hash from 15 leaves to the last one: under the flow-only rule all spines would be
    // the same.
    let mut spines: Vec<_> =
        (0..15).map(|src| network.link(path(&routes, src, 15, 99)[1]).to).collect();
    spines.sort();
    spines.dedup();
    assert!(spines.len() > 4, "{spines:?}");
}

#[test]
fn the_per_node_choice_never_changes() {
    // Computed independently of this code: results must not change with the version.
    let network = leaf_spine(16, 8, 1);
    let routes = Routes::new(&network).unwrap();
    let first = network.switch(16).0;
    let spines = [0, 1, 2, 3, 4, 5, 6, 7].map(|src| {
        let out = path(&routes, src, 15, 99);
        network.link(out[1]).to.0 - first
    });
    assert_eq!(spines, [0, 1, 3, 0, 3, 5, 6, 0]);
}

#[test]
fn the_flow_only_choice_shares_the_spine_in_both_directions() {
    for network in [leaf_spine(4, 3, 2), fat_tree(6)] {
        let routes = Routes::new(&network).unwrap().with_ecmp(Ecmp::FlowOnly);
        let far = network.hosts() - 1;
        for hash in 0..50 {
            let out = path(&routes, 0, far, hash);
            let mut back = path(&routes, far, 0, hash);
            back.reverse();
            let there: Vec<_> = out.iter().map(|&link| Network::reverse(link)).collect();
            assert_eq!(there, back, "hash {hash}");
        }
    }
    let network = leaf_spine(4, 3, 2);
    let routes = Routes::new(&network).unwrap().with_ecmp(Ecmp::FlowOnly);
    for (hash, spine) in [(0, "spine0"), (1, "spine1"), (2, "spine2"), (3, "spine0")] {
        let nodes = names(&network, &path(&routes, 1, 7, hash));
        assert_eq!(nodes, ["host1", "leaf0", spine, "leaf3", "host7"]);
    }
}

#[test]
fn the_shift_grows_with_the_links_passed() {
    let network = fat_tree(4);
    let routes = Routes::new(&network).unwrap();
    let routes = routes.with_ecmp(Ecmp::ShiftByTtl);
    // One link is passed at the edge and two at the aggregation switch: bits 1 and 2 choose. Core
    // switches 0 and 1 are above the first aggregation switch, 2 and 3 above the second.
    let cases = [(0b001, 0, 0), (0b010, 1, 2), (0b100, 0, 1), (0b110, 1, 3)];
    for (hash, aggregation, core) in cases {
        let nodes = names(&network, &path(&routes, 0, 15, hash));
        let expected = [format!("agg{aggregation}"), format!("core{core}")];
        assert_eq!(nodes[2..4], expected, "hash {hash:b}");
    }
}

#[test]
fn a_shift_by_all_bits_selects_the_first_link() {
    let fork = Fork { node: NodeId(0), links: 64, next_hops: 3 };
    assert_eq!(Ecmp::ShiftByTtl.choose(u64::MAX, &fork), 0);
}

#[test]
fn a_flow_may_name_its_first_choice() {
    let network = fat_tree(4);
    let routes = Routes::new(&network).unwrap();
    let mut out = Vec::new();
    for choice in 0..2 {
        let (src, dst) = (HostId(0), HostId(15));
        for hash in 0..20 {
            routes.path_by_choice(src, dst, choice, hash, &mut out).unwrap();
            assert_eq!(names(&network, &out)[2], format!("agg{choice}"));
        }
        // The hash decides later choices.
        let mut cores: Vec<_> = (0..20)
            .map(|hash| {
                let named = routes.path_by_choice(src, dst, choice, hash, &mut out);
                named.unwrap();
                network.link(out[2]).to
            })
            .collect();
        cores.sort();
        cores.dedup();
        assert_eq!(cores.len(), 2);
    }
    let error = routes.path_by_choice(HostId(0), HostId(15), 2, 0, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "choice = 2 is out of range; allowed: 0 to 1");
    // Without a choice there is one next hop, number 0.
    assert!(routes.path_by_choice(HostId(0), HostId(1), 0, 0, &mut out).is_ok());
    assert_eq!(out.len(), 2);
    assert!(routes.path_by_choice(HostId(0), HostId(1), 1, 0, &mut out).is_err());
}

#[test]
fn a_named_choice_may_be_behind_the_first_switch() {
    // Hosts 0 and 1 at the ends of 0 – 1 – {2, 3, 4} – 5.
    let mut network = Network::new(2, 6);
    let [zero, one, five] = [0, 1, 5].map(|switch| network.switch(switch));
    network.connect(NodeId(0), zero, RATE, DELAY);
    network.connect(NodeId(1), five, RATE, DELAY);
    network.connect(zero, one, RATE, DELAY);
    for middle in 2..5 {
        let middle = network.switch(middle);
        network.connect(one, middle, RATE, DELAY);
        network.connect(middle, five, RATE, DELAY);
    }
    let routes = Routes::new(&network).unwrap();
    assert_eq!(routes.choices(HostId(0), HostId(1)), 3);
    let mut out = Vec::new();
    routes.path_by_choice(HostId(0), HostId(1), 2, 0, &mut out).unwrap();
    let expected = ["host0", "switch0", "switch1", "switch4", "switch5", "host1"];
    assert_eq!(names(&network, &out), expected);
}

#[test]
fn hosts_without_a_path_are_named() {
    // Two islands.
    let mut network = Network::new(4, 2);
    for host in 0..4 {
        let island = network.switch(u32::from(host == 2));
        network.connect(NodeId(host), island, RATE, DELAY);
    }
    assert_eq!(
        Routes::new(&network).unwrap_err().to_string(),
        "path = none from host0 to host2 is out of range; allowed: a path between any two hosts"
    );
    // Two hosts on a cable of their own, and others.
    let mut network = Network::new(4, 1);
    network.connect(NodeId(0), NodeId(1), RATE, DELAY);
    network.connect(NodeId(2), NodeId(4), RATE, DELAY);
    network.connect(NodeId(3), NodeId(4), RATE, DELAY);
    let error = Routes::new(&network).unwrap_err().to_string();
    assert!(error.contains("none from host0 to host2"), "{error}");
}

#[test]
fn two_hosts_on_one_cable_have_a_path_of_one_link() {
    let mut network = Network::new(2, 0);
    let there = network.connect(NodeId(0), NodeId(1), RATE, DELAY);
    let routes = Routes::new(&network).unwrap();
    assert_eq!(path(&routes, 0, 1, 5), [there]);
    assert_eq!(path(&routes, 1, 0, 5), [Network::reverse(there)]);
    assert_eq!(routes.longest(), 1);
    assert_eq!(routes.paths(HostId(0), HostId(1)), 1);
    assert_eq!(routes.rack(HostId(0)), NodeId(1));
    assert_eq!(routes.rack(HostId(1)), NodeId(0));
}

#[test]
fn a_network_that_cannot_run_has_no_routes() {
    assert!(Routes::new(&Network::new(2, 1)).is_err());
}

#[test]
fn racks_are_the_switches_of_the_hosts() {
    for name in Config::NAMES {
        let network = Config::named(name).unwrap().build().unwrap();
        let routes = Routes::new(&network).unwrap();
        let racks: Vec<_> = (0..network.hosts()).map(|host| routes.rack(HostId(host))).collect();
        assert_eq!(racks, network.racks(), "{name}");
    }
}

#[test]
fn too_many_switches_and_too_long_paths_are_refused() {
    // A host at each of 2^15 switches: 2^30 distances.
    let many = 1 << 15;
    let mut network = Network::new(many, many);
    for host in 0..many {
        network.connect(NodeId(host), network.switch(host), RATE, DELAY);
    }
    assert_eq!(
        Routes::new(&network).unwrap_err().to_string(),
        "switches = 32768 and 32768 with hosts is out of range; \
         allowed: a product of at most 536870912"
    );
    // Two hosts at the ends of a chain.
    let chain = |switches: u32| {
        let mut network = Network::new(2, switches);
        network.connect(NodeId(0), network.switch(0), RATE, DELAY);
        network.connect(NodeId(1), network.switch(switches - 1), RATE, DELAY);
        for switch in 1..switches {
            let (a, b) = (network.switch(switch - 1), network.switch(switch));
            network.connect(a, b, RATE, DELAY);
        }
        Routes::new(&network)
    };
    let longest = chain(65_535).unwrap();
    assert_eq!(longest.longest(), 65_536);
    assert_eq!(path(&longest, 0, 1, 0).len(), 65_536);
    assert_eq!(
        chain(65_536).unwrap_err().to_string(),
        "switches = 65536 is out of range; allowed: paths of less than 65535 links"
    );
}

#[test]
fn the_number_of_paths_saturates() {
    // 64 stages of two parallel cables: 2^64 paths.
    let mut network = Network::new(2, 65);
    network.connect(NodeId(0), network.switch(0), RATE, DELAY);
    network.connect(NodeId(1), network.switch(64), RATE, DELAY);
    for switch in 0..64 {
        let (a, b) = (network.switch(switch), network.switch(switch + 1));
        network.connect(a, b, RATE, DELAY);
        network.connect(a, b, RATE, DELAY);
    }
    let routes = Routes::new(&network).unwrap();
    assert_eq!(routes.paths(HostId(0), HostId(1)), u64::MAX);
}

#[test]
fn ten_thousand_hosts_route_with_small_tables() {
    let network = fat_tree(36);
    let routes = Routes::new(&network).unwrap();
    assert_eq!((network.hosts(), network.switches()), (11_664, 1_620));
    assert_eq!(routes.longest(), 6);
    assert_eq!(routes.distances.len(), 648 * 1_620);
    assert_eq!(routes.paths(HostId(0), HostId(11_663)), 18 * 18);
    assert_eq!(path(&routes, 0, 11_663, 1).len(), 6);
}

#[test]
fn ecmp_choices_read_back_by_name() {
    assert_eq!(Ecmp::NAMES, ["flow-only", "per-node", "shift-by-ttl"]);
    assert_eq!(Ecmp::read("per-node"), Ok(Ecmp::PerNode));
}

/// The levels of the links of a path that leave switches.
fn levels_on(levels: &[u8], path: &[LinkId]) -> Vec<u8> {
    path.iter().skip(1).map(|link| levels[link.index()]).collect()
}

#[test]
fn packets_climb_the_levels_of_a_tree() {
    let levels = |network: &Network, dst| {
        let routes = Routes::new(network).unwrap();
        levels_on(&routes.levels().unwrap(), &path(&routes, 0, dst, 7))
    };
    // Up to a spine, down to a leaf, down to a host; within the rack only the last.
    assert_eq!(levels(&leaf_spine(3, 2, 2), 5), [0, 1, 2]);
    assert_eq!(levels(&leaf_spine(3, 2, 2), 1), [2]);
    assert_eq!(levels(&fat_tree(4), 15), [0, 1, 2, 3, 4]);
    // Traffic within a pod skips two levels of a fat-tree.
    assert_eq!(levels(&fat_tree(4), 2), [0, 3, 4]);
    assert_eq!(levels(&leaf_spine(1, 1, 4), 3), [1]);
}

#[test]
fn a_circle_has_no_levels() {
    // Five switches with a host each: a path of two links ends wherever another one starts.
    let mut network = Network::new(5, 5);
    for number in 0..5 {
        let [here, next] = [number, (number + 1) % 5].map(|at| network.switch(at));
        network.connect(NodeId(number), here, RATE, DELAY);
        network.connect(here, next, RATE, DELAY);
    }
    assert_eq!(Routes::new(&network).unwrap().levels(), None);
}

#[test]
fn a_long_chain_has_too_many_levels() {
    for (switches, has_levels) in [(2, true), (17, true), (18, false)] {
        let mut network = Network::new(2, switches);
        network.connect(NodeId(0), network.switch(0), RATE, DELAY);
        for number in 1..switches {
            network.connect(network.switch(number - 1), network.switch(number), RATE, DELAY);
        }
        network.connect(NodeId(1), network.switch(switches - 1), RATE, DELAY);
        let levels = Routes::new(&network).unwrap().levels();
        assert_eq!(levels.is_some(), has_levels, "{switches}");
    }
}

#[test]
fn on_every_path_of_any_network_levels_rise() {
    let mut rng = Rng::new(5, 0);
    let (mut with, mut without) = (0, 0);
    for _ in 0..400 {
        let network = random_network(&mut rng);
        let Ok(routes) = Routes::new(&network) else {
            continue;
        };
        let Some(levels) = routes.levels() else {
            without += 1;
            continue;
        };
        with += 1;
        for (src, dst) in
            (0..network.hosts()).flat_map(|a| (0..network.hosts()).map(move |b| (a, b)))
        {
            for hash in 0..4 {
                let passed = levels_on(&levels, &path(&routes, src, dst, hash << 61 | hash));
                assert!(passed.is_sorted_by(|a, b| a < b), "{passed:?}");
            }
        }
    }
    assert!(with > 50 && without > 5, "{with} with levels, {without} without");
}

/// Turns at switches with the same distance to two edges are searched once.
#[test]
fn turns_include_every_pair_of_links_on_a_path() {
    let mut rng = Rng::new(6, 0);
    let random = (0..200).map(|_| random_network(&mut rng));
    let trees = [leaf_spine(3, 2, 2), leaf_spine(9, 4, 1), fat_tree(4), fat_tree(6)];
    let mut twins = 0;
    for network in trees.into_iter().chain(random) {
        let Ok(routes) = Routes::new(&network) else {
            continue;
        };
        let found = Turns::new(&routes);
        let mut all = Turns { first: found.first.clone(), bits: vec![0; found.bits.len()] };
        let mut room = Vec::new();
        for edge in routes.twins().concat() {
            for switch in 0..network.switches() {
                all.add(&routes, routes.row_of(edge), switch, &mut room);
            }
        }
        assert_eq!(found.bits, all.bits, "{network:?}");
        twins += routes.twins().iter().filter(|twins| twins.len() > 1).count();
    }
    assert!(twins > 20, "{twins}");
}
