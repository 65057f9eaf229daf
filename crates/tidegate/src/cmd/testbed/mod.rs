//! `tidegate testbed`: hosts and a switch on this machine.
//!
//! `up` creates namespaces and starts a process that runs the switch without privileges. A note
//! file holds the id of the process for `down`. Namespaces carry a mark by which `down` and the
//! next `up` find them.

mod twin;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tidegate_live::confine::{Confinement, User, confine_as_may_be};
use tidegate_live::endpoint::{self, Listener};
use tidegate_live::testbed::{self, Bed, Note, remove_leftovers};
use tidegate_reproduce::source;
use tidegate_testbed::{Rig, rig};

use crate::args::testbed::Up;
use crate::output::{Error, ExitStatus, Output};
use crate::process::{stays_root, this_program};

pub(crate) use twin::twin;

/// Folder of a running testbed's note and log.
const FOLDER: &str = "/run/tidegate";

/// Address of its switch's endpoint.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9755);

fn note_file() -> PathBuf {
    Path::new(FOLDER).join("testbed.pid")
}

/// `tidegate testbed up`.
pub(crate) fn up(arguments: &Up, output: Output) -> Result<ExitStatus, Error> {
    check_file(&arguments.file)?;
    let rig = first_run(arguments, output)?;
    for warning in rig.config.warnings() {
        output.warn(&warning);
    }
    // The lock keeps other testbeds out until this one is up or removed.
    let mut note = clear(arguments.replace, output)?.0;
    check_address()?;
    let stop = tidegate_live::stop_on_signals();
    // Removing an earlier testbed may take a while.
    let bed = Bed::named(rig.config.ports.len()).map_err(Error::new);
    let done = bed.and_then(|bed| hold(arguments, &rig, &bed, &mut note, stop, output));
    if arguments.stay || done.is_err() {
        remove_leftovers().map_err(Error::new)?;
    }
    done
}

/// Refuses a pipe: the process of the switch reads the file again.
fn check_file(file: &str) -> Result<(), Error> {
    let is_once = file == "-" || fs::metadata(file).is_ok_and(|found| !found.is_file());
    if is_once {
        return Err(Error::new(format!(
            "{file}: a testbed needs a regular file, because two processes read it"
        )));
    }
    Ok(())
}

/// Refuses to start while another process listens on the address of the testbed's switch.
fn check_address() -> Result<(), Error> {
    let bound = Listener::bind(LISTEN, &[]);
    bound.map(drop).map_err(|error| {
        let hint =
            "hint: another switch may use it; stop it, or give it another address with --listen";
        Error::new(format!("{error}\n{hint}"))
    })
}

/// The testbed of a scenario's first run.
fn first_run(arguments: &Up, output: Output) -> Result<Rig, Error> {
    let scenario = source::read(&arguments.file, &arguments.set).map_err(Error::new)?;
    let plan = scenario.plan().map_err(Error::new)?;
    let first = plan.first().ok_or_else(|| Error::new("the scenario has no run"))?;
    let built = first.build().map_err(Error::new)?;
    if plan.len() > 1 {
        output.warn(&format!("using the first of {} runs: {}", plan.len(), first.label));
    }
    rig(&built).map_err(Error::new)
}

/// Starts the switch of a bed, and returns when it runs or, on request, when it has ended.
fn hold(
    arguments: &Up,
    rig: &Rig,
    bed: &Bed,
    note: &mut Note,
    stop: &AtomicBool,
    output: Output,
) -> Result<ExitStatus, Error> {
    bed.prepare(&rig.plan.tcp).map_err(Error::new)?;
    let mut switch = start(arguments, note).map_err(|error| cannot_start(&error))?;
    let noted = note.write(switch.id());
    let noted = noted.map_err(|error| cannot_start(&error));
    let done = noted.and_then(|()| attend(arguments, rig, &mut switch, stop, output));
    if done.is_err() {
        // The process may have ended by itself.
        let _ = switch.kill();
        let _ = switch.wait();
    }
    done
}

fn cannot_start(error: &io::Error) -> Error {
    Error::new(format!("cannot start the switch: {error}"))
}

/// Waits until the switch is up, reports it and, on request, stays until it ends.
fn attend(
    arguments: &Up,
    rig: &Rig,
    switch: &mut Child,
    stop: &AtomicBool,
    output: Output,
) -> Result<ExitStatus, Error> {
    await_answer(switch, stop)?;
    if output.json {
        let hosts = rig.config.ports.len();
        let value = json!({ "hosts": hosts, "process": switch.id(), "counters": LISTEN });
        output.print_json(&value)?;
    } else {
        output.say(&hints(rig));
    }
    if !arguments.stay {
        output.say("remove it with `tidegate testbed down`");
        return Ok(ExitStatus::Good);
    }
    let lost = |error: io::Error| Error::new(format!("cannot see the switch: {error}"));
    while !stop.load(Ordering::Relaxed) && switch.try_wait().map_err(lost)?.is_none() {
        thread::park_timeout(NAP);
    }
    if switch.try_wait().map_err(lost)?.is_none() {
        tidegate_live::ask_to_end(switch.id()).map_err(Error::new)?;
    }
    switch.wait().map_err(lost)?;
    Ok(ExitStatus::Good)
}

