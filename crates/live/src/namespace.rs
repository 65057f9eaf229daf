//! Network namespaces. Namespaces without names disappear with the process that created them,
//! however it ends; namespaces with names stay until they are removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::error::Error;
use crate::sys;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates a namespace with its loopback up. Needs `CAP_SYS_ADMIN`.
    pub fn new() -> Result<Self, Error> {
        let made = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                sys::namespace::unshare()?;
                File::open("/proc/thread-self/ns/net")
            });
            thread.join().expect("opening a file does not panic")
        });
        let action = "make a network namespace";
        let file = made.map_err(Error::system(action, "CAP_SYS_ADMIN"))?;
        let namespace = Self { file };
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Gives it a name, like `ip netns`, under which it stays until it is [removed](Self::remove).
    /// Needs `CAP_SYS_ADMIN`.
    pub fn set_name(&self, name: &str) -> Result<(), Error> {
        self.run(|| {
            // PID/task/TID: identifies an existing thread to the program.
            let thread = fs::read_link("/proc/thread-self");
            let thread = thread.map_err(Error::system("find this thread", "no capability"))?;
            let thread = thread.file_name().unwrap_or_default();
            let mut command = Command::new("ip");
            command.args(["netns", "attach", name]).arg(thread);
            call(&mut command, "").map(drop)
        })?
    }

    /// Opens the namespace with this name.
    pub fn open(name: &str) -> Result<Self, Error> {
        let action = format!("open network namespace {name}");
        let file = File::open(format!("/run/netns/{name}"));
        let file = file.map_err(Error::system(action, "CAP_SYS_ADMIN"))?;
        Ok(Self { file })
    }

    /// Removes a named namespace together with its interfaces.
    pub fn remove(name: &str) -> Result<(), Error> {
        call(Command::new("ip").args(["netns", "delete", name]), "").map(drop)
    }

    /// Moves this thread into the namespace permanently.
    pub fn enter(&self) -> Result<(), Error> {
        let entered = sys::namespace::enter(&self.file);
        entered.map_err(Error::system("enter a network namespace", "CAP_SYS_ADMIN"))
    }

    /// Runs `action` on a thread within the namespace.
    pub fn run<T: Send>(&self, action: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let ran = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                sys::namespace::enter(&self.file)?;
                Ok(action())
            });
            match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        ran.map_err(Error::system("enter a network namespace", "CAP_SYS_ADMIN"))
    }

    /// Runs the program `ip` within the namespace, with arguments separated by spaces. Returns its
    /// output, or its error message.
    pub fn ip(&self, arguments: &str) -> Result<String, Error> {
        let arguments = arguments.split_ascii_whitespace();
        self.run(|| call(Command::new("ip").args(arguments), ""))?
    }

    /// Runs the program `ip` within the namespace once for many lines of arguments.
    pub fn ip_batch(&self, lines: &str) -> Result<(), Error> {
        self.run(|| call(Command::new("ip").args(["-batch", "-"]), lines))??;
        Ok(())
    }

    /// Sets a parameter of the namespace, such as `net/ipv4/tcp_ecn`.
    pub fn set(&self, parameter: &str, value: &str) -> Result<(), Error> {
        let path = format!("/proc/sys/{parameter}");
        let written = self.run(|| fs::write(&path, value))?;
        written.map_err(Error::system(format!("set {parameter}"), "CAP_NET_ADMIN"))
    }

    /// Reads a parameter of the namespace.
    pub fn get(&self, parameter: &str) -> Result<String, Error> {
        let path = format!("/proc/sys/{parameter}");
        let read = self.run(|| fs::read_to_string(&path))?;
        read.map_err(Error::system(format!("read {parameter}"), "CAP_NET_ADMIN"))
    }

    /// Counter of the namespace's kernel by group and name, such as `IpExt` and `InCEPkts`; `None`
    /// if it does not exist.
    pub fn counter(&self, group: &str, name: &str) -> Result<Option<u64>, Error> {
        let read = self.run(|| {
            let files = ["snmp", "netstat", "snmp6"];
            let files = files.map(|file| format!("/proc/thread-self/net/{file}"));
            files.map(|file| fs::read_to_string(file).unwrap_or_default())
        })?;
        let [snmp, netstat, snmp6] = read;
        Ok(find(&snmp, group, name)
            .or_else(|| find(&netstat, group, name))
            .or_else(|| find_alone(&snmp6, group, name)))
    }

    /// Moves an interface from another namespace to this one under a new name, and sets it up.
    pub fn adopt(&self, other: &Self, interface: &str, name: &str) -> Result<(), Error> {
        let path = self.path();
        other.ip(&format!("link set {interface} netns {path} name {name}"))?;
        self.ip(&format!("link set {name} up"))?;
        Ok(())
    }

    /// Connects two namespaces by a pair of interfaces without offloads, both up.
    pub fn connect(&self, interface: &str, other: &Self, peer: &str) -> Result<(), Error> {
        let path = other.path();
        self.ip(&format!("link add {interface} type veth peer name {peer} netns {path}"))?;
        self.start_pair(interface, other, peer)
    }

    /// Like [`connect`](Self::connect), with this hardware address for the first interface.
    pub fn connect_as(
        &self,
        interface: &str,
        station: &str,
        other: &Self,
        peer: &str,
    ) -> Result<(), Error> {
        let path = other.path();
        self.ip(&format!(
            "link add {interface} address {station} type veth peer name {peer} netns {path}"
        ))?;
        self.start_pair(interface, other, peer)
    }

    fn start_pair(&self, interface: &str, other: &Self, peer: &str) -> Result<(), Error> {
        for (namespace, interface) in [(self, interface), (other, peer)] {
            let disabled = namespace.run(|| {
                let control = sys::interface::control()?;
                sys::interface::disable_offloads(control.as_fd(), interface)
            })?;
            let action = format!("turn off the offloads of {interface}");
            disabled.map_err(Error::system(action, "CAP_NET_ADMIN"))?;
            namespace.ip(&format!("link set {interface} up"))?;
        }
        Ok(())
    }
}

