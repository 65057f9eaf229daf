//! Flow sizes: distributions as tables, and the rules by which the papers' programs draw from them.
//!
//! A table has knots (size, cumulative probability) with straight lines between them. Programs
//! differ in how they turn a point on a line into a size, see [`Rounding`]. All computations use
//! whole numbers: probabilities are in units of 10^−18.

mod file;
mod gaps;
mod sizes;
mod table;

pub use gaps::Gaps;
pub use sizes::Sizes;
pub use table::Table;

use tidegate_units::{ConfigError, Rng, choices};

use super::draw::below;
use super::exact::quotient;

/// Probability 1, in units of 10^−18.
const ONE: u64 = 1_000_000_000_000_000_000;

/// Largest size of a flow in a distribution: a petabyte.
const LARGEST: u64 = 1_000_000_000_000_000;

choices! {
    /// Rule by which the point on the line between two knots becomes a size.
    ///
    /// If the first knot is above probability 0, the rules that round up give its size to all draws
    /// below it (ns-2); the rule that truncates draws a line to it from zero (TrafficGenerator).
    pub enum Rounding {
        /// Up to whole bytes, at least 2: BCC's simulations.
        CeilBytes = "ceil-bytes",
        /// Up to whole packets: TCN's simulations. A size is a multiple of a packet's payload.
        CeilPackets = "ceil-packets",
        /// Down to whole bytes: TrafficGenerator and ECN♯'s simulations. The result may be 0.
        TruncBytes = "trunc-bytes",
    }
}

/// A point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Knot {
    /// Size in bytes or packets.
    size: u64,
    /// Probability of at most this size.
    cdf: u64,
}

/// Unit of a table's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Packets,
}

/// A distribution of flow sizes: knots with straight lines between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    knots: Vec<Knot>,
    unit: Unit,
}

impl Distribution {
    /// Creates a sampler of sizes in bytes. Without `rounding`, uses the papers' rule for such
    /// tables: whole packets for a table of packets, whole bytes for a table of bytes.
    pub fn sampler(&self, rounding: Option<Rounding>, mss: u32) -> Result<Sampler, ConfigError> {
        if !(1..=65_535).contains(&mss) {
            return Err(ConfigError::out_of_range("mss", mss, "1 to 65535"));
        }
        let (scale, natural) = match self.unit {
            Unit::Bytes => (1, Rounding::CeilBytes),
            Unit::Packets => (u64::from(mss), Rounding::CeilPackets),
        };
        let scaled = |knot: &Knot| Knot { size: knot.size.saturating_mul(scale), ..*knot };
        let knots: Vec<Knot> = self.knots.iter().map(scaled).collect();
        if let Some(knot) = knots.iter().find(|knot| knot.size > LARGEST) {
            let allowed = format!("at most {LARGEST} bytes");
            return Err(ConfigError::out_of_range("sizes", knot.size, allowed));
        }
        let rounding = rounding.unwrap_or(natural);
        Ok(Sampler {
            knots,
            rounding,
            step: match rounding {
                Rounding::CeilBytes | Rounding::TruncBytes => 1,
                Rounding::CeilPackets => u64::from(mss),
            },
        })
    }
}

/// Draws flow sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Knots with sizes in bytes.
    knots: Vec<Knot>,
    rounding: Rounding,
    /// Sizes are multiples of this.
    step: u64,
}

