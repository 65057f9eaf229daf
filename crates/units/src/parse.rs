//! Reading and printing quantities with their units: `78us`, `300KB`, `3MiB`, `10Gbps`, `65pkts`.
//!
//! A number may have a decimal fraction, which is read exactly; a value finer than the smallest
//! unit is an error and is not rounded. Printing chooses a unit in which the value is exact, so
//! that printed values read back unchanged.

use alloc::string::{String, ToString};
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

use crate::{Bytes, Rate, Ratio, Size, Span, Time};

/// Error: a text that is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    problem: Problem,
    /// Description of the accepted texts, with an example.
    accepted: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Unreadable,
    NoUnit,
    NoSuchUnit,
    TooFine,
    TooLarge,
    Zero,
    NotAChoice,
}

impl ParseError {
    /// `text` is none of the words in `accepted`.
    pub fn not_a_choice(text: &str, accepted: &'static str) -> Self {
        Self::new(text, Problem::NotAChoice, accepted)
    }

    /// `text` is a number above the range in `accepted`.
    pub fn too_large(text: &str, accepted: &'static str) -> Self {
        Self::new(text, Problem::TooLarge, accepted)
    }

    /// `text` does not have the form that `accepted` describes.
    pub fn unreadable(text: &str, accepted: &'static str) -> Self {
        Self::new(text, Problem::Unreadable, accepted)
    }

    fn new(text: &str, problem: Problem, accepted: &'static str) -> Self {
        Self { text: text.to_string(), problem, accepted }
    }
}

impl Display for ParseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            Problem::Unreadable => "cannot be read",
            Problem::NoUnit => "has no unit",
            Problem::NoSuchUnit => "has an unknown unit",
            Problem::TooFine => "is finer than the smallest unit",
            Problem::TooLarge => "is too large",
            Problem::Zero => "must not be zero",
            Problem::NotAChoice => "is not one of the choices",
        };
        write!(f, "`{}` {problem}; accepted: {}", self.text, self.accepted)
    }
}

impl core::error::Error for ParseError {}

/// A unit's spellings, of which the first is printed, and its value in base units.
struct Unit(&'static [&'static str], u64);

const TIMES: &[Unit] = &[
    Unit(&["s"], 1_000_000_000_000),
    Unit(&["ms"], 1_000_000_000),
    Unit(&["us", "µs", "μs"], 1_000_000),
    Unit(&["ns"], 1_000),
    Unit(&["ps"], 1),
];
/// Units that are read but never printed, so that printed values do not change.
const LONG_TIMES: &[Unit] =
    &[Unit(&["h"], 3_600_000_000_000_000), Unit(&["min"], 60_000_000_000_000)];
const RATES: &[Unit] = &[
    Unit(&["Tbps", "Tb/s"], 1_000_000_000_000),
    Unit(&["Gbps", "Gb/s"], 1_000_000_000),
    Unit(&["Mbps", "Mb/s"], 1_000_000),
    Unit(&["Kbps", "Kb/s", "kbps", "kb/s"], 1_000),
    Unit(&["bps", "b/s"], 1),
];
const DECIMAL_SIZES: &[Unit] = &[
    Unit(&["GB"], 1_000_000_000),
    Unit(&["MB"], 1_000_000),
    Unit(&["KB", "kB"], 1_000),
    Unit(&["B"], 1),
];
const BINARY_SIZES: &[Unit] =
    &[Unit(&["GiB"], 1 << 30), Unit(&["MiB"], 1 << 20), Unit(&["KiB"], 1 << 10)];
const PACKETS: &[Unit] = &[Unit(&["pkts", "pkt"], 1)];

const TIME_ACCEPTS: &str = "a time in ps, ns, us, ms, s, min or h, such as 78us";
const RATE_ACCEPTS: &str = "a rate in bps, Kbps, Mbps, Gbps or Tbps, such as 10Gbps";
const BYTES_ACCEPTS: &str = "a size in B, KB, MB, GB, KiB, MiB or GiB, such as 300KB";
const SIZE_ACCEPTS: &str =
    "a size in B, KB, MB, GB, KiB, MiB, GiB or pkts, such as 300KB or 65pkts";
const RATIO_ACCEPTS: &str = "a number, a fraction or a percentage, such as 0.25, 1/8 or 10%";

/// A decimal number as digits and scale: `12.50` has the digits 1250 and 2 decimals.
struct Decimal {
    digits: u64,
    decimals: u32,
}

