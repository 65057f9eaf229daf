//! The command line: pairs of a name and a value, checked before anything is built.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use tidegate_units::{Rate, Span, Time};

/// Every option with its default; unknown names are refused. `None` means that the option is
/// required.
const DEFAULTS: &[(&str, Option<&str>)] = &[
    ("scenario", None),
    ("flows", Some("")),
    ("fct-out", Some("")),
    // Star: hosts around one switch. Leaf-spine: host h is at leaf h / hosts-per-leaf.
    ("hosts", Some("9")),
    ("leaves", Some("8")),
    ("spines", Some("8")),
    ("hosts-per-leaf", Some("16")),
    ("rate-gbps", Some("10")),
    // Propagation delay of one link.
    ("delay-us", Some("25")),
    // A packet that finds this many packets waiting, without the one on the wire, is marked; a
    // packet that finds the buffer full is dropped. Both are counted in bytes of full packets.
    ("threshold-packets", Some("65")),
    ("buffer-packets", Some("1000")),
    // Instead of one queue that marks by its length: eight queues served in turn, with marking by
    // sojourn time, as long as the threshold takes to send, and one pool for all ports of a switch.
    ("switch", Some("red")),
    ("pool-packets", Some("3072")),
    ("mss", Some("1460")),
    ("initial-window", Some("10")),
    ("min-rto-ms", Some("10")),
    // Bytes that a link adds to an IP packet.
    ("framing-bytes", Some("2")),
    // Window of the averages in the run; 0 is the end of the run.
    ("from-s", Some("0")),
    ("until-s", Some("0")),
    // A run that has not finished by then ends, and its unfinished flows are left blank.
    ("time-limit-s", Some("100")),
    // Changes to the settings that match ns-3, to find the effect of one of them.
    ("stack", Some("")),
    ("window", Some("")),
    // Instead of measurements: one run that prints only the number of packet-hops.
    ("once", Some("no")),
    // Instead of a run: writes a flow list.
    ("write-flows", Some("")),
    ("flow-count", Some("1500")),
    ("load", Some("0.6")),
    ("seed", Some("1")),
];

pub(crate) const USAGE: &str = "\
usage: tidegate-bench-peers --scenario star|leaf-spine --flows FILE [options]
       tidegate-bench-peers --scenario leaf-spine --write-flows FILE [options]
       tidegate-bench-peers --scale [--json]
       tidegate-bench-peers --scenario star|leaf-spine --flows FILE --once yes (prints packet-hops)
network:   --hosts N (star); --leaves N --spines N --hosts-per-leaf N; --rate-gbps X --delay-us X
           --threshold-packets N --buffer-packets N --framing-bytes N
           --switch red|tcn (one queue and RED, or eight queues, TCN and a pool) --pool-packets N
transport: --mss N --initial-window N --min-rto-ms X
           --stack FIELD=VALUE,...  --window FIELD=VALUE,...  (what differs from ns-3)
run:       --fct-out FILE --from-s X --until-s X --time-limit-s X
flows:     --flow-count N --load X --seed N
prints one JSON object; exit code 0 if all flows finished, 1 if not, 2 if an argument is wrong";

/// Hosts around one switch, or racks of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    LeafSpine,
    Star,
}

impl Scenario {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::LeafSpine => "leaf-spine",
            Self::Star => "star",
        }
    }
}

