//! What is sent through a testbed.

use tidegate_dataplane::observe::Window;
use tidegate_units::{ConfigError, Rate, Span, Time};

use super::progress::Sampling;

/// What is sent, and until when. Times begin with the run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In order of start.
    pub flows: Vec<Flow>,
    /// Series of pings.
    pub pings: Vec<Ping>,
    /// Which connection a flow uses.
    pub opening: Opening,
    /// When the run ends.
    pub stop: Stop,
    /// The part of the run in which queues and flows are observed.
    pub window: Window,
    /// The flows whose bytes are counted over time.
    pub sampling: Option<Sampling>,
    /// What the hosts' kernels are set to.
    pub tcp: Tcp,
}

/// Bytes from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When the application hands them over.
    pub start: Time,
    /// How many; `None` sends until the run ends.
    pub bytes: Option<u64>,
    /// The sender.
    pub from: u16,
    /// The receiver.
    pub to: u16,
    /// The differentiated services codepoint of its packets.
    pub dscp: u8,
    /// The speed of the application, if it does not hand over all at once.
    pub rate: Option<Rate>,
}

/// Echo requests of the kernel's own protocol, which the other host's kernel answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// The host that asks.
    pub from: u16,
    /// The host that answers.
    pub to: u16,
    /// When the first leaves.
    pub start: Time,
    /// The time from one to the next.
    pub every: Span,
    /// How many; `None` until the run ends.
    pub count: Option<u32>,
    /// The length of each as an IP packet.
    pub bytes: u32,
    /// The differentiated services codepoint.
    pub dscp: u8,
}

/// Which connection a flow uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A new one, whose handshake is part of the flow.
    Handshake,
    /// One of this pair of hosts that is idle, else a new one.
    Persistent,
    /// A new one that was opened shortly before.
    Ready,
}

/// When a run ends, whichever comes first. It always ends when every flow is finished that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// At this time.
    pub at: Option<Time>,
    /// When so many flows are finished.
    pub finished: Option<u32>,
    /// When nothing has arrived for this long although flows wait.
    pub stalled: Span,
}

/// The kernel's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// The congestion control, by the kernel's name.
    pub congestion: String,
    /// Whether ECN is asked for.
    pub ecn: bool,
    /// Segments before the first ACK, if not the kernel's own number.
    pub initial_window: Option<u32>,
    /// The least retransmission timeout, if not the kernel's own.
    pub rto_min: Option<Span>,
    /// Whether every segment is acknowledged at once.
    pub quick_ack: bool,
    /// Whether an idle connection begins again with a small window.
    pub slow_start_after_idle: bool,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowResult {
    /// When its first bytes were handed to the kernel, or its connection was asked for.
    pub started_at: Option<Time>,
    /// When its receiver had the last byte.
    pub received_at: Option<Time>,
    /// Bytes that its receiver got in the plan's window.
    pub received_in_window: u64,
    /// Segments that the kernel sent again.
    pub retransmissions: u32,
}

impl Plan {
    /// Refuses hosts that do not exist and codepoints that are none.
    pub(super) fn check(&self, hosts: usize) -> Result<(), ConfigError> {
        let flows = self.flows.iter().map(|flow| (flow.from, flow.to, flow.dscp));
        let pings = self.pings.iter().map(|ping| (ping.from, ping.to, ping.dscp));
        for (from, to, dscp) in flows.chain(pings) {
            for host in [from, to] {
                if usize::from(host) >= hosts {
                    let allowed = format!("0 to {}", hosts.saturating_sub(1));
                    return Err(ConfigError::out_of_range("host", host, allowed));
                }
            }
            if from == to {
                let allowed = "a host other than the sender";
                return Err(ConfigError::out_of_range("to", to, allowed));
            }
            if dscp > 63 {
                return Err(ConfigError::out_of_range("dscp", dscp, "0 to 63"));
            }
        }
        if self.flows.iter().any(|flow| flow.bytes == Some(0)) {
            return Err(ConfigError::out_of_range("bytes", 0, "at least 1"));
        }
        Ok(())
    }
}
