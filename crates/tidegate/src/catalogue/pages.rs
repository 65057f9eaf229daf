//! The project's pages, and where a name is described in them.

use super::Kind;

/// The pages that describe one thing each, by their name.
const PAGES: [(Kind, &str, &str); 21] = [
    (
        Kind::Scheme,
        "bcc",
        include_str!("../../../../docs/schemes/bcc.md"),
    ),
    (
        Kind::Scheme,
        "codel",
        include_str!("../../../../docs/schemes/codel.md"),
    ),
    (
        Kind::Scheme,
        "diff-ecn",
        include_str!("../../../../docs/schemes/diff-ecn.md"),
    ),
    (
        Kind::Scheme,
        "ecn-sharp",
        include_str!("../../../../docs/schemes/ecn-sharp.md"),
    ),
    (
        Kind::Scheme,
        "ideal-red",
        include_str!("../../../../docs/schemes/ideal-red.md"),
    ),
    (
        Kind::Scheme,
        "mq-ecn",
        include_str!("../../../../docs/schemes/mq-ecn.md"),
    ),
    (
        Kind::Scheme,
        "none",
        include_str!("../../../../docs/schemes/none.md"),
    ),
    (
        Kind::Scheme,
        "or",
        include_str!("../../../../docs/schemes/or.md"),
    ),
    (
        Kind::Scheme,
        "per-flow-tcn",
        include_str!("../../../../docs/schemes/per-flow-tcn.md"),
    ),
    (
        Kind::Scheme,
        "pool-red",
        include_str!("../../../../docs/schemes/pool-red.md"),
    ),
    (
        Kind::Scheme,
        "port-red",
        include_str!("../../../../docs/schemes/port-red.md"),
    ),
    (
        Kind::Scheme,
        "queue-red",
        include_str!("../../../../docs/schemes/queue-red.md"),
    ),
    (
        Kind::Scheme,
        "rate-red",
        include_str!("../../../../docs/schemes/rate-red.md"),
    ),
    (
        Kind::Scheme,
        "tcn",
        include_str!("../../../../docs/schemes/tcn.md"),
    ),
    (
        Kind::Transport,
        "dcqcn",
        include_str!("../../../../docs/transports/dcqcn.md"),
    ),
    (
        Kind::Transport,
        "dctcp",
        include_str!("../../../../docs/transports/dctcp.md"),
    ),
    (
        Kind::Transport,
        "ecn-star",
        include_str!("../../../../docs/transports/ecn-star.md"),
    ),
    (
        Kind::Transport,
        "odctcp",
        include_str!("../../../../docs/transports/odctcp.md"),
    ),
    (
        Kind::Transport,
        "pias",
        include_str!("../../../../docs/transports/pias.md"),
    ),
    (
        Kind::Transport,
        "reno",
        include_str!("../../../../docs/transports/reno.md"),
    ),
    (
        Kind::Transport,
        "rfc3168",
        include_str!("../../../../docs/transports/rfc3168.md"),
    ),
];

const BUFFERS: &str = include_str!("../../../../docs/buffers.md");
const OBSERVING: &str = include_str!("../../../../docs/observing.md");
const SCHEDULERS: &str = include_str!("../../../../docs/schedulers.md");
const TOPOLOGIES: &str = include_str!("../../../../docs/topologies.md");
const WORKLOADS: &str = include_str!("../../../../docs/workloads.md");

/// What a name stands for, in one line.
pub(super) fn line(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Buffer => format!("stores a packet if {}", condition(name)),
        Kind::Scheduler => format!("serves {}", cell(SCHEDULERS, name, 1)),
        Kind::Traffic => traffic_line(name),
        Kind::Convention | Kind::Figure | Kind::Scenario => String::new(),
        Kind::Profile | Kind::Scheme | Kind::Sizes | Kind::Topology | Kind::Transport => {
            short(kind, name).to_owned()
        }
    }
}

/// The page of a name, or the parts of a page that are about it.
pub(super) fn page(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Buffer => {
            let section = section(BUFFERS, name);
            let law = format!("# {name}\n\n{}.\n", capital(&cell(BUFFERS, name, 1)));
            let drops = cell(BUFFERS, name, 2);
            format!("{law}\nDrops: {drops}.\n\n{section}")
        }
        Kind::Convention => format!(
            "# {name}\n\n{}",
            section(OBSERVING, "Flow completion times")
        ),
        Kind::Profile => {
            let about = "A published TCP stack: `[transport]` with `profile`. The window's rule is \
                         chosen apart from it, with `rule`.";
            format!("# {name}\n\n{}.\n\n{about}\n", capital(short(kind, name)))
        }
        Kind::Scheduler => scheduler_page(name),
        Kind::Sizes => format!("# {name}\n\n{}", section(WORKLOADS, "Sizes")),
        Kind::Topology => format!("# {name}\n\n{}", section(TOPOLOGIES, name)),
        Kind::Traffic => traffic_page(name),
        Kind::Figure | Kind::Scenario => String::new(),
        Kind::Scheme | Kind::Transport => {
            let mut pages = PAGES.iter();
            let found = pages.find(|&&(of, page, _)| (of, page) == (kind, name));
            found.map_or_else(String::new, |(_, _, text)| (*text).to_owned())
        }
    }
}

