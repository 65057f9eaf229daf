//! Namespaces of a testbed.

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::Ipv4Addr;

use tidegate_units::ConfigError;

use super::plan::Tcp;
use crate::error::Error;
use crate::namespace::Namespace;

/// Hosts with an interface `host` each, and the switch's namespace with the other ends.
#[derive(Debug)]
pub struct Bed {
    hosts: Vec<Namespace>,
    switch: Namespace,
}

/// Prefix of all names that stay when the program ends.
pub const PREFIX: &str = "tidegate-";

/// Alias of the loopback in our namespaces, by which they are identified: it is created with the
/// namespace and disappears with it. Anybody may give a namespace a name like ours.
const MARK: &str = "tidegate-testbed";

/// Most hosts.
const MAX_HOSTS: usize = 250;

/// Name of the switch's interface to a host.
pub(super) fn port_name(host: u16) -> String {
    format!("port{host}")
}

/// Address of a host.
pub(super) fn address(host: u16) -> Ipv4Addr {
    // At most 250 hosts.
    Ipv4Addr::new(10, 77, 0, host as u8 + 1)
}

fn station(host: u16) -> String {
    format!("02:74:67:00:00:{:02x}", host + 1)
}

impl Bed {
    /// Hosts without names, which disappear with this value or with the process.
    pub fn new(hosts: usize) -> Result<Self, Error> {
        check(hosts)?;
        let host = |_| Namespace::new();
        Self::join((0..hosts).map(host).collect::<Result<_, _>>()?, Namespace::new()?)
    }

    /// Hosts that stay, as `tidegate-host0` and so on, and `tidegate-switch`, until
    /// [`remove_leftovers`]. These names must not exist yet.
    pub fn named(hosts: usize) -> Result<Self, Error> {
        check(hosts)?;
        let mut names = Vec::new();
        let bed = Self::make_named(hosts, &mut names);
        if bed.is_err() {
            // All or nothing.
            for name in &names {
                let _ = Namespace::remove(name);
            }
        }
        bed
    }

    fn make_named(hosts: usize, names: &mut Vec<String>) -> Result<Self, Error> {
        let mut make = |name: String| {
            check_is_free(&name)?;
            let namespace = Namespace::new()?;
            // The namespace is marked before it is named: whenever this ends, leftovers are
            // identified.
            namespace.ip(&format!("link set lo alias {MARK}"))?;
            namespace.set_name(&name)?;
            names.push(name);
            Ok::<_, Error>(namespace)
        };
        let host = |number| make(format!("{PREFIX}host{number}"));
        let hosts = (0..hosts).map(host).collect::<Result<_, _>>()?;
        Self::join(hosts, make(switch_name())?)
    }

