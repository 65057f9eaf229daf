//! Files of built-in figures, which are scenarios with a table `[figure]`, and of papers.

use std::path::Path;

use tidegate_scenario::{Problem, Scenario};
use tidegate_study::files::{Embedded, FILES};

/// Files of all figures, ordered by paper and figure.
pub fn files() -> Vec<&'static Embedded> {
    let mut files: Vec<&Embedded> = FILES.iter().filter(|file| has_figure(file.text)).collect();
    files.sort_by_key(|file| {
        let id = file.id;
        let split = id.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        let (name, number) = id.split_at(split);
        (name, number.parse::<u32>().unwrap_or(0))
    });
    files
}

/// Ids of all figures, in the same order.
pub fn ids() -> Vec<&'static str> {
    files().into_iter().map(|file| file.id).collect()
}

fn has_figure(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == "[figure]")
}

/// Figure and label of a pattern such as `tcn-f6: load 0.9, TCN`, which names a point of another
/// figure; `None` otherwise.
pub fn of_other_figure(pattern: &str) -> Option<(&str, &str)> {
    let (id, label) = pattern.split_once(": ")?;
    file(id).map(|_| (id, label))
}

/// Files of papers.
pub fn paper_files() -> impl Iterator<Item = &'static Embedded> {
    let is_paper = |file: &&Embedded| file.text.lines().any(|line| line.trim_end() == "[paper]");
    FILES.iter().filter(is_paper)
}

/// File of a figure.
pub fn file(id: &str) -> Option<&'static Embedded> {
    let named = |file: &&Embedded| file.id == id && has_figure(file.text);
    FILES.iter().find(named)
}

/// Hash of the settings in a file and its includes, without titles, comments, claims and the number
/// of repetitions. Results
/// with another hash have different settings.
pub fn settings(file: &Embedded) -> String {
    let mut hash = FNV_START;
    add_settings(file, &mut hash);
    format!("{hash:016x}")
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

fn add_settings(file: &Embedded, hash: &mut u64) {
    let mut table: toml::Table = file.text.parse().expect("files of the program are valid");
    // More repetitions are more numbers of the same settings.
    for words in ["figure", "title", "runs"] {
        table.remove(words);
    }
    // The hash predates this key: its default was the only behaviour.
    if let Some(transport) = table.get_mut("transport").and_then(toml::Value::as_table_mut)
        && transport.get("qdisc").and_then(toml::Value::as_str) == Some("fifo")
    {
        transport.remove("qdisc");
    }
    for byte in table.to_string().bytes() {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    }
    if let Some(toml::Value::String(include)) = table.get("include") {
        let path = Path::new(file.path).with_file_name(include);
        let included = FILES.iter().find(|file| Path::new(file.path) == path);
        add_settings(included.expect("files of the program are there"), hash);
    }
}

/// Reads the scenario of a built-in figure; `None` if there is no such figure.
pub fn scenario(id: &str, overrides: &[String]) -> Option<Result<Scenario, Problem>> {
    Some(file(id)?.scenario(overrides))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_the_order_of_their_numbers() {
        let ids = ids();
        let place = |id: &str| ids.iter().position(|other| *other == id);
        assert!(place("tcn-f2") < place("tcn-f10"));
    }
}
