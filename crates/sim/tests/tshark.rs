//! Wireshark's dissectors read captures: an independent check of every header byte.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_sim::trace::pcapng::{Capture, Payload};
use tidegate_sim::trace::wire::{Body, Echo, EchoKind, PacketView, class_selector};
use tidegate_transport::protocol::dcqcn::{self, Dcqcn};
use tidegate_transport::protocol::{Packet, Transport};
use tidegate_transport::{Config, Endpoint, Flags, Range, SackBlocks, Segment, Seq, State, cc};
use tidegate_units::{Ecn, Rng, Span, Time};

const CLIENT: u32 = 1;
const SERVER: u32 = 70_000;

/// A packet from client to server or back.
fn view(src_host: u32, ip_id: u16, body: Body<'_>) -> PacketView<'_> {
    let (client, server) = (49_152, 5_001);
    let from_client = src_host == CLIENT;
    PacketView {
        src_host,
        dst_host: if from_client { SERVER } else { CLIENT },
        src_port: if from_client { client } else { server },
        dst_port: if from_client { server } else { client },
        dscp: class_selector(3),
        ip_id,
        body,
    }
}

/// A capture with a link for each direction, the packets one microsecond apart.
fn capture(name: &str, payload: Payload, packets: &[PacketView<'_>]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = fs::File::create(&path).unwrap();
    let mut capture = Capture::new(file, "tidegate run a.toml --seed 1", payload).unwrap();
    let there = capture.add_link("leaf0 -> spine1").unwrap();
    let back = capture.add_link("spine1 -> leaf0").unwrap();
    let mut now = Time::from_ms(20);
    for packet in packets {
        let link = if packet.src_host == CLIENT { there } else { back };
        capture.packet(link, now, packet).unwrap();
        now += Span::from_ps(1_000_001);
    }
    capture.finish().unwrap();
    path
}

/// Output of a tool of the package tshark.
fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool)
        .args(arguments)
        // Neither a user's settings nor a time zone may change the output.
        .env("WIRESHARK_CONFIG_DIR", env!("CARGO_TARGET_TMPDIR"))
        .env("TZ", "UTC")
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run {tool}: {error}; on Debian: apt-get install tshark")
        });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The named fields of each packet. All checksums are verified.
fn fields(path: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec![
        "-n",
        "-r",
        path.to_str().unwrap(),
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "tcp.relative_sequence_numbers:FALSE",
        "-T",
        "fields",
    ];
    for name in names {
        arguments.extend(["-e", name]);
    }
    // From version 4.2 on, flags are printed as words.
    let value = |text: &str| match text {
        "False" => String::from("0"),
        "True" => String::from("1"),
        other => String::from(other),
    };
    run("tshark", &arguments).lines().map(|line| line.split('\t').map(value).collect()).collect()
}

/// Asserts that every checksum was verified and correct, and that no dissector failed on a packet.
fn assert_sound(path: &Path, packets: usize) {
    let names = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "icmp.checksum.status",
        "_ws.malformed",
        "_ws.short",
        "_ws.expert.group",
        "ip.proto",
        "_ws.expert.message",
    ];
    let rows = fields(path, &names);
    assert_eq!(rows.len(), packets);
    let (good, sequence) = ("1", "33554432");
    for (number, row) in rows.iter().enumerate() {
        let status = match row[6].as_str() {
            "1" => [good, "", good],
            "6" => [good, good, ""],
            _ => [good, "", ""],
        };
        assert_eq!(row[..3], status, "packet {number}: {row:?}");
        assert_eq!(row[3..5], ["", ""], "packet {number}: {row:?}");
        // Losses and the ends of connections are reported as notes of this group.
        let mut groups = row[5].split(',').filter(|group| !group.is_empty());
        assert!(groups.all(|group| group == sequence), "packet {number}: {row:?}");
    }
}

fn segment(flags: Flags, seq: u32, ack: u32, len: u32, ecn: Ecn) -> Segment {
    Segment {
        seq: Seq(seq),
        ack: Seq(ack),
        len,
        window: 16 << 20,
        flags,
        ecn,
        ..Segment::default()
    }
}

