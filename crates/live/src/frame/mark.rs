//! Sets Congestion Experienced in a frame.

use super::{Ip, Version};

/// Sets CE in the IP header that [`parse`](super::parse) found in this frame. Does nothing if the
/// header is not there, which cannot happen for an unchanged frame.
///
/// An IPv4 checksum is updated, not recomputed: a header that was damaged before stays recognizable
/// as damaged.
#[inline]
pub fn set_ce(frame: &mut [u8], ip: Ip) {
    let header = frame.get_mut(usize::from(ip.offset)..);
    let header = header.unwrap_or_default();
    match ip.version {
        Version::V4 => {
            if let Some(header) = header.first_chunk_mut() {
                set_ce_v4(header);
            }
        }
        Version::V6 => {
            // The class byte spans two bytes: its two low bits are in the middle of the second.
            if let Some(byte) = header.get_mut(1) {
                *byte |= 0b0011_0000;
            }
        }
    }
}

#[inline]
fn set_ce_v4(header: &mut [u8; 20]) {
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= 0b11;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let sum = u16::from_be_bytes([header[10], header[11]]);
    [header[10], header[11]] = updated(sum, old, new).to_be_bytes();
}

/// Internet checksum after one of its 16-bit words changed (RFC 1624, equation 3).
#[inline]
const fn updated(sum: u16, old: u16, new: u16) -> u16 {
    if old == new {
        // The equation would convert one form of zero into the other.
        return sum;
    }
    let total = !sum as u32 + !old as u32 + new as u32;
    let folded = (total & 0xFFFF) + (total >> 16);
    // Three words give a carry of at most 2; the second fold gives none.
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::parse;
    use crate::frame::tests::{checksum, ipv4, ipv6, tagged};
    use tidegate_units::Ecn;

    #[test]
    fn the_updated_checksum_is_correct_for_any_header() {
        // Every class byte with every identification word, so that every checksum occurs.
        for class in 0..=0xFF {
            let mut header = ipv4(class, &[]);
            for word in (0..=u16::MAX).step_by(7) {
                let header: &mut [u8; 20] = header.first_chunk_mut().unwrap();
                header[1] = class;
                [header[4], header[5]] = word.to_be_bytes();
                [header[10], header[11]] = [0, 0];
                [header[10], header[11]] = checksum(header).to_be_bytes();
                set_ce_v4(header);
                assert_eq!(header[1], class | 3);
                assert_eq!(checksum(header), 0, "class {class:#x}, word {word:#x}");
            }
        }
    }

    #[test]
    fn marking_keeps_the_error_of_a_wrong_checksum() {
        let mut frame = tagged(0, 0x0800, &ipv4(0b10, &[1, 2, 3]));
        frame[14 + 10] ^= 0x40;
        let before = checksum(&frame[14..34]);
        let ip = parse(&frame).unwrap().ip.unwrap();
        set_ce(&mut frame, ip);
        assert_ne!(before, 0);
        assert_eq!(checksum(&frame[14..34]), before);
    }

    #[test]
    fn only_the_two_bits_and_the_checksum_change() {
        for tags in 0..=2 {
            for class in [0b01, 0b10, 0b11, 46 << 2 | 0b10, 0xFF] {
                for (kind, packet) in
                    [(0x0800, ipv4(class, b"payload")), (0x86DD, ipv6(class, b"payload"))]
                {
                    let before = tagged(tags, kind, &packet);
                    let ip = parse(&before).unwrap().ip.unwrap();
                    let mut after = before.clone();
                    set_ce(&mut after, ip);
                    let marked = parse(&after).unwrap().ip.unwrap();
                    assert_eq!(marked.ecn(), Ecn::Ce);
                    assert_eq!(marked.class >> 2, class >> 2);
                    let at = usize::from(ip.offset);
                    let may_change =
                        |i| i == at + 1 || kind == 0x0800 && (i == at + 10 || i == at + 11);
                    for (i, (a, b)) in before.iter().zip(&after).enumerate() {
                        assert!(a == b || may_change(i), "byte {i}");
                    }
                    if class & 3 == 3 {
                        assert_eq!(before, after, "a mark on a marked packet changes nothing");
                    }
                }
            }
        }
    }

    #[test]
    fn a_missing_header_is_ignored() {
        for version in [Version::V4, Version::V6] {
            for len in 0..16 {
                let mut frame = vec![0; len];
                set_ce(&mut frame, Ip { version, offset: 14, class: 2 });
                assert_eq!(frame, vec![0; len]);
            }
        }
    }
}
