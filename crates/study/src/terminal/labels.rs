//! Short labels: common words are dropped first, words that distinguish labels stay.

use std::collections::BTreeSet;

use crate::text::width;

/// Placeholder of dropped words.
const LEFT_OUT: &str = "…";

/// Shortens labels to `most` columns each, as far as dropping common words achieves it: first words
/// of all labels, then words that a label that is still too long shares with another one. Different
/// labels stay different.
pub fn shortened(labels: &[&str], most: usize) -> Vec<String> {
    let whole = labels.iter().map(|label| String::from(*label));
    let mut found = whole.collect::<Vec<_>>();
    let words = labels.iter().map(|label| words(label)).collect::<Vec<_>>();
    let distinct = |labels: &[String]| labels.iter().collect::<BTreeSet<_>>().len();
    let all = distinct(&found);
    for shorten in [without_ends, without_common_words, without_shared_words, without_shared_tails]
    {
        let is_long = |label: &String| width(label) > most;
        if all < 2 || !found.iter().any(is_long) {
            break;
        }
        let shorter = shorten(&words, &found, most);
        if distinct(&shorter) == all && shorter.iter().all(|label| is_readable(label)) {
            found = shorter;
        }
    }
    found
}

/// Whether a label still has a word.
fn is_readable(label: &str) -> bool {
    label.contains(char::is_alphanumeric)
}

/// Splits a label into words and single separators.
fn words(label: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '.';
    let mut words = Vec::new();
    let mut rest = label;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

fn is_sign(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_alphanumeric() || c == '.')
}

/// Drops the words that all labels begin or end with.
fn without_ends(labels: &[Vec<&str>], _: &[String], _: usize) -> Vec<String> {
    let Some((first, others)) = labels.split_first() else {
        return Vec::new();
    };
    // The shortest label keeps a word.
    let shortest = labels.iter().map(Vec::len).min().unwrap_or(0);
    let most = shortest.saturating_sub(1);
    let is_same_from_begin = |place: usize| others.iter().all(|label| label[place] == first[place]);
    let begin = (0..most).take_while(|&place| is_same_from_begin(place));
    let begin = begin.count();
    let from_end = |label: &[&str], place: usize| label[label.len() - 1 - place].to_owned();
    let is_same_from_end = |place: usize| {
        let end = from_end(first, place);
        others.iter().all(|label| from_end(label, place) == end)
    };
    let end = (0..most - begin).take_while(|&place| is_same_from_end(place));
    let end = end.count();
    let shorten = |label: &Vec<&str>| {
        let is_left_out = |place: usize| place < begin || place >= label.len() - end;
        let left_out = (0..label.len()).map(is_left_out).collect::<Vec<_>>();
        joined(label, &left_out)
    };
    labels.iter().map(shorten).collect()
}

/// Drops words that all labels have.
fn without_common_words(labels: &[Vec<&str>], _: &[String], _: usize) -> Vec<String> {
    let is_common = |word: &str| labels.iter().all(|label| label.contains(&word));
    let shorten = |label: &Vec<&str>| without_words(label, &is_common);
    labels.iter().map(shorten).collect()
}

/// Drops every shared word of labels that are too long, if they fit then.
fn without_shared_words(labels: &[Vec<&str>], found: &[String], most: usize) -> Vec<String> {
    let shorten = |(label, found): (&Vec<&str>, &String)| {
        if width(found) <= most {
            return found.clone();
        }
        let others = || labels.iter().filter(|other| *other != label);
        let shorter = without_words(label, &|word| others().any(|other| other.contains(&word)));
        if width(&shorter) <= most { shorter } else { found.clone() }
    };
    labels.iter().zip(found).map(shorten).collect()
}

