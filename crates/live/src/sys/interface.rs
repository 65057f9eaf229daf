//! Network interfaces by name, in the namespace of a socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_short, c_void, ifreq};

use super::check;

/// Socket for queries about interfaces of the current namespace.
pub(crate) fn control() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; a returned descriptor has no other owner.
    unsafe {
        let fd = check(libc::socket(libc::AF_INET, kind, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Number of an interface, or `None` if none has the name.
pub(crate) fn index(socket: BorrowedFd, name: &str) -> io::Result<Option<c_int>> {
    let mut request = request(name)?;
    // SAFETY: this request returns a number in an interface request.
    match unsafe { control_interface(socket, libc::SIOCGIFINDEX as _, &mut request) } {
        // SAFETY: the kernel has written this field; any bytes are an integer.
        Ok(()) => Ok(Some(unsafe { request.ifr_ifru.ifru_ifindex })),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Name of an interface by its number: the one that `ip link` shows, which may have others.
pub(crate) fn name(socket: BorrowedFd, index: c_int) -> io::Result<String> {
    let mut request = request("-")?;
    request.ifr_ifru.ifru_ifindex = index;
    // SAFETY: this request returns a name in an interface request.
    unsafe { control_interface(socket, libc::SIOCGIFNAME as _, &mut request) }?;
    let name = request.ifr_name.iter().take_while(|&&byte| byte != 0);
    let name: Vec<u8> = name.map(|byte| byte.cast_unsigned()).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// Link state according to the interface's flags: up or not, or `None` if it is up without a
/// carrier in the flags. They follow the carrier up to a second late.
pub(crate) fn is_running(socket: BorrowedFd, name: &str) -> Option<bool> {
    let flags = flags(socket, name).unwrap_or_default();
    let has = |flag: c_int| flags & flag as c_short != 0;
    match (has(libc::IFF_UP), has(libc::IFF_RUNNING)) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    }
}

/// Whether an interface has a carrier now. This takes a kernel lock that others may hold for long
/// while they create or remove interfaces: do not call it often while frames wait.
pub(crate) fn has_carrier(socket: BorrowedFd, name: &str) -> bool {
    ethtool(socket, name, ETHTOOL_GLINK, 0).is_ok_and(|carrier| carrier != 0)
}

/// Whether an interface carries Ethernet frames between stations: not the loopback, nor a tunnel
/// without addresses.
pub(crate) fn is_ethernet(socket: BorrowedFd, name: &str) -> io::Result<bool> {
    let mut request = request(name)?;
    // SAFETY: this request returns an address in an interface request.
    unsafe { control_interface(socket, libc::SIOCGIFHWADDR as _, &mut request) }?;
    // SAFETY: the kernel has written this field; any bytes are an integer.
    let kind = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
    Ok(kind == libc::ARPHRD_ETHER)
}

/// Sets an interface up.
pub(crate) fn set_up(socket: BorrowedFd, name: &str) -> io::Result<()> {
    let flags = flags(socket, name)?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as c_short;
    // SAFETY: this request reads flags from an interface request.
    unsafe { control_interface(socket, libc::SIOCSIFFLAGS as _, &mut request) }
}

/// Turns off checksum and segmentation offloads of the interface in both directions, so that every
/// packet is handed over as it would be on a wire. Offloads that an interface does not know are
/// skipped.
pub(crate) fn disable_offloads(socket: BorrowedFd, name: &str) -> io::Result<()> {
    let disable = |command, value| match ethtool(socket, name, command, value) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        other => other.map(drop),
    };
    // ETHTOOL_STXCSUM, _STSO, _SGSO, _SGRO; and _SRXCSUM, without which no hardware merges packets.
    for command in [0x17, 0x1F, 0x24, 0x2C, ETHTOOL_SRXCSUM] {
        disable(command, 0)?;
    }
    // Some drivers merge packets themselves.
    match ethtool(socket, name, ETHTOOL_GFLAGS, 0) {
        Ok(flags) if flags & LARGE_RECEIVE != 0 => disable(ETHTOOL_SFLAGS, flags & !LARGE_RECEIVE),
        _ => Ok(()),
    }
}

/// Sets whether the interface verifies checksums of received packets.
const ETHTOOL_SRXCSUM: u32 = 0x15;
/// Gets and sets further flags, one of which makes a driver merge packets.
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const LARGE_RECEIVE: u32 = 1 << 15;

/// Raises the MTU so that an interface can carry two VLAN tags in addition to the longest packet of
/// its hosts, like the kernel's bridge: a packet socket refuses frames above the MTU, except for
/// one tag of 802.1Q. If the MTU cannot be changed, long frames with tags are refused.
pub(crate) fn make_room_for_tags(socket: BorrowedFd, name: &str) {
    let _ = raise_mtu(socket, name);
}

fn raise_mtu(socket: BorrowedFd, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    // SAFETY: this request returns a number in an interface request.
    unsafe { control_interface(socket, libc::SIOCGIFMTU as _, &mut request) }?;
    // SAFETY: the kernel has written this field; any bytes are an integer.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    let Some(roomy) = with_room_for_tags(mtu) else {
        return Ok(());
    };
    request.ifr_ifru.ifru_mtu = roomy;
    // SAFETY: this request reads a number from an interface request.
    unsafe { control_interface(socket, libc::SIOCSIFMTU as _, &mut request) }
}

/// The MTU plus two tags, or `None` if it already includes them. Hosts' MTUs are even, and the
/// result is odd: an interface that is opened again, perhaps by another process, is not changed
/// again.
fn with_room_for_tags(mtu: c_int) -> Option<c_int> {
    const TWO_TAGS: c_int = 8;
    (mtu % 2 == 0).then_some(mtu.saturating_add(TWO_TAGS + 1))
}

/// Queries the carrier.
const ETHTOOL_GLINK: u32 = 0x0A;

/// Runs a command that takes or returns one number.
fn ethtool(socket: BorrowedFd, name: &str, command: u32, value: u32) -> io::Result<u32> {
    let mut value: [u32; 2] = [command, value];
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the data is a command and a value, which live until the call returns.
    unsafe { control_interface(socket, libc::SIOCETHTOOL as _, &mut request) }?;
    Ok(value[1])
}

fn flags(socket: BorrowedFd, name: &str) -> io::Result<c_short> {
    let mut request = request(name)?;
    // SAFETY: this request returns flags in an interface request.
    unsafe { control_interface(socket, libc::SIOCGIFFLAGS as _, &mut request) }?;
    // SAFETY: the kernel has written this field; any bytes are an integer.
    Ok(unsafe { request.ifr_ifru.ifru_flags })
}

/// A request about an interface, with all other fields zero.
pub(super) fn request(name: &str) -> io::Result<ifreq> {
    // SAFETY: a struct of integers and a union of integers, for which zeroes are valid.
    let mut request: ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        let longest = request.ifr_name.len() - 1;
        let problem = format!("an interface's name has 1 to {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

/// Sends a request about an interface.
///
/// # Safety
///
/// The kernel reads and writes an `ifreq` for this request, and all that its data points to is
/// valid.
pub(super) unsafe fn control_interface(
    socket: BorrowedFd,
    operation: libc::Ioctl,
    request: &mut ifreq,
) -> io::Result<()> {
    let request: *mut ifreq = request;
    // SAFETY: as the caller promises.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), operation, request.cast::<c_void>()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtu_is_raised_for_tags_only_once() {
        for mtu in [68, 1_280, 1_492, 1_500, 9_000, 65_534] {
            let roomy = with_room_for_tags(mtu).unwrap();
            assert!(roomy >= mtu + 8);
            assert_eq!(with_room_for_tags(roomy), None);
        }
    }
}
