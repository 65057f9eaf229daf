//! Bytes worked out by hand, and every field read back by a parser that shares no code with the
//! writer.

use tidegate_transport::protocol::dcqcn::{self, Dcqcn};
use tidegate_transport::protocol::{Packet, Transport};
use tidegate_transport::{Range, SackBlocks, Seq};
use tidegate_units::Rng;

use super::*;

/// Host 1 to host 258, port 49152 to 5001, class 2.
fn view(body: Body<'_>) -> PacketView<'_> {
    PacketView {
        src_host: 1,
        dst_host: 0x0102,
        src_port: 0xC000,
        dst_port: 0x1389,
        dscp: class_selector(2),
        ip_id: 7,
        body,
    }
}

#[test]
fn marked_data_agrees_with_bytes_worked_out_by_hand() {
    let segment = Segment {
        seq: Seq(0x0001_0203),
        ack: Seq(0x0405_0607),
        len: 1460,
        window: 16 << 20,
        flags: Flags::ACK | Flags::CWR,
        ecn: Ecn::Ect0,
        ..Segment::default()
    };
    let frame = Frame::new(&view(Body::Tcp(&segment)));
    assert_eq!((frame.wire_len(), frame.zeros()), (1514, 1460));
    // IP: 4542 + 05DC + 0007 + 4000 + 4006 + 0A00 + 0001 + 0A00 + 0102 = E02E, inverted 1FD1.
    // TCP: addresses 1503, protocol 0006, length 05C8, then C000 + 1389 + 0001 + 0203 + 0405 +
    // 0607 + 5090 + 1000 = 15AFA, carried 5AFB, inverted A504. The window is 2^24 / 2^12.
    #[rustfmt::skip]
    let expected = [
        0x02, 0x00, 0x00, 0x00, 0x01, 0x02,  0x02, 0x00, 0x00, 0x00, 0x00, 0x01,  0x08, 0x00,
        0x45, 0x42, 0x05, 0xDC,  0x00, 0x07, 0x40, 0x00,  0x40, 0x06, 0x1F, 0xD1,
        0x0A, 0x00, 0x00, 0x01,  0x0A, 0x00, 0x01, 0x02,
        0xC0, 0x00, 0x13, 0x89,  0x00, 0x01, 0x02, 0x03,  0x04, 0x05, 0x06, 0x07,
        0x50, 0x90, 0x10, 0x00,  0xA5, 0x04, 0x00, 0x00,
    ];
    assert_eq!(frame.headers(), expected);
}

#[test]
fn an_ecn_setup_syn_agrees_with_bytes_worked_out_by_hand() {
    let segment = Segment {
        window: 16 << 20,
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        sack_permitted: true,
        mss: 1460,
        ..Segment::default()
    };
    let frame =
        Frame::new(&PacketView { dst_host: 2, dscp: 0, ip_id: 0, ..view(Body::Tcp(&segment)) });
    assert_eq!((frame.wire_len(), frame.zeros()), (66, 0));
    // IP: 4500 + 0034 + 4000 + 4006 + 0A00 + 0001 + 0A00 + 0002 = D93D, inverted 26C2.
    // TCP: addresses 1403, protocol 0006, length 0020, then C000 + 1389 + 80C2 + FFFF + 0204 +
    // 05B4 + 0101 + 0402 + 0103 + 030C = 2793D, carried 793F, inverted 86C0.
    #[rustfmt::skip]
    let expected = [
        0x45, 0x00, 0x00, 0x34,  0x00, 0x00, 0x40, 0x00,  0x40, 0x06, 0x26, 0xC2,
        0x0A, 0x00, 0x00, 0x01,  0x0A, 0x00, 0x00, 0x02,
        0xC0, 0x00, 0x13, 0x89,  0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
        0x80, 0xC2, 0xFF, 0xFF,  0x86, 0xC0, 0x00, 0x00,
        0x02, 0x04, 0x05, 0xB4,  0x01, 0x01, 0x04, 0x02,  0x01, 0x03, 0x03, 0x0C,
    ];
    assert_eq!(frame.headers()[ETHERNET..], expected);
}

#[test]
fn sack_blocks_follow_two_nops() {
    let mut segment = Segment { flags: Flags::ACK | Flags::ECE, ..Segment::default() };
    segment.sack.push(Range::new(Seq(0x10), Seq(0x20)));
    segment.sack.push(Range::new(Seq(u32::MAX), Seq(5)));
    let frame = Frame::new(&view(Body::Tcp(&segment)));
    let tcp = &frame.headers()[TRANSPORT..];
    #[rustfmt::skip]
    let options = [
        1, 1, 5, 18,
        0, 0, 0, 0x10, 0, 0, 0, 0x20,
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 5,
    ];
    assert_eq!(tcp[20..], options);
    assert_eq!(tcp[12..14], [0xA0, 0x50]); // ten words; ACK and ECE
}

#[test]
fn only_a_closed_window_is_written_as_zero() {
    let shown = |flags, window| {
        let segment = Segment { window, flags, ..Segment::default() };
        let frame = Frame::new(&view(Body::Tcp(&segment)));
        u16::from_be_bytes([frame.headers()[TRANSPORT + 14], frame.headers()[TRANSPORT + 15]])
    };
    let windows = [0, 1, 4096, 4097, 65_535 << 12, (65_535 << 12) + 1, u32::MAX];
    let scaled = windows.map(|window| shown(Flags::ACK, window));
    assert_eq!(scaled, [0, 1, 1, 2, 65_535, 65_535, 65_535]);
    let of_syn = [0, 1, 65_535, 65_536].map(|window| shown(Flags::SYN, window));
    assert_eq!(of_syn, [0, 1, 65_535, 65_535]);
}

#[test]
fn hosts_and_classes_beyond_the_last_share_its_address() {
    assert_eq!(host(0), [0, 0, 0]);
    assert_eq!(host(0x0001_0203), [1, 2, 3]);
    assert_eq!(host(0x00FF_FFFE), [0xFF, 0xFF, 0xFE]);
    assert_eq!(host(0x0100_0000), [0xFF; 3]);
    assert_eq!(host(u32::MAX), [0xFF; 3]);
    assert_eq!([0, 1, 6, 7, 8, 255].map(class_selector), [0, 8, 48, 56, 56, 56]);
}

#[test]
fn a_packet_is_truncated_at_the_ipv4_limit() {
    let length = |len| {
        let segment = Segment { len, ..Segment::default() };
        Frame::new(&view(Body::Tcp(&segment))).wire_len()
    };
    let whole = 14 + 65_535;
    assert_eq!([65_494, 65_495, 65_496].map(length), [whole - 1, whole, whole]);
    assert_eq!(length(u32::MAX), whole);
}

fn datagram(packet: dcqcn::Packet, queue: u16, unit: u32) -> Datagram {
    let Packet { header, len, .. } = packet.into();
    Dcqcn::datagram(&header, len, queue, unit)
}

/// Transport header of a RoCE packet whose unit is 1000 bytes.
fn roce(packet: dcqcn::Packet) -> Vec<u8> {
    let datagram = datagram(packet, 0x1389, 1000);
    let frame = Frame::new(&view(Body::Udp { datagram: &datagram, ecn: packet.ecn }));
    assert_eq!(frame.headers()[ETHERNET + 9], 17);
    let udp = &frame.headers()[TRANSPORT..];
    assert_eq!(udp[..4], [0xC0, 0x00, 0x12, 0xB7]); // to port 4791
    let length = u32::from(u16::from_be_bytes([udp[4], udp[5]]));
    assert_eq!(length + TRANSPORT as u32, frame.wire_len());
    assert_eq!(udp[6..8], [0, 0]);
    udp[8..].to_vec()
}

const DATA: dcqcn::Packet = dcqcn::Packet {
    offset: 0,
    len: 1000,
    kind: dcqcn::Kind::Data,
    ecn: Ecn::Ect0,
    echo: false,
    last: false,
    again: false,
};

#[test]
fn roce_data_is_a_send_numbered_by_position() {
    let at = |offset, len, last| roce(dcqcn::Packet { offset, len, last, ..DATA });
    let queue = [0, 0, 0x13, 0x89];
    let expected = |opcode, number| [&[opcode, 0, 0xFF, 0xFF], &queue[..], number].concat();
    assert_eq!(at(0, 1000, false), expected(0x00, &[0, 0, 0, 0]));
    assert_eq!(at(258_000, 1000, false), expected(0x01, &[0, 0, 1, 2]));
    assert_eq!(at(2_000, 1000, true), expected(0x02, &[0x80, 0, 0, 2]));
    assert_eq!(at(0, 1000, true), expected(0x04, &[0x80, 0, 0, 0]));
    // After 2^24 packets the number wraps.
    assert_eq!(at(16_777_217_000, 1000, false)[9..], [0, 0, 1]);
    // Three bytes short of a word.
    assert_eq!(at(0, 997, false)[1], 0x30);
}

#[test]
fn roce_answers_acknowledge_packets_or_name_the_missing_one() {
    let answer =
        |kind, offset, echo| roce(dcqcn::Packet { offset, kind, ecn: Ecn::NotEct, echo, ..DATA });
    // The first twelve bytes are the base header; the CRC is zero, and so are a CNP's 16 bytes.
    let expected = |opcode, notice, number, extension: &[u8]| {
        let mut bytes = vec![opcode, 0, 0xFF, 0xFF, notice, 0, 0x13, 0x89, 0, 0, 0, number];
        bytes.extend(extension);
        bytes.extend([0; 4]);
        bytes
    };
    let ack = [0x1F, 0, 0, 0];
    // Two whole packets and a short one: the third, number 2, was the last.
    let answer_to_three = answer(dcqcn::Kind::Ack, 2_500, false);
    assert_eq!(answer_to_three, expected(0x11, 0, 2, &ack));
    let answer_to_a_mark = answer(dcqcn::Kind::Ack, 2_000, true);
    assert_eq!(answer_to_a_mark, expected(0x11, 0x40, 1, &ack));
    let nack = answer(dcqcn::Kind::Nack, 2_000, false);
    assert_eq!(nack, expected(0x11, 0, 2, &[0x60, 0, 0, 0]));
    let cnp = answer(dcqcn::Kind::Cnp, 2_000, false);
    assert_eq!(cnp, expected(0x81, 0x40, 0, &[0; 16]));
}

#[test]
fn ping_header_agrees_with_bytes_computed_by_hand() {
    let echo = |kind| {
        let frame = Frame::new(&view(Body::Echo(Echo {
            kind,
            id: 0x1234,
            sequence: 0x0005,
            len: 56,
            ecn: Ecn::NotEct,
        })));
        assert_eq!((frame.wire_len(), frame.headers()[ETHERNET + 9]), (98, 1));
        frame.headers()[TRANSPORT..].to_vec()
    };
    // 0800 + 1234 + 0005 = 1A39, inverted E5C6; without the 0800, 1239 and EDC6.
    assert_eq!(echo(EchoKind::Request), [8, 0, 0xE5, 0xC6, 0x12, 0x34, 0, 5]);
    assert_eq!(echo(EchoKind::Reply), [0, 0, 0xED, 0xC6, 0x12, 0x34, 0, 5]);
}

/// A segment as read from the wire, with the fields of its IP header.
#[derive(Debug, PartialEq)]
struct Parsed {
    hosts: (u32, u32),
    ports: (u16, u16),
    dscp: u8,
    ip_id: u16,
    ip_len: usize,
    window: u32,
    shift: Option<u8>,
    segment: Segment,
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes(bytes.try_into().unwrap())
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}

/// The ones' complement sum of a message with its checksum is all ones (RFC 1071).
fn is_intact(message: &[u8]) -> bool {
    let mut sum = 0_u64;
    for pair in message.chunks(2) {
        sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low));
    }
    sum > 0 && sum.is_multiple_of(0xFFFF)
}

