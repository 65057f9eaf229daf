//! PIAS tagging: the sender puts the first bytes of a message into a high class and later ones into
//! lower classes, without knowing how long the message will be.
//!
//! Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015; used
//! by TCN (section 6) and ECN♯. Class 0 is the highest. Three published rules disagree on which
//! bytes count and on when a message begins, so each is an option, and [`Profile`] names the sets:
//!
//! | | [`Rule::Offset`] | [`Rule::Cumulative`] | [`Rule::Demotion`] |
//! |---|---|---|---|
//! | from | ns-2 code of TCN | kernel module | ns-3 code of ECN♯ |
//! | compares | the packet's first byte | bytes sent, this packet included | bytes sent before |
//! | message begins | at each write | at a write after a pause with all sent | never again |
//! | sent again | by offset | not counted again; rises after three timeouts | as before |
//!
//! Pure ACKs and handshake packets are in class 0 under every rule, see [`Pias::CONTROL`].
//!
//! A host that carries an endpoint's segments asks for their classes:
//!
//! ```
//! use tidegate_transport::pias::{Pias, Profile};
//! use tidegate_transport::{Config, Endpoint, Seq, cc};
//! use tidegate_units::Time;
//!
//! let cc = cc::Config::named("dctcp").unwrap();
//! let mut endpoint = Endpoint::established(&Config::default(), &cc, Seq(0), Seq(0)).unwrap();
//! let mut pias = Pias::new(&Profile::Ns2.config()).unwrap();
//! let now = Time::ZERO;
//! pias.on_write(endpoint.written(), endpoint.written() - endpoint.acked(), now);
//! endpoint.write(1_000_000, now);
//! while let Some(mut segment) = endpoint.poll_segment(now) {
//!     segment.class = match endpoint.stream_offset(&segment) {
//!         Some(offset) => pias.class(offset, segment.len, now),
//!         None => Pias::CONTROL,
//!     };
//!     assert_eq!(segment.class, 0, "the first ten segments");
//! }
//! ```
//!
//! Differs from the kernel module: timeouts are consecutive if they repeat nearly the same bytes,
//! as its comments say. Its code compares a timeout with itself and so counts any three.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::{Bytes, ConfigError, Span, Time, choices, settings};

choices! {
    /// Rule for the class of a packet.
    #[non_exhaustive]
    pub enum Rule {
        /// Bytes sent in this message, the packet included.
        Cumulative = "cumulative",
        /// Each time more than the first threshold has been sent, one class lower.
        Demotion = "demotion",
        /// Offset of the packet's first byte in the message.
        Offset = "offset",
    }
}

settings! {
    /// Parameters of the tagging. The defaults come from the TCN simulations.
    #[named("pias", "tags the first bytes of a message with a higher class", "transports/pias.md",
        "[transport]\ntagging = { rule = \"offset\", thresholds = [\"100KB\"] }\n\n\
         [switch]\nscheduler = { kind = \"sp-dwrr\", strict = 1, quanta = [1500, 1500] }\n")]
    pub struct Config {
        /// Rule for the class of a packet.
        pub rule: Rule = Rule::Offset,
        /// A packet above the i-th threshold is in class i + 1 or lower; one at it is not.
        /// `demotion` uses only the first, repeatedly.
        pub thresholds: Vec<Bytes> = vec![Bytes(100_000)],
        /// Number of classes with `demotion`; otherwise one more than the thresholds.
        pub classes: u8 = 2,
        /// With `cumulative`: a write begins a message if everything was acknowledged and the last
        /// write is longer ago than this.
        pub idle_gap: Span = Span::from_us(500),
        /// With `cumulative`: after this many consecutive timeouts the message counts as a new one,
        /// so that it does not starve; `none` for never.
        pub aging: Option<u32> = Some(3),
        /// With `cumulative`: a packet sent again after a silence of at least this is a timeout.
        pub timeout_silence: Span = Span::from_ms(9),
        /// With `cumulative`: timeouts whose first bytes are at most this far apart are
        /// consecutive.
        pub timeout_distance: Bytes = Bytes(3 * 1_448),
        /// Every packet of class 0 leaves with ECT(0), pure ACKs and SYNs too, regardless of the
        /// transport: the kernel module rewrites the whole byte.
        pub force_ect: bool = false,
    }
}

