//! Completes a checksum that a sender left to its hardware.

use super::{Version, parse, u16_at};

/// Computes the checksum of the TCP or UDP packet in a frame whose sender left it to hardware.
/// Returns whether it did. Such a packet has the sum of its pseudo-header in the checksum's place.
/// If it has not, another checksum is missing, such as of a packet in a tunnel, and nothing is
/// changed.
pub fn finish_checksum(frame: &mut [u8]) -> bool {
    let found = parse(frame).and_then(|facts| facts.ip);
    let Some((ip, packet)) = found.and_then(|ip| Some((ip, frame.get_mut(ip.offset.into()..)?)))
    else {
        return false;
    };
    let segment = match ip.version {
        Version::V4 => segment_v4(packet),
        Version::V6 => segment_v6(packet),
    };
    segment.is_some_and(|segment| finish(packet, &segment))
}

/// Position of an IP packet's payload, and the fields of its pseudo-header.
struct Segment {
    start: usize,
    end: usize,
    protocol: u8,
    /// The addresses.
    addresses: std::ops::Range<usize>,
}

fn segment_v4(packet: &[u8]) -> Option<Segment> {
    let is_fragment = u16_at(packet, 6)? & 0x3FFF != 0;
    (!is_fragment).then_some(Segment {
        start: usize::from(packet[0] & 0xF) * 4,
        end: usize::from(u16_at(packet, 2)?),
        protocol: packet[9],
        addresses: 12..20,
    })
}

fn segment_v6(packet: &[u8]) -> Option<Segment> {
    Some(Segment {
        start: 40,
        end: 40 + usize::from(u16_at(packet, 4)?),
        protocol: *packet.get(6)?,
        addresses: 8..40,
    })
}

fn finish(packet: &mut [u8], segment: &Segment) -> bool {
    let place = match segment.protocol {
        TCP => 16,
        UDP => 6,
        _ => return false,
    };
    let at = segment.start + place;
    if at + 2 > segment.end || segment.end > packet.len() {
        return false;
    }
    let len = (segment.end - segment.start) as u64;
    let pseudo = u64::from(segment.protocol) + len + words(&packet[segment.addresses.clone()]);
    if u16_at(packet, at) != Some(fold(pseudo)) {
        return false;
    }
    // The checksum's place already contains the pseudo-header's sum.
    let sum = match !fold(words(&packet[segment.start..segment.end])) {
        // Zero would mean that there is no checksum.
        0 if segment.protocol == UDP => 0xFFFF,
        sum => sum,
    };
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Sum of all 16-bit words, the last padded with zero.
fn words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().map(|&word| u64::from(u16::from_be_bytes(word)));
    let rest = rest.first().map_or(0, |&byte| u64::from(byte) << 8);
    words.sum::<u64>() + rest
}

/// One's complement.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::*;
    use crate::frame::tests::{checksum, ipv4, ipv6, tagged};

    /// Sum of the pseudo-header and the segment of an IP packet: zero if the checksum is correct.
    fn found(packet: &[u8]) -> u16 {
        let (mut pseudo, segment) = if packet[0] >> 4 == 4 {
            let segment = &packet[20..];
            let mut pseudo = packet[12..20].to_vec();
            pseudo.extend([0, packet[9]]);
            pseudo.extend((segment.len() as u16).to_be_bytes());
            (pseudo, segment)
        } else {
            let segment = &packet[40..];
            let mut pseudo = packet[8..40].to_vec();
            pseudo.extend([0, packet[6]]);
            pseudo.extend((segment.len() as u16).to_be_bytes());
            (pseudo, segment)
        };
        pseudo.extend(segment);
        checksum(&pseudo)
    }

    /// Leaves the checksum of an IP packet to hardware, as Linux does.
    fn leave(packet: &mut [u8]) {
        let (start, protocol, addresses) = match packet[0] >> 4 {
            4 => (20, packet[9], 12..20),
            _ => (40, packet[6], 8..40),
        };
        let mut pseudo = packet[addresses].to_vec();
        pseudo.extend([0, protocol]);
        pseudo.extend(((packet.len() - start) as u16).to_be_bytes());
        let at = start + if protocol == TCP { 16 } else { 6 };
        packet[at..at + 2].copy_from_slice(&(!checksum(&pseudo)).to_be_bytes());
    }

    #[test]
    fn udp_and_tcp_over_both_ips_get_the_correct_checksum() {
        let mut rng = Rng::new(1, 0);
        for len in 0..200 {
            let payload: Vec<u8> = (0..len + 12).map(|_| rng.next_u32() as u8).collect();
            for (kind, mut packet) in
                [(0x0800, ipv4(0b10, &payload)), (0x86DD, ipv6(0b10, &payload))]
            {
                let protocol = if kind == 0x0800 { 9 } else { 6 };
                for number in [TCP, UDP] {
                    packet[protocol] = number;
                    leave(&mut packet);
                    for tags in 0..=2 {
                        let mut frame = tagged(tags, kind, &packet);
                        // Ethernet padding is not part of the packet.
                        frame.extend([7; 5]);
                        assert!(finish_checksum(&mut frame));
                        let start = 14 + 4 * tags;
                        assert_eq!(found(&frame[start..start + packet.len()]), 0);
                        assert_eq!(frame[frame.len() - 5..], [7; 5]);
                    }
                }
            }
        }
    }

    #[test]
    fn a_checksum_of_udp_is_never_zero() {
        let finished = |payload: [u8; 2]| {
            let mut packet = ipv4(0, &payload);
            leave(&mut packet);
            let mut frame = tagged(0, 0x0800, &packet);
            assert!(finish_checksum(&mut frame));
            [frame[40], frame[41]]
        };
        // A payload whose sum is all ones.
        assert_eq!(finished(finished([0, 0])), [0xFF, 0xFF]);
    }

    #[test]
    fn packets_without_such_a_checksum_are_unchanged() {
        let mut other = ipv4(0, b"payload");
        other[9] = 1;
        let mut fragment = ipv4(0, b"payload");
        fragment[6] = 0x20;
        let mut short = ipv4(0, &[]);
        short[9] = TCP;
        // The inner packet's checksum is correct, or there is none.
        let mut tunnel = ipv4(0, b"payload");
        leave(&mut tunnel);
        tunnel[26] ^= 1;
        let mut without = ipv4(0, b"payload");
        without[26..28].fill(0);
        for packet in [other, fragment, short, tunnel, without] {
            let before = tagged(0, 0x0800, &packet);
            let mut after = before.clone();
            assert!(!finish_checksum(&mut after));
            assert_eq!(before, after);
        }
        for len in 0..60 {
            let mut packet = ipv4(0, &[1; 40]);
            leave(&mut packet);
            let mut frame = tagged(0, 0x0800, &packet);
            frame.truncate(len);
            let before = frame.clone();
            assert!(!finish_checksum(&mut frame));
            assert_eq!(frame, before);
        }
    }
}
