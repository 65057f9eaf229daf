use tidegate_units::Rng;

use super::*;

/// Internet checksum of a header: the correct value if its checksum field is zero, and zero if the
/// field is correct.
pub(crate) fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for word in header.chunks(2) {
        sum += u32::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]));
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !sum as u16
}

/// A UDP packet from 10.0.0.1:1000 to 10.0.0.2:2000 over IPv4.
pub(crate) fn ipv4(class: u8, payload: &[u8]) -> Vec<u8> {
    let len = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, class];
    packet.extend(len.to_be_bytes());
    packet.extend([0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = checksum(&packet).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    packet.extend(udp(payload));
    packet
}

/// A UDP packet over IPv6, from `fd00::1` to `fd00::2`.
pub(crate) fn ipv6(class: u8, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let mut packet = vec![0x60 | class >> 4, class << 4 | 0x5, 0x43, 0x21];
    packet.extend(len.to_be_bytes());
    packet.extend([17, 64]);
    for host in [1, 2] {
        packet.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    packet.extend(udp(payload));
    packet
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let mut packet = Vec::new();
    packet.extend(1000_u16.to_be_bytes());
    packet.extend(2000_u16.to_be_bytes());
    packet.extend(len.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// A frame from station 1 to station 2 with this many VLAN tags.
pub(crate) fn tagged(tags: usize, kind: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let types = [TYPE_VLAN, TYPE_SERVICE_VLAN, TYPE_VLAN];
    for tag in &types[types.len() - tags..] {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 5]);
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(packet);
    frame
}

fn ip(frame: &[u8]) -> Option<Ip> {
    parse(frame).unwrap().ip
}

#[test]
fn addresses_class_and_offset_are_read_behind_up_to_two_tags() {
    for tags in 0..=2 {
        for class in 0..=0xFF {
            let found = |version| Some(Ip { version, offset: 14 + 4 * tags as u8, class });
            let v4 = tagged(tags, TYPE_IPV4, &ipv4(class, b"x"));
            let v6 = tagged(tags, TYPE_IPV6, &ipv6(class, b"x"));
            assert_eq!(ip(&v4), found(Version::V4));
            assert_eq!(ip(&v6), found(Version::V6));
            let facts = parse(&v4).unwrap();
            assert_eq!(facts.source.to_string(), "02:00:00:00:00:01");
            assert_eq!(facts.destination.to_string(), "02:00:00:00:00:02");
        }
    }
    let three = tagged(3, TYPE_IPV4, &ipv4(0, b"x"));
    assert_eq!(ip(&three), None, "three tags are not parsed");
}

#[test]
fn incomplete_ip_packets_are_not_parsed() {
    type Damage = fn(&mut Vec<u8>);
    let cases: [(&str, Damage); 6] = [
        ("another version", |p| p[0] = 0x65),
        ("a header shorter than the least", |p| p[0] = 0x44),
        ("a header longer than the packet", |p| p[0] = 0x4F),
        ("a length shorter than the header", |p| p[3] = 19),
        ("a length beyond the frame", |p| p[3] += 1),
        ("a packet cut off", |p| {
            p.pop();
        }),
    ];
    for (what, damage) in cases {
        let mut packet = ipv4(2, b"abc");
        damage(&mut packet);
        assert_eq!(ip(&tagged(0, TYPE_IPV4, &packet)), None, "{what}");
    }
    let mut packet = ipv6(2, b"abc");
    packet.pop();
    assert_eq!(ip(&tagged(0, TYPE_IPV6, &packet)), None);
    assert_eq!(ip(&tagged(0, TYPE_IPV6, &ipv4(2, &[0; 40]))), None);
    assert_eq!(ip(&tagged(0, 0x0806, &ipv4(2, b"abc"))), None, "ARP's type");
    assert_eq!(ip(&tagged(0, 40, &ipv4(2, b"abc"))), None, "a length");
}

#[test]
fn padding_behind_the_packet_is_ignored() {
    let mut frame = tagged(0, TYPE_IPV4, &ipv4(2, b"x"));
    let flow = parse(&frame).unwrap().flow;
    frame.resize(60, 0xAA);
    assert_eq!(ip(&frame).unwrap().class, 2);
    assert_eq!(parse(&frame).unwrap().flow, flow);
}

#[test]
fn every_truncated_frame_is_parsed_without_panic() {
    for tags in 0..=3 {
        for packet in [ipv4(2, b"payload"), ipv6(2, b"payload")] {
            for kind in [TYPE_IPV4, TYPE_IPV6] {
                let frame = tagged(tags, kind, &packet);
                for len in 0..frame.len() {
                    let facts = parse(&frame[..len]);
                    assert_eq!(facts.is_some(), len >= 14);
                    assert_eq!(facts.and_then(|facts| facts.ip), None);
                }
            }
        }
    }
}

#[test]
fn random_bytes_are_parsed_and_marked_without_panic() {
    let mut rng = Rng::new(1, 0);
    let mut frame = [0; 96];
    for _ in 0..200_000 {
        for chunk in frame.chunks_mut(8) {
            chunk.copy_from_slice(&rng.next_u64().to_le_bytes());
        }
        // Types and versions that random bytes rarely contain.
        let draw = rng.next_u32();
        let types = [TYPE_IPV4, TYPE_IPV6, TYPE_VLAN, TYPE_SERVICE_VLAN];
        for (at, shift) in [(12, 0), (16, 2)] {
            let kind = types[(draw >> shift & 3) as usize];
            frame[at..at + 2].copy_from_slice(&kind.to_be_bytes());
        }
        frame[14] = [0x45, 0x60, 0x4F, frame[14]][(draw >> 4 & 3) as usize];
        let len = (draw >> 8) as usize % (frame.len() + 1);
        let frame = &mut frame[..len];
        if let Some(ip) = parse(frame).and_then(|facts| facts.ip) {
            set_ce(frame, ip);
            assert_eq!(parse(frame).unwrap().ip.unwrap().ecn(), Ecn::Ce);
        }
    }
}

#[test]
fn packets_and_fragments_of_a_flow_share_its_number() {
    let flow = |packet: &[u8]| parse(&tagged(0, TYPE_IPV4, packet)).unwrap().flow;
    let one = ipv4(0, b"abcdefgh");
    let longer = ipv4(3, b"abcdefghi");
    assert_eq!(flow(&one), flow(&longer));
    let mut other = one.clone();
    other[21] ^= 1;
    assert_ne!(flow(&one), flow(&other), "another port");
    // First and later fragment of a datagram; the later one has no ports.
    let (mut first, mut later) = (one.clone(), longer);
    first[6] = 0x20;
    later[7] = 1;
    later[20] = 0xFF;
    assert_eq!(flow(&first), flow(&later));
    assert_ne!(flow(&first), flow(&one));
    let mut do_not_fragment = one.clone();
    do_not_fragment[6] = 0x40;
    assert_eq!(flow(&do_not_fragment), flow(&one));
}

#[test]
fn reserved_and_group_addresses_are_recognized() {
    let mac = |last| Mac::new([0x01, 0x80, 0xC2, 0, 0, last]);
    assert!(mac(0x00).is_link_local() && mac(0x0E).is_link_local());
    assert!(!mac(0x10).is_link_local());
    assert!(mac(0x10).is_group() && Mac::new([0xFF; 6]).is_group());
    assert!(!Mac::new([2, 0, 0, 0, 0, 1]).is_group());
}