impl Sampler {
    /// Draws a size.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.at(below(rng, ONE))
    }

    /// Size at the cumulative probability `part` / `whole`, which is rounded down to 10^−18.
    pub fn quantile(&self, part: u32, whole: u32) -> u64 {
        let whole = u128::from(whole.max(1));
        let u = u128::from(ONE) * u128::from(part).min(whole) / whole;
        self.at(u as u64)
    }

    /// Mean of the drawn sizes.
    pub fn mean(&self) -> Mean {
        self.average(|from, to| match to - from {
            0 => (2 * u128::from(self.round(to.into(), 1)), 1),
            length => (2 * (self.area(to) - self.area(from)), length),
        })
    }

    /// Mean of the points on the lines, before rounding, as used in the formulas of the papers'
    /// programs.
    pub fn linear_mean(&self) -> Mean {
        self.average(|from, to| (u128::from(from) + u128::from(to), 1))
    }

    /// Size at the cumulative probability `u`.
    fn at(&self, u: u64) -> u64 {
        let i = self.knots.partition_point(|knot| knot.cdf < u);
        // A table ends at 1, so such a knot always exists.
        let Some(&end) = self.knots.get(i) else {
            return 0;
        };
        let begin = match i.checked_sub(1) {
            Some(before) => self.knots[before],
            None if self.rounding != Rounding::TruncBytes => return self.round(end.size.into(), 1),
            // Two points at the same probability: their middle.
            None if end.cdf == 0 => return self.round(end.size.into(), 2),
            None => Knot { size: 0, cdf: 0 },
        };
        let width = u128::from(end.cdf - begin.cdf);
        let along = u128::from(u - begin.cdf) * u128::from(end.size - begin.size);
        self.round(u128::from(begin.size) * width + along, width)
    }

    /// Rounded size for `numerator / denominator` bytes.
    fn round(&self, numerator: u128, denominator: u128) -> u64 {
        // Sizes end at `LARGEST`, so that no value comes near 64 bits.
        match self.rounding {
            Rounding::CeilBytes => numerator.div_ceil(denominator).max(2) as u64,
            Rounding::CeilPackets => {
                let step = u128::from(self.step);
                (numerator.div_ceil(denominator * step) * step) as u64
            }
            Rounding::TruncBytes => (numerator / denominator) as u64,
        }
    }

    /// Sum over all lines of their probability times the mean size that `average` gives for them,
    /// as twice the sum and a divisor.
    fn average(&self, average: impl Fn(u64, u64) -> (u128, u64)) -> Mean {
        let mut begin = match self.knots.first() {
            // Draws below the first knot have its size, or are on a line from zero.
            Some(first) if self.rounding != Rounding::TruncBytes => Knot { cdf: 0, ..*first },
            _ => Knot { size: 0, cdf: 0 },
        };
        let mut sum = 0_u128;
        for &end in &self.knots {
            let (twice, divisor) = average(begin.size, end.size);
            let part = quotient(twice, &[end.cdf - begin.cdf], &[divisor]);
            // Twice a petabyte, times 10^18, is far below the range of 128 bits.
            sum += part.unwrap_or(0);
            begin = end;
        }
        Mean(sum)
    }

    /// Area below the rounding steps from 0 to `size`.
    fn area(&self, size: u64) -> u128 {
        let step = u128::from(self.step);
        let size = u128::from(size);
        let (full, rest) = (size / step, size % step);
        match self.rounding {
            // 2 + 2 + 3 + 4 + …: the steps 1, 2, 3, … with the first raised to 2.
            Rounding::CeilBytes => size * (size + 1) / 2 + size.min(1),
            Rounding::CeilPackets => step * (step * full * (full + 1) / 2 + rest * (full + 1)),
            Rounding::TruncBytes => size * size.saturating_sub(1) / 2,
        }
    }
}

/// A mean size, exact in units of 5·10^−19 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mean(u128);

impl Mean {
    /// Number of units per byte.
    pub(super) const PER_BYTE: u64 = 2 * ONE;

    /// A whole number of bytes.
    pub(super) const fn whole(bytes: u64) -> Self {
        Self(bytes as u128 * Self::PER_BYTE as u128)
    }

    /// From units; see [`Mean::PER_BYTE`].
    pub(super) const fn from_units(units: u128) -> Self {
        Self(units)
    }

    /// In units; see [`Mean::PER_BYTE`].
    pub(super) const fn units(self) -> u128 {
        self.0
    }

    /// In thousandths of a byte, rounded to the nearest, half up.
    pub const fn millibytes(self) -> u128 {
        let unit = Self::PER_BYTE as u128 / 1_000;
        (self.0 + unit / 2) / unit
    }
}

#[cfg(test)]
mod tests;
