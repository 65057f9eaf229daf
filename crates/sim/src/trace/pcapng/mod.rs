//! Packets of selected links as a pcapng file, which Wireshark and tshark read.
//!
//! The format is defined by the IETF draft "PCAP Now Generic": a section header, one interface for
//! each captured link, and one block for each packet. All numbers are little-endian on every
//! machine, so that the same run writes the same bytes.
//!
//! Times are whole nanoseconds, rounded down, since the start of the run. The format allows
//! picoseconds, but Wireshark 4.0 computes wrong times from them once the fraction of a second
//! exceeds 18.4 ms. Packets of the same nanosecond stay in the order of writing.
//!
//! A packet that is captured on several links of its path is in the file several times, and
//! Wireshark takes the later copies for retransmissions: filter by `frame.interface_name`, or
//! capture only one link.
//!
//! The three kinds of blocks are written by hand, because no packet needs an allocation and the
//! library for the format has had no stable release since 2023.
//!
//! ```
//! use tidegate_sim::trace::pcapng::{Capture, Payload};
//! use tidegate_sim::trace::wire::{Body, PacketView, class_selector};
//! use tidegate_transport::{Flags, Segment, Seq};
//! use tidegate_units::{Ecn, Time};
//!
//! let mut capture = Capture::new(Vec::new(), "tidegate run incast.toml", Payload::Omitted)?;
//! let link = capture.add_link("leaf0 -> spine1")?;
//! let segment = Segment {
//!     seq: Seq(1),
//!     len: 1460,
//!     flags: Flags::ACK,
//!     ecn: Ecn::Ce,
//!     ..Segment::default()
//! };
//! let packet = PacketView {
//!     src_host: 0,
//!     dst_host: 17,
//!     src_port: 49_152,
//!     dst_port: 5_001,
//!     dscp: class_selector(1),
//!     ip_id: 0,
//!     body: Body::Tcp(&segment),
//! };
//! capture.packet(link, Time::from_us(12), &packet)?;
//! let file = capture.finish()?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, BufWriter, Write};

use tidegate_units::Time;

use super::wire::{Frame, PacketView};

#[cfg(test)]
mod tests;

/// Bytes after a packet's headers in the file. The packet's own length is kept either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// None: a capture with a short snapshot length. Readers cannot verify TCP checksums.
    #[default]
    Omitted,
    /// All bytes, as zeros: the file is as large as the traffic.
    Zeros,
}

/// A link of a [`Capture`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface(u32);

/// A pcapng file being written. Writes are buffered; call [`finish`](Self::finish) at the end,
/// otherwise an error in the last ones is not noticed.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: BufWriter<W>,
    payload: Payload,
    interfaces: u32,
}

impl<W: Write> Capture<W> {
    /// Starts a file with `comment`, such as the run's command and fingerprint.
    pub fn new(out: W, comment: &str, payload: Payload) -> io::Result<Self> {
        let mut capture =
            Self { out: BufWriter::with_capacity(BUFFER, out), payload, interfaces: 0 };
        let options = [(OPTION_COMMENT, text(comment)), (SECTION_APPLICATION, text(APPLICATION))];
        capture.begin_block(SECTION_HEADER, 16 + options_len(&options))?;
        capture.put(&BYTE_ORDER.to_le_bytes())?;
        capture.put(&1_u16.to_le_bytes())?; // version 1.0
        capture.put(&0_u16.to_le_bytes())?;
        capture.put(&u64::MAX.to_le_bytes())?; // the section's length is not known
        capture.put_options(&options)?;
        capture.end_block(16 + options_len(&options))?;
        Ok(capture)
    }

