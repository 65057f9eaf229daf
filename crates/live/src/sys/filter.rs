//! A filter of system calls (`seccomp`): only calls that a running switch makes are permitted.
//!
//! Other calls fail with `EPERM`; nothing is killed. A call made by a later version of a library is
//! thus an error and does not end the switch.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Filters the calls of all current and future threads of this process.
pub(crate) fn for_process() -> io::Result<()> {
    let program = program().map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        ALWAYS.iter().map(|&call| (call, Vec::new())).collect();
    rules.extend(restricted()?);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}

type Rules = Result<Vec<(c_long, Vec<SeccompRule>)>, seccompiler::BackendError>;

/// Calls that are permitted only with some arguments.
fn restricted() -> Rules {
    let request = |&request: &u64| SeccompRule::new(vec![equal(1, request)?]);
    let requests = REQUESTS.iter().map(request).collect::<Result<_, _>>()?;
    let one =
        |condition| Ok::<_, seccompiler::BackendError>(vec![SeccompRule::new(vec![condition])?]);
    let writing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;
    let code = libc::PROT_EXEC as u64;
    Ok(vec![
        (libc::SYS_ioctl, requests),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, one(masked(1, writing, 0)?)?),
        (libc::SYS_openat, one(masked(2, writing, 0)?)?),
        (libc::SYS_mmap, one(masked(2, code, 0)?)?),
        (libc::SYS_mprotect, one(masked(2, code, 0)?)?),
        // Only this thread.
        (libc::SYS_sched_setattr, one(equal(0, 0)?)?),
        // Only to the address to which a socket is connected.
        (libc::SYS_sendto, one(whole(4, 0)?)?),
    ])
}

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn equal(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn whole(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Condition {
    let operator = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Requests about interfaces, whose changes the kernel protects by a privilege, and whether a file
/// is a terminal. C libraries disagree on the type of some.
const REQUESTS: [u64; 8] = [
    libc::SIOCGIFINDEX,
    libc::SIOCGIFFLAGS,
    libc::SIOCSIFFLAGS,
    libc::SIOCETHTOOL,
    libc::TUNSETIFF as _,
    libc::FIONBIO as _,
    libc::TCGETS as _,
    libc::TIOCGWINSZ as _,
];

/// Calls that are permitted with any arguments.
const ALWAYS: &[c_long] = &[
    // Frames and links. A socket is bound again when its interface was recreated.
    libc::SYS_bind,
    libc::SYS_getsockopt,
    libc::SYS_ppoll,
    libc::SYS_sendmmsg,
    libc::SYS_setsockopt,
    // The endpoint.
    libc::SYS_accept4,
    libc::SYS_fcntl,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_recvfrom,
    libc::SYS_shutdown,
    // The configuration file, and output.
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    // Threads and signals. Capabilities can only be given up.
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_prctl,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
];

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use mio::{Events, Interest, Poll, Token};
    use tidegate_http::{Answer, Guard, Limits, Server};

    use super::*;
    use crate::sys::{interface, packet, tap};

    /// Result of `action` on a thread of its own with a filter.
    fn filtered<T: Send>(action: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                seccompiler::apply_filter(&program().unwrap()).unwrap();
                action()
            });
            thread.join().unwrap()
        })
    }

    fn is_refused<T>(result: io::Result<T>) -> bool {
        result.err().and_then(|error| error.raw_os_error()) == Some(libc::EPERM)
    }

    #[test]
    fn calls_of_a_switch_are_permitted() {
        let socket = interface::control().unwrap();
        filtered(|| {
            let text = fs::read_to_string("/proc/self/status").unwrap();
            assert!(text.contains("Seccomp:"));
            assert_eq!(interface::index(socket.as_fd(), "lo").unwrap(), Some(1));
            assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
        });
    }

    /// Uses the calls made by the present C library.
    #[test]
    fn frames_are_sent_under_the_filter() {
        let Ok(socket) = packet::socket() else {
            eprintln!("skipped: needs CAP_NET_RAW");
            return;
        };
        if interface::is_running(socket.as_fd(), "lo") == Some(false) {
            eprintln!("skipped: needs a loopback that is up");
            return;
        }
        let loopback = interface::index(socket.as_fd(), "lo").unwrap().unwrap();
        packet::bind(socket.as_fd(), loopback).unwrap();
        let frames: [&[u8]; 2] = [&[0; 60]; 2];
        let outcome = filtered(|| packet::send(&socket, &frames));
        assert_eq!(outcome, packet::Outcome::Taken(2));
    }

    /// A request under the filter, from its connection to its answer.
    #[test]
    fn server_of_counters_answers_under_the_filter() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let limits = Limits { body: 0, patience: Duration::from_secs(60) };
        let is_over = AtomicBool::new(false);
        let text = thread::scope(|scope| {
            let client = scope.spawn(|| {
                let mut client = TcpStream::connect(address).unwrap();
                client.write_all(b"GET /counters HTTP/1.0\r\n\r\n").unwrap();
                let mut text = String::new();
                client.read_to_string(&mut text).unwrap();
                is_over.store(true, Ordering::Release);
                // A connection wakes the server, which then ends.
                TcpStream::connect(address).unwrap();
                text
            });
            filtered(|| {
                Server::new(Guard::open(&[]), limits).run(&listener, &is_over, |_, is_closed| {
                    Some(Answer::text("200 OK", if is_closed() { "closed" } else { "open" }))
                });
            });
            client.join().unwrap()
        });
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nopen\n"),
            "{text}"
        );
    }

    #[test]
    fn epoll_is_refused() {
        let mut poll = Poll::new().unwrap();
        let mut listener = mio::net::TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        filtered(|| {
            let registry = poll.registry();
            assert!(is_refused(registry.register(&mut listener, Token(0), Interest::READABLE)));
            assert!(is_refused(poll.poll(&mut Events::with_capacity(1), Some(Duration::ZERO))));
            assert!(is_refused(Poll::new()));
        });
    }

    #[test]
    fn calls_of_an_intruder_are_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = std::env::temp_dir().join(format!("tidegate-filter-{}", std::process::id()));
        filtered(|| {
            assert!(is_refused(File::create(&path)));
            assert!(is_refused(fs::remove_file(&path)));
            assert!(is_refused(TcpStream::connect(address)));
            assert!(is_refused(datagrams.send_to(b"secret", address)));
            assert!(is_refused(std::process::Command::new("true").status()));
            assert!(is_refused(packet::socket()));
            assert!(is_refused(interface::control()));
            assert!(is_refused(tap::open("tap-new")));
        });
        assert!(!path.exists());
    }
}