    fn join(hosts: Vec<Namespace>, switch: Namespace) -> Result<Self, Error> {
        for namespace in hosts.iter().chain([&switch]) {
            // No unsolicited traffic.
            for which in ["all", "default"] {
                let parameter = format!("net/ipv6/conf/{which}/disable_ipv6");
                // Absent without IPv6.
                let _ = namespace.set(&parameter, "1");
            }
        }
        for (host, number) in hosts.iter().zip(0..) {
            host.connect_as("host", &station(number), &switch, &port_name(number))?;
            // All addresses are known: no flow waits for address resolution.
            let mut commands = format!("address add {}/16 dev host\n", address(number));
            for other in (0..hosts.len() as u16).filter(|&other| other != number) {
                let (address, station) = (address(other), station(other));
                let _ = writeln!(
                    commands,
                    "neighbour replace {address} lladdr {station} dev host nud permanent"
                );
            }
            host.ip_batch(&commands)?;
            for which in ["all", "host"] {
                host.set(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
            }
            host.set("net/ipv4/ping_group_range", "0 2147483647")?;
            host.set("net/ipv4/tcp_no_metrics_save", "1")?;
            // Acknowledgements wait in the queue of their flow.
            host.set("net/ipv4/tcp_reflect_tos", "1")?;
            // Segments of 1460 bytes, as in the simulator.
            host.set("net/ipv4/tcp_timestamps", "0")?;
        }
        Ok(Self { hosts, switch })
    }

    /// The hosts.
    pub fn hosts(&self) -> &[Namespace] {
        &self.hosts
    }

    /// The switch.
    pub const fn switch(&self) -> &Namespace {
        &self.switch
    }

    /// Configures the TCP of the hosts' kernels.
    pub fn prepare(&self, tcp: &Tcp) -> Result<(), Error> {
        for host in &self.hosts {
            let chosen = host.set("net/ipv4/tcp_congestion_control", &tcp.congestion);
            if chosen.is_err() {
                let known = host.get("net/ipv4/tcp_available_congestion_control")?;
                return Err(refused(&tcp.congestion, known.trim()).into());
            }
            host.set("net/ipv4/tcp_ecn", if tcp.ecn { "1" } else { "0" })?;
            host.set("net/ipv4/tcp_ecn_fallback", "0")?;
            let restart = if tcp.slow_start_after_idle { "1" } else { "0" };
            host.set("net/ipv4/tcp_slow_start_after_idle", restart)?;
            let mut route = String::from("route replace 10.77.0.0/16 dev host");
            if let Some(segments) = tcp.initial_window {
                let _ = write!(route, " initcwnd {segments}");
            }
            if let Some(span) = tcp.rto_min {
                let _ = write!(route, " rto_min {}ms", span.as_ns().div_ceil(1_000_000));
            }
            if tcp.quick_ack {
                route.push_str(" quickack 1");
            }
            host.ip(&route)?;
        }
        Ok(())
    }
}

fn check(hosts: usize) -> Result<(), ConfigError> {
    if (1..=MAX_HOSTS).contains(&hosts) {
        return Ok(());
    }
    let allowed = format!("1 to {MAX_HOSTS}");
    Err(ConfigError::out_of_range("hosts", hosts, allowed))
}

/// Error: a congestion control that the kernel does not accept in a namespace, with the ones that
/// it has.
fn refused(name: &str, known: &str) -> ConfigError {
    let allowed = if known.split_whitespace().any(|has| has == name) {
        // Namespaces may only use congestion controls that the machine permits to everybody.
        format!(
            "a name in net.ipv4.tcp_allowed_congestion_control of this machine; add {name} there"
        )
    } else {
        let hint = match name {
            "dctcp" => "\nhint: tidegate host load tg_dctcp",
            "tg_odctcp_snd" => "\nhint: tidegate host load tg_odctcp_snd",
            "tg_odctcp_rcv" => "\nhint: tidegate host load tg_odctcp_rcv",
            _ => "",
        };
        format!("one that this kernel has: {known}{hint}")
    };
    ConfigError::out_of_range("congestion control", name, allowed)
}

/// Congestion controls of this machine's kernel.
pub fn available() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let text = text.unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Name of the switch's namespace.
pub(super) fn switch_name() -> String {
    format!("{PREFIX}switch")
}

/// Refuses the name of an existing namespace.
fn check_is_free(name: &str) -> Result<(), Error> {
    if names().any(|taken| taken == name) {
        return Err(Error::System {
            action: format!("make network namespace {name}"),
            error: io::Error::other(format!(
                "it exists, and no testbed created it\nhint: remove it with `ip netns delete {name}`"
            )),
        });
    }
    Ok(())
}

/// Names of all named namespaces.
fn names() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// Whether a testbed created the namespace with this name. A namespace that cannot be examined is
/// not ours.
fn is_ours(name: &str) -> bool {
    let shown = Namespace::open(name).and_then(|namespace| namespace.ip("link show lo"));
    shown.is_ok_and(|text| has_mark(&text))
}

fn has_mark(text: &str) -> bool {
    text.lines().any(|line| line.trim().strip_prefix("alias ") == Some(MARK))
}

/// Whether one of our names refers to nothing: the remains of a program that was killed while it
/// named a namespace.
fn is_husk(name: &str) -> bool {
    let number = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix("host"));
    let is_ours = number.is_some_and(|number| number.parse::<u16>().is_ok());
    let entered = Namespace::open(name).and_then(|namespace| namespace.run(|| ()));
    let is_none = |error: &Error| matches!(error, Error::System { error, .. } if error.raw_os_error() == Some(libc::EINVAL));
    (is_ours || name == switch_name()) && entered.is_err_and(|error| is_none(&error))
}

/// Removes the named namespaces of testbeds, created by any process. Returns their names.
pub fn remove_leftovers() -> Result<Vec<String>, Error> {
    let names = names().filter(|name| name.starts_with(PREFIX));
    let mut names: Vec<String> = names.filter(|name| is_ours(name) || is_husk(name)).collect();
    names.sort_unstable();
    for name in &names {
        Namespace::remove(name)?;
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_addresses_of_their_own() {
        assert_eq!(address(0).to_string(), "10.77.0.1");
        assert_eq!(station(0), "02:74:67:00:00:01");
        let last = MAX_HOSTS as u16 - 1;
        assert_eq!(address(last).to_string(), "10.77.0.250");
        assert_eq!(station(last), "02:74:67:00:00:fa");
        assert!(check(0).is_err() && check(MAX_HOSTS).is_ok() && check(MAX_HOSTS + 1).is_err());
    }

    #[test]
    fn a_forbidden_congestion_control_differs_from_a_missing_one() {
        let text = |name| refused(name, "reno bbr cubic").to_string();
        assert!(
            text("dctcp").contains("one that this kernel has: reno bbr cubic\nhint: tidegate host")
        );
        assert!(text("vegas").ends_with("one that this kernel has: reno bbr cubic"));
        assert!(text("cubic").contains("net.ipv4.tcp_allowed_congestion_control"));
        assert!(text("cubic").contains("add cubic there"));
    }

    #[test]
    fn a_namespace_is_identified_by_its_mark_alone() {
        let shown = "1: lo: <LOOPBACK,UP> mtu 65536\n    link/loopback 00:00 brd 00:00\n";
        assert!(!has_mark(shown));
        assert!(has_mark(&format!("{shown}    alias tidegate-testbed\n")));
        assert!(!has_mark(&format!("{shown}    alias not tidegate-testbed\n")));
        assert!(!has_mark(&format!("{shown}    alias tidegate-testbed2\n")));
    }
}
