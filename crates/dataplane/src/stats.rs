//! Counters by reason.

/// Declares why something is counted: each reason with its name, in the order of the counters. A
/// scheme that marks for a reason of its own adds one line here.
macro_rules! reasons {
    (
        $(#[$doc:meta])*
        pub enum $kind:ident {
            $($(#[$reason_doc:meta])* $reason:ident = $name:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $kind {
            $($(#[$reason_doc])* $reason,)*
        }

        impl $kind {
            /// All of them, in counter order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$reason),*];

            /// The name in vectors and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// Which rule of a scheme asked for a mark.
    #[non_exhaustive]
    pub enum Rule {
        /// The packet's own queue was too long.
        QueueLength = "queue-length",
        /// All queues of the port together were too long.
        PortLength = "port-length",
        /// The shared buffer pool was too full.
        PoolLength = "pool-length",
        /// The packet waited too long.
        Sojourn = "sojourn",
        /// Packets had waited too long for a whole interval (ECN♯'s persistent part, CoDel).
        Persistent = "persistent",
        /// The packet's flow held more than its fair share of the buffer (DiffECN).
        FlowShare = "flow-share",
    }
}

reasons! {
    /// Why a packet was not forwarded.
    #[non_exhaustive]
    pub enum DropReason {
        /// The port's own buffer limit.
        PortFull = "port-full",
        /// The queue's own buffer limit.
        QueueFull = "queue-full",
        /// The queue's share of the shared pool, or the pool itself.
        PoolFull = "pool-full",
        /// The ingress headroom of a lossless class.
        HeadroomFull = "headroom-full",
        /// The scheme asked for a mark, the packet cannot carry one, and the port drops such
        /// packets.
        NotCapable = "not-capable",
        /// The packet was sent to a queue that the port does not have.
        UnknownQueue = "unknown-queue",
    }
}

impl core::fmt::Display for DropReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for DropReason {}

/// What one queue has done since the port was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets admitted.
    pub enqueued_packets: u64,
    /// Bytes admitted.
    pub enqueued_bytes: u64,
    /// Packets that left, sent or dropped on the way out.
    pub dequeued_packets: u64,
    /// Bytes that left.
    pub dequeued_bytes: u64,
    /// Packets waiting now.
    pub held_packets: u32,
    /// Bytes waiting now.
    pub held_bytes: u32,
}

/// What a port has marked and dropped, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    pub(crate) marks: [u64; Rule::ALL.len()],
    pub(crate) drops: [u64; DropReason::ALL.len()],
}

impl PortStats {
    /// Packets set to CE because of `rule`.
    pub const fn marks(&self, rule: Rule) -> u64 {
        self.marks[rule as usize]
    }

    /// Packets dropped because of `reason`.
    pub const fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Packets set to CE, whatever the rule.
    pub fn total_marks(&self) -> u64 {
        self.marks.iter().sum()
    }

    /// Packets dropped, whatever the reason.
    pub fn total_drops(&self) -> u64 {
        self.drops.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_counter_order() {
        assert!(Rule::ALL.iter().enumerate().all(|(i, &rule)| rule as usize == i));
        assert!(DropReason::ALL.iter().enumerate().all(|(i, &reason)| reason as usize == i));
    }
}
