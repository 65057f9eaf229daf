//! `tidegate live`: a switch on real interfaces, a view of it, and its bench.

mod aside;
mod bench;
mod top;
mod view;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use tidegate_live::endpoint::Endpoint;
use tidegate_live::switch::Loop;
use tidegate_live::{Config, Counters, Live};
use tidegate_units::PortId;

use crate::args::live::LiveRun;
use crate::output::{Error, Output, Verdict};

use aside::{Reader, Speaker};
pub(crate) use bench::bench;
pub(crate) use top::top;

/// `tidegate live run`.
pub(crate) fn run(arguments: &LiveRun, output: Output) -> Result<Verdict, Error> {
    let config = aside::read(&arguments.file)?;
    let mut live = Live::open(&config).map_err(Error::new)?;
    let endpoint = if arguments.silent {
        None
    } else {
        Some(listen(arguments)?)
    };
    if let Err(error) = tidegate_live::raise_priority() {
        output.warn(&format!("other work may delay packets: {error}"));
    }
    tidegate_live::drop_privileges().map_err(Error::new)?;
    let stop = tidegate_live::stop_on_signals();
    let reload = tidegate_live::reload_on_signal();
    // From here on they have no more privileges than this thread.
    let (speaker, silence) = Speaker::start(output)?;
    let reader = Reader::start(arguments.file.clone(), config.clone(), speaker.clone())?;
    for warning in config.warnings() {
        speaker.warn(&warning);
    }
    speaker.say(&opened(&config, endpoint.as_ref()));
    let done = live.run(|live| {
        let is_over = arguments.limit.is_some_and(|limit| live.uptime() >= limit);
        if is_over || stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if let Some(endpoint) = &endpoint {
            endpoint.serve(|| live.counters());
        }
        if reload.swap(false, Ordering::Relaxed) {
            reader.ask();
        }
        reader.take(|markers| live.swap_markers(markers));
        if let Some(found) = live.take_loop() {
            speaker.warn(&looped(&config, found));
        }
        ControlFlow::Continue(())
    });
    done.map_err(Error::new)?;
    let counters = live.counters();
    print(&counters, output)?;
    warn(&counters, &speaker);
    drop((speaker, reader));
    silence.wait();
    Ok(Verdict::Good)
}

/// What a loop is and what was done about it.
fn looped(config: &Config, found: Loop) -> String {
    let name = |port: PortId| &config.ports[port.index()].interface;
    let (from, to) = (name(found.from), name(found.to));
    let done = match found.blocked {
        Some(port) => format!("{} is blocked until it is gone", name(port)),
        None => "hint: take a cable out, or have on_loop = \"block\"".into(),
    };
    format!("a loop: a frame that left by {from} came back at {to}\n{done}")
}

fn listen(arguments: &LiveRun) -> Result<Endpoint, Error> {
    Endpoint::listen(arguments.listen).map_err(|error| {
        let hint =
            "hint: another switch may be there; --listen takes another address, --silent none";
        Error::new(format!("{error}\n{hint}"))
    })
}

fn opened(config: &Config, endpoint: Option<&Endpoint>) -> String {
    let ports = config.ports.iter();
    let ports = ports.map(|port| format!("{} at {}", port.interface, port.rate));
    let ports = ports.collect::<Vec<_>>().join(", ");
    let marking = config.marking.name();
    let counters = endpoint.map(|endpoint| format!("; counters at http://{}", endpoint.address()));
    format!(
        "forwarding with {marking}: {ports}{}",
        counters.unwrap_or_default()
    )
}

/// Prints what a switch has done.
fn print(counters: &Counters, output: Output) -> Result<(), Error> {
    if output.json {
        return output.print_json(counters);
    }
    let text = serde_json::to_string(counters).map_err(Error::new)?;
    let sample = view::Sample::read(&text).map_err(Error::new)?;
    output.print(&view::table(None, &sample, output.paint))
}

/// Says what should not have happened.
fn warn(counters: &Counters, speaker: &Speaker) {
    for port in &counters.ports {
        let name = &port.interface;
        if port.missed > 0 {
            speaker.warn(&format!(
                "{name}: the kernel had no room for {} frames\nhint: a larger `ring`, or fewer \
                 programs beside the switch",
                port.missed
            ));
        }
        if port.unfinished > 0 {
            speaker.warn(&format!(
                "{name}: {} frames came without a checksum\nhint: at their sender, ethtool -K DEV \
                 tx off tso off gso off gro off",
                port.unfinished
            ));
        }
        if let Some(lost) = port.drops.get("no-buffer") {
            speaker.warn(&format!(
                "{name}: {lost} frames found no buffer behind it\nhint: the MTU at the other end \
                 may be smaller than that of their senders"
            ));
        }
    }
}
