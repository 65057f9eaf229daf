//! Reading tables of numbers: errors with line and cause, and decimal numbers without rounding
//! errors.

/// Error: a line of a table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {column}: `{value}` {fault}; accepted: {accepted}")]
pub struct LineError {
    /// Line, counted from 1.
    pub line: u32,
    /// Name of the column.
    pub column: &'static str,
    /// Text of the cell.
    pub value: String,
    /// Fault of the cell.
    pub fault: Fault,
    /// Accepted values.
    pub accepted: String,
}

impl LineError {
    /// Creates an error of this line.
    pub(super) fn new(
        line: u32,
        column: &'static str,
        value: &str,
        fault: Fault,
        accepted: &str,
    ) -> Self {
        Self { line, column, value: value.into(), fault, accepted: accepted.into() }
    }
}

/// Fault of a line of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The value is smaller than on the previous line, and must not be.
    #[error("is below the value on the previous line")]
    BelowPrevious,
    /// The line has too few or too many columns.
    #[error("is not the right number of columns")]
    ColumnCount,
    /// An earlier line has the same value.
    #[error("is also on an earlier line")]
    Duplicate,
    /// There are no lines of numbers, or only one where two are needed.
    #[error("is not enough")]
    Empty,
    /// The cell is empty.
    #[error("is missing")]
    Missing,
    /// The value is below zero.
    #[error("is negative")]
    Negative,
    /// The host does not exist.
    #[error("is not a host of this network")]
    NoSuchHost,
    /// The text is not a number.
    #[error("is not a number")]
    NotANumber,
    /// The last line does not end at 1.
    #[error("is the end of the table, which must be 1")]
    NotOne,
    /// The value has a fraction, and must be whole.
    #[error("is not a whole number")]
    NotWhole,
    /// The character is used between columns instead of a comma.
    #[error("does not separate columns")]
    Separator,
    /// Sender and receiver are the same host.
    #[error("is also the sender")]
    SameHost,
    /// The value is above the accepted range.
    #[error("is too large")]
    TooLarge,
    /// No column has this name.
    #[error("is not a column")]
    UnknownColumn,
    /// The value is zero.
    #[error("is zero")]
    Zero,
}

/// Lines with content, numbered from 1, without comments and surrounding spaces.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .zip(1..)
        .map(|(line, number)| {
            let said = line.split_once('#').map_or(line, |(before, _)| before);
            (number, said.trim())
        })
        .filter(|(_, line)| !line.is_empty())
}

/// Reads a decimal number such as `12`, `0.5` or `5e-05`, times 10^`decimals`, exactly; finer
/// values are rounded to the nearest, half up.
pub(super) fn scaled(text: &str, decimals: i64) -> Result<u64, Fault> {
    read(text, decimals).map(|(value, _)| value)
}

/// Reads a whole number, also in forms such as `1e6` or `20.0`.
pub(super) fn whole(text: &str) -> Result<u64, Fault> {
    match read(text, 0)? {
        (value, Rest::Nothing) => Ok(value),
        (_, Rest::Something) => Err(Fault::NotWhole),
    }
}

/// The rest of a number after its last digit that counts.
enum Rest {
    Nothing,
    Something,
}

fn read(text: &str, decimals: i64) -> Result<(u64, Rest), Fault> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>()),
        None => (text, Ok(0)),
    };
    let exponent = i64::from(exponent.map_err(|_| Fault::NotANumber)?);
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|c| c.is_ascii_digit()) {
        return Err(Fault::NotANumber);
    }
    if number.starts_with('-') {
        return Err(Fault::Negative);
    }
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    // Number of digits before the decimal point after scaling.
    let before = length(whole).saturating_add(exponent + decimals);
    let (mut value, mut round_up, mut rest) = (0_u64, 0, Rest::Nothing);
    for (position, digit) in (0..).zip(digits()) {
        if position < before {
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(u64::from(digit - b'0')))
                .ok_or(Fault::TooLarge)?;
        } else if digit != b'0' {
            rest = Rest::Something;
            round_up |= u64::from(position == before && digit >= b'5');
        }
    }
    let written = length(whole).saturating_add(length(fraction));
    for _ in written..before {
        // Zero stays zero at any scale, and any other value soon becomes too large.
        if value == 0 {
            break;
        }
        value = value.checked_mul(10).ok_or(Fault::TooLarge)?;
    }
    let value = value.checked_add(round_up).ok_or(Fault::TooLarge)?;
    Ok((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_are_exact() {
        for (text, picos) in [
            ("0", 0),
            ("1", 1_000_000_000_000),
            ("0.1", 100_000_000_000),
            (".5", 500_000_000_000),
            ("5.", 5_000_000_000_000),
            ("+2", 2_000_000_000_000),
            ("5e-05", 50_000_000),
            ("1.5E3", 1_500_000_000_000_000),
            ("0.000000000001", 1),
            // A fraction of a picosecond: to the nearest.
            ("0.30000000000000004", 300_000_000_000),
            ("0.0000000000005", 1),
            ("0.00000000000049", 0),
            ("1e-13", 0),
            ("1e-999999999", 0),
            ("0e999999999", 0),
            ("18446744.073709551615", u64::MAX),
        ] {
            assert_eq!(scaled(text, 12), Ok(picos), "{text}");
        }
    }

    #[test]
    fn faults_of_numbers_are_distinguished() {
        for text in ["", ".", "-", "e5", "1e", "1e5e5", "1.2.3", "0x10", "nan", "NaN", "inf", "1 2"]
        {
            assert_eq!(scaled(text, 12), Err(Fault::NotANumber), "{text}");
        }
        for text in ["-1", "-0.5", "-1e-5"] {
            assert_eq!(scaled(text, 12), Err(Fault::Negative), "{text}");
        }
        for text in ["18446744.0737095516155", "1e9", "1e2147483647", "99999999999999999999"] {
            assert_eq!(scaled(text, 12), Err(Fault::TooLarge), "{text}");
        }
        assert_eq!(scaled("1e2147483648", 12), Err(Fault::NotANumber));
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        assert_eq!(whole("30000000"), Ok(30_000_000));
        assert_eq!(whole("1e6"), Ok(1_000_000));
        assert_eq!(whole("20.0"), Ok(20));
        assert_eq!(whole("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(whole("0.5"), Err(Fault::NotWhole));
        assert_eq!(whole("1.9"), Err(Fault::NotWhole));
        assert_eq!(whole("1.00000000000000000001"), Err(Fault::NotWhole));
        assert_eq!(whole("18446744073709551614.5"), Err(Fault::NotWhole));
    }

    #[test]
    fn comments_and_empty_lines_count_as_lines() {
        let text = "\u{feff}# size cdf\n\n 1 2 # note\r\n3 4";
        let found: Vec<_> = lines(text).collect();
        assert_eq!(found, [(3, "1 2"), (4, "3 4")]);
    }
}