fn syn(flags: Flags, seq: u32, ack: u32) -> Segment {
    Segment {
        sack_permitted: true,
        mss: 1460,
        ..segment(Flags::SYN | flags, seq, ack, 0, Ecn::NotEct)
    }
}

/// A handshake that agrees on ECN, four packets of which the second is marked and the third lost,
/// the echo of the mark, and the response to it.
fn marked_exchange() -> Vec<(u32, Segment)> {
    let (ack, ece, cwr) = (Flags::ACK, Flags::ECE, Flags::CWR);
    let mut lost = segment(ack | ece, 9, 2921, 0, Ecn::NotEct);
    lost.sack.push(Range::new(Seq(4381), Seq(5841)));
    let mut twice_lost = lost;
    twice_lost.sack = SackBlocks::default();
    twice_lost.sack.push(Range::new(Seq(7301), Seq(8761)));
    twice_lost.sack.push(Range::new(Seq(4381), Seq(5841)));
    vec![
        (CLIENT, syn(ece | cwr, 0, 0)),
        (SERVER, syn(ack | ece, 8, 1)),
        (CLIENT, segment(ack, 1, 9, 0, Ecn::NotEct)),
        (CLIENT, segment(ack, 1, 9, 1460, Ecn::Ect0)),
        (CLIENT, segment(ack, 1461, 9, 1460, Ecn::Ce)),
        (CLIENT, segment(ack, 4381, 9, 1460, Ecn::Ect1)),
        (SERVER, lost),
        (CLIENT, segment(ack | cwr, 7301, 9, 1460, Ecn::Ect0)),
        (SERVER, twice_lost),
        (CLIENT, segment(ack | Flags::FIN, 8761, 9, 0, Ecn::Ect0)),
    ]
}

fn views(exchange: &[(u32, Segment)]) -> Vec<PacketView<'_>> {
    exchange
        .iter()
        .enumerate()
        .map(|(id, (host, segment))| view(*host, id as u16, Body::Tcp(segment)))
        .collect()
}

#[test]
fn wireshark_reads_a_marked_exchange() {
    let exchange = marked_exchange();
    let names = [
        "ip.dsfield.ecn",
        "tcp.flags.syn",
        "tcp.flags.ece",
        "tcp.flags.cwr",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.window_size",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
    ];
    let expected = [
        "0 1 1 1 0 0 0 65535  ",
        "0 1 1 0 8 1 0 65535  ",
        "0 0 0 0 1 9 0 16777216  ",
        "2 0 0 0 1 9 1460 16777216  ",
        "3 0 0 0 1461 9 1460 16777216  ",
        "1 0 0 0 4381 9 1460 16777216  ",
        "0 0 1 0 9 2921 0 16777216 4381 5841",
        "2 0 0 1 7301 9 1460 16777216  ",
        "0 0 1 0 9 2921 0 16777216 7301,4381 8761,5841",
        "2 0 0 0 8761 9 0 16777216  ",
    ];
    for payload in [Payload::Omitted, Payload::Zeros] {
        let path = capture(&format!("marked-{payload:?}.pcapng"), payload, &views(&exchange));
        let rows = fields(&path, &names);
        let rows: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, expected, "{payload:?}");
    }
    let whole = Path::new(env!("CARGO_TARGET_TMPDIR")).join("marked-Zeros.pcapng");
    assert_sound(&whole, exchange.len());
}

