//! Bytes of the file worked out by hand, and errors while writing.

use tidegate_transport::Segment;

use super::super::wire::Body;
use super::*;

fn view(segment: &Segment) -> PacketView<'_> {
    PacketView {
        src_host: 1,
        dst_host: 2,
        src_port: 3,
        dst_port: 4,
        dscp: 0,
        ip_id: 0,
        body: Body::Tcp(segment),
    }
}

/// Blocks of a file as (kind, body), with both lengths of each checked.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let len = word(&file[4..]) as usize;
        assert_eq!(len % 4, 0);
        let (block, rest) = file.split_at(len);
        assert_eq!(word(&block[len - 4..]) as usize, len);
        blocks.push((word(block), block[8..len - 4].to_vec()));
        file = rest;
    }
    blocks
}

#[test]
fn a_file_agrees_with_bytes_worked_out_by_hand() {
    let segment = Segment { len: 3, ..Segment::default() };
    let mut capture = Capture::new(Vec::new(), "a run", Payload::Omitted).unwrap();
    let link = capture.add_link("a -> b").unwrap();
    // 2^32 ns and 5 more, plus a fraction.
    let time = Time::from_ps(4_294_967_301_999);
    capture.packet(link, time, &view(&segment)).unwrap();
    let file = capture.finish().unwrap();
    let blocks = blocks(&file);

    let application = format!("tidegate {}", env!("CARGO_PKG_VERSION"));
    let mut section = vec![0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0];
    section.extend([0xFF; 8]);
    section.extend(b"\x01\0\x05\0a run\0\0\0\x04\0");
    section.extend([application.len() as u8, 0]);
    section.extend(application.as_bytes());
    section.resize(section.len().next_multiple_of(4), 0);
    section.extend([0; 4]);
    assert_eq!(blocks[0], (0x0A0D_0D0A, section));

    let interface = b"\x01\0\0\0\0\0\x04\0\x02\0\x06\0a -> b\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0";
    assert_eq!(blocks[1], (1, interface.to_vec()));

    let (kind, packet) = &blocks[2];
    assert_eq!(*kind, 6);
    let head = [0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 54, 0, 0, 0, 57, 0, 0, 0];
    assert_eq!(packet[..20], head);
    assert_eq!(packet[20..74], *Frame::new(&view(&segment)).headers());
    assert_eq!(packet[74..], [0, 0]);
    assert_eq!(blocks.len(), 3);
}

#[test]
fn payload_is_written_as_zeros_on_request() {
    for len in [0, 1, 2, 3, 1460, 5000, u32::MAX] {
        let segment = Segment { len, ..Segment::default() };
        let frame = Frame::new(&view(&segment));
        let mut capture = Capture::new(Vec::new(), "", Payload::Zeros).unwrap();
        let link = capture.add_link("").unwrap();
        capture.packet(link, Time::MAX, &view(&segment)).unwrap();
        let (_, packet) = blocks(&capture.finish().unwrap()).pop().unwrap();
        assert_eq!(packet[12..16], frame.wire_len().to_le_bytes());
        assert_eq!(packet[16..20], frame.wire_len().to_le_bytes());
        let whole = 20 + frame.wire_len() as usize;
        assert_eq!(packet.len(), whole.next_multiple_of(4));
        assert!(packet[20 + frame.headers().len()..].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn long_texts_are_truncated_between_characters() {
    let long = "é".repeat(40_000);
    let mut capture = Capture::new(Vec::new(), &long, Payload::Omitted).unwrap();
    capture.add_link(&long).unwrap();
    let blocks = blocks(&capture.finish().unwrap());
    // 65 535 would be in the middle of a character.
    assert_eq!(blocks[0].1[16..20], [1, 0, 0xFE, 0xFF]);
    assert_eq!(blocks[1].1[8..12], [2, 0, 0xFE, 0xFF]);
    assert!(text("é").len() == 2 && text("").is_empty());
}

#[test]
fn a_link_of_another_capture_is_refused() {
    let mut other = Capture::new(Vec::new(), "", Payload::Omitted).unwrap();
    let known = other.add_link("first").unwrap();
    let link = other.add_link("second").unwrap();
    let mut capture = Capture::new(Vec::new(), "", Payload::Omitted).unwrap();
    capture.add_link("only").unwrap();
    let segment = Segment::default();
    assert!(capture.packet(known, Time::ZERO, &view(&segment)).is_ok());
    let error = capture.packet(link, Time::ZERO, &view(&segment)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "link 1 is not one of the capture's 1");
}

/// A disk with room for a limited number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_at_any_position() {
    let write = |room| -> io::Result<()> {
        let mut capture = Capture::new(Full(room), "", Payload::Zeros)?;
        let link = capture.add_link("a")?;
        let segment = Segment { len: 60_000, ..Segment::default() };
        for _ in 0..4 {
            capture.packet(link, Time::ZERO, &view(&segment))?;
        }
        capture.finish().map(drop)
    };
    for room in [0, 1, 100, 65_536, 100_000, 200_000, 240_000] {
        assert_eq!(write(room).unwrap_err().kind(), io::ErrorKind::StorageFull, "{room}");
    }
    assert!(write(250_000).is_ok());
}
