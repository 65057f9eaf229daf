//! Privileges, priority, signals and processor time.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_uint, c_ulong};
use tidegate_units::Span;

use super::check;

/// Capability sets of a thread in the kernel's format.
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

/// Gives up all capabilities of this thread, and the ability to regain any by running a program.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let (on, none): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: this option takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none) })?;
    let header = Header {
        version: 0x2008_0522, // The third: two sets of 32.
        pid: 0,
    };
    let sets = [Sets::default(); 2];
    // SAFETY: a header and two sets in the format of this version, which the kernel reads.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
    check(result as c_int).map(drop)
}

/// Changes the user permanently, for all threads and without the old user's groups. Needs
/// `CAP_SETUID` and `CAP_SETGID`, which every thread must have.
///
/// An error includes the capability that may be missing.
pub(crate) fn become_user(uid: u32, gid: u32) -> Result<(), (io::Error, &'static str)> {
    let group = |error| (error, "CAP_SETGID");
    // SAFETY: no groups, so nothing is read; the other calls take numbers only.
    unsafe {
        check(libc::setgroups(0, ptr::null())).map_err(group)?;
        check(libc::setresgid(gid, gid, gid)).map_err(group)?;
        let user = check(libc::setresuid(uid, uid, uid));
        user.map(drop).map_err(|error| (error, "CAP_SETUID"))
    }
}

/// Permits or forbids writing the memory of this process to a file after a crash. If forbidden,
/// other processes of its user cannot read the memory either.
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

/// Raises this thread's priority as far as permitted. If the scheduler weighs sessions and not
/// processes, the priority does not apply to other sessions: a session leader also raises its
/// session's weight, other processes leave their caller's session unchanged. Needs `CAP_SYS_NICE`.
pub(crate) fn raise_priority() -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { libc::getsid(0) == libc::getpid() } {
        // Absent if the scheduler does not weigh sessions.
        let _ = fs::write("/proc/self/autogroup", "-20");
    }
    // SAFETY: no pointers.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })?;
    // From Linux 6.12 on, a thread with shorter time slices does not wait for the end of another's
    // slice.
    schedule(-20, SHORTEST_TURN);
    Ok(())
}

/// Gives up the priority that this thread inherited from its parent.
pub(crate) fn lower_priority() {
    schedule(0, Span::ZERO);
}

/// Scheduling parameters of a thread in the kernel's format, first version.
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

/// Sets this thread's weight, if permitted, and its time slice; zero selects the usual length.
/// Kernels before 6.12 ignore the slice.
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
    // SAFETY: a value of the size that it states, which the kernel reads. On failure nothing
    // changes.
    unsafe { libc::syscall(libc::SYS_sched_setattr, this, &raw const scheduling, none) };
}

/// Shortest time slice of Linux.
const SHORTEST_TURN: Span = Span::from_us(100);

/// Makes this thread's sleeps exact, not up to 50 µs longer.
pub(crate) fn sleep_exactly() {
    let (slack, none): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: this option takes numbers only. On failure sleeps are slightly longer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack, none, none, none) };
}

/// Flag that becomes true when the process is asked to end, by Ctrl-C or `kill`.
pub(crate) fn stop_on_signals() -> &'static AtomicBool {
    extern "C" fn stop(_: c_int) {
        STOPPED.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(c_int) = stop;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores into an atomic, which a signal handler may do.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    &STOPPED
}

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Flag that becomes true when the process is asked to reload its configuration, by `kill -HUP`.
pub(crate) fn reload_on_signal() -> &'static AtomicBool {
    extern "C" fn reload(_: c_int) {
        RELOAD.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(c_int) = reload;
    // SAFETY: the handler only stores into an atomic, which a signal handler may do.
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

/// Locks a file until it is closed by all processes that inherited it from this one. Returns
/// whether it was free.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: no pointers, and the file is open.
    match check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Processor time used by this thread.
pub(crate) fn thread_time() -> Span {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a time to a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Span::from_secs(time.tv_sec.cast_unsigned()) + Span::from_ns(time.tv_nsec.cast_unsigned())
}
