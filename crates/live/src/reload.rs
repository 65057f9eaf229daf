//! Changes to a running switch without dropping a packet: its scheme and thresholds.

use tidegate_dataplane::mark;
use tidegate_units::{ConfigError, Settings};

use crate::config::Config;

impl Config {
    /// The marking of `new`, if nothing else differs that a running switch cannot change. An error
    /// names the first such setting.
    pub fn reload(&self, new: &Self) -> Result<mark::Config, ConfigError> {
        let fixed = |field: &'static str, found: String, now: String| {
            let allowed = format!("{now} while the switch runs: only `marking` can change");
            Err(ConfigError::out_of_range(field, found, allowed))
        };
        if new.scheduling != self.scheduling {
            let names = [new, self].map(|config| format!("{:?}", config.scheduling));
            let [found, now] = names;
            return fixed("scheduler", found, now);
        }
        if new.buffer != self.buffer {
            let [found, now] = [new, self].map(|config| format!("{:?}", config.buffer));
            return fixed("buffer", found, now);
        }
        let setting =
            changed(&self.dscp, &new.dscp).or_else(|| changed(&self.options, &new.options));
        if let Some((field, found, now)) = setting {
            return fixed(field, found, now);
        }
        let interfaces = |config: &Self| {
            let ports = config.ports.iter();
            let ports = ports.map(|port| port.interface.clone());
            ports.collect::<Vec<_>>().join(", ")
        };
        let [found, now] = [new, self].map(interfaces);
        if found != now {
            return fixed("port", found, now);
        }
        for (port, new) in self.ports.iter().zip(&new.ports) {
            if let Some((field, found, now)) = changed(port, new) {
                let at = |value| format!("{value} at {}", port.interface);
                return fixed(field, at(found), at(now));
            }
        }
        new.check_interfaces()?;
        Ok(new.marking.clone())
    }
}

/// The first setting that differs, with its new and its old value.
fn changed<T: Settings>(old: &T, new: &T) -> Option<(&'static str, String, String)> {
    T::FIELDS.iter().find_map(|field| {
        let [found, now] = [new, old].map(|of| of.value(field.name).unwrap_or_default());
        (found != now).then_some((field.name, found, now))
    })
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rate;

    use super::*;
    use crate::config::PortSettings;

    type Change = fn(&mut Config);

    #[test]
    fn a_threshold_of_zero_is_refused_on_reload() {
        let mut config = Config::new();
        config.ports.push(PortSettings::new("a", Rate::from_gbps(1)));
        let mut new = config.clone();
        new.marking.set("threshold", "0us").unwrap();
        let error = config.reload(&new).unwrap_err().to_string();
        assert!(error.starts_with("threshold = 0"), "{error}");
    }

    #[test]
    fn only_the_marking_can_change() {
        let mut config = Config::new();
        let port = PortSettings::new("a", Rate::from_gbps(1));
        config.ports.push(port);
        let change = |change: Change| {
            let mut new = config.clone();
            change(&mut new);
            config.reload(&new).map_err(|error| error.to_string())
        };
        let marking = change(|new| new.marking.set("threshold", "77us").unwrap());
        assert_eq!(marking.unwrap().value("threshold").unwrap(), "77us");
        let cases: [(&str, Change); 8] = [
            ("buffer", |new| new.buffer.set("limit", "1MB").unwrap()),
            ("scheduler", |new| {
                new.scheduling.set("queues", "2").unwrap();
            }),
            ("queues", |new| new.dscp.set("queues", "46:0").unwrap()),
            ("unknown", |new| new.dscp.set("unknown", "last").unwrap()),
            ("ageing", |new| new.options.set("ageing", "1s").unwrap()),
            ("port", |new| new.ports[0].interface = "b".into()),
            ("rate = 2Gbps at a", |new| {
                new.ports[0].rate = Rate::from_gbps(2);
            }),
            ("stations = 3 at a", |new| new.ports[0].stations = Some(3)),
        ];
        for (field, case) in cases {
            let error = change(case).unwrap_err();
            assert!(error.starts_with(field), "{error}");
            assert!(error.contains("only `marking` can change"), "{error}");
        }
    }
}
