//! Merges warnings of several points: each reason once, with the range of its numbers.

/// Warning of one or more points.
pub(super) struct Shared<'a> {
    /// Text, with ranges of numbers that differ between points.
    pub(super) text: String,
    pub(super) labels: Vec<&'a str>,
}

/// Merges warnings, given with the labels of their points, that differ only in numbers.
pub(super) fn merged<'a>(warnings: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Shared<'a>> {
    let mut found: Vec<(Vec<Range<'a>>, Vec<&'a str>)> = Vec::new();
    for (label, text) in warnings {
        let pieces = pieces(text);
        let same = found.iter_mut().find(|(others, _)| is_same(others, &pieces));
        match same {
            Some((ranges, labels)) => {
                for (range, piece) in ranges.iter_mut().zip(pieces) {
                    range.extend(piece);
                }
                labels.push(label);
            }
            None => {
                let ranges = pieces.into_iter().map(Range::of);
                found.push((ranges.collect(), vec![label]));
            }
        }
    }
    let shared = found.into_iter().map(|(ranges, labels)| Shared {
        text: ranges.iter().map(Range::text).collect::<Vec<_>>().join(" "),
        labels,
    });
    shared.collect()
}

/// Minimum and maximum of a number; for a word, both are the word.
struct Range<'a> {
    least: &'a str,
    most: &'a str,
}

impl<'a> Range<'a> {
    const fn of(piece: &'a str) -> Self {
        Self { least: piece, most: piece }
    }

    fn extend(&mut self, piece: &'a str) {
        let value = |text: &str| text.parse::<f64>().unwrap_or_default();
        if value(piece) < value(self.least) {
            self.least = piece;
        } else if value(piece) > value(self.most) {
            self.most = piece;
        }
    }

    fn text(&self) -> String {
        if self.least == self.most {
            self.least.to_owned()
        } else {
            format!("{} to {}", self.least, self.most)
        }
    }
}

fn is_same(ranges: &[Range<'_>], pieces: &[&str]) -> bool {
    let same = |(range, piece): (&Range<'_>, &&str)| {
        range.least == *piece || (is_number(range.least) && is_number(piece))
    };
    ranges.len() == pieces.len() && ranges.iter().zip(pieces).all(same)
}

fn is_number(piece: &str) -> bool {
    piece.parse::<f64>().is_ok()
}

/// Splits a text at spaces. Numbers inside words such as `p99` are not separated.
fn pieces(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_warnings_that_differ_only_in_numbers() {
        let warnings = [
            ("a", "takes 202 % more time; raise it to about 37 (by MSER)"),
            ("b", "the p99 rests on 9 flows"),
            ("b", "takes 24 % more time; raise it to about 37 (by MSER)"),
            ("c", "takes 189 % more time; raise it to about 37 (by MSER)"),
            ("c", "takes 189 % less time; raise it to about 37 (by MSER)"),
            ("d", "the p95 rests on 9 flows"),
        ];
        let shown: Vec<String> = merged(warnings.into_iter())
            .iter()
            .map(|shared| format!("{}: {}", shared.labels.join(", "), shared.text))
            .collect();
        let expected = [
            "a, b, c: takes 24 to 202 % more time; raise it to about 37 (by MSER)",
            "b: the p99 rests on 9 flows",
            "c: takes 189 % less time; raise it to about 37 (by MSER)",
            "d: the p95 rests on 9 flows",
        ];
        assert_eq!(shown, expected);
    }
}
