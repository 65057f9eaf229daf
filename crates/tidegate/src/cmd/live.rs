//! `tidegate live`: a switch on real interfaces, a view of it, and its bench.

mod bench;
mod top;
mod view;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use tidegate_live::endpoint::Endpoint;
use tidegate_live::{Config, Counters, Live};

use crate::args::live::LiveRun;
use crate::output::{Error, Output, Verdict};

pub(crate) use bench::bench;
pub(crate) use top::top;

/// `tidegate live run`.
pub(crate) fn run(arguments: &LiveRun, output: Output) -> Result<Verdict, Error> {
    let mut config = read(&arguments.file)?;
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
    output.say(&opened(&config, endpoint.as_ref()));
    let done = live.run(|live| {
        let is_over = arguments.limit.is_some_and(|limit| live.uptime() >= limit);
        if is_over || stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if let Some(endpoint) = &endpoint {
            endpoint.serve(|| live.counters());
        }
        if reload.swap(false, Ordering::Relaxed) {
            match changed(&arguments.file, &config, live) {
                Ok(new) => {
                    config = new;
                    output.say(&format!("read {} again", arguments.file.display()));
                }
                Err(Error::Other(text)) => output.warn(&format!("nothing has changed: {text}")),
                Err(Error::ClosedPipe) => {}
            }
        }
        ControlFlow::Continue(())
    });
    done.map_err(Error::new)?;
    print(&live.counters(), output)?;
    Ok(Verdict::Good)
}

fn read(file: &Path) -> Result<Config, Error> {
    let name = file.display();
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Error::new(format!("cannot read {name}: {error}")))?;
    Config::parse(&name.to_string(), &text).map_err(Error::new)
}

fn listen(arguments: &LiveRun) -> Result<Endpoint, Error> {
    Endpoint::listen(arguments.listen).map_err(|error| {
        let hint =
            "hint: another switch may be there; --listen takes another address, --silent none";
        Error::new(format!("{error}\n{hint}"))
    })
}

/// Changes the running switch to what the file says now.
fn changed(file: &Path, config: &Config, live: &mut Live) -> Result<Config, Error> {
    let new = read(file)?;
    let marking = config.reload(&new).map_err(Error::new)?;
    live.set_marking(&marking).map_err(Error::new)?;
    Ok(new)
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

/// Prints what a switch has done, and says what should not have happened.
fn print(counters: &Counters, output: Output) -> Result<(), Error> {
    if output.json {
        output.print_json(counters)?;
    } else {
        let text = serde_json::to_string(counters).map_err(Error::new)?;
        let sample = view::Sample::read(&text).map_err(Error::new)?;
        output.print(&view::table(None, &sample, output.paint))?;
    }
    for port in &counters.ports {
        let name = &port.interface;
        if port.missed > 0 {
            output.warn(&format!(
                "{name}: the kernel had no room for {} frames\nhint: a larger `ring`, or fewer \
                 programs beside the switch",
                port.missed
            ));
        }
        if port.unfinished > 0 {
            output.warn(&format!(
                "{name}: {} frames came without a checksum\nhint: at their sender, ethtool -K DEV \
                 tx off tso off gso off gro off",
                port.unfinished
            ));
        }
    }
    Ok(())
}