/// Packets of a real connection over a path that marks and loses some of them, as they enter the
/// path.
fn transfer(seed: u64) -> Vec<(u32, Segment)> {
    const DELAY: Span = Span::from_us(20);
    let mut rng = Rng::new(seed, 0);
    let config = Config::default();
    let cc = cc::Config::named("dctcp").unwrap();
    let mut now = Time::ZERO;
    let mut client = Endpoint::connect(&config, &cc, Seq(u32::MAX - 100_000)).unwrap();
    let mut server = Endpoint::listen(&config, &cc, Seq(9)).unwrap();
    client.write(1_500_000, now);
    let mut sent = Vec::new();
    // Arrivals in order, because the delay is the same for all.
    let mut flying = VecDeque::new();
    loop {
        if client.state() == State::Established {
            client.close(now);
        }
        for (host, endpoint) in [(CLIENT, &mut client), (SERVER, &mut server)] {
            while let Some(mut segment) = endpoint.poll_segment(now) {
                if segment.ecn.is_capable() && rng.next_u32().is_multiple_of(16) {
                    segment.ecn = Ecn::Ce;
                }
                sent.push((host, segment));
                if !rng.next_u32().is_multiple_of(25) {
                    flying.push_back((now + DELAY, host, segment));
                }
            }
        }
        let timeouts = [client.poll_timeout(), server.poll_timeout()];
        let arrival = flying.front().map(|&(time, ..)| time);
        let Some(next) = timeouts.into_iter().flatten().chain(arrival).min() else {
            assert_eq!(server.received(), 1_500_000);
            return sent;
        };
        now = now.max(next);
        client.on_timeout(now);
        server.on_timeout(now);
        while let Some((time, from, segment)) = flying.front().copied()
            && time <= now
        {
            flying.pop_front();
            if from == CLIENT {
                server.on_segment(&segment, now);
            } else {
                client.on_segment(&segment, now);
            }
        }
    }
}

#[test]
fn wireshark_reads_every_packet_of_a_transfer_with_marks_and_losses() {
    let sent = transfer(1);
    let path = capture("transfer.pcapng", Payload::Zeros, &views(&sent));
    assert_sound(&path, sent.len());
    let names = [
        "frame.interface_name",
        "ip.id",
        "ip.dsfield.dscp",
        "ip.dsfield.ecn",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.flags",
        "tcp.window_size",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "tcp.options.mss_val",
    ];
    let edges = |segment: &Segment, edge: fn(&Range) -> Seq| {
        let blocks = segment.sack.as_slice();
        let edges: Vec<String> = blocks.iter().map(|block| edge(block).0.to_string()).collect();
        edges.join(",")
    };
    for (number, (row, (host, segment))) in fields(&path, &names).iter().zip(&sent).enumerate() {
        let is_syn = segment.flags.has(Flags::SYN);
        let expected = [
            String::from(if *host == CLIENT { "leaf0 -> spine1" } else { "spine1 -> leaf0" }),
            format!("0x{:04x}", number as u16),
            String::from("24"),
            segment.ecn.bits().to_string(),
            segment.seq.0.to_string(),
            segment.ack.0.to_string(),
            segment.len.to_string(),
            format!("0x{:04x}", segment.flags.bits()),
            if is_syn { 65_535 } else { segment.window.next_multiple_of(4096) }.to_string(),
            edges(segment, |block| block.start),
            edges(segment, |block| block.end),
            if is_syn { segment.mss.to_string() } else { String::new() },
        ];
        assert_eq!(row[..], expected, "packet {number}");
    }
    // The transfer contains the events that the capture must show.
    let count = |is: fn(&Segment) -> bool| sent.iter().filter(|(_, segment)| is(segment)).count();
    let counts = [
        count(|segment| segment.ecn == Ecn::Ce),
        count(|segment| segment.flags.has(Flags::ECE | Flags::ACK)),
        count(|segment| segment.flags.has(Flags::CWR | Flags::ACK)),
        count(|segment| segment.sack.as_slice().len() == 1),
        count(|segment| segment.sack.as_slice().len() > 1),
    ];
    assert!(counts.iter().all(|&count| count >= 5), "{counts:?}");
}

#[test]
fn wireshark_finds_a_changed_byte() {
    let exchange = marked_exchange();
    let path = capture("changed.pcapng", Payload::Zeros, &views(&exchange));
    let mut file = fs::read(&path).unwrap();
    // The last packet is a FIN without payload: 54 bytes, 2 of padding, 4 of length.
    let header = file.len() - 60 + 14;
    file[header + 1] ^= 1; // the ECN field
    file[header + 33] ^= 1; // the flags
    fs::write(&path, file).unwrap();
    let rows = fields(&path, &["ip.checksum.status", "tcp.checksum.status"]);
    assert_eq!(rows.last().unwrap()[..], ["0", "0"]);
}

