//! Marking schemes: the rules that decide which packets are marked.
//!
//! A scheme decides and never touches a packet. The port applies the decision: it marks only
//! ECN-capable packets, and its settings say how it treats the others.
//!
//! One value serves one port and holds per-queue state. To add a scheme, see `CONTRIBUTING.md`.

pub mod bcc;
pub mod codel;
pub mod custom;
pub mod diff_ecn;
pub mod drop_tail;
pub mod ecn_sharp;
pub mod ideal_red;
pub mod ideal_share;
pub mod mq_ecn;
mod or;
pub mod per_flow_tcn;
pub mod pool_red;
pub mod port_red;
pub mod queue_red;
mod ramp;
pub mod rate_red;
pub mod red;
pub mod tcn;

pub use bcc::Bcc;
pub use codel::Codel;
pub use diff_ecn::DiffEcn;
pub use drop_tail::DropTail;
pub use ecn_sharp::EcnSharp;
pub use ideal_red::IdealRed;
pub use ideal_share::IdealShare;
pub use mq_ecn::MqEcn;
pub use or::Or;
pub use per_flow_tcn::PerFlowTcn;
pub use pool_red::PoolRed;
pub use port_red::PortRed;
pub use queue_red::QueueRed;
pub use rate_red::RateRed;
pub use tcn::Tcn;

use alloc::boxed::Box;

use tidegate_units::{ConfigError, NoSettings, QueueId, Rate, Rng, Span, Time, catalogue};

use crate::sched::{Round, Turn};
use crate::{Pkt, Rule};

/// Facts that a scheme sees when it decides.
///
/// All byte and packet counts exclude the packet in hand, at enqueue and at dequeue alike. A scheme
/// that needs the inclusive reading adds `pkt.len` and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cx {
    /// Time of the arrival, or of the start of the transmission.
    pub now: Time,
    /// The packet's queue.
    pub queue: QueueId,
    /// Bytes in that queue.
    pub queue_bytes: u32,
    /// Packets in that queue.
    pub queue_packets: u32,
    /// Bytes in all queues of the port.
    pub port_bytes: u32,
    /// Packets in all queues of the port.
    pub port_packets: u32,
    /// Bytes in the shared pool that the queue draws from; zero if there is none, or if the scheme
    /// does not [read the pool](Marker::reads_pool).
    pub pool_bytes: u32,
    /// The packet in hand.
    pub pkt: Pkt,
}

/// A scheme's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkDecision {
    /// Leave the packet as it is.
    Pass,
    /// Set CE, because of this rule.
    Mark(Rule),
}

impl MarkDecision {
    /// A mark by `rule` if `condition` holds, otherwise none.
    #[inline]
    pub const fn mark_if(condition: bool, rule: Rule) -> Self {
        if condition { Self::Mark(rule) } else { Self::Pass }
    }

    /// The first of two decisions that marks, if either does.
    #[inline]
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::Pass => other,
            mark @ Self::Mark(_) => mark,
        }
    }
}

/// The lengths of a port's queues, for schemes that choose the queue.
pub trait Queues {
    /// Number of queues.
    fn count(&self) -> u8;
    /// Bytes in `queue`.
    fn bytes(&self, queue: QueueId) -> u32;
    /// Packets in `queue`.
    fn packets(&self, queue: QueueId) -> u32;
}

/// Properties of the port that a scheme may need when it is built.
pub struct PortInfo<'a> {
    /// The port's link speed.
    pub rate: Rate,
    /// Number of queues.
    pub queues: u8,
    /// Each queue's share of the scheduler's rounds, or `None` for a queue that is not served in
    /// rounds.
    pub round: &'a dyn Fn(QueueId) -> Option<Round>,
    /// The queue that the scheduler serves strictly first, or `None` if it has none.
    pub first: Option<QueueId>,
    /// The name of the scheduler, for error messages.
    pub scheduler: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// Number of the port's random stream, unique within the run.
    pub stream: u64,
}

/// A marking scheme: decides which packets of one port are marked.
pub trait Marker {
    /// Queue for an arriving packet, before it is admitted. `proposed` is the classifier's choice;
    /// only schemes that map flows to queues return another one.
    #[inline]
    fn assign(
        &mut self,
        _pkt: &Pkt,
        proposed: QueueId,
        _queues: &impl Queues,
        _now: Time,
    ) -> QueueId {
        proposed
    }

