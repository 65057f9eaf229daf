//! The estimate of the marked fraction: α ← (1 − g)·α + g·F, once per window of data.
//!
//! RFC 8257, section 3.3. The exact form keeps α in units of 2^−31, the kernels' forms in units of
//! 1/1024 with the rounding of their shifts.

use tidegate_units::{ConfigError, Ratio, choices};

use super::Config;
use crate::cc::{AckKind, Acked, Flight, Phase};
use crate::seq::Seq;

choices! {
    /// What F is a fraction of.
    #[non_exhaustive]
    pub enum Counting {
        /// Bytes acknowledged in order (RFC 8257).
        Bytes = "bytes",
        /// Bytes; a duplicate ACK counts one segment, a window update nothing (Linux before 5.1).
        BytesAndDuplicates = "bytes-and-duplicates",
        /// Bytes newly delivered, in order or by SACK (Linux since 5.1, which counts packets).
        Delivered = "delivered",
        /// Bytes; when ECE changes on an ACK for more than one segment, one segment goes to the
        /// state before (FreeBSD of the thesis).
        EdgeBytes = "edge-bytes",
        /// As `edge-bytes`, and a duplicate ACK counts at most one segment (FreeBSD now).
        EdgeBytesAndDuplicates = "edge-bytes-and-duplicates",
        /// Bytes; every packet that acknowledges nothing new counts one segment (ns-2).
        EveryPacket = "every-packet",
        /// Whole segments, the rest carried over (ns-3).
        Segments = "segments",
        /// Whole segments; a duplicate ACK counts one (ns-3 of ECN♯).
        SegmentsAndDuplicates = "segments-and-duplicates",
    }
}

choices! {
    /// When a window of data is over: how the ACK compares with the end of data at its beginning.
    #[non_exhaustive]
    pub enum WindowEnd {
        /// Strictly after it (RFC 8257).
        After = "after",
        /// Strictly after it and not in fast recovery, or fast recovery is left, or the timer ran
        /// out (FreeBSD now).
        AfterOutsideRecovery = "after-outside-recovery",
        /// Strictly after it, or fast recovery is left, or the timer ran out (FreeBSD of the
        /// thesis).
        AfterOrRecovered = "after-or-recovered",
        /// Strictly after it; a timeout moves the end back to the first missing byte (ns-2).
        AfterRewound = "after-rewound",
        /// At it or after it (Linux, ns-3).
        At = "at",
    }
}

choices! {
    /// How α is computed.
    #[non_exhaustive]
    pub enum Arithmetic {
        /// In units of 2^−31, rounded to nearest.
        Exact = "exact",
        /// In units of 1/1024: α − (α ≫ 4) + F. Stops decaying below 16/1024 (old kernels).
        Shift10 = "shift-10",
        /// As `shift-10`, but a small α falls to zero (newer kernels).
        Shift10NotZero = "shift-10-not-zero",
    }
}

/// α and the counts of the window of data in progress.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// In units of `1/scale`.
    alpha: u32,
    initial: u32,
    gain: Ratio,
    /// Bytes counted in this window of data, and the marked ones among them.
    total: u64,
    marked: u64,
    /// The window of data is over once an ACK is strictly after this: the end of data when it
    /// began, or the byte before that.
    end: Seq,
    mss: u32,
    /// Bytes left over from whole segments.
    rest: u32,
    /// Whether the last ACK carried ECE.
    echoing: bool,
    /// Whether an ACK that advances counts for the bytes that it acknowledges, and no more.
    counts_bytes: bool,
    counting: Counting,
    window_end: WindowEnd,
    arithmetic: Arithmetic,
}

const EXACT: u32 = 1 << 31;
const KERNEL: u32 = 1 << 10;

impl Estimate {
    /// The estimate with the parameters of `config`, or the parameter that cannot be used.
    pub(super) fn new(config: &Config, mss: u32) -> Result<Self, ConfigError> {
        let out =
            |field, value: Ratio, allowed| Err(ConfigError::out_of_range(field, value, allowed));
        if config.initial_alpha > Ratio::ONE {
            return out("initial_alpha", config.initial_alpha, "0 to 1");
        }
        if config.gain == Ratio::ZERO || config.gain > Ratio::ONE {
            return out("gain", config.gain, "above 0, at most 1");
        }
        if config.arithmetic != Arithmetic::Exact && shift(config.gain).is_none() {
            return out("gain", config.gain, "1/2^n for n from 0 to 10 with this arithmetic");
        }
        // Fits: the fraction is at most one.
        let initial = config.initial_alpha.of(u64::from(scale(config.arithmetic))) as u32;
        Ok(Self {
            alpha: initial,
            initial,
            gain: config.gain,
            total: 0,
            marked: 0,
            end: Seq(0),
            mss,
            rest: 0,
            echoing: false,
            counts_bytes: !matches!(
                config.counting,
                Counting::Segments | Counting::SegmentsAndDuplicates
            ),
            counting: config.counting,
            window_end: config.window_end,
            arithmetic: config.arithmetic,
        })
    }

    pub(super) fn begin(&mut self, mss: u32, first: Seq) {
        self.mss = mss;
        self.reset(first);
    }

    /// Starts over at `next`, with α as at the beginning.
    pub(super) fn reset(&mut self, next: Seq) {
        self.alpha = self.initial;
        self.rest = 0;
        self.echoing = false;
        self.start_window(next);
    }