/// Reads a whole frame according to RFC 791, 793, 2018 and 7323.
fn parse(frame: &[u8]) -> Parsed {
    let (ethernet, ip) = frame.split_at(14);
    assert_eq!(ethernet[12..], [8, 0]);
    assert_eq!((ip[0], &ip[6..8], ip[8], ip[9]), (0x45, &[0x40, 0][..], 64, 6));
    assert!(is_intact(&ip[..20]));
    let host = |address: &[u8], hardware: &[u8]| {
        assert_eq!((address[0], &hardware[..3]), (10, &[2, 0, 0][..]));
        assert_eq!(address[1..], hardware[3..]);
        be32(address) & 0x00FF_FFFF
    };
    let tcp = &ip[20..];
    let mut covered = ip[12..20].to_vec();
    covered.extend([0, 6]);
    covered.extend(u16::try_from(tcp.len()).unwrap().to_be_bytes());
    covered.extend(tcp);
    assert!(is_intact(&covered));
    let header = usize::from(tcp[12] >> 4) * 4;
    assert_eq!((tcp[12] & 15, &tcp[18..20]), (0, &[0, 0][..]));

    let mut segment = Segment {
        seq: Seq(be32(&tcp[4..8])),
        ack: Seq(be32(&tcp[8..12])),
        len: u32::try_from(tcp.len() - header).unwrap(),
        flags: Flags::from_bits(tcp[13]),
        ecn: Ecn::from_bits(ip[1]),
        ..Segment::default()
    };
    assert_eq!(segment.flags.bits(), tcp[13]);
    let mut shift = None;
    let mut options = &tcp[20..header];
    while let [kind, rest @ ..] = options {
        if *kind == 1 {
            options = rest;
            continue;
        }
        let (value, behind) = rest[1..].split_at(usize::from(rest[0]) - 2);
        match (*kind, value.len()) {
            (2, 2) => {
                segment.mss = be16(value);
                assert_ne!(segment.mss, 0, "an MSS of zero must be written as no option");
            }
            (3, 1) => shift = Some(value[0]),
            (4, 0) => segment.sack_permitted = true,
            (5, 8 | 16 | 24 | 32) => {
                for block in value.chunks(8) {
                    let edge = |at: usize| Seq(be32(&block[at..at + 4]));
                    segment.sack.push(Range::new(edge(0), edge(4)));
                }
            }
            other => panic!("unknown option: {other:?}"),
        }
        options = behind;
    }
    Parsed {
        hosts: (host(&ip[12..16], &ethernet[6..12]), host(&ip[16..20], &ethernet[..6])),
        ports: (be16(&tcp[..2]), be16(&tcp[2..4])),
        dscp: ip[1] >> 2,
        ip_id: be16(&ip[4..6]),
        ip_len: usize::from(be16(&ip[2..4])),
        window: u32::from(be16(&tcp[14..16])),
        shift,
        segment,
    }
}

