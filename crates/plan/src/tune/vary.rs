//! Varied keys: `KEY=RANGE`, where a range is a list `a,b,c` or `a..b` with a number of points.

use std::fmt::Write;

/// A key and the values to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// The key.
    pub key: String,
    /// Values as texts, at least one.
    pub values: Vec<String>,
}

/// Default number of points of a range.
const POINTS: usize = 7;
/// Most points of a range.
const MOST: usize = 100;

const ACCEPTED: &str = "KEY=a,b,c or KEY=a..b or KEY=a..b:POINTS, such as scale=0.25..4:9, \
                        threshold=20KB..320KB or scheme=queue-red,tcn";

impl Vary {
    /// Reads `KEY=RANGE`. The points of a range have equal ratios.
    pub fn read(text: &str) -> Result<Self, String> {
        let fail = |why: &str| format!("--vary {text}: {why}\nhint: {ACCEPTED}");
        let (key, range) = text.split_once('=').ok_or_else(|| fail("there is no `=`"))?;
        let (key, range) = (key.trim(), range.trim());
        if key.is_empty() || range.is_empty() {
            return Err(fail("a key and its values are needed"));
        }
        let values = match range.split_once("..") {
            None => range.split(',').map(|value| value.trim().to_owned()).collect(),
            Some((from, to)) => points(from, to).map_err(|why| fail(&why))?,
        };
        let mut seen: Vec<String> = Vec::new();
        for value in values {
            if value.is_empty() {
                return Err(fail("a value is empty"));
            }
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
        // Full keys of scenarios stay as written.
        let short = key.replace('_', "-").to_lowercase();
        let is_full = key.contains('.') && !is_short(&short);
        Ok(Self { key: if is_full { key.to_owned() } else { short }, values: seen })
    }
}

fn is_short(key: &str) -> bool {
    let first = key.split('.').next().unwrap_or(key);
    ["threshold", "min-threshold", "weight"].contains(&first)
}

fn points(from: &str, to: &str) -> Result<Vec<String>, String> {
    let (to, count) = match to.split_once(':') {
        None => (to, POINTS),
        Some((to, count)) => match count.trim().parse() {
            Ok(count) if (2..=MOST).contains(&count) => (to, count),
            _ => return Err(format!("`{count}` is not a number of points from 2 to {MOST}")),
        },
    };
    let read = |text: &str| {
        Quantity::read(text)
            .ok_or_else(|| format!("`{text}` is not a number, with or without a unit"))
    };
    let (from, to) = (read(from)?, read(to)?);
    if from.unit != to.unit {
        return Err("its ends have different units".to_owned());
    }
    if from.value <= 0.0 || to.value <= from.value {
        return Err("the end must be above the beginning, and both above 0".to_owned());
    }
    #[expect(clippy::cast_precision_loss, reason = "a hundred points at most")]
    let at = |place: usize| {
        let part = place as f64 / (count - 1) as f64;
        Quantity { value: from.value * (to.value / from.value).powf(part), unit: from.unit }.write()
    };
    Ok((0..count).map(at).collect())
}

/// A number in a base unit: bytes, seconds, bits per second, packets or 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Value in the base unit.
    pub value: f64,
    /// `B`, `s`, `bit/s`, `pkts` or empty.
    pub unit: &'static str,
}

/// Units as written, with their base unit and their worth in it.
const UNITS: [(&str, &str, f64); 20] = [
    ("Tbps", "bit/s", 1e12),
    ("Gbps", "bit/s", 1e9),
    ("Mbps", "bit/s", 1e6),
    ("Kbps", "bit/s", 1e3),
    ("bps", "bit/s", 1.0),
    ("pkts", "pkts", 1.0),
    ("GiB", "B", 1_073_741_824.0),
    ("MiB", "B", 1_048_576.0),
    ("KiB", "B", 1_024.0),
    ("GB", "B", 1e9),
    ("MB", "B", 1e6),
    ("KB", "B", 1e3),
    ("B", "B", 1.0),
    ("ps", "s", 1e-12),
    ("ns", "s", 1e-9),
    ("us", "s", 1e-6),
    ("µs", "s", 1e-6),
    ("ms", "s", 1e-3),
    ("s", "s", 1.0),
    ("%", "%", 1.0),
];

impl Quantity {
    /// Reads a number with its unit, or a ratio such as `1/8`.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let known = UNITS.iter().find(|(name, ..)| text.ends_with(name));
        let (number, unit, worth) = match known {
            Some((name, unit, worth)) => (text.strip_suffix(name)?.trim(), *unit, *worth),
            None => (text, "", 1.0),
        };
        let value: f64 = match number.split_once('/') {
            Some((over, under)) => {
                over.trim().parse::<f64>().ok()? / under.trim().parse::<f64>().ok()?
            }
            None => number.parse().ok()?,
        };
        // A hundredth is not a float: dividing by 100 is more accurate than multiplying by 0.01.
        let (value, unit) = match unit {
            "%" => (value / 100.0, ""),
            unit => (value * worth, unit),
        };
        value.is_finite().then_some(Self { value, unit })
    }

    /// The number with three digits and its unit, as files write it: `67.5KB`.
    pub fn write(&self) -> String {
        let steps: &[(f64, &str)] = match self.unit {
            "s" => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")],
            "B" => &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")],
            "bit/s" => &[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1.0, "bps")],
            other => &[(1.0, other)],
        };
        let fits = |step: &&(f64, &str)| self.value.abs() >= step.0 * 0.9995;
        let (worth, unit) = steps.iter().find(fits).unwrap_or(&steps[steps.len() - 1]);
        let value = self.value / worth;
        let mut text = String::new();
        let order = if value > 0.0 { value.log10().floor() } else { 0.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 12 decimals"
        )]
        let decimals = (2.0 - order).clamp(0.0, 12.0) as usize;
        _ = match *unit {
            "B" | "pkts" => write!(text, "{value:.0}"),
            _ => write!(text, "{value:.decimals$}"),
        };
        let digits = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        format!("{digits}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Vary::read(text).unwrap().values
    }

    #[test]
    fn ranges_have_points_at_equal_factors() {
        assert_eq!(values("scale=0.25..4:5"), ["0.25", "0.5", "1", "2", "4"]);
        assert_eq!(values("threshold=20KB..320KB:5"), ["20KB", "40KB", "80KB", "160KB", "320KB"]);
        assert_eq!(values("threshold=500KB..2MB:3"), ["500KB", "1MB", "2MB"]);
        assert_eq!(values("alpha=1/8..8:7").len(), 7);
        assert_eq!(values("probability=5%..20%:3"), ["0.05", "0.1", "0.2"]);
        assert_eq!(values("scheme=tcn, queue-red,tcn"), ["tcn", "queue-red"]);
        assert_eq!(
            Vary::read("switch.marking.max_probability=0.1").unwrap().key,
            "switch.marking.max_probability"
        );
        assert_eq!(Vary::read("min_threshold=1KB").unwrap().key, "min-threshold");
    }

    #[test]
    fn an_unreadable_range_is_an_error_with_an_example() {
        for (text, why) in [
            ("scale", "no `=`"),
            ("scale=", "values are needed"),
            ("scale=1..x", "`x` is not a number"),
            ("scale=4..1", "above the beginning"),
            ("scale=0..1", "above 0"),
            ("scale=1KB..1ms", "different units"),
            ("scale=1..2:1", "2 to 100"),
            ("scheme=a,,b", "is empty"),
        ] {
            let error = Vary::read(text).unwrap_err();
            assert!(error.contains(why) && error.contains("scale=0.25..4:9"), "{error}");
        }
    }
}
