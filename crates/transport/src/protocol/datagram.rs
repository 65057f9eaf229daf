//! A transport's packet as captures show it.

/// A UDP datagram: a header, and zero bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Destination port.
    pub port: u16,
    /// Zero bytes after the header: payload, padding, trailer.
    pub zeros: u32,
    bytes: [u8; Self::ROOM],
    filled: usize,
}

impl Datagram {
    /// Largest number of header bytes.
    pub const ROOM: usize = 48;

    /// A datagram without a header yet.
    pub const fn new(port: u16, zeros: u32) -> Self {
        Self { port, zeros, bytes: [0; Self::ROOM], filled: 0 }
    }

    /// Adds bytes to the header.
    ///
    /// # Panics
    ///
    /// If the header becomes longer than [`ROOM`](Self::ROOM).
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.filled..self.filled + N].copy_from_slice(&bytes);
        self.filled += N;
    }

    /// The header behind UDP's.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}
