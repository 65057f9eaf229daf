//! `tidegate host unload`.

use std::fmt::Write;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::status::holder;
use super::{Output, chosen, find};
use crate::algorithm::Algorithm;
use crate::args::Unload;
use crate::error::Error;
use crate::kernel::{self, Holder, Reach, Registered, Sockets, Walker};
use crate::{machine, namespaces};

/// Result of a removal, or its preview.
#[derive(Debug, Serialize)]
struct Report {
    name: String,
    /// Connections and listeners that were given another algorithm.
    moved: u64,
    /// Network namespaces with the algorithm as default.
    defaults: u64,
    /// New algorithm of the sockets.
    to: String,
    /// New default of the namespaces: not every algorithm is permitted as a default.
    default: String,
    /// Connections in invisible network namespaces, which keep the algorithm until they end.
    left: u64,
    /// Whether these are only the remains of a load that was killed.
    half: bool,
    dry_run: bool,
}

impl Report {
    fn new(name: &str, to: &str, dry_run: bool) -> Self {
        Self {
            name: name.to_owned(),
            moved: 0,
            defaults: 0,
            to: to.to_owned(),
            default: to.to_owned(),
            left: 0,
            half: false,
            dry_run,
        }
    }
}

/// Users of an algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Uses {
    connections: u64,
    listeners: u64,
    defaults: u64,
}

pub(super) fn unload(arguments: &Unload, output: Output) -> Result<(), Error> {
    for name in &arguments.names {
        find(name)?;
    }
    machine::check_privileges(machine::TO_REMOVE)?;
    machine::check_kernel(&arguments.types)?;
    let mut left: Vec<_> = kernel::leftovers(&arguments.pins);
    left.retain(|algorithm| is_chosen(algorithm, &arguments.names));
    let is_left = |name: &str| left.iter().any(|algorithm| algorithm.name() == name);
    let registered = kernel::registered(&arguments.pins)?;
    let is_kept = |one: &&Registered| matches!(one.holder, Holder::Pin(_));
    let pinned = || registered.iter().filter(is_kept).map(|one| one.name.clone()).collect();
    let mut names = chosen(&arguments.names, pinned);
    names.retain(|name| !is_left(name));
    if names.is_empty() && left.is_empty() {
        return Err(Error::NothingLoaded);
    }
    let to = successor(arguments)?;
    let walker = Walker::new()?;
    // All are examined before any is removed.
    let mut found = Vec::new();
    for name in &names {
        let one =
            registered.iter().find(|one| one.name == *name && one.holder != Holder::Connections);
        let one = one.ok_or_else(|| Error::NotLoaded(name.clone()))?;
        if !is_kept(&one) {
            return Err(Error::Held { name: name.clone(), holder: holder(&one.holder) });
        }
        let mut uses = uses(&find(name)?, &walker)?;
        // Some may be in namespaces that are invisible from here.
        uses.connections = uses.connections.max(one.counters.connections);
        if let Some(by) = in_words(uses).filter(|_| !arguments.wait && !arguments.force) {
            return Err(Error::InUse { name: name.clone(), by });
        }
        found.push((one, uses));
    }
    let mut reports = Vec::new();
    for algorithm in &left {
        if !arguments.dry_run {
            kernel::unregister(algorithm, &arguments.pins)?;
        }
        reports
            .push(Report { half: true, ..Report::new(algorithm.name(), &to, arguments.dry_run) });
    }
    for (one, uses) in found {
        let mut report = plan(one, uses, &to, arguments);
        if !arguments.dry_run {
            remove(one, &mut report, &walker, arguments, output)?;
        }
        reports.push(report);
    }
    if output.json {
        return output.print_json(&reports);
    }
    let lines = reports.iter().map(line);
    output.print(&lines.collect::<String>())
}

/// Whether the names select an algorithm: no names select all.
fn is_chosen(algorithm: &Algorithm, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|name| name == algorithm.name())
}

fn line(report: &Report) -> String {
    if report.half {
        let verb = if report.dry_run { "would remove" } else { "removed" };
        let name = &report.name;
        return format!("{verb} the remains of a killed load of {name}\n");
    }
    let verb = if report.dry_run { "would unload" } else { "unloaded" };
    let Report { name, moved, defaults, to, default, .. } = report;
    let mut text = format!("{verb} {name}");
    if *moved > 0 {
        let _ = write!(text, "; sockets moved to {to}: {moved}");
    }
    if *defaults > 0 {
        let _ = write!(text, "; namespaces whose default is now {default}: {defaults}");
    }
    text + "\n"
}

/// The algorithm that replaces another one.
fn successor(arguments: &Unload) -> Result<String, Error> {
    let available = machine::available();
    let is_ours = |name: &str| Algorithm::of_kernel_name(name).is_some();
    let usable = |name: &String| available.contains(name) && !is_ours(name);
    if let Some(name) = &arguments.to {
        return Some(name).filter(|name| usable(name)).cloned().ok_or_else(|| {
            let known = available.iter().filter(|name| !is_ours(name)).cloned();
            Error::Unknown {
                name: name.clone(),
                hint: " that could take its place".into(),
                known: known.collect::<Vec<_>>().join(", "),
            }
        });
    }
    let wanted = [machine::default_algorithm(), Some("cubic".into()), Some("reno".into())];
    let found = wanted.into_iter().flatten().find(usable);
    Ok(found.unwrap_or_else(|| "reno".into()))
}

