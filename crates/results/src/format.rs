//! Numbers for people: three digits and a unit that fits.
//!
//! The script of the report page writes numbers by the same rules (`page/number.js`). The cases of
//! `tests/page/numbers.json` are those of both.

/// What is shown in place of a number that there is not.
pub const NOTHING: &str = "–";

/// A unit as it is shown: `µs` for seconds that are better read as millionths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// What a value is divided by.
    pub divisor: f64,
    /// What stands before the unit.
    pub letter: &'static str,
    unit: &'static str,
}

/// Steps of a thousand. Seconds go down from one, everything else goes up.
const STEPS: [(f64, &str); 9] = [
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "K"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
];

impl Prefix {
    /// The one in which a value of this size is a number from 1 to 999. `unit` is that of a
    /// [`crate::summary::Metric`]: `s`, `B`, `bit/s` or none.
    pub fn of(unit: &'static str, size: f64) -> Self {
        let steps = if unit == "s" { &STEPS[4..] } else { &STEPS[..5] };
        // 999.7 µs are 1.00 ms: what is rounded up to a thousand belongs to the next unit.
        let fits = |step: &&(f64, &str)| size.abs() >= step.0 * 0.9995;
        let fitting = steps.iter().find(fits).or(steps.last());
        let &(divisor, letter) = fitting.filter(|_| size != 0.0).unwrap_or(&(1.0, ""));
        Self {
            divisor,
            letter: match letter {
                "K" if unit.is_empty() => "k",
                _ => letter,
            },
            unit: if unit == "bit/s" { "bps" } else { unit },
        }
    }

    /// The same, but for plain numbers, which are written out.
    pub fn of_unit(unit: &'static str, size: f64) -> Self {
        Self::of(unit, if unit.is_empty() { 1.0 } else { size })
    }

    /// The unit with its prefix, such as `µs`; empty for plain numbers without one.
    pub fn unit(&self) -> String {
        format!("{}{}", self.letter, self.unit)
    }

    /// Whether numbers carry their prefix themselves, since there is no unit to put it before.
    pub const fn is_bare(&self) -> bool {
        self.unit.is_empty()
    }

    /// A value in this unit, without its name: `1.23`.
    pub fn number(&self, value: f64) -> String {
        let value = value / self.divisor;
        // Without a prefix it may be a count.
        if self.letter.is_empty() && value.fract() == 0.0 {
            grouped(value)
        } else {
            three_digits(value)
        }
    }

    /// Such a number, or several, before the name of the unit.
    pub fn after(&self, numbers: &str) -> String {
        let gap = if self.is_bare() { "" } else { " " };
        format!("{numbers}{gap}{}", self.unit())
    }
}

/// A value with its unit, such as `1.23 ms`; a plain number is written out, such as `12 346`.
pub fn quantity(value: f64, unit: &'static str) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let prefix = Prefix::of_unit(unit, value);
    prefix.after(&prefix.number(value))
}

/// A number that stands before its unit: three digits, or whole if it is large.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if !size.is_finite() => return NOTHING.to_owned(),
        size if size >= 999.5 => return grouped(value),
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        size if size >= 0.099_95 => 3,
        size if size >= 0.009_999_5 => 4,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// A ratio as its distance from one: `-12.3 %`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOTHING.to_owned();
    }
    let percent = (ratio - 1.0) * 100.0;
    let text = three_digits(percent.abs());
    let is_none = text.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    let sign = match percent {
        _ if is_none => "",
        percent if percent < 0.0 => "-",
        _ => "+",
    };
    format!("{sign}{text} %")
}

/// A number with as many decimals as its step needs.
#[expect(clippy::cast_sign_loss, reason = "a count of decimals from 0 to 12")]
pub fn with_step(value: f64, step: f64) -> String {
    let decimals = (-step.abs().log10() - 1e-9).ceil().clamp(0.0, 12.0);
    let text = format!("{value:.*}", decimals as usize);
    match text.trim_end_matches('0').trim_end_matches('.') {
        _ if !text.contains('.') => text,
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// A whole number with a space between thousands.
fn grouped(value: f64) -> String {
    let text = format!("{:.0}", value.abs());
    if text.len() > 15 {
        return format!("{value:.2e}");
    }
    let mut grouped = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index) % 3 == 0 && text.len() > 4 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const CASES: &str = include_str!("../tests/numbers.json");

    /// The cases of a function: what it gets, and what it writes.
    fn cases(function: &str) -> Vec<(Vec<Value>, String)> {
        let mut all: Value = serde_json::from_str(CASES).unwrap();
        let mut rows: Vec<Vec<Value>> = serde_json::from_value(all[function].take()).unwrap();
        let case = |row: &mut Vec<Value>| {
            let text = row.pop().unwrap();
            (std::mem::take(row), text.as_str().unwrap().to_owned())
        };
        rows.iter_mut().map(case).collect()
    }

    /// A number; `null` where there is none.
    fn real(value: &Value) -> f64 {
        value.as_f64().unwrap_or(f64::NAN)
    }

    #[test]
    fn quantities_are_written_as_the_page_writes_them() {
        for (case, text) in cases("quantity") {
            let unit = ["", "B", "bit/s", "s"].into_iter().find(|unit| case[1] == *unit);
            assert_eq!(quantity(real(&case[0]), unit.unwrap()), text, "{case:?}");
        }
        assert_eq!(quantity(f64::INFINITY, "B"), NOTHING);
    }

    #[test]
    fn a_label_has_the_decimals_of_its_step_here_and_on_the_page() {
        for (case, text) in cases("with_step") {
            assert_eq!(with_step(real(&case[0]), real(&case[1])), text, "{case:?}");
        }
    }

    #[test]
    fn a_number_before_its_unit_has_three_digits() {
        for (case, text) in cases("three_digits") {
            assert_eq!(three_digits(real(&case[0])), text, "{case:?}");
        }
    }

    #[test]
    fn a_change_has_a_sign_unless_it_is_none() {
        assert_eq!(change(1.0), "0.00 %");
        assert_eq!(change(0.877), "-12.3 %");
        assert_eq!(change(2.0), "+100 %");
        assert_eq!(change(f64::NAN), NOTHING);
    }
}
