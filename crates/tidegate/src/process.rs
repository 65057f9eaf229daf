//! Processes as each system has them. Linux has all of it; the doc of each function names the
//! systems that lack it and the consequence.

use std::io;
use std::process::{Child, Command};

/// This program, to be started once more.
pub(crate) fn this_program() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

/// Starts a command outside this program's process group, so that Ctrl-C at the terminal does not
/// reach it.
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
        std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
    }
    command
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
