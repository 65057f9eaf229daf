//! The two ECN bits of an IP header (RFC 3168, section 5).

/// An ECN codepoint, with the bits it has on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: never marked.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, codepoint ECT(0), which DCTCP and standard TCP send.
    Ect0 = 0b10,
    /// Congestion experienced: marked here or on an earlier hop.
    Ce = 0b11,
}

impl Ecn {
    /// Reads the codepoint from the low two bits of an IPv4 TOS or IPv6 traffic class byte.
    #[inline]
    pub const fn from_bits(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits as carried in the IP header.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a switch may mark a packet that carries this codepoint. A packet that already
    /// carries CE is capable: marking it again changes nothing.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip_and_ignore_the_dscp() {
        for bits in 0..4 {
            assert_eq!(Ecn::from_bits(bits).bits(), bits);
            assert_eq!(Ecn::from_bits(bits | 0b1011_1000), Ecn::from_bits(bits));
        }
    }

    #[test]
    fn only_not_ect_is_incapable() {
        let capable = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(Ecn::is_capable);
        assert_eq!(capable, [false, true, true, true]);
    }
}