/// Random bits, often the largest or a small number.
fn draw(rng: &mut Rng) -> u32 {
    let bits = rng.next_u32();
    match bits % 4 {
        0 => u32::MAX,
        1 => bits >> 24,
        2 => bits >> 16,
        _ => rng.next_u32(),
    }
}

fn random_segment(rng: &mut Rng) -> Segment {
    let mut sack = SackBlocks::default();
    for _ in 0..rng.next_u32() % 6 {
        sack.push(Range::new(Seq(draw(rng)), Seq(draw(rng))));
    }
    Segment {
        seq: Seq(draw(rng)),
        ack: Seq(draw(rng)),
        len: draw(rng),
        window: draw(rng),
        sack,
        flags: Flags::from_bits(draw(rng) as u8),
        ecn: Ecn::from_bits(draw(rng) as u8),
        class: draw(rng) as u8,
        sack_permitted: rng.next_u32().is_multiple_of(2),
        mss: if rng.next_u32().is_multiple_of(4) { 0 } else { draw(rng) as u16 },
        is_retransmission: false,
    }
}

#[test]
fn every_segment_reads_back_unchanged() {
    for seed in 0..4_000 {
        let mut rng = Rng::new(seed, 0);
        let sent = random_segment(&mut rng);
        let view = PacketView {
            src_host: draw(&mut rng),
            dst_host: draw(&mut rng),
            src_port: draw(&mut rng) as u16,
            dst_port: draw(&mut rng) as u16,
            dscp: draw(&mut rng) as u8,
            ip_id: draw(&mut rng) as u16,
            body: Body::Tcp(&sent),
        };
        let frame = Frame::new(&view);
        let mut bytes = frame.headers().to_vec();
        let header_len = bytes.len();
        bytes.resize(frame.wire_len() as usize, 0);
        let is_syn = sent.flags.has(Flags::SYN);
        let window =
            if is_syn { u64::from(sent.window) } else { u64::from(sent.window).div_ceil(4096) };
        let mut expected = sent;
        // Fields that a header cannot hold, or leaves out.
        expected.class = 0;
        expected.window = 0;
        expected.len = sent.len.min(65_535 - (header_len as u32 - 14));
        if is_syn {
            expected.sack = SackBlocks::default();
        } else {
            (expected.mss, expected.sack_permitted) = (0, false);
        }
        if !sent.flags.has(Flags::ACK) {
            expected.ack = Seq(0);
        }
        let expected = Parsed {
            hosts: (view.src_host.min(0xFF_FFFF), view.dst_host.min(0xFF_FFFF)),
            ports: (view.src_port, view.dst_port),
            dscp: view.dscp.min(63),
            ip_id: view.ip_id,
            ip_len: bytes.len() - 14,
            window: window.min(65_535) as u32,
            shift: is_syn.then_some(12),
            segment: expected,
        };
        assert_eq!(parse(&bytes), expected, "seed {seed}");
    }
}

