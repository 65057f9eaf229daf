//! The law that `queue-red`, `port-red` and `pool-red` share: mark when a length exceeds a
//! threshold, or with a rising probability between two.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1993, reduced to what datacenters use as in Bai et al., "Enabling ECN
//! over Generic Packet Scheduling", CoNEXT 2016, section 2.1: the instantaneous length, and both
//! thresholds equal.
//!
//! Code bases differ by one packet and by `>` against `≥` in when they read the length. Each such
//! convention is an option; `docs/schemes/queue-red.md` lists which ones mimic which code.
//!
//! Differs from the paper of 1993: an average, where one is kept, is taken at every arrival, also
//! when marks are decided at departures; a queue is idle from the moment its last packet leaves it.

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
    /// When the decision is made.
    #[non_exhaustive]
    pub enum Point {
        /// On the departing packet, which carries the mark away at once.
        Dequeue = "dequeue",
        /// On the arriving packet.
        Enqueue = "enqueue",
    }
}

choices! {
    /// Whether the packet that is decided on is part of the length.
    #[non_exhaustive]
    pub enum Reading {
        /// It is not: before insertion, or after removal.
        Exclusive = "exclusive",
        /// It is: after insertion, or before removal.
        Inclusive = "inclusive",
    }
}

choices! {
    /// How a length is compared with the threshold above which every packet is marked.
    #[non_exhaustive]
    pub enum Compare {
        /// Strictly above.
        Above = "above",
        /// At the threshold too.
        AtLeast = "at-least",
    }
}

choices! {
    /// What a length counts.
    #[non_exhaustive]
    pub enum Unit {
        /// Bytes.
        Bytes = "bytes",
        /// Packets of any size.
        Packets = "packets",
    }
}

choices! {
    /// How marks between the thresholds are spread out, given the probability p of the line.
    #[non_exhaustive]
    pub enum Correction {
        /// p / (1 − c·p), scaled by packet size, with c the bytes since the last mark over a mean
        /// packet; this packet's bytes count (BCC's simulator). A length at the lower threshold
        /// starts c anew.
        Bytes = "bytes",
        /// Each packet by itself with p (DCQCN's simulators).
        None = "none",
        /// p / (1 − c·p) with c the packets since the last mark, this one too; the first ones
        /// above the lower threshold are counted from 0 (Floyd and Jacobson, figure 2).
        Packets = "packets",
    }
}

choices! {
    /// What happens at a length of one packet or none, whatever the thresholds say.
    #[non_exhaustive]
    pub enum ShortQueue {
        /// Nothing special.
        Mark = "mark",
        /// No packet is marked (ECN♯'s simulator).
        Pass = "pass",
    }
}

