//! `tidegate host load`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::mpsc;

use serde::Serialize;

use super::{Output, find};
use crate::algorithm::Algorithm;
use crate::args::Load;
use crate::error::Error;
use crate::{kernel, machine};

/// Algorithms loaded, or to be loaded.
#[derive(Debug, Serialize)]
struct Report<'a> {
    name: &'a str,
    kernel_names: &'a [&'a str],
    parameters: BTreeMap<&'static str, String>,
    pin: Option<String>,
    dry_run: bool,
}

pub(super) fn load(arguments: &Load, output: Output) -> Result<(), Error> {
    let algorithms = algorithms(arguments)?;
    machine::check_privileges(machine::TO_LOAD)?;
    machine::check_kernel(&arguments.types)?;
    if !arguments.foreground {
        machine::check_pins(&arguments.pins)?;
    }
    let left = kernel::leftovers(&arguments.pins);
    let is_left =
        |name: &str| left.iter().any(|algorithm| algorithm.kernel_names().contains(&name));
    let available = machine::available();
    for algorithm in &algorithms {
        let is_taken = |name: &&str| available.iter().any(|there| there == *name) && !is_left(name);
        if algorithm.kernel_names().iter().any(is_taken) {
            return Err(Error::Loaded(algorithm.name().into()));
        }
    }
    if arguments.dry_run {
        return report(&algorithms, arguments, output);
    }
    for algorithm in &left {
        let name = algorithm.name();
        output.say(format!("removing the remains of a killed load of {name}"));
        kernel::unregister(algorithm, &arguments.pins)?;
    }
    let (sender, stopped) = mpsc::channel();
    if arguments.foreground {
        let handler = ctrlc::set_handler(move || {
            let _ = sender.send(());
        });
        handler.map_err(Error::system("wait for Ctrl-C"))?;
    }
    let mut loaded = Vec::new();
    for algorithm in &algorithms {
        loaded.push(kernel::load(algorithm)?);
    }
    if arguments.foreground {
        report(&algorithms, arguments, output)?;
        output.say("loaded until Ctrl-C");
        // An error means that the handler is gone, which cannot happen.
        let _ = stopped.recv();
        return Ok(());
    }
    for place in 0..loaded.len() {
        if let Err(error) = loaded[place].pin(&arguments.pins) {
            for earlier in &mut loaded[..place] {
                earlier.unpin();
            }
            return Err(error);
        }
    }
    report(&algorithms, arguments, output)
}

/// The requested algorithms, with their parameters.
fn algorithms(arguments: &Load) -> Result<Vec<Algorithm>, Error> {
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for name in &arguments.names {
        let algorithm = find(name)?;
        if !algorithms.contains(&algorithm) {
            algorithms.push(algorithm);
        }
    }
    for text in &arguments.set {
        set(&mut algorithms, text).map_err(|why| Error::Parameter { text: text.clone(), why })?;
    }
    for algorithm in &algorithms {
        algorithm.encode().map_err(|error| Error::Parameter {
            text: arguments.set.join(" --set "),
            why: format!("{}: {error}", algorithm.name()),
        })?;
    }
    Ok(algorithms)
}

/// Sets a parameter of all algorithms, or of the one named in the key.
fn set(algorithms: &mut [Algorithm], text: &str) -> Result<(), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    let (name, field) = match key.split_once('.') {
        Some((name, field)) => (Some(name), field),
        None => (None, key),
    };
    let is_meant = |algorithm: &Algorithm| name.is_none_or(|name| name == algorithm.name());
    if !algorithms.iter().any(is_meant) {
        return Err(format!("{} is not loaded by this command", name.unwrap_or("")));
    }
    for algorithm in algorithms.iter_mut().filter(|algorithm| is_meant(algorithm)) {
        let name = algorithm.name();
        let set = algorithm.set(field, value);
        set.map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

fn report(algorithms: &[Algorithm], arguments: &Load, output: Output) -> Result<(), Error> {
    let reports = algorithms.iter().map(|algorithm| {
        let pin = arguments.pins.join(algorithm.name());
        Report {
            name: algorithm.name(),
            kernel_names: algorithm.kernel_names(),
            parameters: algorithm.parameters().into_iter().collect(),
            pin: (!arguments.foreground).then(|| pin.display().to_string()),
            dry_run: arguments.dry_run,
        }
    });
    let reports: Vec<_> = reports.collect();
    if output.json {
        return output.print_json(&reports);
    }
    let mut text = String::new();
    for report in &reports {
        let parameters = report.parameters.iter();
        let parameters = parameters.map(|(name, value)| format!(" {name}={value}"));
        // Writing to a string cannot fail.
        let verb = if report.dry_run { "would load" } else { "loaded" };
        let pin = report.pin.iter().map(|pin| format!(", pinned at {pin}"));
        let pin = pin.collect::<String>();
        let _ = writeln!(text, "{verb} {}{pin}:{}", report.name, parameters.collect::<String>());
    }
    output.print(&text)?;
    hint(algorithms, output);
    Ok(())
}

/// Hint about the further settings needed for ECN.
fn hint(algorithms: &[Algorithm], output: Output) {
    let asks = |algorithm: &Algorithm| matches!(algorithm, Algorithm::Dctcp(_));
    let ecn = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap_or_default();
    if !algorithms.iter().all(asks) && ecn.trim() != "1" {
        output.say(
            "hint: connections that this machine opens ask for ECN only with net.ipv4.tcp_ecn=1, or over \
             routes with `features ecn`",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_for_all_or_for_one() {
        let of = |name| Algorithm::named(name).unwrap();
        let mut both = [of("tg_dctcp"), of("tg_odctcp_snd")];
        set(&mut both, "gain=1/8").unwrap();
        set(&mut both, "tg_odctcp_snd.initial_alpha=1").unwrap();
        set(&mut both, "tg_dctcp.initial-alpha=0").unwrap();
        assert_eq!(both[0].value("gain").as_deref(), Some("1/8"));
        assert_eq!(both[0].value("initial_alpha").as_deref(), Some("0"));
        assert_eq!(both[1].value("gain").as_deref(), Some("1/8"));
        assert_eq!(both[1].value("initial_alpha").as_deref(), Some("1"));
        for (text, why) in [
            ("gain", "KEY=VALUE"),
            ("colour=blue", "there is no setting `colour`"),
            ("tg_ecn_star.abc=2", "tg_ecn_star is not loaded"),
            ("gain=much", "gain"),
            ("loss=alpha", "tg_odctcp_snd"),
        ] {
            let error = set(&mut both, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
