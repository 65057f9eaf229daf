//! Numbers for people: three digits and a unit that fits.

/// A number in its unit, which is that of a [`crate::summary::Metric`]: `s`, `B`, `bit/s` or none.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "s" => time(value),
        "B" => bytes(value),
        "bit/s" => rate(value),
        _ => number(value),
    }
}

/// Seconds: `123 us`.
pub fn time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (1e-12, "ps"),
        (1e-9, "ns"),
        (1e-6, "us"),
        (1e-3, "ms"),
        (1.0, "s"),
    ];
    scaled(seconds, &UNITS, "s")
}

/// Bytes: `1.5 KB` are 1500, as in scenario files.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (1.0, "B"),
        (1e3, "KB"),
        (1e6, "MB"),
        (1e9, "GB"),
        (1e12, "TB"),
    ];
    scaled(bytes, &UNITS, "B")
}

/// Bits per second: `9.87 Gbps`.
pub fn rate(bits_per_second: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (1.0, "bps"),
        (1e3, "Kbps"),
        (1e6, "Mbps"),
        (1e9, "Gbps"),
        (1e12, "Tbps"),
    ];
    scaled(bits_per_second, &UNITS, "bps")
}

/// A number that stands before its unit: three digits, or whole if it is large.
pub fn three_digits(value: f64) -> String {
    match value {
        value if !value.is_finite() => NOTHING.to_owned(),
        value if value.abs() >= 999.5 => grouped(value),
        value => digits(value),
    }
}

/// A count or a ratio: whole if it is large, else with three digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let whole = value.fract() == 0.0;
    if whole || value.abs() >= 999.5 {
        grouped(value)
    } else {
        digits(value)
    }
}

/// A ratio as its distance from one: `-12.3 %`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOTHING.to_owned();
    }
    let percent = (ratio - 1.0) * 100.0;
    let text = digits(percent.abs());
    let nothing = text.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    let sign = if nothing {
        ""
    } else if percent < 0.0 {
        "-"
    } else {
        "+"
    };
    format!("{sign}{text} %")
}

/// What is shown for a number that there is not.
pub const NOTHING: &str = "-";

/// A value in the largest unit of which it has at least one. `base` is the unit that the value is in.
fn scaled(value: f64, units: &[(f64, &str)], base: &str) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    if value == 0.0 {
        return format!("0 {base}");
    }
    // 999.7 us are 1.00 ms: what is rounded up to a thousand belongs to the next unit.
    let fits = |&&(size, _): &&(f64, &str)| value.abs() >= size * 0.9995;
    let unit = units.iter().rev().find(fits).or(units.first());
    let &(size, name) = unit.expect("there is a unit");
    let value = value / size;
    // Only the largest unit has thousands; bytes are whole unless they are a mean.
    let is_least = units
        .first()
        .is_some_and(|&(_, least)| least == base && least == name);
    let whole = value.abs() >= 999.5 || is_least && value.fract() == 0.0;
    let text = if whole { grouped(value) } else { digits(value) };
    format!("{text} {name}")
}

/// Three digits.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        size if size >= 0.099_95 => 3,
        size if size >= 0.009_999_5 => 4,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// A whole number with a space between thousands.
fn grouped(value: f64) -> String {
    let text = format!("{:.0}", value.abs());
    if text.len() > 15 {
        return format!("{value:.2e}");
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let mut grouped = String::from(sign);
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
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_unit_that_fits() {
        let cases = [
            (1.234e-4, "123 us"),
            (1.234e-3, "1.23 ms"),
            (12.34e-3, "12.3 ms"),
            (999.4e-6, "999 us"),
            (999.7e-6, "1.00 ms"),
            (9.999e-6, "10.0 us"),
            (1e-12, "1.00 ps"),
            (5e-13, "0.500 ps"),
            (2.5, "2.50 s"),
            (12_345.0, "12 345 s"),
            (0.0, "0 s"),
            (-1.5e-6, "-1.50 us"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(time(value), text, "{value}");
        }
    }

    #[test]
    fn bytes_and_rates_count_in_thousands() {
        assert_eq!(bytes(1_500.0), "1.50 KB");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(7.0), "7 B");
        assert_eq!(bytes(7.25), "7.25 B");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(rate(9.87e9), "9.87 Gbps");
        assert_eq!(rate(999_600.0), "1.00 Mbps");
        assert_eq!(quantity(9.87e9, "bit/s"), "9.87 Gbps");
        assert_eq!(quantity(1e-3, "s"), "1.00 ms");
        assert_eq!(quantity(2e6, "B"), "2.00 MB");
        assert_eq!(quantity(3.0, ""), "3");
    }

    #[test]
    fn counts_are_whole_and_ratios_are_not() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (1234.0, "1234"),
            (1_234_567.0, "1 234 567"),
            (1_234.5, "1234"),
            (12_345.6, "12 346"),
            (0.8765, "0.876"),
            (1.0 / 3.0, "0.333"),
            (0.012_345, "0.0123"),
            (0.000_123, "1.23e-4"),
            (12.345, "12.3"),
            (1e18, "1.00e18"),
            (-20_000.0, "-20 000"),
            (f64::NAN, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn a_number_before_its_unit_has_three_digits() {
        let cases = [
            (0.0, "0.00"),
            (50.0, "50.0"),
            (0.5784, "0.578"),
            (1_290.4, "1290"),
            (50_000.0, "50 000"),
            (-2.5, "-2.50"),
            (f64::NAN, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(three_digits(value), text, "{value}");
        }
    }

    #[test]
    fn a_change_has_a_sign_unless_it_is_none() {
        assert_eq!(change(1.0), "0.00 %");
        assert_eq!(change(0.877), "-12.3 %");
        assert_eq!(change(2.0), "+100 %");
        assert_eq!(change(f64::NAN), "-");
    }
}