impl Decimal {
    /// Splits `text` into its leading number and the rest, trimmed.
    fn split<'a>(text: &'a str, accepted: &'static str) -> Result<(Self, &'a str), ParseError> {
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let well_formed = whole.starts_with(|c: char| c.is_ascii_digit())
            && !fraction.contains('.')
            && (fraction.is_empty() != number.contains('.'));
        if !well_formed {
            return Err(ParseError::unreadable(text, accepted));
        }
        let error = |problem| move || ParseError::new(text, problem, accepted);
        let mut value = Self { digits: 0, decimals: 0 };
        for digit in whole.bytes().filter(|&c| c != b'_') {
            value.digits = append(value.digits, digit).ok_or_else(error(Problem::TooLarge))?;
        }
        // Trailing zeroes do not change the value, however many there are.
        let fraction = fraction.trim_end_matches(['0', '_']);
        for digit in fraction.bytes().filter(|&c| c != b'_') {
            value.digits = append(value.digits, digit).ok_or_else(error(Problem::TooFine))?;
            value.decimals += 1;
        }
        Ok((value, rest.trim()))
    }

    /// The number times `worth`, if the product is whole and fits.
    fn times(&self, worth: u64) -> Result<u64, Problem> {
        let product = u128::from(self.digits) * u128::from(worth);
        let scale = 10_u128.checked_pow(self.decimals).ok_or(Problem::TooFine)?;
        if product % scale != 0 {
            return Err(Problem::TooFine);
        }
        u64::try_from(product / scale).map_err(|_| Problem::TooLarge)
    }
}

/// `digits` with one more at the end, if that fits.
fn append(digits: u64, digit: u8) -> Option<u64> {
    digits.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
}

/// Reads a number with one of the units in `tables`, in base units.
fn quantity(text: &str, tables: &[&[Unit]], accepted: &'static str) -> Result<u64, ParseError> {
    let (number, unit) = Decimal::split(text.trim(), accepted)?;
    let worth = tables
        .iter()
        .flat_map(|table| table.iter())
        .find(|Unit(names, _)| names.contains(&unit))
        .map(|&Unit(_, worth)| worth)
        .ok_or_else(|| {
            let problem = match unit {
                "" => Problem::NoUnit,
                _ => Problem::NoSuchUnit,
            };
            ParseError::new(text, problem, accepted)
        })?;
    number.times(worth).map_err(|problem| ParseError::new(text, problem, accepted))
}

/// Prints `value` exactly, in the largest unit of `units` that is not larger than it.
fn print(f: &mut Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let Some(Unit(names, worth)) = units.iter().find(|unit| unit.1 <= value).or(units.last())
    else {
        return Ok(());
    };
    let (whole, mut rest) = (value / worth, value % worth);
    write!(f, "{whole}")?;
    if rest > 0 {
        // Each unit of these tables is a power of ten, so the fraction ends.
        let mut decimals = worth.ilog10() as usize;
        while rest % 10 == 0 {
            rest /= 10;
            decimals -= 1;
        }
        write!(f, ".{rest:0decimals$}")?;
    }
    f.write_str(names[0])
}

impl FromStr for Span {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, &[TIMES, LONG_TIMES], TIME_ACCEPTS).map(Self::from_ps)
    }
}

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print(f, self.as_ps(), TIMES)
    }
}

impl FromStr for Time {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, &[TIMES, LONG_TIMES], TIME_ACCEPTS).map(Self::from_ps)
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print(f, self.as_ps(), TIMES)
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bps = quantity(text, &[RATES], RATE_ACCEPTS)?;
        Self::from_bps(bps).ok_or_else(|| ParseError::new(text, Problem::Zero, RATE_ACCEPTS))
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print(f, self.as_bps(), RATES)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, &[DECIMAL_SIZES, BINARY_SIZES], BYTES_ACCEPTS).map(Self)
    }
}

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let whole = |unit: &&Unit| self.0 >= unit.1 && self.0.is_multiple_of(unit.1);
        match BINARY_SIZES.iter().find(whole) {
            Some(Unit(names, worth)) if !self.0.is_multiple_of(1_000) => {
                write!(f, "{}{}", self.0 / worth, names[0])
            }
            _ => print(f, self.0, DECIMAL_SIZES),
        }
    }
}