impl Namespace {
    /// File that represents the namespace for other programs.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// Runs a program with `input`. Returns its output, or its error message.
fn call(command: &mut Command, input: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    let arguments = arguments.collect::<Vec<_>>().join(" ");
    let done = run_with_input(command, input).and_then(|output| {
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let complaint = String::from_utf8_lossy(&output.stderr);
            Err(complaint_of(complaint.trim()))
        }
    });
    done.map_err(Error::system(format!("run {program} {arguments}"), "CAP_NET_ADMIN"))
}

/// A program's error message as the system error that it reports.
fn complaint_of(text: &str) -> io::Error {
    if text.contains("Operation not permitted") {
        return io::Error::new(io::ErrorKind::PermissionDenied, text);
    }
    io::Error::other(text)
}

fn run_with_input(command: &mut Command, input: &str) -> io::Result<Output> {
    // Ctrl-C is meant for this program, which lets its child programs finish.
    let command = command.process_group(0);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read reports why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

/// Finds a counter in the form of `/proc/net/snmp`: a line of names, then a line of values.
fn find(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    let (_, names) = lines.by_ref().find(|(prefix, _)| *prefix == group)?;
    let (_, values) = lines.next()?;
    let place = names.split(' ').position(|found| found == name)?;
    values.split(' ').nth(place)?.parse().ok()
}

/// Finds a counter in the form of `/proc/net/snmp6`: a name and a value per line.
fn find_alone(text: &str, group: &str, name: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let mut own = lines.filter_map(|(key, value)| Some((key.strip_prefix(group)?, value)));
    let (_, value) = own.find(|(key, _)| *key == name)?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_privilege_is_recognized_in_a_program_s_message() {
        let refused = complaint_of("RTNETLINK answers: Operation not permitted");
        let error = Error::system("run ip", "CAP_NET_ADMIN")(refused);
        assert!(error.is_privilege(), "{error}");
        let other = complaint_of("Cannot find device \"veth0\"");
        assert_eq!(other.kind(), io::ErrorKind::Other);
    }

    #[test]
    fn counters_are_found_by_name() {
        let text = "Ip: A B\nIp: 1 2\nIpExt: InCEPkts X\nIpExt: 9151 0\n";
        assert_eq!(find(text, "IpExt", "InCEPkts"), Some(9151));
        assert_eq!(find(text, "Ip", "B"), Some(2));
        assert_eq!(find(text, "Ip", "C"), None);
        assert_eq!(find(text, "Tcp", "A"), None);
        assert_eq!(find("Ip: A", "Ip", "A"), None);
        let text = "Ip6InECT0Pkts \t1\nIp6InCEPkts     \t23\n";
        assert_eq!(find_alone(text, "Ip6", "InCEPkts"), Some(23));
        assert_eq!(find_alone(text, "Ip6", "InECT1Pkts"), None);
    }
}
