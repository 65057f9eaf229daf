//! A live switch as a TOML file: a table `[switch]` for all ports, and a table `[[port]]` for each
//! port.
//!
//! ```toml
//! [switch]
//! marking = { kind = "tcn", threshold = "256us" }
//! scheduler = { kind = "dwrr", quanta = [1500, 3000] }
//! buffer = { kind = "per-port", limit = "96KB" }
//! dscp = { queues = "46:0, 10:1", unknown = "last" }
//! non_ect = "pass"
//!
//! [[port]]
//! interface = "veth0"
//! rate = "1Gbps"
//! delay = "50us"
//! ```
//!
//! It is read like a scenario, with the same kinds, keys, carets and advice. Omitted keys have the
//! values of [`Config::new`]; `[switch]` has all [`Options`].

use tidegate_live::Config;
use tidegate_live::config::{Options, PortSettings};
use tidegate_scenario::{Problem, SwitchFile};

/// Reads a live switch from the text of a file; errors call the file `name`.
pub fn read_switch(name: &str, text: &str) -> Result<Config, Problem> {
    let mut config = Config::new();
    let file = SwitchFile {
        marking: &mut config.marking,
        scheduling: &mut config.scheduling,
        buffer: &mut config.buffer,
        dscp: &mut config.dscp,
        options: &mut config.options,
        ports: &mut config.ports,
        check: Options::check,
        check_port: PortSettings::check,
    };
    file.read(name, text)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use tidegate_dataplane::{buffer, mark};
    use tidegate_live::config::DeviceKind;
    use tidegate_units::{Rate, Settings, Span};

    use super::*;

    const PORT: &str = "[[port]]\ninterface = \"a\"\nrate = \"995Mbps\"\n";

    fn read(switch: &str) -> Result<Config, Problem> {
        read_switch("a.toml", &format!("[switch]\n{switch}\n{PORT}"))
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = "[switch]\n\
            marking = { kind = \"tcn\", threshold = \"78us\" }\n\
            scheduler = { kind = \"dwrr\", quanta = [1500, 3000] }\n\
            buffer = { kind = \"dynamic-threshold\", pool_size = \"1MB\", alpha = [1, 0.5] }\n\
            dscp = { queues = \"46:0\", unknown = \"last\" }\n\
            non_ect = \"drop\"\nseed = 7\n\
            [[port]]\ninterface = \"a\"\nrate = \"995Mbps\"\n\
            [[port]]\ninterface = \"b\"\ndevice = \"tap\"\nuplink = \"1Gbps\"\ndelay = \"50us\"\n\
            stations = 16\n";
        let config = read_switch("a.toml", text).unwrap();
        assert_eq!(config.marking.value("threshold").unwrap(), "78us");
        assert_eq!(config.scheduling.value("quanta").unwrap(), "1500, 3000");
        assert_eq!(config.buffer.value("alpha").unwrap(), "1, 1/2");
        assert_eq!(config.dscp.value("queues").unwrap(), "46:0");
        assert_eq!(config.options.seed, 7);
        assert_eq!(config.options.ageing, Span::from_secs(300), "left out");
        assert_eq!(config.ports[0].rate.as_bps(), 995_000_000);
        assert_eq!(config.ports[1].interface, "b");
        assert_eq!(config.ports[1].device, DeviceKind::Tap);
        assert_eq!(config.ports[1].uplink, Some(Rate::from_gbps(1)));
        let stations = [0, 1].map(|port: usize| config.ports[port].stations);
        assert_eq!(stations, [None, Some(16)]);
        let delays = [0, 1].map(|port: usize| config.ports[port].delay);
        assert_eq!(delays, [Span::ZERO, Span::from_us(50)]);
    }

    #[test]
    fn omitted_settings_have_defaults() {
        let config = read_switch("a.toml", PORT).unwrap();
        let expected = Config { ports: config.ports.clone(), ..Config::new() };
        assert_eq!(config, expected);
    }

    #[test]
    fn nested_schemes_and_buffers_are_read_as_in_a_scenario() {
        let pair = "marking = { kind = \"or\", first = { kind = \"port-red\", threshold = \"30KB\" }, \
                    second = { kind = \"tcn\" } }";
        let config = read(pair).unwrap();
        let mark::Config::Or(pair) = &config.marking else {
            panic!("{:?}", config.marking);
        };
        assert_eq!((pair.0.name(), pair.1.name()), ("port-red", "tcn"));
        assert_eq!(pair.0.value("threshold").as_deref(), Some("30KB"));
        let over =
            "buffer = { kind = \"pfc\", egress = { kind = \"per-port\", limit = \"50KB\" } }";
        assert!(matches!(read(over).unwrap().buffer, buffer::Config::PfcOver(_)));
    }

    #[test]
    fn errors_show_a_caret_and_a_suggestion() {
        let cases = [
            ("marking = { kind = \"tcm\" }", "unknown kind `tcm`", (2, 20), "did you mean `tcn`?"),
            (
                "marking = \"tcn\"",
                "this is text, and should be a table",
                (2, 11),
                "write it as { kind = \"tcn\" }",
            ),
            (
                "seed = 1\nmarking = { kind = \"tcn\", treshold = \"1us\" }",
                "unknown key `treshold` of `tcn`",
                (3, 27),
                "did you mean `threshold`?",
            ),
            (
                "marking = { kind = \"or\", first = { kind = \"tcn\" } }",
                "`or` has no `second`",
                (2, 20),
                "`or` combines two schemes",
            ),
            (
                "marking = { kind = \"diff-ecn\" }\nscheduler = { kind = \"dwrr\", quanta = [1, 1] }",
                "`scheduler` is dwrr, which does not work with `diff-ecn`",
                (2, 20),
                "allowed: a scheduler that serves one queue strictly first",
            ),
            ("sead = 1", "unknown key `sead`", (2, 1), "did you mean `seed`?"),
            ("dscp = { queues = \"x\" }", "`queues`: `x` cannot be read", (2, 19), "accepted: "),
        ];
        for (lines, message, position, help) in cases {
            let problem = read(lines).unwrap_err();
            assert_eq!(problem.message(), message, "{problem}");
            assert_eq!(problem.position(), Some(position), "{problem}");
            let advice = problem.advice().unwrap_or_default();
            assert!(advice.starts_with(help), "{problem}");
        }
        let problem = read_switch("a.toml", "[[port]]\nname = \"a\"\n").unwrap_err();
        assert_eq!(problem.message(), "unknown key `name`");
        let problem = read_switch("a.toml", "[[port]]\nrate = \"1Gbps\"\n").unwrap_err();
        assert_eq!(problem.message(), "the port has no `interface`");
        assert!(read_switch("a.toml", "[swich]\n").is_err());
        assert!(read_switch("a.toml", "[switch\n").is_err());
    }
    #[test]
    fn values_out_of_range_are_shown_with_a_caret_and_the_range() {
        let cases = [
            ("catch_up = \"1000h\"", "`catch_up` is 3600000s, which is out of range", "at most 1s"),
            ("broadcast_limit = 0", "`broadcast_limit` is 0, which is out of range", "1 or more"),
            ("multicast_limit = 0", "`multicast_limit` is 0, which is out of range", "1 or more"),
            ("unknown_limit = 0", "`unknown_limit` is 0, which is out of range", "1 or more"),
            ("ring = 1", "`ring` is 1, which is out of range", "32 to 65536"),
            ("addresses = 0", "`addresses` is 0, which is out of range", "4 to "),
            ("frames = 0", "`frames` is 0, which is out of range", "1 to "),
            ("frame_size = 9", "`frame_size` is 9, which is out of range", "64 to 65535 bytes"),
            ("ageing = \"2000000s\"", "`ageing` is 2000000s, which is out of range", "100ms to 1"),
            ("probe_every = \"2h\"", "`probe_every` is 7200s, which is out of range", "100ms to 3"),
        ];
        for (line, message, allowed) in cases {
            let problem = read(&format!("seed = 1\n{line}")).unwrap_err();
            assert_eq!(problem.message(), message, "{problem}");
            let column = line.find('=').unwrap() + 3;
            assert_eq!(problem.position(), Some((3, column)), "{problem}");
            let advice = problem.advice().unwrap_or_default();
            assert!(advice.starts_with(&format!("allowed: {allowed}")), "{problem}");
        }
        let cases = [
            ("stations = 0", "`stations` is 0, which is out of range", "allowed: 1 or more"),
            ("delay = \"1h\"", "`delay` is 3600s, which is out of range", "allowed: at most 10s"),
        ];
        for (line, message, allowed) in cases {
            let problem = read_switch("a.toml", &format!("{PORT}{line}\n")).unwrap_err();
            assert_eq!(problem.message(), message, "{problem}");
            let column = line.find('=').unwrap() + 3;
            assert_eq!(problem.position(), Some((4, column)), "{problem}");
            assert!(problem.advice().unwrap_or_default().starts_with(allowed), "{problem}");
        }
    }
}