/// Drops as many trailing words of labels that are too long as needed, if another label has them
/// too.
fn without_shared_tails(labels: &[Vec<&str>], found: &[String], most: usize) -> Vec<String> {
    let shorten = |(label, found): (&Vec<&str>, &String)| {
        let others = || labels.iter().filter(|other| *other != label);
        let is_shared = |word: &&&str| others().any(|other| other.contains(word));
        let mut left = words(found);
        while width(&left.concat()) + 1 > most && left.last().as_ref().is_some_and(is_shared) {
            left.pop();
        }
        let left = format!("{}{LEFT_OUT}", left.concat().trim_end());
        if width(found) > most && width(&left) <= most && is_readable(&left) {
            left
        } else {
            found.clone()
        }
    };
    labels.iter().zip(found).map(shorten).collect()
}

/// Drops some words, and separators without neighbours.
fn without_words(label: &[&str], is_left_out: &dyn Fn(&str) -> bool) -> String {
    let left_out = label.iter().map(|word| !is_sign(word) && is_left_out(word));
    let mut left_out = left_out.collect::<Vec<_>>();
    let mut begin = 0;
    while begin < label.len() {
        let end = (begin..label.len()).find(|&place| !is_sign(label[place]));
        let end = end.unwrap_or(label.len());
        let before = begin == 0 || left_out[begin - 1];
        let after = end == label.len() || left_out[end];
        left_out[begin..end].fill(before && after);
        begin = end + 1;
    }
    joined(label, &left_out)
}

/// Joins a label, with one placeholder for adjacent dropped words.
fn joined(label: &[&str], left_out: &[bool]) -> String {
    let mut out = String::new();
    for (word, &is_left_out) in label.iter().zip(left_out) {
        match is_left_out {
            true if out.ends_with(LEFT_OUT) => {}
            true => out.push_str(LEFT_OUT),
            false => out.push_str(word),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_fit_are_unchanged() {
        let labels = ["tcn, load 0.5", "codel, load 0.5"];
        assert_eq!(shortened(&labels, 15), labels);
        assert_eq!(shortened(&["alone and too long"], 4), ["alone and too long"]);
        assert!(shortened(&[], 4).is_empty());
    }

    #[test]
    fn drops_common_words_and_keeps_different_ones() {
        let labels = [
            "a fabric of many hosts, tcn, web search",
            "a fabric of many hosts, codel, web search",
        ];
        assert_eq!(shortened(&labels, 12), ["…tcn…", "…codel…"]);
        let labels = [
            "load 0.5, tcn threshold 20us",
            "load 0.9, tcn threshold 40us",
            "load 0.9, tcn threshold 60us",
        ];
        assert_eq!(shortened(&labels, 18), ["… 0.5, … 20us", "… 0.9, … 40us", "… 0.9, … 60us"]);
        let paths = ["results/monday/tiny: tcn", "results/tuesday/tiny: tcn"];
        assert_eq!(shortened(&paths, 20), ["…monday…", "…tuesday…"]);
    }

    #[test]
    fn drops_shared_words_only_from_labels_that_are_too_long() {
        let labels = [
            "TCN with the threshold of the paper",
            "no marking",
            "per-queue RED with the threshold of the paper",
        ];
        assert_eq!(shortened(&labels, 16), ["TCN …", "no marking", "per-queue RED …"]);
    }

    #[test]
    fn drops_shared_tails_if_every_word_is_shared() {
        let labels =
            ["a: TCN of the paper", "a: RED of the paper", "b: TCN of the paper", "b: none"];
        assert_eq!(shortened(&labels, 10), ["a: TCN of…", "a: RED of…", "b: TCN of…", "b: none"]);
    }

    #[test]
    fn different_labels_stay_different() {
        // Nothing but the order distinguishes them.
        let labels = ["first then second", "second then first"];
        assert_eq!(shortened(&labels, 6), ["first…", "second then first"]);
        assert_eq!(shortened(&labels, 4), labels);
        let labels = ["tcn", "tcn with a long remark"];
        assert_eq!(shortened(&labels, 6), labels);
        let wide = ["東京 tcn", "東京 codel"];
        assert_eq!(shortened(&wide, 8), ["…tcn", "…codel"]);
    }
}
