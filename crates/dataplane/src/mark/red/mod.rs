//! The law that `queue-red`, `port-red` and `pool-red` share: mark when a length exceeds a
//! threshold, or with a rising probability between two.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1993, reduced to what datacenters use as in Bai et al., "Enabling ECN
//! over Generic Packet Scheduling", CoNEXT 2016, section 2.1: the instantaneous length, and both
//! thresholds equal.
//!
//! Published implementations differ by one packet, by `>` or `≥`, and in when they read the length.
//! Each such convention is an option; `docs/schemes/queue-red.md` lists which options mimic which
//! code.
//!
//! Two differences from the paper of 1993. The average, if there is one, is updated at every
//! arrival, also when marks are decided at departures. A queue is idle from the moment its last
//! packet leaves it.

mod average;
mod spread;

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::marker::PhantomData;

use tidegate_units::{Bytes, ConfigError, Ratio, Rng, Size, Time, choices};

use self::average::{Average, Averaging};
use self::spread::Spread;
use super::ramp::{Ramp, Zone};
use super::{Cx, MarkDecision, PortInfo};
use crate::Rule;

choices! {
    /// Event at which the packet is decided on.
    #[non_exhaustive]
    pub enum Point {
        /// On the departing packet, which carries the mark away at once.
        Dequeue = "dequeue",
        /// On the arriving packet.
        Enqueue = "enqueue",
    }
}

choices! {
    /// Whether the length includes the packet in hand.
    #[non_exhaustive]
    pub enum Reading {
        /// Without the packet: before insertion, or after removal.
        Exclusive = "exclusive",
        /// With the packet: after insertion, or before removal.
        Inclusive = "inclusive",
    }
}

choices! {
    /// How a length is compared with the threshold above which every packet is marked.
    #[non_exhaustive]
    pub enum Compare {
        /// Strictly above.
        Above = "above",
        /// At the threshold or above.
        AtLeast = "at-least",
    }
}

choices! {
    /// Unit of a length.
    #[non_exhaustive]
    pub enum Unit {
        /// Bytes.
        Bytes = "bytes",
        /// Packets of any size.
        Packets = "packets",
    }
}

choices! {
    /// Spacing of marks between the thresholds, given the probability p on the line.
    #[non_exhaustive]
    pub enum Correction {
        /// p / (1 − c·p), scaled by packet size, with c the bytes since the last mark, this packet
        /// included, over a mean packet (BCC's simulator). A length at the lower threshold restarts
        /// c.
        Bytes = "bytes",
        /// Each packet is drawn independently with p (DCQCN's simulators).
        None = "none",
        /// p / (1 − c·p) with c the packets since the last mark, this one included; the first
        /// packets above the lower threshold are counted from 0 (Floyd and Jacobson, figure 2).
        Packets = "packets",
    }
}

choices! {
    /// Treatment of a length of one packet or none, independent of the thresholds.
    #[non_exhaustive]
    pub enum ShortQueue {
        /// No exception: the thresholds decide.
        Mark = "mark",
        /// No packet is marked (ECN♯'s simulator).
        Pass = "pass",
    }
}