/// Users of an algorithm, in all network namespaces.
fn uses(algorithm: &Algorithm, walker: &Walker) -> Result<Uses, Error> {
    let mut uses = Uses::default();
    for namespace in namespaces::all().values() {
        let (sockets, is_default) = namespaces::within(namespace, || {
            let sockets = walker.walk(algorithm, "", Reach::None)?;
            Ok((sockets, is_default(algorithm)))
        })?;
        uses.connections += sockets.connections;
        uses.listeners += sockets.listeners;
        uses.defaults += u64::from(is_default);
    }
    Ok(uses)
}

fn is_default(algorithm: &Algorithm) -> bool {
    let default = machine::default_algorithm();
    default.is_some_and(|default| algorithm.kernel_names().contains(&default.as_str()))
}

fn in_words(uses: Uses) -> Option<String> {
    let Uses { connections, listeners, defaults } = uses;
    let parts = [
        (connections, "connection"),
        (listeners, "listening socket"),
        (defaults, "network namespace that has it as default"),
    ];
    let parts = parts.into_iter().filter(|&(count, _)| count > 0);
    let parts = parts.map(|(count, what)| match (count, what.split_once(' ')) {
        (1, _) => format!("1 {what}"),
        (_, Some(("listening", _))) => format!("{count} listening sockets"),
        (_, Some(_)) => format!("{count} network namespaces that have it as default"),
        (_, None) => format!("{count} {what}s"),
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    (!parts.is_empty()).then_some(parts)
}

/// Preview of a removal.
fn plan(one: &Registered, uses: Uses, to: &str, arguments: &Unload) -> Report {
    let connections = if arguments.force { uses.connections } else { 0 };
    Report {
        moved: connections + uses.listeners,
        defaults: uses.defaults,
        ..Report::new(&one.name, to, arguments.dry_run)
    }
}

fn remove(
    one: &Registered,
    report: &mut Report,
    walker: &Walker,
    arguments: &Unload,
    output: Output,
) -> Result<(), Error> {
    let algorithm = find(&one.name)?;
    let counters = one.open_counters()?;
    kernel::unregister(&algorithm, &arguments.pins)?;
    if arguments.wait || arguments.force {
        let reach = if arguments.force { Reach::All } else { Reach::Listeners };
        let (sockets, default) = move_over(&algorithm, &report.to, reach, walker)?;
        let connections = if arguments.force { sockets.connections } else { 0 };
        report.moved = connections + sockets.listeners;
        report.default = default;
    }
    let left = kernel::counters(&counters).connections;
    if arguments.force && left > 0 {
        report.left = left;
        output.warn(format!(
            "{left} connections of {} are in network namespaces that cannot be seen from here, and \
             keep it until they end",
            one.name
        ));
    }
    if arguments.wait {
        wait(&one.name, || kernel::counters(&counters).connections, output);
    }
    Ok(())
}

/// Waits until no connection is left.
fn wait(name: &str, left: impl Fn() -> u64, output: Output) {
    if left() > 0 {
        output.say(format!("{name}: waiting for {} connections to end", left()));
    }
    while left() > 0 {
        thread::park_timeout(Duration::from_millis(100));
    }
}

/// Gives the sockets of all namespaces, and the namespaces themselves, another algorithm. The
/// second result is the namespaces' new default.
fn move_over(
    algorithm: &Algorithm,
    to: &str,
    reach: Reach,
    walker: &Walker,
) -> Result<(Sockets, String), Error> {
    let mut moved = Sockets::default();
    let mut default = to;
    for namespace in namespaces::all().values() {
        let (own, set) = namespaces::within(namespace, || {
            let set = is_default(algorithm).then(|| set_default(to)).transpose()?;
            Ok((walker.walk(algorithm, to, reach)?, set))
        })?;
        moved += own;
        default = set.unwrap_or(default);
    }
    if moved.failed > 0 {
        return Err(Error::System {
            action: format!(
                "give {} sockets of {} the algorithm {to}",
                moved.failed,
                algorithm.name()
            ),
            why: "they keep theirs until they are closed".into(),
        });
    }
    Ok((moved, default.to_owned()))
}

/// Sets the default of this namespace: `to`, or Reno, which is always permitted.
fn set_default(to: &str) -> Result<&str, Error> {
    let set = |name| fs::write(machine::DEFAULT, name);
    let (name, set) = match set(to) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ("reno", set("reno")),
        other => (to, other),
    };
    set.map_err(Error::system("set net.ipv4.tcp_congestion_control"))?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_an_algorithm_are_listed_as_text() {
        let words =
            |connections, listeners, defaults| in_words(Uses { connections, listeners, defaults });
        assert_eq!(words(0, 0, 0), None);
        assert_eq!(words(1, 0, 0).as_deref(), Some("1 connection"));
        let all =
            "2 connections, 3 listening sockets, 2 network namespaces that have it as default";
        assert_eq!(words(2, 3, 2).as_deref(), Some(all));
    }
}
