//! `tidegate live`: a switch on real interfaces, its monitor and its benchmark.

mod background;
mod bench;
mod top;
mod view;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use tidegate_live::config::Checksums;
use tidegate_live::confine::{Confinement, User, confine, confine_as_may_be};
use tidegate_live::endpoint::{Endpoint, Listener};
use tidegate_live::switch::Loop;
use tidegate_live::{Config, Counters, Live};
use tidegate_units::PortId;

use crate::args::live::LiveRun;
use crate::output::{Error, ExitStatus, Output};
use crate::process::stays_root;

use background::{Logger, Reader, Source};
pub(crate) use bench::bench;
pub(crate) use top::top;

/// `tidegate live run`.
pub(crate) fn run(arguments: &LiveRun, output: Output) -> Result<ExitStatus, Error> {
    let source = Source::new(&arguments.file);
    let config = source.read()?;
    let mut live = Live::open(&config).map_err(Error::new)?;
    // Printed later, by a thread that may wait for a reader.
    let mut warnings = config.warnings();
    let listener = if arguments.silent { None } else { Some(listen(arguments, &mut warnings)?) };
    if let Err(error) = tidegate_live::raise_priority() {
        warnings.push(format!("other work may delay packets: {error}"));
    }
    let stop = tidegate_live::stop_on_signals();
    let reload = tidegate_live::reload_on_signal();
    confine_to(arguments, &source, &mut warnings)?;
    // Threads started from here on have dropped their privileges too.
    let endpoint = listener.map(Listener::start).transpose();
    let endpoint = endpoint.map_err(Error::new)?;
    let (logger, flush) = Logger::start(output)?;
    let reader = Reader::start(source, config.clone(), logger.clone())?;
    for warning in &warnings {
        logger.warn(warning);
    }
    logger.say(&opened(&config, endpoint.as_ref()));
    let mut offloads = Offloads::new(&config);
    let done = live.run(|live| {
        let is_over = arguments.limit.is_some_and(|limit| live.uptime() >= limit);
        if is_over || stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if let Some(endpoint) = &endpoint {
            endpoint.serve(|| live.counters());
        }
        offloads.look(live, &logger);
        if reload.swap(false, Ordering::Relaxed) {
            reader.ask();
        }
        reader.take(|markers| live.swap_markers(markers));
        while let Some(found) = live.take_loop() {
            logger.warn(&looped(&config, found));
        }
        ControlFlow::Continue(())
    });
    done.map_err(Error::new)?;
    let counters = live.counters();
    warn(&counters, live.unchecked(), &logger);
    drop((logger, reader));
    let printed = printed(counters, output);
    flush.wait();
    printed
}

/// Warning about a loop.
fn looped(config: &Config, found: Loop) -> String {
    let name = |port: PortId| &config.ports[port.index()].interface;
    let (from, to) = (name(found.from), name(found.to));
    let done = match found.blocked {
        Some(port) => format!("{} is blocked until the loop is gone", name(port)),
        None => "hint: remove a cable, or set on_loop = \"block\"".into(),
    };
    format!("loop detected: a frame sent on {from} came back on {to}\n{done}")
}

/// Drops the privileges that a running switch does not need.
fn confine_to(
    arguments: &LiveRun,
    source: &Source,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let mut confinement = Confinement {
        user: None,
        is_filtered: !arguments.no_filter,
        dumps_core: arguments.core_dumps,
    };
    if User::current().is_root() {
        let user = match &arguments.user {
            None => User::nobody(),
            Some(name) => User::find(name).map_err(Error::new)?,
        };
        confinement.user = Some(user).filter(|user| !user.is_root());
    }
    let stayed = match &arguments.user {
        None => confine_as_may_be(&confinement),
        Some(_) => confine(&confinement).map(|()| None),
    };
    if let Some(why) = stayed.map_err(Error::new)? {
        warnings.push(stays_root(&why));
    }
    if let Err(error) = source.open() {
        let name = &source.name;
        warnings.push(format!(
            "`kill -HUP` cannot reload {name}: {error}\nhint: make it readable for the user of the \
             switch, or choose another user: --user NAME"
        ));
    }
    Ok(())
}