/// Declares the settings of a scheme: its own thresholds, then the options shared by all three.
macro_rules! red_settings {
    ($(#[$($about:tt)*])* { $($thresholds:tt)* } { $($packet_size:tt)* }) => {
        tidegate_units::settings! {
            $(#[$($about)*])*
            pub struct Config {
                $($thresholds)*
                /// Event at which the decision is made. TCN, section 2.1: on arrival.
                pub decide: super::red::Point = super::red::Point::Enqueue,
                /// Whether the length includes the packet itself. In TCN's simulator it does.
                pub reading: super::red::Reading = super::red::Reading::Inclusive,
                /// Whether a length equal to `threshold` marks. TCN, section 2.1: only a larger
                /// length marks.
                pub compare: super::red::Compare = super::red::Compare::Above,
                /// Unit of the length.
                pub unit: super::red::Unit = super::red::Unit::Bytes,
                $($packet_size)*
                /// Spacing of marks between the thresholds.
                pub correction: super::red::Correction = super::red::Correction::None,
                /// Bytes in a mean packet, for the correction in bytes (BCC's simulations: 9000).
                pub mean_packet: u32 = 9000,
                /// Decide on a moving average of the length with this weight on the newest sample
                /// (`w_q`; Floyd and Jacobson use 0.002), or `none` for the length itself (TCN,
                /// section 2.1).
                pub average_weight: Option<tidegate_units::Ratio> = None,
                /// Treatment of a length of one packet or none.
                pub short_queue: super::red::ShortQueue = super::red::ShortQueue::Mark,
            }
        }

        impl Config {
            fn law(&self) -> super::red::Law {
                super::red::Law {
                    decide: self.decide,
                    reading: self.reading,
                    compare: self.compare,
                    unit: self.unit,
                    packet_size: self.packet_size.into(),
                    correction: self.correction,
                    mean_packet: self.mean_packet,
                    average_weight: self.average_weight,
                    short_queue: self.short_queue,
                }
            }
        }
    };
    // A queue or a port, whose packets have a usual size.
    ($(#[$($about:tt)*])* { $($thresholds:tt)* }) => {
        super::red::red_settings! {
            $(#[$($about)*])* { $($thresholds)* }
            {
                /// Bytes in a packet, for thresholds given in packets while lengths are in bytes
                /// (TCN's simulations: 1500), and for the decay of an average while the link is
                /// idle.
                pub packet_size: u32 = 1500,
            }
        }
    };
}
pub(super) use red_settings;

/// Options of a law, documented in the `Config` of each scheme.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub(super) decide: Point,
    pub(super) reading: Reading,
    pub(super) compare: Compare,
    pub(super) unit: Unit,
    /// `None` for a pool, whose packets have no usual size.
    pub(super) packet_size: Option<u32>,
    pub(super) correction: Correction,
    pub(super) mean_packet: u32,
    pub(super) average_weight: Option<Ratio>,
    pub(super) short_queue: ShortQueue,
}

/// Thresholds of one length: `high` (`K`, `K_max`), and `low` (`K_min`) unless the law is a step.
/// Between them the probability rises to `max_probability` (`P_max`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) high: Size,
    pub(super) low: Option<Size>,
    pub(super) max_probability: Ratio,
}

/// The length that a scheme compares with its thresholds.
pub(super) trait Scope {
    /// Rule that its marks are counted under.
    const RULE: Rule;
    /// Whether packets are counted.
    const COUNTS_PACKETS: bool;
    /// Index of the length; zero if there is only one.
    fn slot(cx: &Cx) -> usize;
    /// Length in bytes.
    fn bytes(cx: &Cx) -> u32;
    /// Length in packets; zero if packets are not counted.
    fn packets(cx: &Cx) -> u32;
}

/// The length of the packet's own queue.
#[derive(Clone, Debug)]
pub(super) struct Queue;

/// The length of all queues of the port together.
#[derive(Clone, Debug)]
pub(super) struct Port;

/// The use of the shared pool.
#[derive(Clone, Debug)]
pub(super) struct Pool;

impl Scope for Queue {
    const RULE: Rule = Rule::QueueLength;
    const COUNTS_PACKETS: bool = true;

    #[inline]
    fn slot(cx: &Cx) -> usize {
        cx.queue.index()
    }

    #[inline]
    fn bytes(cx: &Cx) -> u32 {
        cx.queue_bytes
    }

    #[inline]
    fn packets(cx: &Cx) -> u32 {
        cx.queue_packets
    }
}

impl Scope for Port {
    const RULE: Rule = Rule::PortLength;
    const COUNTS_PACKETS: bool = true;

    #[inline]
    fn slot(_: &Cx) -> usize {
        0
    }

    #[inline]
    fn bytes(cx: &Cx) -> u32 {
        cx.port_bytes
    }

    #[inline]
    fn packets(cx: &Cx) -> u32 {
        cx.port_packets
    }
}

impl Scope for Pool {
    const RULE: Rule = Rule::PoolLength;
    const COUNTS_PACKETS: bool = false;

    #[inline]
    fn slot(_: &Cx) -> usize {
        0
    }

    #[inline]
    fn bytes(cx: &Cx) -> u32 {
        cx.pool_bytes
    }

    #[inline]
    fn packets(_: &Cx) -> u32 {
        0
    }
}

/// RED on the length that `S` selects.
#[derive(Clone, Debug)]
pub(super) struct Red<S> {
    /// Smallest length in bytes at which an arriving packet may be marked or counted: the first
    /// marked length of the lowest step, 0 if every packet matters, `u64::MAX` if none does.
    at_enqueue: u64,
    /// The same for a departing packet.
    at_dequeue: u64,
    /// State of every form except one plain step for all slots; boxed because most ports do not
    /// need it.
    special: Option<Box<Special>>,
    /// Mask of the packet's own length: all ones if the reading includes the packet, otherwise
    /// zero.
    own: u32,
    terms: Terms,
    scope: PhantomData<S>,
}

/// Terms common to all slots.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// Probability at the upper threshold; the first slot's, if slots differ.
    max_probability: Ratio,
    decide: Point,
    compare: Compare,
    /// Number of slots.
    slots: u8,
}

/// Larger than any length, all of which are below 2^33.
const NEVER: u64 = u64::MAX;

/// Bytes of a packet unless the settings say otherwise.
const USUAL_PACKET: u32 = 1500;

/// Upper bound of the bytes of a framed IP packet, with all bits set so that it works as a mask.
const LONGEST_PACKET: u32 = (1 << 17) - 1;

impl<S: Scope> Red<S> {
    /// RED with one pair of thresholds per slot.
    pub(super) fn new(
        thresholds: &[Thresholds],
        law: &Law,
        port: &PortInfo,
    ) -> Result<Self, ConfigError> {
        law.check::<S>()?;
        let above_one = |slot: &&Thresholds| slot.max_probability > Ratio::ONE;
        if let Some(slot) = thresholds.iter().find(above_one) {
            let probability = slot.max_probability;
            return Err(ConfigError::out_of_range("max_probability", probability, "0 to 1"));
        }
        let mut is_step = law.unit == Unit::Bytes
            && law.short_queue == ShortQueue::Mark
            && law.average_weight.is_none();
        let mut all = Vec::with_capacity(thresholds.len());
        for &Thresholds { high, low, .. } in thresholds {
            let top = law.length("threshold", high)?;
            let bottom = law.length("min_threshold", low.unwrap_or(high))?;
            if bottom > top {
                let allowed = format!("at most the threshold, {high}");
                let low = low.unwrap_or(high);
                return Err(ConfigError::out_of_range("min_threshold", low, allowed));
            }
            // Equal thresholds are a step, where `compare` alone decides on lengths at the
            // threshold.
            is_step &= bottom == top;
            all.push(Slot { low: bottom, high: top, memory: Memory::default() });
        }
        // A port has at most 128 queues.
        let slots = all.len() as u8;
        let lowest = all.iter().map(|slot| slot.high).min().unwrap_or(0);
        let differ = |pair: &[Slot]| (pair[0].low, pair[0].high) != (pair[1].low, pair[1].high);
        let are_equal = !all.windows(2).any(differ);
        let is_plain = is_step && are_equal;
        let max_probability = thresholds.first().map_or(Ratio::ONE, |slot| slot.max_probability);
        let is_other = |slot: &Thresholds| slot.max_probability != max_probability;
        let differ = !is_step && thresholds.iter().any(is_other);
        // A correction also counts unmarked packets, and an average takes all packets.
        let from = if is_step { u64::from(lowest) + law.compare.beyond() } else { 0 };
        let averaging = Averaging::new(law, port);
        let have_one = are_equal && !differ;
        if have_one && averaging.is_none() && law.correction == Correction::None {
            all.truncate(1);
        }
        if differ {
            all.extend(thresholds.iter().map(|slot| Slot::of(slot.max_probability)));
        }
        let special = Special {
            slots: all.into(),
            averaging,
            rng: Rng::new(port.seed, port.stream),
            mean_packet: law.mean_packet,
            correction: law.correction,
            unit: law.unit,
            reading: law.reading,
            short_queue: law.short_queue,
        };
        // An average observes arrivals and departures, whichever of them it decides on.
        let at = |point| {
            if law.decide == point || special.averaging.is_some() { from } else { NEVER }
        };
        Ok(Self {
            at_enqueue: at(Point::Enqueue),
            at_dequeue: at(Point::Dequeue),
            own: match law.reading {
                Reading::Exclusive => 0,
                Reading::Inclusive => u32::MAX,
            },
            terms: Terms { max_probability, decide: law.decide, compare: law.compare, slots },
            special: (!is_plain).then(|| Box::new(special)),
            scope: PhantomData,
        })
    }

    #[inline]
    pub(super) fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        if self.length(cx) < self.at_enqueue {
            return MarkDecision::Pass;
        }
        let slot = S::slot(cx);
        let hit = slot < usize::from(self.terms.slots)
            && match &mut self.special {
                None => true,
                Some(special) => {
                    let (bytes, packets) = (S::bytes(cx), S::packets(cx));
                    special.on_enqueue(slot, bytes, packets, cx.pkt.len, cx.now, self.terms)
                }
            };
        MarkDecision::mark_if(hit, S::RULE)
    }

    #[inline]
    pub(super) fn on_dequeue(&mut self, cx: &Cx) -> MarkDecision {
        if self.length(cx) < self.at_dequeue {
            return MarkDecision::Pass;
        }
        let slot = S::slot(cx);
        let hit = slot < usize::from(self.terms.slots)
            && match &mut self.special {
                None => true,
                Some(special) => {
                    let (bytes, packets) = (S::bytes(cx), S::packets(cx));
                    special.on_dequeue(slot, bytes, packets, cx.pkt.len, cx.now, self.terms)
                }
            };
        MarkDecision::mark_if(hit, S::RULE)
    }

    /// The threshold above which every packet is marked, in bytes; `None` if packets are counted.
    pub(super) fn threshold(&self, slot: usize) -> Option<u32> {
        if slot >= usize::from(self.terms.slots) {
            return None;
        }
        let threshold = match &self.special {
            None => self.at_enqueue.min(self.at_dequeue) - self.terms.compare.beyond(),
            Some(special) if special.unit == Unit::Packets => return None,
            Some(special) => return Some(special.slots.get(special.place(slot))?.high),
        };
        u32::try_from(threshold).ok()
    }

    /// Readings below this value all have the same effect: no mark, and no count towards one. Zero
    /// if an average remembers every reading.
    pub(super) fn ignores_below(&self) -> u32 {
        let lowest = match &self.special {
            None => self.at_enqueue.min(self.at_dequeue),
            Some(special) if special.averaging.is_some() => 0,
            Some(special) => {
                let slots = special.slots.iter().take(usize::from(self.terms.slots));
                let lows = slots.map(|slot| u64::from(slot.low));
                lows.min().unwrap_or(0)
            }
        };
        // The reading may include the packet's own length.
        let own = u64::from(self.own & LONGEST_PACKET);
        lowest.saturating_sub(own).try_into().unwrap_or(u32::MAX)
    }

    #[inline]
    fn length(&self, cx: &Cx) -> u64 {
        u64::from(S::bytes(cx)) + u64::from(cx.pkt.len & self.own)
    }
}