choices! {
    /// A published set of parameters.
    #[non_exhaustive]
    pub enum Profile {
        /// The ns-3 code of ECN♯: one class lower after each 140 000 bytes, up to four queues.
        Es3 = "es3",
        /// The kernel module, in its default setting.
        Kernel = "kernel",
        /// The ns-2 code of TCN.
        Ns2 = "ns2",
    }
}

impl Profile {
    /// The parameters.
    pub fn config(self) -> Config {
        match self {
            Self::Es3 => Config {
                rule: Rule::Demotion,
                thresholds: vec![Bytes(140_000)],
                classes: 4,
                ..Config::default()
            },
            Self::Kernel => Config {
                rule: Rule::Cumulative,
                thresholds: vec![Bytes::from_kib(100)],
                force_ect: true,
                ..Config::default()
            },
            Self::Ns2 => Config::default(),
        }
    }
}

/// The tagging of one connection. Positions are bytes since the start of the stream.
#[derive(Clone, Debug)]
pub struct Pias {
    force_ect: bool,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Cumulative(Cumulative),
    Demotion(Demotion),
    Offset { thresholds: Box<[u64]>, start: u64 },
}

impl Pias {
    /// The class of packets without data: pure ACKs and SYNs.
    pub const CONTROL: u8 = 0;

    /// Tagging with these parameters.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let thresholds: Box<[u64]> = config.thresholds.iter().map(|bytes| bytes.0).collect();
        let rising = thresholds.windows(2).all(|pair| pair[0] < pair[1]);
        let Some(&first) = thresholds.first().filter(|_| rising && thresholds.len() < 256) else {
            let list = tidegate_units::Setting::write(&config.thresholds);
            let allowed = "1 to 255 rising sizes";
            return Err(ConfigError::out_of_range("thresholds", list, allowed));
        };
        let state = match config.rule {
            Rule::Cumulative => State::Cumulative(Cumulative {
                thresholds,
                idle_gap: config.idle_gap,
                timeout_silence: config.timeout_silence,
                timeout_distance: config.timeout_distance.0,
                aging: config.aging,
                sent: 0,
                highest: 0,
                wrote_at: None,
                sent_at: Time::ZERO,
                timeout_from: 0,
                timeouts: 0,
            }),
            Rule::Demotion => {
                let Some(lower) = config.classes.checked_sub(1) else {
                    return Err(ConfigError::out_of_range("classes", 0, "at least 1"));
                };
                State::Demotion(Demotion {
                    threshold: first,
                    lower,
                    sent: 0,
                    highest: 0,
                    demotions: Vec::with_capacity(usize::from(lower)),
                })
            }
            Rule::Offset => State::Offset { thresholds, start: 0 },
        };
        Ok(Self { force_ect: config.force_ect, state })
    }

    /// The application writes bytes that begin at position `start`, while `unacked` earlier bytes
    /// are still to be sent or acknowledged.
    pub fn on_write(&mut self, start: u64, unacked: u64, now: Time) {
        match &mut self.state {
            State::Cumulative(state) => state.on_write(unacked, now),
            // One connection carries one flow.
            State::Demotion(_) => {}
            State::Offset { start: begin, .. } => *begin = start,
        }
    }

    /// The class of a packet that carries `len` bytes from position `seq` and leaves now. Each
    /// packet that leaves is to be asked for once.
    #[inline]
    pub fn class(&mut self, seq: u64, len: u32, now: Time) -> u8 {
        match &mut self.state {
            State::Cumulative(state) => state.class(seq, len, now),
            State::Demotion(state) => state.class(seq, len),
            // Bytes before the last write belong to an earlier message, which the code of TCN
            // takes for the beginning of this one.
            State::Offset { thresholds, start } => passed(thresholds, seq.saturating_sub(*start)),
        }
    }

    /// The class of packets far into a flow: no class is higher.
    pub fn last_class(&self) -> u8 {
        match &self.state {
            // Fewer than 256.
            State::Cumulative(Cumulative { thresholds, .. }) | State::Offset { thresholds, .. } => {
                thresholds.len() as u8
            }
            State::Demotion(demotion) => demotion.lower,
        }
    }

    /// Whether a packet of this class is made ECN-capable, even if the transport uses no ECN.
    pub const fn forces_ect(&self, class: u8) -> bool {
        self.force_ect && class == 0
    }
}