/// Interval between checks of the switch's process.
const NAP: Duration = Duration::from_millis(50);

fn log_file() -> PathBuf {
    Path::new(FOLDER).join("testbed.log")
}

/// Starts the process of the switch, which keeps the note locked.
fn start(arguments: &Up, note: &Note) -> io::Result<Child> {
    let mut command = this_program()?;
    command.args(["testbed", "switch", "--color", "never", &arguments.file]);
    for change in &arguments.set {
        command.args(["--set", change]);
    }
    command
        .stdin(note.share()?)
        .stdout(Stdio::null())
        .stderr(fs::File::create(log_file())?)
        .process_group(0)
        .spawn()
}

/// Waits until the switch answers. An error has the switch's own message.
fn await_answer(switch: &mut Child, stop: &AtomicBool) -> Result<(), Error> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::new("interrupted"));
        }
        let ended = switch.try_wait();
        let ended = ended.map_err(|error| Error::new(format!("cannot see the switch: {error}")))?;
        if let Some(status) = ended {
            let text = fs::read_to_string(log_file()).unwrap_or_default();
            let text = text.trim().trim_start_matches("error: ");
            return Err(Error::new(format!("the switch did not start ({status}): {text}")));
        }
        if endpoint::fetch(LISTEN).is_ok() {
            return Ok(());
        }
        thread::park_timeout(NAP);
    }
}

/// `tidegate testbed switch`: runs the switch between the hosts that `up` created, until a signal.
pub(crate) fn switch(arguments: &Up, output: Output) -> Result<ExitStatus, Error> {
    let rig = first_run(arguments, output)?;
    let stop = tidegate_live::stop_on_signals();
    // In the user's namespace, not the switch's.
    let listener = Listener::bind(LISTEN, &[]).map_err(Error::new)?;
    let mut live = testbed::switch(&rig.config).map_err(Error::new)?;
    // Without a higher priority, the measured lateness grows.
    let _ = tidegate_live::raise_priority();
    let mut confinement = Confinement::default();
    if User::current().is_root() {
        confinement.user = Some(User::nobody());
    }
    let stayed = confine_as_may_be(&confinement).map_err(Error::new)?;
    if let Some(why) = stayed {
        output.warn(&stays_root(&why));
    }
    let endpoint = listener.start().map_err(Error::new)?;
    let done = live.run(|live| {
        endpoint.serve(|| live.counters());
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    done.map_err(Error::new)?;
    Ok(ExitStatus::Good)
}

fn hints(rig: &Rig) -> String {
    let hosts = rig.config.ports.len();
    format!(
        "{hosts} hosts, 10.77.0.1 to 10.77.0.{hosts}, in namespaces tidegate-host0 to \
         tidegate-host{}\nthe switch marks with {}; watch it with `tidegate live top`",
        hosts - 1,
        rig.config.marking.name()
    )
}

/// `tidegate testbed down`.
pub(crate) fn down(output: Output) -> Result<ExitStatus, Error> {
    let (_note, removed) = clear(true, output)?;
    if output.json {
        output.print_json(&json!({ "removed": removed }))?;
    } else if removed == 0 {
        output.say("nothing to remove");
    }
    Ok(ExitStatus::Good)
}

/// Removes leftovers of a testbed, and stops a running one if it `may`. Returns the note and the
/// number of things removed.
fn clear(may: bool, output: Output) -> Result<(Note, usize), Error> {
    let mut removed = 0;
    let note = match take_note()? {
        Some(note) => note,
        None if may => {
            removed += 1;
            end(output)?
        }
        None => {
            return Err(Error::new(
                "a testbed is already up\nhint: remove it with `tidegate testbed down`, or replace it with `up --replace`",
            ));
        }
    };
    let names = remove_leftovers().map_err(Error::new)?;
    if !names.is_empty() {
        output.say(&format!("removed leftovers of a testbed: {}", names.join(", ")));
    }
    Ok((note, removed + names.len()))
}

/// Takes the note, unless a testbed is up. A testbed killed a moment ago may still hold it.
fn take_note() -> Result<Option<Note>, Error> {
    let path = note_file();
    let mut naps = 0;
    loop {
        match Note::take(&path).map_err(Error::write(&path))? {
            None if naps < 20 => naps += 1,
            taken => return Ok(taken),
        }
        thread::park_timeout(NAP);
    }
}

/// Stops the running testbed.
fn end(output: Output) -> Result<Note, Error> {
    let process = Note::holder(&note_file());
    let process = process.ok_or_else(|| Error::new("a testbed is starting; try again"))?;
    tidegate_live::ask_to_end(process).map_err(Error::new)?;
    for _ in 0..5 {
        if let Some(note) = take_note()? {
            output.say("stopped the switch of a testbed");
            return Ok(note);
        }
    }
    Err(Error::new(format!("process {process} does not exit")))
}
