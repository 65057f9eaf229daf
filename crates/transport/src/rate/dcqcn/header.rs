//! A packet in the room of a TCP header.

use super::{Kind, Packet};
use crate::{Carried, Header, Seq};

/// Flags, in the field of the window.
const ECHO: u32 = 1;
const LAST: u32 = 2;
/// Where the kind begins there.
const KIND: u32 = 2;

impl Carried for Packet {
    fn to_header(&self) -> Header {
        Header {
            seq: Seq(self.offset as u32),
            ack: Seq((self.offset >> 32) as u32),
            len: self.len,
            window: u32::from(self.echo) * ECHO
                + u32::from(self.last) * LAST
                + ((self.kind as u32) << KIND),
            ecn: self.ecn,
            ..Header::default()
        }
    }

    fn from_header(header: &Header, is_retransmission: bool) -> Self {
        let kinds = [Kind::Ack, Kind::Cnp, Kind::Data, Kind::Nack];
        let window = header.window;
        Self {
            offset: u64::from(header.ack.0) << 32 | u64::from(header.seq.0),
            len: header.len,
            kind: kinds[(window >> KIND) as usize],
            ecn: header.ecn,
            echo: window & ECHO != 0,
            last: window & LAST != 0,
            again: is_retransmission,
        }
    }

    fn is_retransmission(&self) -> bool {
        self.again
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Ecn;

    use super::*;

    #[test]
    fn a_packet_comes_out_of_the_room_of_a_header_as_it_went_in() {
        for kind in [Kind::Ack, Kind::Cnp, Kind::Data, Kind::Nack] {
            for (echo, last, again) in
                [(false, false, false), (true, false, true), (false, true, false)]
            {
                let offset = 0x0123_4567_89AB_CDEF;
                let packet = Packet { offset, len: 1000, kind, ecn: Ecn::Ce, echo, last, again };
                let header = packet.to_header();
                assert_eq!((header.len, header.ecn), (1000, Ecn::Ce));
                assert_eq!(Packet::from_header(&header, packet.is_retransmission()), packet);
            }
        }
    }
}