impl Compare {
    /// Distance from the threshold to the smallest marked length.
    #[inline]
    const fn beyond(self) -> u64 {
        match self {
            Self::Above => 1,
            Self::AtLeast => 0,
        }
    }
}

impl Law {
    fn check<S: Scope>(&self) -> Result<(), ConfigError> {
        if !S::COUNTS_PACKETS {
            let allowed = "no option that counts packets: a pool counts bytes only";
            if self.unit == Unit::Packets {
                return Err(ConfigError::out_of_range("unit", "packets", allowed));
            }
            if self.short_queue == ShortQueue::Pass {
                return Err(ConfigError::out_of_range("short_queue", "pass", allowed));
            }
        }
        packet_size("packet_size", self.packet_size.unwrap_or(USUAL_PACKET))?;
        packet_size("mean_packet", self.mean_packet)?;
        match self.average_weight {
            Some(weight) if weight == Ratio::ZERO || weight > Ratio::ONE => {
                Err(ConfigError::out_of_range("average_weight", weight, "above 0, up to 1"))
            }
            _ => Ok(()),
        }
    }

    /// A threshold in the unit of the length.
    fn length(&self, field: &'static str, size: Size) -> Result<u32, ConfigError> {
        match (self.unit, size) {
            (Unit::Bytes, Size::Packets(_)) if self.packet_size.is_none() => {
                let allowed =
                    "bytes, such as 30KB; or packets together with `packet_size`, the bytes of one";
                Err(ConfigError::out_of_range(field, size, allowed))
            }
            (Unit::Bytes, _) => bytes(field, size, self.packet_size.unwrap_or(USUAL_PACKET)),
            (Unit::Packets, Size::Packets(packets)) => Ok(packets),
            (Unit::Packets, Size::Bytes(_)) => {
                let allowed = "a number of packets such as 65pkts, which is the unit";
                Err(ConfigError::out_of_range(field, size, allowed))
            }
        }
    }
}