    /// Whether [`assign`](Self::assign) spreads packets over queues of its own choice. A queue then
    /// holds packets of any class, and all queues are paused together.
    fn chooses_queues(&self) -> bool {
        false
    }

    /// Decides on an arriving packet: after it was admitted, before it is queued.
    #[inline]
    fn on_enqueue(&mut self, _cx: &Cx) -> MarkDecision {
        MarkDecision::Pass
    }

    /// Records a packet that was queued. Not called for a packet that was dropped.
    #[inline]
    fn on_queued(&mut self, _cx: &Cx) {}

    /// Decides on a departing packet, which waited for `sojourn`. The packet has left its queue and
    /// its bytes are released.
    #[inline]
    fn on_dequeue(&mut self, _cx: &Cx, _sojourn: Span) -> MarkDecision {
        MarkDecision::Pass
    }

    /// Records the start or end of a queue's turn. Called between the decisions of the packets
    /// around it.
    #[inline]
    fn on_turn(&mut self, _turn: &Turn) {}

    /// Current marking threshold of `queue` in bytes, if the scheme has one.
    fn threshold(&self, _queue: QueueId) -> Option<u32> {
        None
    }

    /// Estimated service rate of `queue`, if the scheme makes such an estimate.
    fn capacity(&self, _queue: QueueId) -> Option<Rate> {
        None
    }

    /// Number of active flows at the port, if the scheme counts them.
    fn flows(&self) -> Option<u32> {
        None
    }

    /// Whether decisions read [`Cx::pool_bytes`]. If so, a lazy host brings all ports of the switch
    /// up to date before it asks for a decision.
    const READS_POOL: bool = false;

    /// The same for a scheme chosen at run time.
    #[inline]
    fn reads_pool(&self) -> bool {
        Self::READS_POOL
    }

    /// Pool length below which decisions and state do not depend on [`Cx::pool_bytes`], so that a
    /// lazy host may let it be out of date. `u32::MAX` for a scheme that does not read the pool.
    fn ignores_pool_below(&self) -> u32 {
        if self.reads_pool() { 0 } else { u32::MAX }
    }
}

/// Declares, from one list, the enum of all schemes with its forwarding, the enum of their
/// parameters, and the names of both in files and on the command line.
macro_rules! schemes {
    ($($variant:ident($module:ident),)*) => {
        /// Any scheme, chosen at run time.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyMarker {
            /// Two schemes at once.
            Or(Box<Or<Self, Self>>),
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $variant($module::$variant),
            )*
        }

        catalogue! {
            /// Parameters of any scheme.
            #[non_exhaustive]
            pub enum Config {
                [
                    /// Two schemes at once.
                    Or(Box<(Self, Self)>): or::ABOUT, |_pair| NoSettings;
                ]
                $($variant($module::Config),)*
            }
        }

        impl Config {
            /// Builds the scheme for a port, or names the parameter that cannot be used there.
            pub fn build(&self, port: &PortInfo) -> Result<AnyMarker, ConfigError> {
                Ok(match self {
                    Self::Or(pair) => {
                        // A seed for each scheme, so that they draw independently.
                        let seeded = |part| PortInfo {
                            seed: Rng::new(port.seed, part).next_u64(),
                            ..*port
                        };
                        let first = pair.0.build(&seeded(1))?;
                        let second = pair.1.build(&seeded(2))?;
                        AnyMarker::Or(Box::new(Or { first, second }))
                    }
                    $(Self::$variant(config) => {
                        AnyMarker::$variant($module::$variant::new(config, port)?)
                    })*
                })
            }

            /// Whether decisions [read the pool](Marker::READS_POOL).
            pub fn reads_pool(&self) -> bool {
                match self {
                    Self::Or(pair) => pair.0.reads_pool() || pair.1.reads_pool(),
                    $(Self::$variant(_) => <$module::$variant as Marker>::READS_POOL,)*
                }
            }
        }

        /// Calls the same expression with the scheme, of any type.
        macro_rules! with_scheme {
            ($any:expr, $scheme:ident => $call:expr) => {
                match $any {
                    $crate::mark::AnyMarker::Or($scheme) => $call,
                    $($crate::mark::AnyMarker::$variant($scheme) => $call,)*
                }
            };
        }
    };
}