    /// Adds a link on which packets can be captured. A name longer than 65 535 bytes is truncated.
    pub fn add_link(&mut self, name: &str) -> io::Result<Interface> {
        let interface = Interface(self.interfaces);
        let next = self.interfaces.checked_add(1).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a capture holds at most 4294967295 links")
        })?;
        let options = [(INTERFACE_NAME, text(name)), (INTERFACE_RESOLUTION, &NANOSECONDS[..])];
        self.begin_block(INTERFACE, 8 + options_len(&options))?;
        self.put(&LINK_ETHERNET.to_le_bytes())?;
        self.put(&0_u16.to_le_bytes())?;
        self.put(&SNAPSHOT_LENGTH.to_le_bytes())?;
        self.put_options(&options)?;
        self.end_block(8 + options_len(&options))?;
        self.interfaces = next;
        Ok(interface)
    }

    /// Records a packet on `link` at `time`. Fails if the link does not belong to this capture.
    pub fn packet(
        &mut self,
        link: Interface,
        time: Time,
        packet: &PacketView<'_>,
    ) -> io::Result<()> {
        if link.0 >= self.interfaces {
            return Err(unknown_link(link, self.interfaces));
        }
        let frame = Frame::new(packet);
        let headers = frame.headers();
        let zeros = match self.payload {
            Payload::Omitted => 0,
            Payload::Zeros => frame.zeros(),
        };
        let captured = headers.len() as u32 + zeros; // a frame is shorter than 2^17 bytes
        let padding = captured.wrapping_neg() % 4;
        let body = 20 + captured + padding;
        let time = time.as_ns();
        let words = [
            PACKET,
            body + BLOCK_FRAME,
            link.0,
            (time >> 32) as u32,
            time as u32, // the lower half
            captured,
            frame.wire_len(),
        ];
        let mut head = [0; 28];
        for (out, word) in head.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *out = word.to_le_bytes();
        }
        self.put(&head)?;
        self.put(headers)?;
        self.put_zeros(zeros + padding)?;
        self.end_block(body)
    }

    /// Writes buffered data and returns the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn begin_block(&mut self, kind: u32, body: u32) -> io::Result<()> {
        self.put(&kind.to_le_bytes())?;
        self.put(&(body + BLOCK_FRAME).to_le_bytes())
    }

    /// The length is at both ends of a block, so that files can be read backwards.
    fn end_block(&mut self, body: u32) -> io::Result<()> {
        self.put(&(body + BLOCK_FRAME).to_le_bytes())
    }

    fn put_options(&mut self, options: &[(u16, &[u8])]) -> io::Result<()> {
        for (code, value) in options {
            self.put(&code.to_le_bytes())?;
            self.put(&(value.len() as u16).to_le_bytes())?; // `text` keeps it in range
            self.put(value)?;
            self.put_zeros((value.len() as u32).wrapping_neg() % 4)?;
        }
        self.put_zeros(4) // end of options
    }

    fn put_zeros(&mut self, count: u32) -> io::Result<()> {
        const ZEROS: [u8; 2048] = [0; 2048];
        let mut left = count as usize;
        while left > 0 {
            let now = left.min(ZEROS.len());
            self.put(&ZEROS[..now])?;
            left -= now;
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }
}

const BUFFER: usize = 64 * 1024;
const APPLICATION: &str = concat!("tidegate ", env!("CARGO_PKG_VERSION"));
/// Bytes of a block around its body: kind, and the length twice.
const BLOCK_FRAME: u32 = 12;
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const OPTION_COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
/// Resolution as a negative power of ten.
const NANOSECONDS: [u8; 1] = [9];
const LINK_ETHERNET: u16 = 1;
/// The same as tcpdump's: no packet is longer, so none is marked as truncated.
const SNAPSHOT_LENGTH: u32 = 262_144;

/// Bytes of `text`, truncated to the length of an option.
fn text(text: &str) -> &[u8] {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}

/// Bytes of the options with their headers, padding and end.
fn options_len(options: &[(u16, &[u8])]) -> u32 {
    let each = options.iter().map(|(_, value)| 4 + (value.len() as u32).next_multiple_of(4)); // at most 2^16 each
    each.sum::<u32>() + 4
}

#[cold]
fn unknown_link(link: Interface, count: u32) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("link {} is not one of the capture's {count}", link.0),
    )
}
