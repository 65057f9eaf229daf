//! Ranges of a sweep, in exact decimal arithmetic: `{ from = "20us", to = "100us", step = "20us"
//! }`.

use tidegate_units::{Bytes, Rate, Setting, Span};

/// A decimal number: `digits` / 10^`decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: u128,
    decimals: u32,
}

/// Maximum decimals of a number.
const FINEST: u32 = 18;

impl Decimal {
    /// Splits a text into a number and its unit.
    fn split(text: &str) -> Option<(Self, &str)> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let fraction = fraction.trim_end_matches('0');
        if whole.is_empty() || fraction.contains('.') {
            return None;
        }
        let decimals = u32::try_from(fraction.len()).ok().filter(|&count| count <= FINEST)?;
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some((Self { digits, decimals }, unit.trim()))
    }

    /// In units of 10^−`decimals`, where `decimals` is at least the own number of decimals.
    fn at(self, decimals: u32) -> Option<u128> {
        self.digits.checked_mul(10_u128.checked_pow(decimals - self.decimals)?)
    }

    fn write(self) -> String {
        if self.decimals == 0 {
            return self.digits.to_string();
        }
        let width = self.decimals as usize + 1;
        let digits = format!("{:0width$}", self.digits);
        let (whole, fraction) = digits.split_at(digits.len() - self.decimals as usize);
        let text = format!("{whole}.{fraction}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A problem of a range: the wrong key, and the reason.
pub(crate) type Wrong = (&'static str, String);

/// All values from `from` to `to`, which is included if a step lands on it; at most `most`.
pub(crate) fn expand(from: &str, to: &str, step: &str, most: u64) -> Result<Vec<String>, Wrong> {
    let not_a_number = |key, text: &str| {
        (key, format!("`{key}` is `{text}`, and should be a number with or without a unit"))
    };
    let read = |key, text| Decimal::split(text).ok_or_else(|| not_a_number(key, text));
    let parts = [read("from", from)?, read("to", to)?, read("step", step)?];
    let unit = parts[0].1;
    if parts.iter().all(|(_, other)| *other == unit) {
        let decimals = parts.iter().map(|(number, _)| number.decimals).max().unwrap_or(0);
        let scaled = parts.map(|(number, _)| number.at(decimals));
        let [Some(from), Some(to), Some(step)] = scaled else {
            return Err(("to", "the numbers are too large".into()));
        };
        let write = |digits| format!("{}{unit}", Decimal { digits, decimals }.write());
        return Ok(count(from, to, step, most)?.into_iter().map(write).collect());
    }
    // Different units of the same quantity.
    macro_rules! quantities {
        ($($kind:ident, $inside:expr, $make:expr;)*) => {$(
            let read = |text: &str| <$kind as Setting>::read(text).ok().map($inside);
            if let (Some(from), Some(to), Some(step)) = (read(from), read(to), read(step)) {
                let values = count(from.into(), to.into(), step.into(), most)?;
                // Each lies between two values of 64 bits.
                let write = |value| ($make)(value as u64).write();
                return Ok(values.into_iter().map(write).collect());
            }
        )*};
    }
    quantities! {
        Span, Span::as_ps, Span::from_ps;
        Bytes, |bytes: Bytes| bytes.0, Bytes;
        Rate, Rate::as_bps, |bps| Rate::from_bps(bps).unwrap_or(Rate::from_gbps(1));
    }
    Err(("step", "`from`, `to` and `step` have different units".into()))
}

fn count(from: u128, to: u128, step: u128, most: u64) -> Result<Vec<u128>, Wrong> {
    if step == 0 {
        return Err(("step", "`step` is zero".into()));
    }
    if from > to {
        return Err(("to", "`to` is less than `from`".into()));
    }
    if (to - from) / step >= u128::from(most) {
        return Err(("step", format!("the range has more than {most} values")));
    }
    let values = (0..=(to - from) / step).map(|number| from + number * step);
    Ok(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(from: &str, to: &str, step: &str) -> Result<String, Wrong> {
        expand(from, to, step, 1_000).map(|values| values.join(" "))
    }

    #[test]
    fn ranges_are_exact_and_include_their_end() {
        assert_eq!(
            values("0.1", "0.9", "0.1").as_deref(),
            Ok("0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9")
        );
        assert_eq!(values("1", "2", "0.5").as_deref(), Ok("1 1.5 2"));
        assert_eq!(values("1", "2", "0.3").as_deref(), Ok("1 1.3 1.6 1.9"));
        assert_eq!(values("20us", "100us", "20us").as_deref(), Ok("20us 40us 60us 80us 100us"));
        assert_eq!(values("7", "7", "1").as_deref(), Ok("7"));
        assert_eq!(values("10%", "30%", "10 %").as_deref(), Ok("10% 20% 30%"));
    }

    #[test]
    fn units_may_differ_within_a_quantity() {
        assert_eq!(values("500ns", "1us", "250ns").as_deref(), Ok("500ns 750ns 1us"));
        assert_eq!(values("512B", "1KiB", "256B").as_deref(), Ok("512B 768B 1KiB"));
        assert_eq!(values("500Mbps", "1Gbps", "500Mbps").as_deref(), Ok("500Mbps 1Gbps"));
        assert_eq!(values("1us", "1KB", "1us").unwrap_err().0, "step");
    }

    #[test]
    fn invalid_ranges_are_refused() {
        for (from, to, step, key) in [
            ("1", "2", "0", "step"),
            ("2", "1", "1", "to"),
            ("1", "5000", "1", "step"),
            ("x", "1", "1", "from"),
            ("-1", "1", "1", "from"),
            ("1", "", "1", "to"),
            ("1", "2", "1.2.3", "step"),
            ("0.0000000000000000000001", "1", "1", "from"),
            ("1", "99999999999999999999999999999999999999999", "1", "to"),
            ("0.000000000000000001", "99999999999999999999999999999999", "1", "to"),
        ] {
            assert_eq!(values(from, to, step).unwrap_err().0, key, "{from} {to} {step}");
        }
        let all = expand("1", "1000", "1", 1_000).unwrap();
        assert_eq!(all.len(), 1_000);
    }
}