/// The bytes of a packet, refused if zero.
pub(super) fn packet_size(field: &'static str, bytes: u32) -> Result<u32, ConfigError> {
    match bytes {
        0 => Err(ConfigError::out_of_range(field, bytes, "1 byte or more")),
        _ => Ok(bytes),
    }
}

/// A threshold in bytes, with packets of `packet` bytes each.
pub(super) fn bytes(field: &'static str, size: Size, packet: u32) -> Result<u32, ConfigError> {
    u32::try_from(size.in_bytes(packet)).map_err(|_| {
        let most = Bytes(u64::from(u32::MAX));
        ConfigError::out_of_range(field, size, format!("at most {most}"))
    })
}

/// One value per queue, from a list with one value per queue or a single value for all.
pub(super) fn per_queue<T: Copy>(
    field: &'static str,
    list: &[T],
    queues: u8,
) -> Result<Vec<T>, ConfigError> {
    match *list {
        [value] => Ok(alloc::vec![value; usize::from(queues)]),
        _ if list.len() == usize::from(queues) => Ok(list.to_vec()),
        _ => {
            let allowed = format!("1 value, or 1 for each of the {queues} queues");
            let value = format!("{} values", list.len());
            Err(ConfigError::out_of_range(field, value, allowed))
        }
    }
}

