//! Amounts of data.

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// From decimal kilobytes (1 KB = 1000 B); saturates.
    pub const fn from_kb(kb: u64) -> Self {
        Self(kb.saturating_mul(1_000))
    }

    /// From binary kilobytes (1 KiB = 1024 B); saturates.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1_024))
    }
}

/// An amount as people write thresholds: in bytes, or in packets whose size the reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A number of bytes.
    Bytes(Bytes),
    /// A number of full-sized packets.
    Packets(u32),
}

impl Size {
    /// The amount in bytes, with packets of `packet` bytes each; saturates.
    pub const fn in_bytes(self, packet: u32) -> u64 {
        match self {
            Self::Bytes(Bytes(bytes)) => bytes,
            // The product of two 32-bit numbers fits 64 bits.
            Self::Packets(packets) => packets as u64 * packet as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_become_bytes_with_the_given_packet_size() {
        assert_eq!(Size::Packets(65).in_bytes(1500), 97_500);
        assert_eq!(Size::Bytes(Bytes::from_kb(300)).in_bytes(1500), 300_000);
        assert_eq!(Bytes::from_kib(128).0, 131_072);
        assert_eq!(Bytes::from_kb(u64::MAX).0, u64::MAX);
        assert_eq!(Size::Packets(u32::MAX).in_bytes(u32::MAX), 0xFFFF_FFFE_0000_0001);
    }
}
