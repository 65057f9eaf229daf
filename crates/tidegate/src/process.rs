//! Processes as each system has them. Linux has all of it; the doc of each function names the
//! systems that lack it and the consequence.

use std::io;
use std::process::{Child, Command};

/// This program, to be started once more.
pub(crate) fn this_program() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

/// Asks a process to stop as Ctrl-C does. Windows has no such signal for another process and ends
/// it: finished runs are on disk, and unfinished ones are lost.
pub(crate) fn interrupt(child: &mut Child) {
    // A process that has ended needs no signal. Its number is not reused before it is waited for.
    #[cfg(unix)]
    if let Some(pid) = pid(child) {
        _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
    #[cfg(not(unix))]
    drop(child.kill());
}

/// Whether [`limit_memory`] limits anything on this system.
pub(crate) const CAN_LIMIT_MEMORY: bool = cfg!(target_os = "linux");

/// Limits the address space of a process. Only Linux can do that from outside.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "no such limit here"))]
pub(crate) fn limit_memory(child: &Child, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, prlimit};
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // A kernel without the call has no such limit.
        _ = prlimit(pid(child), Resource::As, limit);
    }
}

/// Ends this process with its parent. Only Linux can do that; elsewhere the process ends with its
/// own time limit.
pub(crate) fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let signal = Some(rustix::process::Signal::KILL);
        _ = rustix::process::set_parent_process_death_signal(signal);
    }
}

/// Stops this process like Ctrl-C when its parent ends, if the variable `TIDEGATE_PARENT` has the
/// parent's id. Processes below inherit the variable, but have another parent. Only Linux can do
/// that; elsewhere the process continues.
pub(crate) fn stop_with_parent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        let is_parent = |name: &std::ffi::OsStr| {
            getppid().is_some_and(|pid| name == pid.as_raw_nonzero().to_string().as_str())
        };
        let Some(parent) = std::env::var_os("TIDEGATE_PARENT").filter(|name| is_parent(name))
        else {
            return;
        };
        _ = set_parent_process_death_signal(Some(Signal::TERM));
        // It may have ended just before.
        if !is_parent(&parent) {
            std::process::exit(130);
        }
    }
}

#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Warning that a switch started by root cannot switch to another user.
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) fn stays_root(why: &dyn std::fmt::Display) -> String {
    let why = why.to_string();
    let why = why.lines().next().unwrap_or_default();
    format!("the switch stays root, without capabilities: {why}")
}
