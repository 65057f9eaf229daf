//! Requirements on the machine, checked before anything is changed.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::args::Way;
use crate::error::Error;

/// Number and name of a capability.
pub type Capability = (u32, &'static str);

const NET_ADMIN: Capability = (12, "CAP_NET_ADMIN");
const SYS_ADMIN: u32 = 21;
const PERFMON: Capability = (38, "CAP_PERFMON");
const BPF: Capability = (39, "CAP_BPF");

/// Capabilities for loading programs. `CAP_SYS_ADMIN` includes the first two.
pub const TO_LOAD: &[Capability] = &[BPF, PERFMON, NET_ADMIN];

/// Capabilities for reading pins.
pub const TO_READ: &[Capability] = &[BPF];

/// Capabilities for removing ports.
pub const TO_REMOVE: &[Capability] = &[BPF, NET_ADMIN];

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
    let has = |number: u32| held.unwrap_or(0) >> number & 1 == 1;
    let lacks = |&&(number, name): &&Capability| {
        let is_included = (number, name) != NET_ADMIN;
        !(has(number) || is_included && has(SYS_ADMIN))
    };
    let names: Vec<_> = needed.iter().filter(lacks).map(|(_, name)| *name).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| format!("{} {verb}", names.join(", ")))
}

/// The best way that the kernel offers, by the description of its types.
pub fn way(types: &Path) -> Result<Way, Error> {
    let bytes = fs::read(types).map_err(|_| Error::NoTypes(types.to_owned()))?;
    Ok(if has_qdiscs(&bytes) { Way::Qdisc } else { Way::Edt })
}

/// Whether a kernel with these types has BPF qdiscs.
fn has_qdiscs(types: &[u8]) -> bool {
    // Names end with zero. Most bytes are no letters, so that most pieces are short.
    types.split(|&byte| byte == 0).any(|name| name == b"bpf_struct_ops_Qdisc_ops")
}

/// Magic number of a BPF file system.
const BPF_FS: u32 = 0xcafe_4a11;

/// Fails if a folder for pins is not, or would not be, in a BPF file system. Commands that change
/// ports run one after the other while the result lives.
pub fn lock(pins: &Path) -> Result<File, Error> {
    let outside = || Error::NoBpfFs(pins.to_owned());
    // The folder itself comes and goes.
    let existing = pins.ancestors().skip(1).find(|path| path.exists()).ok_or_else(outside)?;
    let folder = File::open(existing);
    let folder = folder.map_err(Error::system(format!("open {}", existing.display())))?;
    let kind = rustix::fs::fstatfs(&folder).ok();
    if !kind.is_some_and(|kind| u32::try_from(kind.f_type) == Ok(BPF_FS)) {
        return Err(outside());
    }
    let locked = flock(&folder, FlockOperation::LockExclusive);
    locked.map_err(Error::system(format!("lock {}", existing.display())))?;
    Ok(folder)
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
        let all = "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are";
        assert_eq!(of(none, TO_LOAD).as_deref(), Some(all));
        assert_eq!(of(none, TO_READ).as_deref(), Some("CAP_BPF is"));
        assert_eq!(of("000000c000001000", TO_LOAD), None);
        assert_eq!(of("000000c000000000", TO_LOAD).as_deref(), Some("CAP_NET_ADMIN is"));
        // CAP_SYS_ADMIN includes the two others.
        assert_eq!(of("0000000000201000", TO_LOAD), None);
        assert_eq!(of("0000000000200000", TO_REMOVE).as_deref(), Some("CAP_NET_ADMIN is"));
        assert_eq!(missing("", TO_LOAD).as_deref(), Some(all));
    }

    #[test]
    fn the_types_of_a_kernel_tell_whether_it_has_bpf_qdiscs() {
        assert!(has_qdiscs(b"x\0bpf_struct_ops_Qdisc_ops\0y"));
        assert!(!has_qdiscs(b"\0bpf_struct_ops_tcp_congestion_ops\0Qdisc_ops\0"));
    }

    #[test]
    fn a_folder_on_a_disk_keeps_no_pins() {
        let error = lock(Path::new("/tmp/tidegate-no-such-folder/pins")).unwrap_err();
        assert!(error.to_string().contains("mount -t bpf"), "{error}");
    }

    #[test]
    fn a_kernel_without_types_is_named() {
        let error = way(Path::new("/no/such/types")).unwrap_err();
        assert!(error.to_string().contains("CONFIG_DEBUG_INFO_BTF"), "{error}");
    }
}
