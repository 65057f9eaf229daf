//! Counters by reason.

/// Declares the reasons of a kind of event, each with its name, in the order of the counters. A
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
            /// All reasons, in counter order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$reason),*];

            /// Name in vectors and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// The rule of a scheme that asked for a mark.
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
    /// Reason why a packet was not forwarded.
    #[non_exhaustive]
    pub enum DropReason {
        /// The port's own buffer limit was reached.
        PortFull = "port-full",
        /// The queue's own buffer limit was reached.
        QueueFull = "queue-full",
        /// The queue's share of the shared pool, or the pool itself, was exhausted.
        PoolFull = "pool-full",
        /// The ingress headroom of a lossless class was exhausted.
        HeadroomFull = "headroom-full",
        /// The scheme asked for a mark, the packet cannot carry one, and the port drops such
        /// packets.
        NotCapable = "not-capable",
        /// The packet was assigned to a queue that the port does not have.
        UnknownQueue = "unknown-queue",
    }
}

impl core::fmt::Display for DropReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for DropReason {}

/// Counters of one queue since the port was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets admitted.
    pub enqueued_packets: u64,
    /// Bytes admitted.
    pub enqueued_bytes: u64,
    /// Packets that left, whether sent or dropped at dequeue.
    pub dequeued_packets: u64,
    /// Bytes that left.
    pub dequeued_bytes: u64,
    /// Packets waiting now.
    pub held_packets: u32,
    /// Bytes waiting now.
    pub held_bytes: u32,
}

/// Marks and drops of a port, by reason.
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

    /// Packets set to CE by any rule.
    pub fn total_marks(&self) -> u64 {
        self.marks.iter().sum()
    }

    /// Packets dropped for any reason.
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