#[test]
fn random_packets_of_all_kinds_are_valid() {
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed, 1);
        let packet = dcqcn::Packet {
            offset: u64::from(draw(&mut rng)) << (rng.next_u32() % 33),
            len: draw(&mut rng),
            kind: [dcqcn::Kind::Ack, dcqcn::Kind::Cnp, dcqcn::Kind::Data, dcqcn::Kind::Nack]
                [rng.next_u32() as usize % 4],
            ecn: Ecn::from_bits(draw(&mut rng) as u8),
            echo: rng.next_u32().is_multiple_of(2),
            last: rng.next_u32().is_multiple_of(2),
            again: false,
        };
        let unit = if seed % 3 == 0 { 0 } else { draw(&mut rng) };
        let datagram = datagram(packet, draw(&mut rng) as u16, unit);
        let roce = Body::Udp { datagram: &datagram, ecn: packet.ecn };
        let echo = Body::Echo(Echo {
            kind: EchoKind::Request,
            id: draw(&mut rng) as u16,
            sequence: draw(&mut rng) as u16,
            len: draw(&mut rng),
            ecn: packet.ecn,
        });
        for body in [roce, echo] {
            let frame = Frame::new(&view(body));
            let ip = &frame.headers()[14..];
            assert!(is_intact(&ip[..20]), "seed {seed}");
            assert_eq!(u32::from(be16(&ip[2..4])) + 14, frame.wire_len(), "seed {seed}");
            assert_eq!(Ecn::from_bits(ip[1]), packet.ecn, "seed {seed}");
            if ip[9] == 1 {
                assert!(is_intact(&ip[20..]), "seed {seed}");
            }
        }
    }
}