/// The given options, over the defaults.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    given: BTreeMap<String, String>,
}

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let mut given = BTreeMap::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let known = |name: &&str| DEFAULTS.iter().any(|(known, _)| known == name);
            let name = word.strip_prefix("--").filter(known);
            let name = name.ok_or_else(|| format!("unknown option '{word}'"))?;
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            if given.insert(name.to_owned(), value.clone()).is_some() {
                return Err(format!("{word} is given twice"));
            }
        }
        let options = Self { given };
        options.scenario()?;
        Ok(options)
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        let default = DEFAULTS.iter().find(|(known, _)| *known == name);
        let default = default.expect("every option that is read is in the list").1;
        let given = self.given.get(name).map(String::as_str);
        given.or(default).ok_or_else(|| format!("--{name} is missing"))
    }

    pub(crate) fn scenario(&self) -> Result<Scenario, String> {
        match self.text("scenario")? {
            "leaf-spine" => Ok(Scenario::LeafSpine),
            "star" => Ok(Scenario::Star),
            other => Err(format!("--scenario is '{other}', allowed is star or leaf-spine")),
        }
    }

    /// Whether switches have eight queues, TCN and a pool.
    pub(crate) fn has_tcn(&self) -> Result<bool, String> {
        self.is("switch", "tcn", "red")
    }

    /// Whether an option has the first of two values.
    pub(crate) fn is(&self, name: &str, yes: &str, no: &str) -> Result<bool, String> {
        match self.text(name)? {
            text if text == yes => Ok(true),
            text if text == no => Ok(false),
            other => Err(format!("--{name} is '{other}', allowed is {yes} or {no}")),
        }
    }

    /// A number from `least` to `most`.
    pub(crate) fn number<T>(&self, name: &str, least: T, most: T) -> Result<T, String>
    where
        T: Copy + Display + FromStr + PartialOrd,
    {
        let text = self.text(name)?;
        let read = text.parse::<T>().ok();
        read.filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("--{name} is '{text}', allowed is {least} to {most}"))
    }

    /// A time in seconds; zero means none.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Time>, String> {
        let seconds = self.number(name, 0.0, 1e6)?;
        let time = Time::from_ps(to_whole(seconds * 1e12));
        Ok(Some(time).filter(|&time| time > Time::ZERO))
    }

    /// Propagation delay of a link.
    pub(crate) fn delay(&self) -> Result<Span, String> {
        let us = self.number("delay-us", 0.0, 1e6)?;
        Ok(Span::from_ps(to_whole(us * 1e6)))
    }

    /// Smallest retransmission timeout.
    pub(crate) fn least_timeout(&self) -> Result<Span, String> {
        let ms = self.number("min-rto-ms", 1e-3, 6e4)?;
        Ok(Span::from_ps(to_whole(ms * 1e9)))
    }

    /// Speed of a link.
    pub(crate) fn rate(&self) -> Result<Rate, String> {
        let gbps = self.number("rate-gbps", 1e-3, 1e3)?;
        Rate::from_bps(to_whole(gbps * 1e9)).ok_or_else(|| "--rate-gbps is 0".to_owned())
    }
}

/// The nearest whole number. The ranges of the options keep it far below 2^64.
#[expect(clippy::cast_sign_loss, reason = "options are checked not to be negative")]
fn to_whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn given_options_replace_defaults() {
        let options = parsed("--scenario star --hosts 3 --delay-us 0.5").unwrap();
        assert_eq!(options.scenario(), Ok(Scenario::Star));
        assert_eq!(options.number("hosts", 2, 10), Ok(3));
        assert_eq!(options.number("mss", 1, 9000), Ok(1460));
        assert_eq!(options.delay(), Ok(Span::from_ns(500)));
        assert_eq!(options.time("until-s"), Ok(None));
    }

    #[test]
    fn bad_options_are_named() {
        let error = |line: &str| parsed(line).unwrap_err();
        assert_eq!(error("--hosts 3"), "--scenario is missing");
        assert_eq!(error("--scenario ring"), "--scenario is 'ring', allowed is star or leaf-spine");
        assert_eq!(error("--scenario star extra"), "unknown option 'extra'");
        assert_eq!(error("--scenario star --host 3"), "unknown option '--host'");
        assert_eq!(error("--scenario"), "--scenario needs a value");
        assert_eq!(error("--scenario star --scenario star"), "--scenario is given twice");
        let options = parsed("--scenario star --hosts 1 --from-s -1 --mss x").unwrap();
        let hosts = options.number("hosts", 2, 10);
        assert_eq!(hosts.unwrap_err(), "--hosts is '1', allowed is 2 to 10");
        assert_eq!(
            options.time("from-s").unwrap_err(),
            "--from-s is '-1', allowed is 0 to 1000000"
        );
        assert!(options.number("mss", 1, 9000).is_err());
        let options = parsed("--scenario star --switch tcp").unwrap();
        assert_eq!(options.has_tcn().unwrap_err(), "--switch is 'tcp', allowed is tcn or red");
    }
}
