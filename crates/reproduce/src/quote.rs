//! Numbers that texts quote by the names of claims, and numbers that they write out.

/// Replaces the keys of a text.
pub(super) fn replaced(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut end = 0;
    for (from, key) in keys(text) {
        out.push_str(&text[end..from - 1]);
        out.push_str(&value(key).unwrap_or_else(|| "–".to_owned()));
        end = from + key.len() + 1;
    }
    out.push_str(&text[end..]);
    out
}

/// Keys in braces of a text, with their positions.
pub(super) fn keys(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut begin = 0;
    while let Some(open) = text[begin..].find('{') {
        let from = begin + open + 1;
        let Some(length) = text[from..].find('}') else {
            break;
        };
        found.push((from, &text[from..from + length]));
        begin = from + length;
    }
    found
}

/// Names of the claim and the trial in a key.
pub(super) fn split(key: &str) -> (&str, Option<&str>) {
    match key.split_once('@') {
        Some((name, trial)) => (name, Some(trial)),
        None => (key, None),
    }
}

/// Blanks out keys, so that positions stay.
pub(super) fn without_keys(text: &str) -> String {
    let mut out = text.to_owned();
    for (from, key) in keys(text) {
        out.replace_range(from..from + key.len(), &" ".repeat(key.len()));
    }
    out
}

/// Units that mark a number as a measurement or a setting.
const UNITS: [&str; 14] = [
    "%", "ns", "us", "ms", "s", "B", "KB", "KiB", "MB", "Gb/s", "Mb/s", "packets", "timeouts",
    "times",
];

/// Numbers with a unit in a text, with their positions.
pub(super) fn numbers(text: &str) -> Vec<(usize, String)> {
    digits(text)
        .into_iter()
        .filter(|(from, number)| {
            let rest = text[from + number.len()..].trim_start();
            let end = rest.find(|c: char| !(c.is_alphabetic() || "%/".contains(c)));
            UNITS.contains(&&rest[..end.unwrap_or(rest.len())])
        })
        .collect()
}

/// All numbers in a text, with their positions. Digits after a letter are part of a word.
pub(super) fn digits(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut before = ' ';
    let mut letters = text.char_indices().peekable();
    while let Some((from, letter)) = letters.next() {
        if letter.is_ascii_digit() && !before.is_alphanumeric() {
            let rest = &text[from..];
            let length = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'));
            let number = rest[..length.unwrap_or(rest.len())].trim_end_matches('.');
            found.push((from, number.to_owned()));
            while letters.next_if(|(at, _)| *at < from + number.len()).is_some() {}
            before = '0';
        } else {
            before = letter;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_findings_are_replaced_by_numbers() {
        let value = |key: &str| (key == "a").then(|| "+1 %".to_owned());
        assert_eq!(replaced("x {a}, {b}.", &value), "x +1 %, –.");
        assert_eq!(replaced("no key", &value), "no key");
    }
}