/// State beyond [`Terms`]. A port of eight queues must stay below 1 KiB: one list holds everything
/// per slot, and thresholds are kept as given.
#[derive(Clone, Debug)]
struct Special {
    /// One slot for all if they are equal and stateless. If the slots' probabilities at the upper
    /// threshold differ, further slots at the end hold them: few ports need this, and all ports
    /// stay small.
    slots: Box<[Slot]>,
    averaging: Option<Averaging>,
    rng: Rng,
    mean_packet: u32,
    correction: Correction,
    unit: Unit,
    reading: Reading,
    short_queue: ShortQueue,
}

/// State of one slot.
#[derive(Clone, Debug)]
struct Slot {
    /// Thresholds in the law's unit, equal for a step.
    low: u32,
    high: u32,
    memory: Memory,
}

impl Slot {
    /// A probability stored in place of the thresholds.
    fn of(probability: Ratio) -> Self {
        Self {
            low: probability.numerator(),
            high: probability.denominator(),
            memory: Memory::default(),
        }
    }

    /// The probability stored in place of the thresholds.
    const fn ratio(&self) -> Option<Ratio> {
        Ratio::new(self.low, self.high)
    }
}

/// State of a slot from one packet to the next.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Not used without [`Special::averaging`].
    average: Average,
    /// Count of the correction; see [`Spread`]. Not read without a correction.
    count: u64,
}

