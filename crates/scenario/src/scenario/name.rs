//! Names of runs and files, from labels and paths.

use std::collections::BTreeSet;
use std::path::Path;

/// Name of a scenario from the name of its file.
pub(super) fn name_of_file(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = slug(stem.as_deref().unwrap_or_default(), 64);
    if name.is_empty() { "scenario".into() } else { name }
}

/// Text as part of a file name: letters, digits, dots, distinctive signs spelled out, and `-` for
/// everything else.
fn slug(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= longest {
            break;
        }
        match (c, spelled(c)) {
            (c, _) if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            ('.' | '_', _) if !out.is_empty() => out.push(c),
            (_, Some(word)) => {
                let is_sign = !c.is_alphabetic();
                if is_sign && !out.is_empty() && !out.ends_with('-') {
                    out.push('-');
                }
                out.push_str(word);
            }
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches(['-', '.']).to_owned()
}

/// Spelling of a sign or letter that file names should not contain, but that may alone distinguish
/// two labels: ECN♯ and ECN* are not ECN.
const fn spelled(c: char) -> Option<&'static str> {
    Some(match c {
        '#' | '♯' => "sharp",
        '*' => "star",
        '%' => "percent",
        'µ' | 'μ' => "u",
        'α' => "alpha",
        'β' => "beta",
        'γ' => "gamma",
        'λ' => "lambda",
        _ => return None,
    })
}

/// A unique name of a run.
pub(super) fn id(label: &str, seed: u64, taken: &mut BTreeSet<String>) -> String {
    let words = slug(label, 80);
    let words = if words.is_empty() { "point" } else { &words };
    let mut id = format!("{words}-s{seed}");
    let mut number = 2;
    while !taken.insert(id.clone()) {
        id = format!("{words}-{number}-s{seed}");
        number += 1;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections;

    #[test]
    fn ids_are_valid_file_names_and_unique() {
        let mut taken = BTreeSet::new();
        assert_eq!(id("ECN♯, load 0.6", 1, &mut taken), "ecn-sharp-load-0.6-s1");
        assert_eq!(id("ECN♯ load 0.6", 1, &mut taken), "ecn-sharp-load-0.6-2-s1");
        for (label, expected) in [
            ("ECN#", "ecn-sharp-s1"),
            ("ECN", "ecn-s1"),
            ("ECN*, 10 µs", "ecn-star-10-us-s1"),
            ("PIAS+ECN♯", "pias-ecn-sharp-s1"),
            ("P_max 10%", "p_max-10-percent-s1"),
            ("λ 0.9", "lambda-0.9-s1"),
        ] {
            assert_eq!(id(label, 1, &mut taken), expected);
        }
        assert_eq!(id("../..", 1, &mut taken), "point-s1");
        assert_eq!(id("", 1, &mut taken), "point-2-s1");
        let long = id(&"x".repeat(500), u64::MAX, &mut taken);
        assert!(long.len() < 120 && sections::is_file_safe("a.b_c-d"));
        for name in ["", ".a", "-a", "a/b", "a b", "é", &"x".repeat(65)] {
            assert!(!sections::is_file_safe(name), "{name}");
        }
    }
}