/// How many thresholds `bytes` exceeds: the class.
#[inline]
fn passed(thresholds: &[u64], bytes: u64) -> u8 {
    // There are at most 255.
    thresholds.iter().take_while(|&&limit| bytes > limit).count() as u8
}

#[derive(Clone, Debug)]
struct Cumulative {
    thresholds: Box<[u64]>,
    idle_gap: Span,
    timeout_silence: Span,
    timeout_distance: u64,
    aging: Option<u32>,
    /// Bytes of this message that have left, each once.
    sent: u64,
    /// One past the last byte sent.
    highest: u64,
    wrote_at: Option<Time>,
    /// When the last packet left.
    sent_at: Time,
    /// The first byte that the last timeout repeated.
    timeout_from: u64,
    timeouts: u32,
}

impl Cumulative {
    fn on_write(&mut self, unacked: u64, now: Time) {
        let paused = self.wrote_at.is_some_and(|wrote_at| now - wrote_at > self.idle_gap);
        if unacked == 0 && paused {
            self.sent = 0;
        }
        self.wrote_at = Some(now);
    }

    fn class(&mut self, seq: u64, len: u32, now: Time) -> u8 {
        let end = seq.saturating_add(u64::from(len));
        if end > self.highest {
            self.sent = self.sent.saturating_add(end - self.highest.max(seq));
            self.highest = end;
        } else if len > 0 && now - self.sent_at >= self.timeout_silence {
            self.on_timeout(seq);
        }
        self.sent_at = now;
        passed(&self.thresholds, self.sent)
    }

    #[cold]
    fn on_timeout(&mut self, seq: u64) {
        let near = seq.abs_diff(self.timeout_from) <= self.timeout_distance;
        self.timeouts = if near { self.timeouts + 1 } else { 1 };
        self.timeout_from = seq;
        if self.aging.is_some_and(|most| self.timeouts >= most) {
            self.timeouts = 0;
            self.sent = 0;
        }
    }
}

#[derive(Clone, Debug)]
struct Demotion {
    threshold: u64,
    /// Classes below the first.
    lower: u8,
    /// Bytes that have left since the last demotion.
    sent: u64,
    highest: u64,
    /// Where each lower class begins, so that bytes sent again keep their class.
    demotions: Vec<u64>,
}