/// Declares the settings of a scheme: its own thresholds, then the options that all share.
macro_rules! red_settings {
    ($(#[$($about:tt)*])* { $($thresholds:tt)* } { $($packet_size:tt)* }) => {
        tidegate_units::settings! {
            $(#[$($about)*])*
            pub struct Config {
                $($thresholds)*
                /// When the decision is made. TCN, section 2.1: on arrival.
                pub decide: super::red::Point = super::red::Point::Enqueue,
                /// Whether the packet itself is part of the length. In TCN's simulator it is.
                pub reading: super::red::Reading = super::red::Reading::Inclusive,
                /// Whether a length equal to `threshold` marks. TCN, section 2.1: only a larger
                /// one.
                pub compare: super::red::Compare = super::red::Compare::Above,
                /// What the length counts.
                pub unit: super::red::Unit = super::red::Unit::Bytes,
                $($packet_size)*
                /// How marks between the thresholds are spread out.
                pub correction: super::red::Correction = super::red::Correction::None,
                /// Bytes in a mean packet, for the correction in bytes (BCC's simulations: 9000).
                pub mean_packet: u32 = 9000,
                /// Decide on a moving average of the length with this weight on the newest sample
                /// (`w_q`; Floyd and Jacobson use 0.002), or `none` for the length itself (TCN,
                /// section 2.1).
                pub average_weight: Option<tidegate_units::Ratio> = None,
                /// What happens at a length of one packet or none.
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
    // A queue or a port: packets have a usual size.
    ($(#[$($about:tt)*])* { $($thresholds:tt)* }) => {
        super::red::red_settings! {
            $(#[$($about)*])* { $($thresholds)* }
            {
                /// Bytes in a packet, for thresholds given in packets while lengths are in bytes
                /// (TCN's simulations: 1500), and for the time that an average decays by while
                /// the link idles.
                pub packet_size: u32 = 1500,
            }
        }
    };
}
pub(super) use red_settings;

/// The options of a law; `Config` of each scheme documents them.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub(super) decide: Point,
    pub(super) reading: Reading,
    pub(super) compare: Compare,
    pub(super) unit: Unit,
    /// None where a packet has no usual size.
    pub(super) packet_size: Option<u32>,
    pub(super) correction: Correction,
    pub(super) mean_packet: u32,
    pub(super) average_weight: Option<Ratio>,
    pub(super) short_queue: ShortQueue,
}

/// The two thresholds of one length: `high` (`K`, `K_max`), and `low` (`K_min`) unless a step. In
/// between, the probability rises to `max_probability` (`P_max`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) high: Size,
    pub(super) low: Option<Size>,
    pub(super) max_probability: Ratio,
}

/// Which length a scheme looks at.
pub(super) trait Scope {
    /// The rule that its marks are counted under.
    const RULE: Rule;
    /// Whether packets are counted.
    const COUNTS_PACKETS: bool;
    /// Which of the lengths it is; zero where there is only one.
    fn slot(cx: &Cx) -> usize;
    /// The length in bytes.
    fn bytes(cx: &Cx) -> u32;
    /// The length in packets; zero where they are not counted.
    fn packets(cx: &Cx) -> u32;
}

/// The length of the packet's own queue.
#[derive(Clone, Debug)]
pub(super) struct Queue;

/// The length of all queues of the port.
#[derive(Clone, Debug)]
pub(super) struct Port;

/// What is in use of the shared pool.
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

/// RED on the length that `S` names.
#[derive(Clone, Debug)]
pub(super) struct Red<S> {
    /// The smallest length in bytes at which an arriving packet concerns the scheme: that of the
    /// step if all slots have the same, none if every packet does, all ones if no packet does.
    at_enqueue: u64,
    /// The same for a departing packet.
    at_dequeue: u64,
    /// Every form but one plain step for all slots, boxed because most ports do without.
    special: Option<Box<Special>>,
    /// Which bits of a packet's length count: all or none.
    own: u32,
    terms: Terms,
    scope: PhantomData<S>,
}

/// What holds for all slots.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// The probability at the upper threshold, of the first slot if they differ.
    max_probability: Ratio,
    decide: Point,
    compare: Compare,
    /// How many there are.
    slots: u8,
}

/// More than any length, which is below 2^33.
const NEVER: u64 = u64::MAX;

/// The bytes of a packet where nothing else is said.
const USUAL_PACKET: u32 = 1500;

/// The most bytes of an IP packet with its framing, in round figures; one bit after the other.
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
            // Equal thresholds are a step: `compare` alone decides what happens at them.
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
        // A correction counts the packets of no mark too, and an average all of them.
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
        // An average sees arrivals and departures, whichever it decides on.
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

    /// Readings below this all have the same effect: no mark, and no count towards one. Zero if an
    /// average remembers every reading.
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
        // The packet's own length may be part of the reading.
        let own = u64::from(self.own & LONGEST_PACKET);
        lowest.saturating_sub(own).try_into().unwrap_or(u32::MAX)
    }

    #[inline]
    fn length(&self, cx: &Cx) -> u64 {
        u64::from(S::bytes(cx)) + u64::from(cx.pkt.len & self.own)
    }
}

impl Compare {
    /// How far the smallest marked length lies beyond the threshold.
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
            let allowed = "what needs no count of packets, which a pool does not keep";
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

/// The bytes in a packet, which are some.
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

/// One value per queue, from a list of as many or of one for all.
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

/// The fields are few and small enough for a port of eight queues to stay below 1 KiB: one list for
/// all that is kept of a slot, thresholds as they were given, and what [`Terms`] holds left out.
#[derive(Clone, Debug)]
struct Special {
    /// One for all if they are equal and remember nothing. Behind them stand the probabilities of
    /// each at the upper threshold, if they differ: few ports have any, and all are to stay small.
    slots: Box<[Slot]>,
    averaging: Option<Averaging>,
    rng: Rng,
    mean_packet: u32,
    correction: Correction,
    unit: Unit,
    reading: Reading,
    short_queue: ShortQueue,
}

/// What is kept of a slot.
#[derive(Clone, Debug)]
struct Slot {
    /// The thresholds in the law's unit, the same for a step.
    low: u32,
    high: u32,
    memory: Memory,
}

impl Slot {
    /// A probability in the place of thresholds.
    fn of(probability: Ratio) -> Self {
        Self {
            low: probability.numerator(),
            high: probability.denominator(),
            memory: Memory::default(),
        }
    }

    /// The probability that stands in the place of thresholds.
    const fn ratio(&self) -> Option<Ratio> {
        Ratio::new(self.low, self.high)
    }
}

/// What is kept of a slot from one packet to the next.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Not used without [`Special::averaging`].
    average: Average,
    /// What the correction counts; see [`Spread`]. Not read without one.
    count: u64,
}

impl Special {
    /// Takes the parts of a context, as all that is called and not compiled in: a context that is
    /// referred to would be written to memory for every packet, of the plain step too.
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
        // Averages are kept in finer units than lengths.
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

    /// Where the list has `slot`.
    fn place(&self, slot: usize) -> usize {
        match *self.slots {
            [_] => 0,
            _ => slot,
        }
    }

    /// What a packet of `len` bytes reads where `bytes` and `packets` wait.
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

/// What a packet reads.
struct Seen {
    /// Of its slot in the list.
    place: usize,
    /// In the law's unit.
    length: u64,
    packets: u64,
    /// Of the packet.
    len: u32,
}

#[cfg(test)]
mod tests;
