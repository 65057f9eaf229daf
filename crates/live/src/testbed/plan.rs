//! Traffic of a testbed.

use tidegate_dataplane::observe::Window;
use tidegate_units::{ConfigError, Rate, Span, Time};

use super::progress::Sampling;

/// Traffic and its end. Times are relative to the start of the run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Flows in order of start.
    pub flows: Vec<Flow>,
    /// Series of pings.
    pub pings: Vec<Ping>,
    /// Connection used by a flow.
    pub opening: Opening,
    /// End of the run.
    pub stop: Stop,
    /// Window in which queues and flows are observed.
    pub window: Window,
    /// Flows whose bytes are counted over time.
    pub sampling: Option<Sampling>,
    /// Settings of the hosts' kernels.
    pub tcp: Tcp,
}

/// Bytes from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Time at which the application hands over the bytes.
    pub start: Time,
    /// Number of bytes; `None` sends until the run ends.
    pub bytes: Option<u64>,
    /// Sending host.
    pub from: u16,
    /// Receiving host.
    pub to: u16,
    /// Differentiated services codepoint of its packets.
    pub dscp: u8,
    /// Rate of the application, if it does not hand over all bytes at once.
    pub rate: Option<Rate>,
}

/// Echo requests, which the other host's kernel answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Host that sends requests.
    pub from: u16,
    /// Host that answers.
    pub to: u16,
    /// Departure of the first request.
    pub start: Time,
    /// Time from one request to the next.
    pub every: Span,
    /// Number of requests; `None` until the run ends.
    pub count: Option<u32>,
    /// Length of each as an IP packet.
    pub bytes: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
}

/// Connection used by a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A new connection, whose handshake is part of the flow.
    Handshake,
    /// An idle connection of this pair of hosts, otherwise a new one.
    Persistent,
    /// A new connection that was opened shortly before.
    Ready,
}

/// End of a run: the first of these conditions. It always ends when every flow that can finish has
/// finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Time limit.
    pub at: Option<Time>,
    /// Number of finished flows.
    pub finished: Option<u32>,
    /// Time without any arrival although flows wait.
    pub stalled: Span,
}

/// TCP settings of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Congestion control, by the kernel's name.
    pub congestion: String,
    /// Whether to request ECN.
    pub ecn: bool,
    /// Initial window in segments, if it differs from the kernel's.
    pub initial_window: Option<u32>,
    /// Smallest retransmission timeout, if it differs from the kernel's.
    pub rto_min: Option<Span>,
    /// Whether to acknowledge every segment at once.
    pub quick_ack: bool,
    /// Whether an idle connection restarts with a small window.
    pub slow_start_after_idle: bool,
}

/// Result of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowResult {
    /// Time at which its first bytes were handed to the kernel, or its connection was requested.
    pub started_at: Option<Time>,
    /// Time at which its receiver had the last byte.
    pub received_at: Option<Time>,
    /// Bytes received in the plan's window.
    pub received_in_window: u64,
    /// Segments retransmitted by the kernel.
    pub retransmissions: u32,
}

impl Plan {
    /// Refuses unknown hosts and invalid codepoints.
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