impl Demotion {
    fn class(&mut self, seq: u64, len: u32) -> u8 {
        let end = seq.saturating_add(u64::from(len));
        if end > self.highest {
            if self.sent > self.threshold && self.demotions.len() < usize::from(self.lower) {
                self.demotions.push(seq);
                self.sent = 0;
            }
            self.sent = self.sent.saturating_add(end - self.highest.max(seq));
            self.highest = end;
        }
        // At most `lower`, a `u8`.
        self.demotions.iter().take_while(|&&from| from <= seq).count() as u8
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Setting;

    use super::*;

    fn pias(profile: Profile) -> Pias {
        Pias::new(&profile.config()).unwrap()
    }

    /// Classes of full packets from `seq` on, as (class, how many in a row).
    fn runs(pias: &mut Pias, mut seq: u64, len: u32, packets: u32, now: Time) -> Vec<(u8, u32)> {
        let mut runs: Vec<(u8, u32)> = Vec::new();
        for _ in 0..packets {
            let class = pias.class(seq, len, now);
            seq += u64::from(len);
            match runs.last_mut() {
                Some((last, count)) if *last == class => *count += 1,
                _ => runs.push((class, 1)),
            }
        }
        runs
    }

    #[test]
    fn ns2_puts_69_full_packets_into_the_high_class() {
        let mut pias = pias(Profile::Ns2);
        pias.on_write(0, 0, Time::ZERO);
        // The 69th begins at 68 · 1460 = 99 280, the 70th at 100 740.
        assert_eq!(runs(&mut pias, 0, 1_460, 100, Time::ZERO), [(0, 69), (1, 31)]);
        for (offset, class) in [(99_999, 0), (100_000, 0), (100_001, 1)] {
            assert_eq!(pias.class(offset, 1_460, Time::ZERO), class, "{offset}");
        }
    }

    #[test]
    fn ns2_counts_from_the_last_write_and_tags_repeats_by_offset() {
        let mut pias = pias(Profile::Ns2);
        pias.on_write(1_000_000, 50_000, Time::ZERO);
        assert_eq!(pias.class(1_100_000, 1, Time::ZERO), 0);
        assert_eq!(pias.class(1_100_001, 1, Time::ZERO), 1);
        assert_eq!(pias.class(1_000_000, 1, Time::ZERO), 0, "sent again, high again");
        assert_eq!(pias.class(999_999, 1, Time::ZERO), 0, "of the message before");
        assert!(!pias.forces_ect(0));
    }

    #[test]
    fn kernel_profile_counts_the_present_packet_as_sent() {
        // 70 · 1448 = 101 360; the 71st makes 102 808 > 102 400.
        let mut pias = pias(Profile::Kernel);
        assert_eq!(runs(&mut pias, 0, 1_448, 80, Time::ZERO), [(0, 70), (1, 10)]);
        for (len, class) in [(102_399, 0), (102_400, 0), (102_401, 1)] {
            let mut pias = Pias::new(&Profile::Kernel.config()).unwrap();
            assert_eq!(pias.class(0, len, Time::ZERO), class, "{len}");
        }
        assert!(pias.forces_ect(0));
        assert!(!pias.forces_ect(1));
        assert_eq!(Pias::CONTROL, 0);
    }

    #[test]
    fn the_kernel_begins_a_message_after_a_pause_with_nothing_outstanding() {
        let after = |unacked, pause_ps| {
            let mut pias = pias(Profile::Kernel);
            pias.on_write(0, 0, Time::ZERO);
            assert_eq!(pias.class(0, 200_000, Time::ZERO), 1);
            let now = Time::from_ps(pause_ps);
            pias.on_write(200_000, unacked, now);
            pias.class(200_000, 1_000, now)
        };
        let gap = 500_000_000;
        assert_eq!(after(0, gap - 1), 1);
        assert_eq!(after(0, gap), 1);
        assert_eq!(after(0, gap + 1), 0);
        assert_eq!(after(1, gap + 1), 1);
    }

    #[test]
    fn the_kernel_measures_the_pause_from_the_last_write() {
        let mut pias = pias(Profile::Kernel);
        pias.on_write(0, 0, Time::ZERO);
        assert_eq!(pias.class(0, 200_000, Time::ZERO), 1);
        pias.on_write(200_000, 0, Time::from_us(400));
        pias.on_write(200_000, 0, Time::from_us(800));
        assert_eq!(pias.class(200_000, 1_000, Time::from_us(800)), 1);
    }

    #[test]
    fn the_kernel_counts_repeats_once() {
        let mut pias = pias(Profile::Kernel);
        assert_eq!(pias.class(0, 100_000, Time::ZERO), 0);
        for _ in 0..10 {
            assert_eq!(pias.class(0, 100_000, Time::ZERO), 0);
        }
        assert_eq!(pias.class(99_000, 3_400, Time::ZERO), 0, "2400 of them are new");
        assert_eq!(pias.class(102_400, 0, Time::ZERO), 0, "a FIN goes by what was sent");
        assert_eq!(pias.class(102_400, 1, Time::ZERO), 1);
        assert_eq!(pias.class(0, 1_000, Time::ZERO), 1, "a repeat goes by what was sent");
        assert_eq!(pias.class(102_401, 0, Time::ZERO), 1);
    }

    /// The class of the last of a series of repeats, each (position, ms since the one before).
    fn after_repeats(aging: Option<u32>, repeats: &[(u64, u64)]) -> u8 {
        let config = Config { aging, ..Profile::Kernel.config() };
        let mut pias = Pias::new(&config).unwrap();
        let mut now = Time::ZERO;
        let mut class = pias.class(0, 200_000, now);
        for &(seq, ms) in repeats {
            now += Span::from_ms(ms);
            class = pias.class(seq, 1_448, now);
        }
        class
    }

    #[test]
    fn three_consecutive_timeouts_lift_a_message_to_the_high_class() {
        let three = [(100_000, 10), (100_000, 20), (100_000, 9)];
        assert_eq!(after_repeats(Some(3), &three), 0);
        assert_eq!(after_repeats(Some(3), &three[..2]), 1);
        assert_eq!(after_repeats(None, &three), 1);
        let tail = [(198_552, 10); 3];
        assert_eq!(after_repeats(Some(3), &tail), 0, "the last packet too");
        let mut pias = pias(Profile::Kernel);
        pias.class(0, 200_000, Time::ZERO);
        for ms in [10, 20, 30, 40] {
            assert_eq!(pias.class(200_000, 0, Time::from_ms(ms)), 1, "a FIN is no data");
        }
        // The silence was too short to be a timeout.
        assert_eq!(after_repeats(Some(3), &[(100_000, 10), (100_000, 20), (100_000, 8)]), 1);
        // 4344 bytes apart are consecutive, 4345 are not.
        assert_eq!(after_repeats(Some(3), &[(100_000, 10), (104_344, 10), (100_000, 10)]), 0);
        assert_eq!(after_repeats(Some(3), &[(100_000, 10), (104_345, 10), (104_345, 10)]), 1);
        let four = [(100_000, 10), (104_345, 10), (104_345, 10), (104_345, 10)];
        assert_eq!(after_repeats(Some(3), &four), 0);
    }

    #[test]
    fn es3_demotes_after_each_140_000_bytes_sent() {
        // 100 packets make 140 000, which is not above; the 102nd finds 141 400.
        let mut pias = pias(Profile::Es3);
        let expected = [(0, 101), (1, 101), (2, 101), (3, 197)];
        assert_eq!(runs(&mut pias, 0, 1_400, 500, Time::ZERO), expected);
        // Sent again, as tagged before.
        let repeated = [(0, 1), (1, 101), (2, 101), (3, 1)];
        assert_eq!(runs(&mut pias, 140_000, 1_400, 204, Time::ZERO), repeated);
    }

    #[test]
    fn es3_demotes_no_packet_that_is_sent_again() {
        let mut pias = pias(Profile::Es3);
        assert_eq!(runs(&mut pias, 0, 1_400, 101, Time::ZERO), [(0, 101)]);
        assert_eq!(pias.class(140_000, 1_400, Time::ZERO), 0);
        assert_eq!(pias.class(141_400, 1_400, Time::ZERO), 1);
    }

    #[test]
    fn several_thresholds_make_several_classes() {
        let config = Config { thresholds: vec![Bytes(10), Bytes(20)], ..Config::default() };
        let mut pias = Pias::new(&config).unwrap();
        let mut class = |offset| pias.class(offset, 1, Time::ZERO);
        assert_eq!([class(10), class(11), class(20), class(21)], [0, 1, 1, 2]);
    }

    #[test]
    fn the_extremes_do_not_wrap() {
        for name in Profile::NAMES {
            let config = Profile::read(name).unwrap().config();
            let mut pias = Pias::new(&config).unwrap();
            pias.on_write(u64::MAX, u64::MAX, Time::MAX);
            for seq in [0, u64::MAX, 1, u64::MAX - 1] {
                let class = pias.class(seq, u32::MAX, Time::MAX);
                assert!(class < 4, "{name}");
            }
        }
    }

    #[test]
    fn impossible_parameters_are_named() {
        let error = |config: Config| match Pias::new(&config) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        for thresholds in [vec![], vec![Bytes(2), Bytes(2)], (0..256).map(Bytes).collect()] {
            let config = Config { thresholds, ..Config::default() };
            assert_eq!(error(config), "thresholds");
        }
        let config = Config { classes: 0, ..Profile::Es3.config() };
        assert_eq!(error(config), "classes");
        let one = Config { classes: 1, ..Profile::Es3.config() };
        let mut pias = Pias::new(&one).unwrap();
        assert_eq!(runs(&mut pias, 0, 140_001, 9, Time::ZERO), [(0, 9)]);
    }
}
