//! What the reference and the schema say of sections and of keys that only files have.

use tidegate_dataplane::buffer::pfc;
use tidegate_sim::workload::Published;
use tidegate_units::{Form, Named, Setting};

use super::Section;

impl Section {
    /// Its heading in the reference.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Accounting => "[transport.accounting]",
            Self::Buffer => "[switch.buffer]",
            Self::Egress => "[switch.buffer.egress]",
            Self::FlowControl => "[switch.flow_control]",
            Self::Group => "[[transport.group]]",
            Self::HostDelay => "[transport.host_delay]",
            Self::HostReceive => "[transport.host_receive]",
            // They are not in the reference of scenarios.
            Self::Dscp | Self::LiveFile | Self::LivePort | Self::LiveSwitch => "",
            Self::Marking => "[switch.marking]",
            Self::Measure => "[measure]",
            Self::Nic => "[nic]",
            Self::Observe => "[observe]",
            Self::PortFlows => "[observe.port_flows]",
            Self::Probe => "[[probe]]",
            Self::Receiver => "[transport.receiver]",
            Self::Root => "At the top",
            Self::CongestionControl => "[transport.cc]",
            Self::Scheduler => "[switch.scheduler]",
            Self::Series => "[observe.series]",
            Self::Switch => "[switch]",
            Self::Tagging => "[transport.tagging]",
            Self::Topology => "[topology]",
            Self::Traffic => "[[traffic]]",
            Self::Transport => "[transport]",
            Self::Window => "[observe.window]",
        }
    }

    /// Its name in the schema, and what its kinds are kinds of: the last word of its heading.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "scenario",
            _ => {
                let words = self.title().trim_matches(['[', ']']);
                words.rsplit('.').next().unwrap_or(words)
            }
        }
    }

    /// What it is about.
    pub(crate) const fn doc(self) -> &'static str {
        match self {
            Self::Accounting => ACCOUNTING,
            Self::Buffer => {
                "Which packets are stored: one buffer for the whole switch. \
                [More on buffers](../buffers.md)."
            }
            Self::Egress => EGRESS,
            Self::FlowControl => FLOW_CONTROL,
            Self::Group => GROUP,
            Self::HostDelay => "What the receiving host adds to the way of each packet.",
            Self::HostReceive => {
                "How hosts take packets in: interrupts, receive offload, and the time that the \
                stack takes. [More on hosts](../hosts.md)."
            }
            Self::Dscp | Self::LiveFile | Self::LivePort | Self::LiveSwitch => "",
            Self::Marking => "Which packets are marked. `[nic]` has the same table.",
            Self::Measure => "Which flows count, and when the run ends.",
            Self::Nic => {
                "The ports of hosts: marking, scheduler and buffer as in `[switch]`. Without \
                this section hosts are ideal: first in, first out, without a limit. With it, what is \
                left out is `none`, `fifo` and `unlimited`."
            }
            Self::Observe => {
                "What is written down besides the flows. \
                [More on observing](../observing.md)."
            }
            Self::Probe => "Pings from one host to another, which measure the round trip.",
            Self::Receiver => RECEIVER,
            Self::Root => "Keys before the first header, and the sections below.",
            Self::CongestionControl => {
                "Congestion control of the sender: how its window answers marks, losses and delay. \
                `rule` is the old name of the table and still accepted."
            }
            Self::Scheduler => {
                "Which packet leaves next, and how many queues there are. \
                [More on schedulers](../schedulers.md)."
            }
            Self::PortFlows => PORT_FLOWS,
            Self::Series => SERIES,
            Self::Switch => "The ports of switches.",
            Self::Tagging => {
                "PIAS: senders tag packets by how much their flow has sent. \
                [More on tagging](../transports/pias.md)."
            }
            Self::Topology => {
                "Hosts, switches and cables. \
                [More on topologies](../topologies.md)."
            }
            Self::Traffic => {
                "What the hosts send: any number of sources. \
                [More on workloads](../workloads.md)."
            }
            Self::Transport => "What the hosts speak.",
            Self::Window => "The part of the run that is observed.",
        }
    }

    /// What a kind is, if there is a text or a page about it.
    pub(crate) fn kind_doc(self, kind: &str) -> Option<String> {
        match (self, kind) {
            (Self::Marking, kind) => {
                let page = self.about(kind)?.page;
                Some(format!("[What it does, and how to choose its settings](../{page})."))
            }
            (Self::CongestionControl | Self::FlowControl, kind) => {
                let page = self.about(kind)?.page;
                Some(format!("[What it does](../{page})."))
            }
            (Self::Group | Self::Transport, "dcqcn") => {
                Some("[What it does](../transports/dcqcn.md).".into())
            }
            (Self::Traffic, "list") => Some("An exact list of flows.".into()),
            (Self::Traffic, kind) => match Published::FORM {
                Form::Choice(sets) => {
                    let set = sets.iter().find(|set| set.name == kind)?;
                    Some(tidy(set.doc))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The kind that has the same keys with other defaults, if there is one: the reference lists
    /// its keys once.
    pub(crate) fn same_keys_as(self, kind: &str) -> Option<&'static str> {
        let is_published = self == Self::Traffic && Published::NAMES.contains(&kind);
        is_published.then_some("poisson")
    }

    /// The section that has the same kinds and keys, if the reference lists them there.
    pub(crate) const fn same_as(self) -> Option<Self> {
        match self {
            Self::Egress => Some(Self::Buffer),
            Self::Group => Some(Self::Transport),
            _ => None,
        }
    }
}

/// A doc comment as running text.
pub(crate) fn tidy(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) const ACCOUNTING: &str = "How many bytes a packet has in queues and on wires: `ip` (40 bytes of \
    headers), `ethernet` (with preamble and gap: 78 bytes, at least 84), or a table of numbers.";
pub(super) const BUFFER: &str = "Which packets are stored: one buffer for the whole node.";
pub(super) const CONVENTION: &str = "What counts as small and large, when a flow is complete, and what a \
    percentile is.";
pub(super) const ECMP: &str = "How switches choose among paths of equal length.";
pub(super) const EGRESS: &str = pfc::Config::ABOUT.pieces[0].doc;
pub(super) const FABRIC_DOC: &str = "`fabric` is that of the leaves of this topology.";
pub(super) const FLOW_CONTROL: &str = "How switches hold back single flows of the nodes before them; `none` for \
    nothing but the pauses of a lossless buffer.";
pub(super) const FLOW_PORTS: &str = "The ports, by name as in `observe`.";
pub(super) const FLOWS: &str = "Flows, by number, whose goodput is measured.";
pub(super) const GROUP: &str = "Further transports: flows of group 1 speak the first of them, flows of group 2 \
    the second; flows of a higher group the last.";
pub(super) const HOSTS_DOC: &str = "`hosts` is the speed of the hosts' cables of this topology.";
pub(super) const IDEAL: &str = "Compares each decision with that of the ideal marker of DiffECN, which measures flows' \
    rates over this time.";
pub(super) const LEAST: &str = "A shorter packet counts as this long.";
pub(super) const LIMIT: &str = "The most samples: when there would be one more, every second one is forgotten \
    and the interval doubles.";
pub(super) const LINKS: &str = "Links whose load is measured, as `ports`.";
pub(super) const LIST_FILE: &str =
    "A CSV file of flows, `id,start_s,src,dst,bytes`, beside the scenario.";
pub(super) const LIST_TEXT: &str = "The same lines in the scenario itself, instead of `file`.";
pub(super) const MARKING: &str = "Which packets are marked.";
pub(super) const NAME: &str = "The name in file names, of letters, digits, `.`, `_` and `-`; that of the file if it \
    is left out.";
pub(super) const NIC: &str =
    "The ports of hosts; `none` for ideal ones, first in, first out without a limit.";
pub(super) const NON_ECT: &str = "What happens to packets that cannot be marked.";
pub(super) const OPENING: &str = "Which connection a flow uses.";
pub(super) const PER_PACKET: &str =
    "Bytes of headers and framing that every packet has besides its payload.";
pub(super) const PERIOD: &str =
    "A flow is active for so long after its last packet has left; with `0ps`, while one waits.";
pub(super) const PORT_FLOWS: &str = "Ports whose flows are told apart: how many are active, what small, medium and large \
    ones have waiting, and whether the right ones are marked.";
pub(super) const PORTS: &str = "Ports whose queues keep distributions of length and waiting time: `all`, \
    `switches`, `none`, or names such as `leaf0>host3`, in which `*` matches anything.";
pub(super) const QUEUES: &str =
    "Ports whose queues are sampled, as `ports`; `leaf0>host3:1` is queue 1 alone.";
pub(super) const RECEIVER: &str = "What receivers do otherwise than senders. All that is left out is as the \
    sender has it.";
pub(super) const RECEIVER_CC: &str =
    "Congestion control of the receiver's side, for data that it would send.";
pub(super) const BASELINE: &str = "The label of the point that all others are compared with, seed by \
                                   seed. If it is left out, and `--baseline` too, nothing is.";

pub(super) const RUNS: &str = "How often each point is repeated, with the seeds that follow.";
pub(super) const SCHEDULER: &str = "Which packet leaves next.";
pub(super) const SEED: &str = "The seed of everything random.";
pub(super) const THREADS: &str = "At most so many threads work on one run, if there are fewer runs than \
                                  cores. No result depends on it.";
pub(super) const SERIES: &str = "What is written down again and again.";
pub(super) const STALLED: &str =
    "The run is given up when nothing has been delivered for this long.";
pub(super) const STORM: &str = "How long PFC may pause a class of a link at a stretch: what lasts longer is reported as a storm.";
pub(super) const TRACE: &str = "A flow, by its number in order of start, of which every segment and ACK is written down, or `none`. The flow and the queues on its way are sampled too.";
pub(super) const TAGGING: &str =
    "PIAS tags, which choose the first queues; `none` for queues by service alone.";
pub(super) const TRANSPORT_CC: &str = "Congestion control of the sender.";