#[test]
fn wireshark_reads_pings() {
    let echo = |kind, ecn| Body::Echo(Echo { kind, id: 77, sequence: 3, len: 57, ecn });
    let packets = [
        view(CLIENT, 0, echo(EchoKind::Request, Ecn::NotEct)),
        view(SERVER, 0, echo(EchoKind::Reply, Ecn::Ect0)),
    ];
    let path = capture("ping.pcapng", Payload::Zeros, &packets);
    assert_sound(&path, 2);
    let names = ["icmp.type", "icmp.ident", "icmp.seq", "icmp.resp_to", "ip.len", "ip.dsfield.ecn"];
    let expected = [["8", "77", "3", "", "85", "0"], ["0", "77", "3", "1", "85", "2"]];
    assert_eq!(fields(&path, &names), expected);
}

#[test]
fn wireshark_reads_roce_packets() {
    let packet = |kind, offset, len, ecn| dcqcn::Packet {
        offset,
        len,
        kind,
        ecn,
        echo: false,
        last: offset == 2_000,
        again: false,
    };
    let packets = [
        packet(dcqcn::Kind::Data, 0, 1_000, Ecn::Ect0),
        packet(dcqcn::Kind::Data, 1_000, 1_000, Ecn::Ce),
        packet(dcqcn::Kind::Cnp, 0, 0, Ecn::NotEct),
        packet(dcqcn::Kind::Data, 2_000, 501, Ecn::Ect0),
        packet(dcqcn::Kind::Nack, 2_000, 0, Ecn::NotEct),
        packet(dcqcn::Kind::Ack, 2_501, 0, Ecn::NotEct),
    ];
    let from = |kind| {
        if kind == dcqcn::Kind::Data { CLIENT } else { SERVER }
    };
    let datagrams = packets.map(|packet| {
        let Packet { header, len, .. } = packet.into();
        // The port of the receiving end, as `view` has it.
        let port = if packet.kind == dcqcn::Kind::Data { 5_001 } else { 49_152 };
        Dcqcn::datagram(&header, len, port, 1_000)
    });
    let views = [0, 1, 2, 3, 4, 5].map(|index| {
        let packet = &packets[index];
        let body = Body::Udp { datagram: &datagrams[index], ecn: packet.ecn };
        view(from(packet.kind), 0, body)
    });
    let names = [
        "ip.dsfield.ecn",
        "udp.dstport",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.bth.padcnt",
        "infiniband.aeth.syndrome",
        "infiniband.aeth.syndrome.opcode",
    ];
    let expected = [
        "2 4791 0 0x001389 0 0  ",
        "3 4791 1 0x001389 1 0  ",
        "0 4791 129 0x00c000 0 0  ",
        "2 4791 2 0x001389 2 3  ",
        "0 4791 17 0x00c000 2 0 96 3",
        "0 4791 17 0x00c000 2 0 31 0",
    ];
    for payload in [Payload::Omitted, Payload::Zeros] {
        let path = capture(&format!("roce-{payload:?}.pcapng"), payload, &views);
        let rows = fields(&path, &names);
        let rows: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, expected, "{payload:?}");
    }
    let whole = Path::new(env!("CARGO_TARGET_TMPDIR")).join("roce-Zeros.pcapng");
    assert_sound(&whole, packets.len());
}

#[test]
fn the_file_names_its_run_and_its_links() {
    let path = capture("info.pcapng", Payload::Omitted, &views(&marked_exchange()));
    let info = run("capinfos", &[path.to_str().unwrap()]);
    for text in [
        "Strict time order:   True",
        "Capture comment:     tidegate run a.toml --seed 1",
        "Name = leaf0 -> spine1",
        "Name = spine1 -> leaf0",
        "First packet time:   1970-01-01 00:00:00.020000000",
    ] {
        assert!(info.contains(text), "{text} is not in\n{info}");
    }
    // Nanoseconds, rounded down; the length is the packet's, not the captured length.
    let rows = fields(&path, &["frame.time_epoch", "frame.len", "frame.cap_len"]);
    assert_eq!(rows[3], ["0.020003000", "1514", "54"]);
}