schemes! {
    Bcc(bcc),
    Codel(codel),
    DiffEcn(diff_ecn),
    EcnSharp(ecn_sharp),
    IdealRed(ideal_red),
    IdealShare(ideal_share),
    MqEcn(mq_ecn),
    DropTail(drop_tail),
    PerFlowTcn(per_flow_tcn),
    PoolRed(pool_red),
    PortRed(port_red),
    QueueRed(queue_red),
    RateRed(rate_red),
    Tcn(tcn),
}

impl Config {
    /// Table entries that the scheme needs at a port with `queues` queues, where it models the
    /// tables of switch hardware.
    pub fn table_entries(&self, queues: u8) -> u64 {
        match self {
            Self::Or(pair) => pair.0.table_entries(queues) + pair.1.table_entries(queues),
            Self::DiffEcn(config) => config.table_entries(queues),
            Self::PerFlowTcn(config) => config.table_entries(queues),
            _ => 0,
        }
    }
}

impl Marker for AnyMarker {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, proposed: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        with_scheme!(self, scheme => scheme.assign(pkt, proposed, queues, now))
    }

    fn chooses_queues(&self) -> bool {
        with_scheme!(self, scheme => scheme.chooses_queues())
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        with_scheme!(self, scheme => scheme.on_enqueue(cx))
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        with_scheme!(self, scheme => scheme.on_queued(cx));
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        with_scheme!(self, scheme => scheme.on_dequeue(cx, sojourn))
    }

    #[inline]
    fn on_turn(&mut self, turn: &Turn) {
        with_scheme!(self, scheme => scheme.on_turn(turn));
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        with_scheme!(self, scheme => scheme.threshold(queue))
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        with_scheme!(self, scheme => scheme.capacity(queue))
    }

    fn flows(&self) -> Option<u32> {
        with_scheme!(self, scheme => scheme.flows())
    }

    #[inline]
    fn reads_pool(&self) -> bool {
        with_scheme!(self, scheme => scheme.reads_pool())
    }

    fn ignores_pool_below(&self) -> u32 {
        with_scheme!(self, scheme => scheme.ignores_pool_below())
    }
}

/// A boxed scheme, used for pairs of schemes chosen at run time.
impl<M: Marker> Marker for Box<M> {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, proposed: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        (**self).assign(pkt, proposed, queues, now)
    }

    fn chooses_queues(&self) -> bool {
        (**self).chooses_queues()
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        (**self).on_enqueue(cx)
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        (**self).on_queued(cx);
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        (**self).on_dequeue(cx, sojourn)
    }

    #[inline]
    fn on_turn(&mut self, turn: &Turn) {
        (**self).on_turn(turn);
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        (**self).threshold(queue)
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        (**self).capacity(queue)
    }

    fn flows(&self) -> Option<u32> {
        (**self).flows()
    }

    #[inline]
    fn reads_pool(&self) -> bool {
        (**self).reads_pool()
    }

    fn ignores_pool_below(&self) -> u32 {
        (**self).ignores_pool_below()
    }
}

/// Fixtures of the schemes' unit tests.
#[cfg(test)]
mod testing {
    use tidegate_units::Ecn;

    use super::*;

    /// A 10 Gb/s port with `queues` queues and no rounds.
    pub(super) fn port_info(queues: u8) -> PortInfo<'static> {
        PortInfo {
            rate: Rate::from_gbps(10),
            queues,
            round: &|_| None,
            first: None,
            scheduler: "fifo",
            seed: 1,
            stream: 0,
        }
    }

    /// The same with queue 0 served strictly first.
    pub(super) fn first_port_info(queues: u8) -> PortInfo<'static> {
        PortInfo { first: Some(QueueId(0)), scheduler: "sp-dwrr", ..port_info(queues) }
    }

    /// A 1500-byte ECN-capable packet at an empty port.
    pub(super) fn cx() -> Cx {
        Cx {
            now: Time::from_secs(1),
            queue: QueueId(0),
            queue_bytes: 0,
            queue_packets: 0,
            port_bytes: 0,
            port_packets: 0,
            pool_bytes: 0,
            pkt: Pkt { len: 1500, ecn: Ecn::Ect0, ..Pkt::default() },
        }
    }
}
