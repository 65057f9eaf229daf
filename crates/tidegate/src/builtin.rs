//! Scenarios that are part of the program.

/// A scenario file.
pub(crate) struct Builtin {
    /// Its name.
    pub(crate) name: &'static str,
    /// The text of the file.
    pub(crate) text: &'static str,
}

/// The name of the one that is run when nothing else is asked for.
pub(crate) const MAIN: &str = "main";

/// All of them.
pub(crate) const ALL: &[Builtin] = &[
    Builtin { name: "incast", text: include_str!("../../../scenarios/incast.toml") },
    Builtin { name: MAIN, text: include_str!("../../../scenarios/main.toml") },
    Builtin { name: "one-sided", text: include_str!("../../../scenarios/one-sided.toml") },
    Builtin { name: "rtt-variation", text: include_str!("../../../scenarios/rtt-variation.toml") },
    Builtin { name: "threshold", text: include_str!("../../../scenarios/threshold.toml") },
    Builtin { name: "two-classes", text: include_str!("../../../scenarios/two-classes.toml") },
];

/// Network files for `tidegate plan`.
pub(crate) const NETWORKS: &[Builtin] = &[
    Builtin { name: "web", text: include_str!("../../../networks/web.toml") },
    Builtin { name: "storage", text: include_str!("../../../networks/storage.toml") },
    Builtin { name: "training", text: include_str!("../../../networks/training.toml") },
];

impl Builtin {
    /// The scenario of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|builtin| builtin.name == name)
    }

    /// Its title.
    pub(crate) fn title(&self) -> &'static str {
        title(self.text)
    }
}

/// The title that a scenario file gives itself.
pub(crate) fn title(text: &str) -> &str {
    let mut lines = text.lines();
    let title = lines.find_map(|line| line.strip_prefix("title = \""));
    title.and_then(|title| title.strip_suffix('"')).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;

    #[test]
    fn built_in_scenarios_can_run_and_are_called_by_their_names() {
        for builtin in ALL {
            let scenario = match Scenario::parse(builtin.name, builtin.text, &[]) {
                Ok(scenario) => scenario,
                Err(problem) => panic!("{problem}"),
            };
            assert_eq!(scenario.name, builtin.name);
            assert_eq!(scenario.title, builtin.title());
            if let Err(problem) = scenario.plan() {
                panic!("{problem}");
            }
        }
    }
}
