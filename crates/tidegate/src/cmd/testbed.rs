//! `tidegate testbed`: hosts and a switch on this machine.
//!
//! `up` leaves a process behind that runs the switch; it writes its number to a file, by which `down`
//! finds it. Everything else has a name by which it is found.

mod twin;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tidegate_lab::live::{Rig, rig};
use tidegate_live::endpoint::Endpoint;
use tidegate_live::testbed::{self, Bed, remove_leftovers};

use super::source;
use crate::args::testbed::Up;
use crate::output::{Error, Output, Verdict};

pub(crate) use twin::twin;

/// Where the process of a testbed that is up tells of itself.
const FOLDER: &str = "/run/tidegate";

/// Where its switch can be asked.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9755);

fn pid_file() -> PathBuf {
    Path::new(FOLDER).join("testbed.pid")
}

/// `tidegate testbed up`.
pub(crate) fn up(arguments: &Up, output: Output) -> Result<Verdict, Error> {
    let scenario = source::read(&arguments.file, &arguments.set).map_err(Error::new)?;
    let plan = scenario.plan().map_err(Error::new)?;
    let first = plan
        .first()
        .ok_or_else(|| Error::new("the scenario has no run"))?;
    let built = first.build().map_err(Error::new)?;
    let rig = rig(&built).map_err(Error::new)?;
    if plan.len() > 1 {
        output.warn(&format!(
            "of {} runs this is the first: {}",
            plan.len(),
            first.label
        ));
    }
    if arguments.stay {
        stay(&rig, output)
    } else {
        leave(arguments, &rig, output)
    }
}

/// Makes the testbed and runs its switch until it is asked to end, then removes everything.
fn stay(rig: &Rig, output: Output) -> Result<Verdict, Error> {
    clear(output)?;
    let bed = Bed::named(rig.config.ports.len()).map_err(Error::new)?;
    let stop = tidegate_live::stop_on_signals();
    let endpoint = listen();
    let told = fs::create_dir_all(FOLDER)
        .and_then(|()| fs::write(pid_file(), std::process::id().to_string()));
    let done = match (&endpoint, told) {
        (Err(error), _) => Err(error.to_string()),
        (_, Err(error)) => Err(format!("cannot write {}: {error}", pid_file().display())),
        (Ok(endpoint), Ok(())) => {
            output.say(&hints(rig));
            let held = testbed::hold(&bed, &rig.config, &rig.plan.tcp, |live| {
                endpoint.serve(|| live.counters());
                if stop.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            held.map(drop).map_err(|error| error.to_string())
        }
    };
    let _ = fs::remove_file(pid_file());
    remove_leftovers().map_err(Error::new)?;
    done.map_err(Error::new)?;
    Ok(Verdict::Good)
}

/// Listens for those who ask. A process that was killed lets go of the address a little later.
fn listen() -> Result<Endpoint, tidegate_live::Error> {
    for _ in 0..40 {
        if let Ok(endpoint) = Endpoint::listen(LISTEN) {
            return Ok(endpoint);
        }
        thread::park_timeout(Duration::from_millis(50));
    }
    Endpoint::listen(LISTEN)
}

/// Starts a process that stays, and returns when its switch runs.
fn leave(arguments: &Up, rig: &Rig, output: Output) -> Result<Verdict, Error> {
    clear(output)?;
    let log = Path::new(FOLDER).join("testbed.log");
    let program = std::env::current_exe();
    let started = program.and_then(|program| {
        fs::create_dir_all(FOLDER)?;
        let mut command = Command::new(program);
        command.args([
            "testbed",
            "up",
            "--stay",
            "--color",
            "never",
            &arguments.file,
        ]);
        for change in &arguments.set {
            command.args(["--set", change]);
        }
        let file = fs::File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .process_group(0)
            .spawn()
    });
    let cannot = |error: io::Error| Error::new(format!("cannot start the switch: {error}"));
    let mut child = started.map_err(cannot)?;
    loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let text = text.trim().trim_start_matches("error: ");
            return Err(Error::new(format!(
                "the switch did not start ({status}): {text}"
            )));
        }
        let is_up = read_pid() == Some(child.id());
        if is_up && tidegate_live::endpoint::fetch(LISTEN).is_ok() {
            break;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    if output.json {
        let hosts = rig.config.ports.len();
        let value = json!({ "hosts": hosts, "process": child.id(), "counters": LISTEN });
        output.print_json(&value)?;
    } else {
        output.say(&hints(rig));
        output.say("`tidegate testbed down` removes it");
    }
    Ok(Verdict::Good)
}

fn hints(rig: &Rig) -> String {
    let hosts = rig.config.ports.len();
    format!(
        "{hosts} hosts, 10.77.0.1 to 10.77.0.{hosts}, are namespaces tidegate-host0 to \
         tidegate-host{}\nthe switch marks with {}; `tidegate live top` shows it",
        hosts - 1,
        rig.config.marking.name()
    )
}

/// `tidegate testbed down`.
pub(crate) fn down(output: Output) -> Result<Verdict, Error> {
    let removed = clear(output)?;
    if output.json {
        output.print_json(&json!({ "removed": removed }))?;
    } else if removed == 0 {
        output.say("there was nothing to remove");
    }
    Ok(Verdict::Good)
}

/// Ends the process of a testbed that is up and removes what it left. Returns how many things there
/// were.
fn clear(output: Output) -> Result<usize, Error> {
    let mut removed = 0;
    if let Some(process) = read_pid().filter(|&process| is_testbed(process)) {
        tidegate_live::ask_to_end(process).map_err(Error::new)?;
        let mut naps = 0;
        while is_testbed(process) {
            naps += 1;
            if naps > 100 {
                return Err(Error::new(format!("process {process} does not end")));
            }
            thread::park_timeout(Duration::from_millis(50));
        }
        output.say("ended the switch of an earlier testbed, and removed its hosts");
        removed += 1;
    }
    let _ = fs::remove_file(pid_file());
    let names = remove_leftovers().map_err(Error::new)?;
    if !names.is_empty() {
        output.say(&format!(
            "removed what a testbed left: {}",
            names.join(", ")
        ));
    }
    Ok(removed + names.len())
}

fn read_pid() -> Option<u32> {
    fs::read_to_string(pid_file()).ok()?.trim().parse().ok()
}

/// Whether a process is one that holds a testbed: the number may have gone to another since.
fn is_testbed(process: u32) -> bool {
    let Ok(line) = fs::read(format!("/proc/{process}/cmdline")) else {
        return false;
    };
    let mut words = line.split(|&byte| byte == 0).skip(1);
    words.next() == Some(b"testbed") && words.next() == Some(b"up")
}
