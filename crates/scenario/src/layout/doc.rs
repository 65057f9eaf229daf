//! Texts of the reference and the schema for sections and for keys that exist only in files.

use tidegate_dataplane::buffer::pfc;
use tidegate_sim::workload::Published;
use tidegate_units::{Form, Named, Setting};

use super::Section;

impl Section {
    /// Heading in the reference.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Accounting => "[transport.accounting]",
            Self::Buffer => "[switch.buffer]",
            Self::Egress => "[switch.buffer.egress]",
            Self::FlowControl => "[switch.flow_control]",
            Self::Group => "[[transport.group]]",
            Self::HostDelay => "[transport.host_delay]",
            Self::HostReceive => "[transport.host_receive]",
            // Not in the reference of scenarios.
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

    /// Name in the schema and in headings of kinds: the last word of the heading.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "scenario",
            _ => {
                let words = self.title().trim_matches(['[', ']']);
                words.rsplit('.').next().unwrap_or(words)
            }
        }
    }

    /// Description of the section.
    pub(crate) const fn doc(self) -> &'static str {
        match self {
            Self::Accounting => ACCOUNTING,
            Self::Buffer => {
                "Packet buffer: one for the whole switch. \
                [More on buffers](../buffers.md)."
            }
            Self::Egress => EGRESS,
            Self::FlowControl => FLOW_CONTROL,
            Self::Group => GROUP,
            Self::HostDelay => "Delay that the receiving host adds to each packet.",
            Self::HostReceive => {
                "Receive path of the hosts: interrupts, receive offload and processing time. [More \
                    on hosts](../hosts.md)."
            }
            Self::Dscp | Self::LiveFile | Self::LivePort | Self::LiveSwitch => "",
            Self::Marking => "Marking scheme of the switch ports. `[nic]` has the same table.",
            Self::Measure => "Flows that count, and the end of the run.",
            Self::Nic => {
                "Ports of the hosts: marking, scheduler and buffer as in `[switch]`. Without this \
                    section hosts are ideal: first in, first out, unlimited. With it, the defaults \
                    are `none`, `fifo` and `unlimited`."
            }
            Self::Observe => {
                "Measurements beyond the flows. \
                [More on observing](../observing.md)."
            }
            Self::Probe => "Pings between hosts, which measure round-trip times.",
            Self::Receiver => RECEIVER,
            Self::Root => "Keys before the first header. Each section below has its own table.",
            Self::CongestionControl => {
                "Congestion control of the sender: how its window answers marks, losses and delay. \
                `rule` is the old name of the table and still accepted."
            }
            Self::Scheduler => {
                "Packet scheduler, and with it the number of queues. \
                [More on schedulers](../schedulers.md)."
            }
            Self::PortFlows => PORT_FLOWS,
            Self::Series => SERIES,
            Self::Switch => "Ports of the switches.",
            Self::Tagging => {
                "PIAS: senders tag packets by the bytes that their flow has sent. \
                [More on tagging](../transports/pias.md)."
            }
            Self::Topology => {
                "Hosts, switches and links. \
                [More on topologies](../topologies.md)."
            }
            Self::Traffic => {
                "Flows that the hosts send: any number of sources. \
                [More on workloads](../workloads.md)."
            }
            Self::Transport => "Transport protocol of the hosts.",
            Self::Window => "Observed part of the run.",
        }
    }

    /// Description of a kind, if there is a text or a page about it.
    pub(crate) fn kind_doc(self, kind: &str) -> Option<String> {
        match (self, kind) {
            (Self::Marking, kind) => {
                let page = self.about(kind)?.page;
                Some(format!("[Scheme, and how to choose its settings](../{page})."))
            }
            (Self::CongestionControl | Self::FlowControl, kind) => {
                let page = self.about(kind)?.page;
                Some(format!("[Description](../{page})."))
            }
            (Self::Group | Self::Transport, "dcqcn") => {
                Some("[Description](../transports/dcqcn.md).".into())
            }
            (Self::Traffic, "list") => Some("Explicit list of flows.".into()),
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

    /// The kind with the same keys and other defaults, so that the reference lists the keys once.
    pub(crate) fn same_keys_as(self, kind: &str) -> Option<&'static str> {
        let is_published = self == Self::Traffic && Published::NAMES.contains(&kind);
        is_published.then_some("poisson")
    }

    /// The section with the same kinds and keys, so that the reference lists them once.
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

pub(super) const ACCOUNTING: &str = "Size of a packet in queues and on links: `ip` (40 bytes of \
    headers), `ethernet` (78 bytes with preamble and gap, at least 84 in all), or a table of \
    numbers.";
pub(super) const BUFFER: &str = "Packet buffer: one for the whole node.";
pub(super) const CONVENTION: &str = "Definition of small and large flows, flow completion, and \
    percentiles.";
pub(super) const ECMP: &str = "How switches choose among equal-cost paths.";
pub(super) const EGRESS: &str = pfc::Config::ABOUT.pieces[0].doc;
pub(super) const FABRIC_DOC: &str = "`fabric` is the ratio at the leaves of this topology.";
pub(super) const FLOW_CONTROL: &str = "Per-flow flow control between switches and their upstream \
    nodes; `none` for only the pauses of a lossless buffer.";
pub(super) const FLOW_PORTS: &str = "Ports, named as in `observe`.";
pub(super) const FLOWS: &str = "Flows, by number, whose goodput is measured.";
pub(super) const GROUP: &str = "Further transports: flows of group 1 use the first, flows of group \
    2 the second. Flows of a higher group use the last.";
pub(super) const HOSTS_DOC: &str = "`hosts` is the rate of the host links of this topology.";
pub(super) const IDEAL: &str = "Compare each decision with DiffECN's ideal marker, which measures \
    flow rates over this time.";
pub(super) const LEAST: &str = "Minimum size of a packet, in bytes.";
pub(super) const LIMIT: &str = "Maximum samples: at one more, every second sample is dropped and \
    the interval doubles.";
pub(super) const LINKS: &str = "Links whose load is measured, named as in `ports`.";
pub(super) const LIST_FILE: &str =
    "CSV file of flows, `id,start_s,src,dst,bytes`, relative to the scenario.";
pub(super) const LIST_TEXT: &str = "The same lines inline, instead of `file`.";
pub(super) const MARKING: &str = "Marking scheme.";
pub(super) const NAME: &str = "Name in file names: letters, digits, `.`, `_` and `-`. Default: the \
    name of the file.";
pub(super) const NIC: &str =
    "Ports of the hosts; `none` for ideal hosts: first in, first out, unlimited.";
pub(super) const NON_ECT: &str = "Handling of packets that are not ECN-capable when the scheme \
    marks.";
pub(super) const OPENING: &str = "Connection that a flow uses.";
pub(super) const PER_PACKET: &str =
    "Bytes of headers and framing per packet, in addition to its payload.";
pub(super) const PERIOD: &str = "A flow stays active for this time after its last packet leaves; \
    with `0ps`, while a packet \
        waits.";
pub(super) const PORT_FLOWS: &str = "Per-flow statistics of ports: active flows, backlog of small, \
    medium and large flows, and agreement of marks with an ideal marker.";
pub(super) const PORTS: &str = "Ports whose distributions of queue length and waiting time are \
    kept: `all`, `switches`, `none`, or names such as `leaf0>host3`, in which `*` matches \
    anything.";
pub(super) const QUEUES: &str =
    "Ports whose queues are sampled, named as in `ports`; `leaf0>host3:1` is only queue 1.";
pub(super) const RECEIVER: &str = "Settings in which receivers differ from senders. The rest is as \
    at the sender.";
pub(super) const RECEIVER_CC: &str =
    "Congestion control of the receiver's side, for data that it would send.";
pub(super) const BASELINE: &str = "Label of the point that all others are compared with, seed by \
    seed. Without it and `--baseline`, points are not compared.";

pub(super) const RUNS: &str = "Number of runs per point, with consecutive seeds.";
pub(super) const SCHEDULER: &str = "Packet scheduler.";
pub(super) const SEED: &str = "Seed of all random numbers.";
pub(super) const THREADS: &str = "Maximum threads per run, used if there are fewer runs than \
    cores. Results do not depend on it.";
pub(super) const SERIES: &str = "Time series, sampled at a fixed interval.";
pub(super) const STALLED: &str = "Abort the run after this time without a delivery.";
pub(super) const STORM: &str = "Longest continuous PFC pause of a class on a link; a longer one is \
    reported as a storm.";
pub(super) const TRACE: &str = "Flow whose every segment and ACK is recorded, by number in order \
    of start, or `none`. The flow and the queues on its path are sampled too.";
pub(super) const TAGGING: &str =
    "PIAS tags, which select the first queues; `none` for queues by service alone.";
pub(super) const TRANSPORT_CC: &str = "Congestion control of the sender.";