    /// Counts an ACK, and updates α if it ends the window of data.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    pub(super) fn on_ack(&mut self, acked: &Acked) {
        self.count(acked);
        let may_end =
            acked.phase == Phase::Open || self.window_end != WindowEnd::AfterOutsideRecovery;
        if acked.ack.is_after(self.end) && may_end && acked.kind == AckKind::Advance {
            self.finish_window(acked.sent);
        }
    }

    /// The window of data is over, and one that ends at `sent` begins.
    #[cold]
    fn finish_window(&mut self, sent: Seq) {
        self.update();
        self.start_window(sent);
    }

    pub(super) fn on_recovered(&mut self, ack: Seq) {
        if self.samples_every_signal() {
            self.finish_window(ack);
        }
    }

    pub(super) fn on_timeout(&mut self, flight: &Flight) {
        if self.window_end == WindowEnd::AfterRewound {
            self.end = flight.una;
        } else if self.samples_every_signal() {
            self.finish_window(flight.sent);
        }
    }

    /// FreeBSD takes a sample at every congestion signal.
    const fn samples_every_signal(&self) -> bool {
        matches!(self.window_end, WindowEnd::AfterOrRecovered | WindowEnd::AfterOutsideRecovery)
    }

    /// α as a fraction.
    pub fn alpha(&self) -> Ratio {
        Ratio::new(self.alpha, scale(self.arithmetic)).unwrap_or(Ratio::ONE)
    }

    /// α/2 of `amount`, rounded down.
    pub(super) fn half_of(&self, amount: u32) -> u32 {
        // Fits: α is at most one, so the product halves.
        (u64::from(amount) * u64::from(self.alpha) / (2 * u64::from(scale(self.arithmetic)))) as u32
    }

    fn start_window(&mut self, sent: Seq) {
        self.total = 0;
        self.marked = 0;
        self.end = match self.window_end {
            // To be at the end is to be after the byte before it.
            WindowEnd::At => sent - 1,
            _ => sent,
        };
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    fn count(&mut self, acked: &Acked) {
        // The common part of all countings: an ACK that advances, reports nothing else and leaves
        // the echo as it was; where whole segments count, of one.
        let usual = acked.kind == AckKind::Advance
            && acked.delivered == acked.bytes
            && acked.echo == self.echoing;
        let is_whole = acked.bytes == self.mss && self.rest == 0;
        if usual && (self.counts_bytes || is_whole) {
            self.total += u64::from(acked.bytes);
            self.marked += u64::from(if acked.echo { acked.bytes } else { 0 });
        } else {
            self.count_otherwise(acked);
        }
    }

    fn count_otherwise(&mut self, acked: &Acked) {
        let duplicate = acked.kind == AckKind::Duplicate;
        let or_one_segment = |condition| if condition { self.mss } else { acked.bytes };
        let bytes = match self.counting {
            Counting::Bytes | Counting::EdgeBytes => acked.bytes,
            Counting::BytesAndDuplicates | Counting::EdgeBytesAndDuplicates => {
                or_one_segment(duplicate)
            }
            Counting::Delivered => acked.delivered,
            Counting::EveryPacket => or_one_segment(acked.bytes == 0),
            Counting::SegmentsAndDuplicates if duplicate => self.mss,
            Counting::Segments | Counting::SegmentsAndDuplicates => {
                self.whole_segments(acked.bytes)
            }
        };
        let edges = matches!(self.counting, Counting::EdgeBytes | Counting::EdgeBytesAndDuplicates);
        // An ACK at once on a change of CE covers the older segment with the newer state: that
        // segment belongs to the state before.
        let to_before =
            if edges && acked.echo != self.echoing && bytes > self.mss { self.mss } else { 0 };
        self.total += u64::from(bytes);
        self.marked += u64::from(if acked.echo { bytes - to_before } else { to_before });
        self.echoing = acked.echo;
    }

    fn whole_segments(&mut self, bytes: u32) -> u32 {
        let sum = bytes.saturating_add(self.rest);
        self.rest = sum % self.mss;
        sum - self.rest
    }

    fn update(&mut self) {
        // A window in which nothing was counted has no marks (FreeBSD, ns-3).
        self.total = self.total.max(1);
        self.alpha = match self.arithmetic {
            Arithmetic::Exact => self.exact(),
            Arithmetic::Shift10 | Arithmetic::Shift10NotZero => self.shifted(),
        };
    }

    fn exact(&self) -> u32 {
        let one = u128::from(EXACT);
        let (total, marked) = (u128::from(self.total), u128::from(self.marked));
        let (n, d) = (u128::from(self.gain.numerator()), u128::from(self.gain.denominator()));
        // ((d − n)·α·total + n·marked·1) / (d·total), to nearest. The largest factor is below
        // 2^32·2^31·2^64, which fits 128 bits.
        let sum = (d - n) * u128::from(self.alpha) * total + n * marked * one;
        let divisor = d * total;
        ((sum + divisor / 2) / divisor).min(one) as u32
    }

    fn shifted(&self) -> u32 {
        let shift = shift(self.gain).unwrap_or(4);
        let mut decay = self.alpha >> shift;
        if decay == 0 && self.arithmetic == Arithmetic::Shift10NotZero {
            decay = self.alpha;
        }
        let sample = (u128::from(self.marked) << (10 - shift)) / u128::from(self.total);
        (u128::from(self.alpha - decay) + sample).min(u128::from(KERNEL)) as u32
    }
}

/// The fixed-point value of one.
const fn scale(arithmetic: Arithmetic) -> u32 {
    match arithmetic {
        Arithmetic::Exact => EXACT,
        Arithmetic::Shift10 | Arithmetic::Shift10NotZero => KERNEL,
    }
}

/// The n of a gain of 1/2^n, if it is one and at most 10.
fn shift(gain: Ratio) -> Option<u32> {
    (0..=10).find(|&n| Ratio::new(1, 1 << n) == Some(gain))
}
