//! Requirements on the machine, checked before anything is changed.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// Number and name of a capability.
pub type Capability = (u32, &'static str);

const NET_ADMIN: Capability = (12, "CAP_NET_ADMIN");
const SYS_ADMIN: Capability = (21, "CAP_SYS_ADMIN");
const PERFMON: Capability = (38, "CAP_PERFMON");
const BPF: Capability = (39, "CAP_BPF");

/// Capabilities for loading programs. `CAP_SYS_ADMIN` includes the first two.
pub const TO_LOAD: &[Capability] = &[BPF, PERFMON, NET_ADMIN];

/// Capabilities for finding programs loaded by others.
pub const TO_FIND: &[Capability] = &[SYS_ADMIN];

/// Capabilities for removing them everywhere.
pub const TO_REMOVE: &[Capability] = &[SYS_ADMIN, NET_ADMIN];

/// Fails if this process lacks one of these capabilities.
pub fn check_privileges(needed: &[Capability]) -> Result<(), Error> {
    let status = fs::read_to_string("/proc/thread-self/status");
    let status = status.map_err(Error::system("read /proc/thread-self/status"))?;
    missing(&status, needed).map_or(Ok(()), |missing| Err(Error::Privilege { missing }))
}

/// Capabilities missing from a process with this status.
fn missing(status: &str, needed: &[Capability]) -> Option<String> {
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    let has = |(number, _): Capability| held.unwrap_or(0) >> number & 1 == 1;
    let lacks = |&&capability: &&Capability| {
        let is_included = capability == BPF || capability == PERFMON;
        !(has(capability) || is_included && has(SYS_ADMIN))
    };
    let names: Vec<_> = needed.iter().filter(lacks).map(|(_, name)| *name).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| format!("{} {verb}", names.join(", ")))
}

/// Fails if the kernel does not support the programs, by the description of its types.
pub fn check_kernel(types: &Path) -> Result<(), Error> {
    let Ok(bytes) = fs::read(types) else {
        return Err(Error::NoTypes(types.to_owned()));
    };
    if takes_links(&bytes) { Ok(()) } else { Err(Error::NoStructOps) }
}

/// Whether a kernel with these types supports congestion controls in BPF, and as links: since Linux
/// 5.6 and 6.4.
fn takes_links(types: &[u8]) -> bool {
    let wanted: [&[u8]; 2] = [b"\0bpf_struct_ops_tcp_congestion_ops\0", b"\0bpf_struct_ops_link\0"];
    let is_there = |name: &[u8]| types.windows(name.len()).any(|window| window == name);
    wanted.into_iter().all(is_there)
}

/// Magic number of a BPF file system.
const BPF_FS: u32 = 0xcafe_4a11;

/// Fails if a folder for links is not, or would not be, in a BPF file system.
pub fn check_pins(folder: &Path) -> Result<(), Error> {
    let existing = folder.ancestors().find(|path| path.exists());
    let kind = existing.and_then(|path| rustix::fs::statfs(path).ok());
    let is_bpf = kind.is_some_and(|kind| u32::try_from(kind.f_type) == Ok(BPF_FS));
    if is_bpf { Ok(()) } else { Err(Error::NoBpfFs(folder.to_owned())) }
}

/// Congestion controls of the kernel.
pub fn available() -> Vec<String> {
    words("/proc/sys/net/ipv4/tcp_available_congestion_control")
}

/// Default of this network namespace.
pub fn default_algorithm() -> Option<String> {
    words(DEFAULT).into_iter().next()
}

/// File with that default.
pub const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

fn words(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        let of = |held: &str, needed| {
            let status = format!("Name:\tx\nCapEff:\t{held}\nCapBnd:\t0\n");
            missing(&status, needed)
        };
        let none = "0000000000000000";
        assert_eq!(of("000001ffffffffff", TO_LOAD), None);
        let all = "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are";
        assert_eq!(of(none, TO_LOAD).as_deref(), Some(all));
        assert_eq!(of(none, TO_FIND).as_deref(), Some("CAP_SYS_ADMIN is"));
        let both = "CAP_SYS_ADMIN, CAP_NET_ADMIN are";
        assert_eq!(of(none, TO_REMOVE).as_deref(), Some(both));
        // CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN alone can load, but cannot find programs of
        // others.
        assert_eq!(of("000000c000001000", TO_LOAD), None);
        let lacks = of("000000c000001000", TO_FIND);
        assert_eq!(lacks.as_deref(), Some("CAP_SYS_ADMIN is"));
        let lacks = of("000000c000000000", TO_LOAD);
        assert_eq!(lacks.as_deref(), Some("CAP_NET_ADMIN is"));
        // CAP_SYS_ADMIN includes the two others.
        assert_eq!(of("0000000000201000", TO_LOAD), None);
        assert_eq!(missing("", TO_LOAD).as_deref(), Some(all));
    }

    #[test]
    fn a_kernel_must_support_congestion_controls_as_links() {
        let newer = b"\0bpf_struct_ops_link\0x\0bpf_struct_ops_tcp_congestion_ops\0";
        let older = b"\0bpf_struct_ops_link_x\0bpf_struct_ops_tcp_congestion_ops\0";
        assert!(takes_links(newer));
        assert!(!takes_links(older));
        assert!(!takes_links(b""));
    }

    #[test]
    fn a_folder_on_a_disk_keeps_no_links() {
        let error = check_pins(Path::new("/tmp/tidegate-no-such-folder")).unwrap_err();
        assert!(error.to_string().contains("mount -t bpf"), "{error}");
    }
}
