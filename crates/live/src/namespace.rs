//! Network namespaces without names: made for a test or a measurement, gone with the process that
//! made them, however it ends.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::thread;

use crate::error::Error;
use crate::sys;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new one, whose loopback is up. Needs `CAP_SYS_ADMIN`.
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

    /// Calls `action` on a thread within the namespace.
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

    /// Calls the program `ip` within the namespace, with arguments parted by spaces. What it prints
    /// is returned, or what it complained of.
    pub fn ip(&self, arguments: &str) -> Result<String, Error> {
        let action = format!("run ip {arguments}");
        let output = self.run(|| {
            Command::new("ip")
                .args(arguments.split_ascii_whitespace())
                .output()
        })?;
        let output = output.and_then(|output| {
            if output.status.success() {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            } else {
                let complaint = String::from_utf8_lossy(&output.stderr).trim().to_string();
                Err(io::Error::other(complaint))
            }
        });
        output.map_err(Error::system(action, "CAP_NET_ADMIN"))
    }

    /// Sets a parameter of the namespace, such as `net/ipv4/tcp_ecn`.
    pub fn set(&self, parameter: &str, value: &str) -> Result<(), Error> {
        let path = format!("/proc/sys/{parameter}");
        let written = self.run(|| fs::write(&path, value))?;
        written.map_err(Error::system(format!("set {parameter}"), "CAP_NET_ADMIN"))
    }

    /// A counter of the namespace's kernel by group and name, such as `IpExt` and `InCEPkts`;
    /// `None` if there is none.
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

    /// Takes an interface over from another namespace under a new name, and sets it up.
    pub fn adopt(&self, other: &Self, interface: &str, name: &str) -> Result<(), Error> {
        let path = self.path();
        other.ip(&format!("link set {interface} netns {path} name {name}"))?;
        self.ip(&format!("link set {name} up"))?;
        Ok(())
    }

    /// Joins two namespaces by a pair of interfaces without offloads, both up.
    pub fn connect(&self, interface: &str, other: &Self, peer: &str) -> Result<(), Error> {
        let path = other.path();
        self.ip(&format!(
            "link add {interface} type veth peer name {peer} netns {path}"
        ))?;
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
    /// A file that stands for the namespace to other programs.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// A counter in the form of `/proc/net/snmp`: a line of names, then a line of values.
fn find(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    let (_, names) = lines.by_ref().find(|(prefix, _)| *prefix == group)?;
    let (_, values) = lines.next()?;
    let place = names.split(' ').position(|found| found == name)?;
    values.split(' ').nth(place)?.parse().ok()
}

/// A counter in the form of `/proc/net/snmp6`: a name and a value on a line.
fn find_alone(text: &str, group: &str, name: &str) -> Option<u64> {
    let lines = text
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace));
    let mut own = lines.filter_map(|(key, value)| Some((key.strip_prefix(group)?, value)));
    let (_, value) = own.find(|(key, _)| *key == name)?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