fn scheduler_page(name: &str) -> String {
    let parts: &[&str] = match name {
        "fifo" => &["FIFO"],
        "sp" => &["Strict priority"],
        "dwrr" => &["DWRR"],
        "wrr" => &["WRR"],
        "wfq" => &["WFQ"],
        "pifo" => &["PIFO"],
        "sp-dwrr" => &["Two levels", "DWRR"],
        "sp-pifo" => &["Two levels", "PIFO"],
        "sp-wfq" => &["Two levels", "WFQ"],
        "sp-wrr" => &["Two levels", "WRR"],
        _ => &[],
    };
    let laws = section(SCHEDULERS, "Laws");
    let law = |part: &&str| {
        let begin = format!("**{part}");
        let from = laws.find(&begin).map_or("", |at| &laws[at..]);
        // A law ends where the next one begins.
        let end = from[begin.len().min(from.len())..].find("\n\n**");
        end.map_or(from, |end| &from[..end + begin.len()])
            .trim()
            .to_owned()
    };
    let laws = parts.iter().map(law).collect::<Vec<_>>();
    let serves = capital(&cell(SCHEDULERS, name, 1));
    let rounds = cell(SCHEDULERS, name, 3);
    let rounds = format!("Rounds, which MQ-ECN needs: {rounds}.");
    format!(
        "# {name}\n\nServes: {serves}.\n\n{}\n\n{rounds}\n",
        laws.join("\n\n")
    )
}

fn traffic_line(name: &str) -> String {
    match name {
        "list" => cell(WORKLOADS, "a list", 1),
        "probe" => "pings beside the flows, whose round trips are written down".to_owned(),
        "long-lived" => "named flows: endless, of some bytes, or at a rate".to_owned(),
        "burst" | "poisson" => cell(WORKLOADS, name, 1),
        _ => {
            let load = cell(WORKLOADS, name, 1);
            format!("published poisson, load of {load}")
        }
    }
}

fn traffic_page(name: &str) -> String {
    let about = capital(&traffic_line(name));
    let more = match name {
        "list" => section(WORKLOADS, "Lists"),
        "probe" => "Probes are no flows: they are listed under `[[probe]]`.\n".to_owned(),
        "burst" | "long-lived" => format!("## Sizes\n\n{}", section(WORKLOADS, "Sizes")),
        _ => {
            let load = section(WORKLOADS, "What a load means");
            let sizes = section(WORKLOADS, "Sizes");
            format!("## What a load means\n\n{load}\n## Sizes\n\n{sizes}")
        }
    };
    format!("# {name}\n\n{about}.\n\n{more}")
}

/// When a buffer stores a packet.
fn condition(name: &str) -> String {
    match name {
        "unlimited" => "it arrives".to_owned(),
        "dynamic-threshold" => "the reserve or its share of the pool has room".to_owned(),
        "per-queue" => "its queue has room, and its port if limited".to_owned(),
        "pfc" => "its ingress account has room, with pauses".to_owned(),
        _ => cell(BUFFERS, name, 1),
    }
}

