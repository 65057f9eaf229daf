//! Patterns of labels: text in which `*` matches any text.

/// Whether `text` matches `pattern`.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    captured(pattern, text).is_some()
}

/// Texts that the `*` of `pattern` match in `text`, each as short as possible; `None` without a
/// match.
pub(super) fn captured<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let Some((head, rest)) = pattern.split_once('*') else {
        return (pattern == text).then(Vec::new);
    };
    let text = text.strip_prefix(head)?;
    let mut ends = (0..=text.len()).filter(|&end| text.is_char_boundary(end));
    ends.find_map(|end| {
        let mut all = vec![&text[..end]];
        all.extend(captured(rest, &text[end..])?);
        Some(all)
    })
}

/// Pattern of all labels.
pub(super) fn all() -> String {
    "*".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("tcn, load *", "tcn, load 0.6", Some(vec!["0.6"])),
            ("*", "", Some(vec![""])),
            ("*, load *", "codel, load 0.6", Some(vec!["codel", "0.6"])),
            ("tcn", "tcn", Some(vec![])),
            ("tcn", "tcn, load 0.6", None),
            ("tcn, *", "tcn", None),
            ("*#", "ECN♯#", Some(vec!["ECN♯"])),
        ] {
            assert_eq!(captured(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
