//! Built-in scenarios and networks.

/// Built-in file.
pub(crate) struct Builtin {
    /// Name.
    pub(crate) name: &'static str,
    /// Text of the file.
    pub(crate) text: &'static str,
}

/// Name of the scenario of a run without arguments.
pub(crate) const MAIN: &str = "main";

/// All scenarios.
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
    /// The scenario with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|builtin| builtin.name == name)
    }

    /// Title of the scenario.
    pub(crate) fn title(&self) -> &'static str {
        title(self.text)
    }
}

/// Title in a scenario file.
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