/// A few words for what has a page of its own, or a name that says little.
fn short(kind: Kind, name: &str) -> &'static str {
    match (kind, name) {
        (Kind::Profile, "bcc-sim") => "the hosts of BCC's simulations: ns-2, jumbo frames",
        (Kind::Profile, "ecn-sharp-sim") => "the hosts of ECN♯'s simulations: ns-3 without SACK",
        (Kind::Profile, "ecn-sharp-testbed") => "the hosts of ECN♯'s testbed: Linux 4.9",
        (Kind::Profile, "linux") => "a Linux host as it comes, for networks of your own",
        (Kind::Profile, "odctcp-dummynet") => "the hosts of the ODCTCP thesis behind dummynet",
        (Kind::Profile, "odctcp-testbed") => "the hosts of the ODCTCP thesis's testbed: FreeBSD",
        (Kind::Profile, "rfc") => "the standards' own values",
        (Kind::Profile, "tcn-micro") => "the hosts of TCN's small simulations: ns-2, RTO 10 ms",
        (Kind::Profile, "tcn-sim") => "the hosts of TCN's fabric simulations: ns-2, RTO 5 ms",
        (Kind::Profile, "tcn-testbed") => "the hosts of TCN's testbed: Linux 3.18",
        (Kind::Scheme, "bcc") => "marks when the port is long or the shared pool runs full",
        (Kind::Scheme, "codel") => "marks at a rising rate while packets wait too long (CoDel)",
        (Kind::Scheme, "diff-ecn") => "marks flows that hold more than their share of the port",
        (Kind::Scheme, "ecn-sharp") => "marks long waits at once and standing queues slowly (ECN♯)",
        (Kind::Scheme, "ideal-red") => "marks by queue length, for known rates of the queues",
        (Kind::Scheme, "mq-ecn") => "marks by queue length, for the rate that rounds give a queue",
        (Kind::Scheme, "none") => "marks nothing: drop tail",
        (Kind::Scheme, "or") => "marks if either of two schemes asks for it",
        (Kind::Scheme, "per-flow-tcn") => "TCN with a queue for each flow",
        (Kind::Scheme, "pool-red") => "marks by the fill of the shared pool",
        (Kind::Scheme, "port-red") => "marks by the length of all queues of the port",
        (Kind::Scheme, "queue-red") => "marks by the length of the packet's own queue",
        (Kind::Scheme, "rate-red") => "marks by queue length, for the measured rate of the queue",
        (Kind::Scheme, "tcn") => "marks packets that waited longer than a threshold",
        (Kind::Sizes, "cache") => "cache followers, in bytes (BCC's files)",
        (Kind::Sizes, "cache-packets") => "cache followers, in packets (TCN's simulations)",
        (Kind::Sizes, "data-mining") => "data mining, in bytes (VL2)",
        (Kind::Sizes, "data-mining-packets") => "data mining, in packets (TCN's simulations)",
        (Kind::Sizes, "hadoop") => "Hadoop, in bytes, from the packet table",
        (Kind::Sizes, "hadoop-packets") => "Hadoop, in packets (TCN's simulations)",
        (Kind::Sizes, "web-search") => "web search, in bytes (DCTCP)",
        (Kind::Sizes, "web-search-packets") => "web search, in packets (TCN's simulations)",
        (Kind::Topology, "dumbbell") => "two switches with hosts, and one cable between them",
        (Kind::Topology, "fat-tree") => "three tiers of switches with k ports each",
        (Kind::Topology, "leaf-spine") => "two tiers, every leaf connected to every spine",
        (Kind::Topology, "parking-lot") => "a chain of switches with hosts at each",
        (Kind::Topology, "star") => "hosts around one switch",
        (Kind::Transport, "dcqcn") => "RDMA: rates that congestion notifications set",
        (Kind::Transport, "dctcp") => "TCP: the window falls with the fraction of marked bytes",
        (Kind::Transport, "ecn-star") => "TCP: standard ECN over instantaneous marking (ECN*)",
        (Kind::Transport, "odctcp") => "TCP: DCTCP that also works at one end only",
        (Kind::Transport, "pias") => "tags the first bytes of a message with a higher class",
        (Kind::Transport, "reno") => "TCP: halves its window on loss, ignores marks",
        (Kind::Transport, "rfc3168") => "TCP: standard ECN, halves its window on a mark",
        _ => "",
    }
}

/// The text below a heading, up to the next of its level.
fn section(page: &str, heading: &str) -> String {
    let heading = format!("\n## {heading}\n");
    let text = page.split_once(&heading).map_or("", |(_, text)| text);
    let end = text.find("\n## ").unwrap_or(text.len());
    format!("{}\n", text[..end].trim())
}

/// A text up to its first full stop.
pub(super) fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text
        .find(". ")
        .or_else(|| text.strip_suffix('.').map(str::len));
    text[..end.unwrap_or(text.len())].to_owned()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), chars.as_str())
    })
}

/// A cell of the first table that has a row for `name`, as plain text.
fn cell(page: &str, name: &str, column: usize) -> String {
    let quoted = format!("`{name}`");
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').skip(1).map(str::trim).collect::<Vec<_>>());
    let mut cells = cells.filter(|cells| {
        let first = cells.first().copied().unwrap_or_default();
        first == name || first.contains(&quoted)
    });
    let found = cells.next().and_then(|cells| cells.get(column).copied());
    found.unwrap_or_default().replace('`', "")
}