/// Warns once per port about frames without checksums.
struct Offloads {
    names: Vec<Option<String>>,
    checksums: Checksums,
}

impl Offloads {
    fn new(config: &Config) -> Self {
        let names = config.ports.iter();
        let names = names.map(|port| Some(port.interface.clone()));
        Self { names: names.collect(), checksums: config.options.checksums }
    }

    fn look(&mut self, live: &Live, logger: &Logger) {
        for (name, count) in self.names.iter_mut().zip(live.unchecked()) {
            if count > 0
                && let Some(name) = name.take()
            {
                let (which, or) = match self.checksums {
                    Checksums::Pass => ("", "; or set checksums = \"finish\" in [switch]"),
                    Checksums::Finish => (" of tunnels or of other protocols", ""),
                };
                logger.warn(&format!(
                    "{name}: frames{which} arrive without checksums, and their receivers will drop \
                     them\nhint: at the sender, {TURN_OFF}{or}"
                ));
            }
        }
    }
}

/// Command that turns a sender's offloads off.
const TURN_OFF: &str = "ethtool -K DEV tx off tso off gso off gro off";

fn listen(arguments: &LiveRun, warnings: &mut Vec<String>) -> Result<Listener, Error> {
    let address = arguments.listen;
    if !address.ip().is_loopback() {
        warnings.push(format!(
            "anyone who can reach {address} can read the counters: there is no password and no \
             encryption"
        ));
    }
    Listener::bind(address, &arguments.host).map_err(|error| {
        let hint =
            "hint: another switch may use it; choose another with --listen, or none with --silent";
        Error::new(format!("{error}\n{hint}"))
    })
}

fn opened(config: &Config, endpoint: Option<&Endpoint>) -> String {
    let ports = config.ports.iter();
    let ports = ports.map(|port| format!("{} at {}", port.interface, port.rate));
    let ports = ports.collect::<Vec<_>>().join(", ");
    let marking = config.marking.name();
    let counters = endpoint.map(|endpoint| format!("; counters at http://{}", endpoint.address()));
    format!("forwarding with {marking}: {ports}{}", counters.unwrap_or_default())
}

/// Prints the counters, but does not wait for ever for a reader.
fn printed(counters: Counters, output: Output) -> Result<ExitStatus, Error> {
    match background::patiently(move || print(&counters, output))? {
        Some(printed) => printed.map(|()| ExitStatus::Good),
        None => Ok(ExitStatus::Bad),
    }
}

/// Prints the counters.
fn print(counters: &Counters, output: Output) -> Result<(), Error> {
    if output.json {
        return output.print_json(counters);
    }
    let text = serde_json::to_string(counters).map_err(Error::new)?;
    let sample = view::Sample::read(&text).map_err(Error::new)?;
    output.print(&view::table(None, &sample, output.paint))
}

/// Warns of lost and damaged frames.
fn warn(counters: &Counters, unchecked: impl Iterator<Item = u64>, logger: &Logger) {
    for (port, unchecked) in counters.ports.iter().zip(unchecked) {
        let name = &port.interface;
        if port.missed > 0 {
            logger.warn(&format!(
                "{name}: the kernel's ring had no room for {} frames\nhint: set a larger `ring`, or \
                 run fewer programs beside the switch",
                port.missed
            ));
        }
        if unchecked > 0 {
            logger.warn(&format!(
                "{name}: {unchecked} frames arrived and left without a checksum\nhint: at the \
                 sender, {TURN_OFF}"
            ));
        }
        if let Some(lost) = port.drops.get("no-buffer") {
            logger.warn(&format!(
                "{name}: the interface had no buffer for {lost} frames\nhint: the MTU at its other \
                 end may be smaller than the senders' MTU"
            ));
        }
    }
}
