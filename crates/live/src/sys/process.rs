//! Privileges, priority, signals and processor time.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_uint, c_ulong};
use tidegate_units::Span;

use super::check;

/// The sets of capabilities of a thread as the kernel takes them.
#[repr(C)]
struct Header {
    version: u32,
    pid: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up all capabilities of this thread, and the way to get any back by running a program.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let (on, none): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: this option takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none) })?;
    let header = Header {
        version: 0x2008_0522, // The third: two sets of 32.
        pid: 0,
    };
    let sets = [Sets::default(); 2];
    // SAFETY: a header and two sets as this version has them, which the kernel reads.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
    check(result as c_int).map(drop)
}

/// Becomes another user for good, with all threads and without the groups of the old one. Needs
/// `CAP_SETUID` and `CAP_SETGID`, which every thread must have.
///
/// An error has the capability that may be missing.
pub(crate) fn become_user(uid: u32, gid: u32) -> Result<(), (io::Error, &'static str)> {
    let group = |error| (error, "CAP_SETGID");
    // SAFETY: no groups, so nothing is read; the others take numbers only.
    unsafe {
        check(libc::setgroups(0, ptr::null())).map_err(group)?;
        check(libc::setresgid(gid, gid, gid)).map_err(group)?;
        let user = check(libc::setresuid(uid, uid, uid));
        user.map(drop).map_err(|error| (error, "CAP_SETUID"))
    }
}

/// Lets a crash write the memory of this process to a file, or lets none, and then no other process
/// of its user read it either.
pub(crate) fn decide_core_dumps(are_allowed: bool) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    if !are_allowed {
        // SAFETY: a limit, which the kernel reads.
        check(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) })?;
    }
    let (is_dumpable, none): (c_ulong, c_ulong) = (are_allowed.into(), 0);
    // SAFETY: this option takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, is_dumpable, none, none, none) }).map(drop)
}

/// Gives this thread precedence over others as far as it may. Where the scheduler weighs sessions
/// and not processes, that says nothing about other sessions: a process that leads one raises that
/// too, others leave the session of whoever started them alone. Needs `CAP_SYS_NICE`.
pub(crate) fn raise_priority() -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { libc::getsid(0) == libc::getpid() } {
        // Absent where the scheduler does not weigh sessions.
        let _ = fs::write("/proc/self/autogroup", "-20");
    }
    // SAFETY: no pointers.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })?;
    // From Linux 6.12 on, a thread with shorter turns does not wait for the end of another's.
    schedule(-20, SHORTEST_TURN);
    Ok(())
}

/// Gives up the precedence that this thread has from the one that started it.
pub(crate) fn lower_priority() {
    schedule(0, Span::ZERO);
}

/// How the kernel takes the scheduling of a thread: its first version.
#[repr(C)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Gives this thread a weight, if it may have it, and turns as long as this, or of the usual length
/// for zero. Kernels before 6.12 take no notice of turns.
fn schedule(nice: i32, turn: Span) {
    let scheduling = Scheduling {
        size: size_of::<Scheduling>() as u32,
        policy: libc::SCHED_OTHER.cast_unsigned(),
        flags: 0,
        nice,
        priority: 0,
        runtime: turn.as_ns(),
        deadline: 0,
        period: 0,
    };
    let (this, none): (c_int, c_uint) = (0, 0);
    // SAFETY: a value of the size that it states, which the kernel reads. If it fails nothing
    // changes.
    unsafe { libc::syscall(libc::SYS_sched_setattr, this, &raw const scheduling, none) };
}

/// The shortest turn that Linux gives.
const SHORTEST_TURN: Span = Span::from_us(100);

/// Lets this thread's sleeps end when they should, not up to 50 µs later.
pub(crate) fn sleep_exactly() {
    let (slack, none): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: this option takes numbers only. If it fails, sleeps are a little longer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack, none, none, none) };
}

/// Becomes true when the process is asked to end, by Ctrl-C or `kill`.
pub(crate) fn stop_on_signals() -> &'static AtomicBool {
    extern "C" fn stop(_: c_int) {
        STOPPED.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(c_int) = stop;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores into an atomic, which a signal handler may.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    &STOPPED
}

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Becomes true when the process is asked to read its configuration again, by `kill -HUP`.
pub(crate) fn reload_on_signal() -> &'static AtomicBool {
    extern "C" fn reload(_: c_int) {
        RELOAD.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(c_int) = reload;
    // SAFETY: the handler only stores into an atomic, which a signal handler may.
    unsafe { libc::signal(libc::SIGHUP, handler as libc::sighandler_t) };
    &RELOAD
}

static RELOAD: AtomicBool = AtomicBool::new(false);

/// Asks a process to end, as `kill` does.
pub(crate) fn ask_to_end(process: u32) -> io::Result<()> {
    let process = process.cast_signed();
    if process <= 1 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: no pointers.
    check(unsafe { libc::kill(process, libc::SIGTERM) }).map(drop)
}

/// Locks a file against others until it is closed by all processes that have it from this one.
/// Returns whether it was free.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: no pointers, and the file is open.
    match check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Processor time that this thread has used.
pub(crate) fn thread_time() -> Span {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a time to where one lives.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Span::from_secs(time.tv_sec.cast_unsigned()) + Span::from_ns(time.tv_nsec.cast_unsigned())
}
