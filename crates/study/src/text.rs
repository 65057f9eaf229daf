//! Text helpers: counts, shell words, columns and similar names.

use unicode_width::UnicodeWidthChar;

/// A number with its noun: `1 run`, `2 runs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A word quoted for a shell, if it needs quotes.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+%@^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Columns that a text takes on a terminal, without its colors.
pub fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => chars.by_ref().take_while(|&c| c != 'm').for_each(drop),
            _ => columns += c.width().unwrap_or(0),
        }
    }
    columns
}

/// Wraps a text at its spaces into lines of at most `most` columns; longer words stay whole.
pub fn folded(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if width(last) + 1 + width(word) <= most {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Up to three names similar to a misspelt one, the most similar first.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase().replace('_', "-");
    let similarity = |name: &str| {
        let similarity = strsim::jaro_winkler(&wrong, name);
        // One letter too many, too few, wrong or transposed.
        let is_near = name.len() > 2 && strsim::osa_distance(&wrong, name) <= 1;
        if is_near { similarity.max(0.8) } else { similarity }
    };
    let mut near = names
        .map(|name| (similarity(name), name))
        .filter(|&(similarity, _)| similarity > 0.75)
        .collect::<Vec<_>>();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by_key(|&mut (_, name)| name);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_for_a_shell_only_where_needed() {
        assert_eq!(quoted("a/b-c.toml"), "a/b-c.toml");
        assert_eq!(
            quoted("switch.marking={ kind = \"tcn\" }"),
            "'switch.marking={ kind = \"tcn\" }'"
        );
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn finds_similar_names() {
        let names = ["codel", "ecn-sharp", "tcn"];
        assert_eq!(nearest("ecnsharp", names.into_iter()).first(), Some(&"ecn-sharp"));
        assert_eq!(nearest("CODEL", names.into_iter()).first(), Some(&"codel"));
        assert!(nearest("zzzz", names.into_iter()).is_empty());
    }
}