impl Special {
    /// Takes the parts of a context, as every function here that is not inlined: passing a
    /// reference would write the context to memory for every packet, even at a plain step.
    #[cold]
    fn on_enqueue(
        &mut self,
        slot: usize,
        bytes: u32,
        packets: u32,
        len: u32,
        now: Time,
        terms: Terms,
    ) -> bool {
        let seen = self.seen(slot, bytes, packets, len);
        if let (Some(averaging), Some(slot)) = (&self.averaging, self.slots.get_mut(seen.place)) {
            let average = &mut slot.memory.average;
            match bytes {
                0 => averaging.end_idling(average, now),
                _ => averaging.sample(average, seen.length),
            }
        }
        terms.decide == Point::Enqueue && self.hit(&seen, terms)
    }

    #[cold]
    fn on_dequeue(
        &mut self,
        slot: usize,
        bytes: u32,
        packets: u32,
        len: u32,
        now: Time,
        terms: Terms,
    ) -> bool {
        let seen = self.seen(slot, bytes, packets, len);
        if bytes == 0
            && let Some(slot) = self.slots.get_mut(seen.place)
        {
            slot.memory.average.start_idling(now);
        }
        terms.decide == Point::Dequeue && self.hit(&seen, terms)
    }

    fn hit(&mut self, seen: &Seen, terms: Terms) -> bool {
        if self.short_queue == ShortQueue::Pass && seen.packets <= 1 {
            return false;
        }
        let own = self.slots.get(usize::from(terms.slots) + seen.place);
        let probability = own.and_then(Slot::ratio).unwrap_or(terms.max_probability);
        let Some(Slot { low, high, memory }) = self.slots.get_mut(seen.place) else {
            return false;
        };
        // Averages have a finer unit than lengths.
        let (length, shift) = match &self.averaging {
            None => (seen.length, 0),
            Some(_) => (memory.average.length(), Averaging::SHIFT),
        };
        let [low, high] = [*low, *high].map(|threshold| u64::from(threshold) << shift);
        let zone = if length >= high + terms.compare.beyond() {
            Zone::Above
        } else {
            Ramp::of(low, high, probability).zone(length)
        };
        let spread = Spread::new(self.correction, self.mean_packet);
        let count = &mut memory.count;
        match zone {
            Zone::Below => {
                *count = 0;
                false
            }
            Zone::Between(chance) => spread.draw(chance, count, seen.len, &mut self.rng),
            Zone::Above => {
                *count = spread.after_a_mark();
                true
            }
        }
    }

    /// Index of `slot` in the list.
    fn place(&self, slot: usize) -> usize {
        match *self.slots {
            [_] => 0,
            _ => slot,
        }
    }

    /// The reading of a packet of `len` bytes with `bytes` and `packets` waiting.
    fn seen(&self, slot: usize, bytes: u32, packets: u32, len: u32) -> Seen {
        let (own_bytes, own_packets) = match self.reading {
            Reading::Exclusive => (0, 0),
            Reading::Inclusive => (len, 1),
        };
        let packets = u64::from(packets) + own_packets;
        Seen {
            place: self.place(slot),
            length: match self.unit {
                Unit::Bytes => u64::from(bytes) + u64::from(own_bytes),
                Unit::Packets => packets,
            },
            packets,
            len,
        }
    }
}

/// A packet's reading of its length.
struct Seen {
    /// Index of the slot in the list.
    place: usize,
    /// Length in the law's unit.
    length: u64,
    packets: u64,
    /// Bytes of the packet.
    len: u32,
}

#[cfg(test)]
mod tests;