impl FromStr for Size {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let too_large = |_| ParseError::new(text, Problem::TooLarge, SIZE_ACCEPTS);
        match quantity(text, &[PACKETS], SIZE_ACCEPTS) {
            Ok(packets) => u32::try_from(packets).map(Self::Packets).map_err(too_large),
            Err(error) if matches!(error.problem, Problem::NoUnit | Problem::NoSuchUnit) => {
                let tables = [DECIMAL_SIZES, BINARY_SIZES];
                quantity(text, &tables, SIZE_ACCEPTS).map(|bytes| Self::Bytes(Bytes(bytes)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => Display::fmt(bytes, f),
            Self::Packets(packets) => write!(f, "{packets}pkts"),
        }
    }
}

impl FromStr for Ratio {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = |problem| ParseError::new(text, problem, RATIO_ACCEPTS);
        let (number, rest) = Decimal::split(text.trim(), RATIO_ACCEPTS)?;
        let scale = 10_u64.checked_pow(number.decimals).ok_or_else(|| error(Problem::TooFine))?;
        let denominator = match rest.strip_prefix('/') {
            _ if rest.is_empty() => scale,
            _ if rest == "%" => scale.checked_mul(100).ok_or_else(|| error(Problem::TooFine))?,
            Some(below) if number.decimals == 0 => {
                let below = below.trim();
                below.parse().map_err(|_| error(Problem::Unreadable))?
            }
            _ => return Err(error(Problem::NoSuchUnit)),
        };
        if denominator == 0 {
            return Err(error(Problem::Zero));
        }
        let divisor = greatest_common_divisor(number.digits, denominator);
        let reduced =
            |value: u64, problem| u32::try_from(value / divisor).map_err(|_| error(problem));
        let numerator = reduced(number.digits, Problem::TooLarge)?;
        let denominator = reduced(denominator, Problem::TooFine)?;
        Self::new(numerator, denominator).ok_or_else(|| error(Problem::Zero))
    }
}

impl Display for Ratio {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.denominator() {
            1 => write!(f, "{}", self.numerator()),
            denominator => write!(f, "{}/{denominator}", self.numerator()),
        }
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: FromStr<Err = ParseError>>(text: &str) -> String {
        match text.parse::<T>() {
            Ok(_) => panic!("`{text}` was read"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_usual_spellings_are_read() {
        assert_eq!("78us".parse(), Ok(Span::from_us(78)));
        assert_eq!("78 µs".parse(), Ok(Span::from_us(78)));
        assert_eq!("100.8us".parse(), Ok(Span::from_ns(100_800)));
        assert_eq!(" 1_000 ns ".parse(), Ok(Span::from_us(1)));
        assert_eq!("1.5ms".parse(), Ok(Time::from_us(1_500)));
        assert_eq!("0s".parse(), Ok(Span::ZERO));
        assert_eq!("1.5h".parse(), Ok(Span::from_secs(5_400)));
        assert_eq!("2 min".parse(), Ok(Span::from_secs(120)));
        assert_eq!(message::<Span>("6000h").split("; ").next(), Some("`6000h` is too large"));
        assert_eq!("10Gbps".parse(), Ok(Rate::from_gbps(10)));
        assert_eq!("995Mb/s".parse::<Rate>().map(Rate::as_bps), Ok(995_000_000));
        assert_eq!("300KB".parse(), Ok(Bytes(300_000)));
        assert_eq!("3MiB".parse(), Ok(Bytes(3 << 20)));
        assert_eq!("1.72MiB".parse::<Bytes>().map_err(|e| e.problem), Err(Problem::TooFine));
        assert_eq!("1.75MiB".parse(), Ok(Bytes(7 << 18)));
        assert_eq!("65pkts".parse(), Ok(Size::Packets(65)));
        assert_eq!("1pkt".parse(), Ok(Size::Packets(1)));
        assert_eq!("97.5KB".parse(), Ok(Size::Bytes(Bytes(97_500))));
    }

    #[test]
    fn ratios_are_read_as_decimals_fractions_and_percentages() {
        let ratio = |n, d| Ratio::new(n, d).unwrap();
        for (text, value) in [
            ("4", ratio(4, 1)),
            ("0.72", ratio(18, 25)),
            ("1/128", ratio(1, 128)),
            ("1 / 8", ratio(1, 8)),
            ("10%", ratio(1, 10)),
            ("0.5%", ratio(1, 200)),
            ("0", ratio(0, 1)),
        ] {
            assert_eq!(text.parse(), Ok(value), "{text}");
        }
        for text in ["1/0", "1/", "/2", "1.5/2", "-1", "1/x", "half", "5 %%", "0.00000000001"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_unit_names_the_accepted_ones() {
        assert_eq!(
            message::<Span>("78parsecs"),
            "`78parsecs` has an unknown unit; accepted: \
             a time in ps, ns, us, ms, s, min or h, such as 78us"
        );
        assert_eq!(
            message::<Rate>("10"),
            "`10` has no unit; accepted: \
             a rate in bps, Kbps, Mbps, Gbps or Tbps, such as 10Gbps"
        );
        assert!(message::<Size>("65packets").contains("or pkts, such as 300KB or 65pkts"));
        assert!(message::<Size>("65").starts_with("`65` has no unit; accepted: a size"));
        assert!(message::<Span>("0").starts_with("`0` has no unit"));
        assert!(message::<Bytes>("65pkts").contains("B, KB, MB, GB, KiB, MiB or GiB"));
        assert!(message::<Rate>("0Gbps").contains("must not be zero"));
        assert!(message::<Span>("0.5ps").contains("finer than the smallest unit"));
        assert!(message::<Size>("1.5pkts").contains("finer than the smallest unit"));
        assert!(message::<Size>("4294967296pkts").contains("too large"));
        assert!(message::<Span>("999999999999s").contains("too large"));
        assert!(message::<Span>("99999999999999999999s").contains("too large"));
        assert!(message::<Span>("0.99999999999999999999s").contains("finer than the smallest"));
        assert!(message::<Ratio>("0.00000000001").contains("finer than the smallest"));
        assert!(message::<Ratio>("4294967296").contains("too large"));
        assert_eq!(
            message::<Ratio>("half"),
            "`half` cannot be read; accepted: \
             a number, a fraction or a percentage, such as 0.25, 1/8 or 10%"
        );
    }

    #[test]
    fn zeroes_at_the_end_of_a_fraction_do_not_matter() {
        assert_eq!("1.500000000000000000000000us".parse(), Ok(Span::from_ns(1_500)));
        assert_eq!("10.0_0Gbps".parse(), Ok(Rate::from_gbps(10)));
        assert_eq!("0.25000000000000000000".parse(), Ok(Ratio::new(1, 4).unwrap()));
    }

    #[test]
    fn text_without_a_number_is_an_error() {
        for text in ["", " ", "us", ".5us", "5.us", "1.2.3us", "_1us", "-1us", "+1us", "1e3us"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn printing_is_short_and_exact() {
        let cases = [
            (Span::from_us(78).to_string(), "78us"),
            (Span::from_secs(3_600).to_string(), "3600s"),
            (Span::from_ns(100_800).to_string(), "100.8us"),
            (Span::from_ps(1_000_001).to_string(), "1.000001us"),
            (Span::ZERO.to_string(), "0ps"),
            (Time::from_ms(4_000).to_string(), "4s"),
            (Rate::from_gbps(10).to_string(), "10Gbps"),
            (Rate::from_gbps(2_500).to_string(), "2.5Tbps"),
            (Bytes(300_000).to_string(), "300KB"),
            (Bytes(3 << 20).to_string(), "3MiB"),
            (Bytes(128_000).to_string(), "128KB"),
            (Bytes(131_072).to_string(), "128KiB"),
            (Bytes(0).to_string(), "0B"),
            (Size::Packets(65).to_string(), "65pkts"),
            (Ratio::new(18, 25).unwrap().to_string(), "18/25"),
            (Ratio::whole(4).to_string(), "4"),
        ];
        for (printed, expected) in cases {
            assert_eq!(printed, expected);
        }
    }

    #[test]
    fn printed_values_read_back_unchanged() {
        let mut rng = crate::Rng::new(1, 1);
        for _ in 0..2_000 {
            let value = rng.next_u64() >> (rng.next_u32() % 64);
            assert_eq!(Span::from_ps(value).to_string().parse(), Ok(Span::from_ps(value)));
            assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            if let Some(rate) = Rate::from_bps(value) {
                assert_eq!(rate.to_string().parse(), Ok(rate));
            }
            let (n, d) = (rng.next_u32(), rng.next_u32());
            if let Some(ratio) = Ratio::new(n, d) {
                assert_eq!(ratio.to_string().parse(), Ok(ratio));
            }
        }
    }
}
