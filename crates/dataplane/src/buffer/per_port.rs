//! A private limit per port, shared by its queues first come, first served: any queue may take all
//! of it.
//!
//! TCN, section 6.2 (300 KB a port); MQ-ECN's and TCN's simulators and kernel module work this way.
//! A packet is dropped if the bytes held by all queues of its port plus its own length exceed the
//! limit. No stored packet is pushed out. A limit in packets counts packets of any length, as
//! dummynet and most software queues do: see [`PacketLimit`].

use alloc::boxed::Box;
use alloc::vec;

use tidegate_units::{Bytes, ConfigError, Size, settings};

use super::{AnyBuffer, Buffer, Charge, Influx, Request};
use crate::DropReason;

settings! {
    /// Parameters of the per-port limit.
    #[named("per-port", "stores a packet if bytes of the port + len ≤ limit",
        "buffers.md#per-port")]
    pub struct Config {
        /// Most bytes that the queues of a port hold together, or most packets of any length, such
        /// as `20pkts`. The default is from the simulations, 200 packets of 1500 bytes (section
        /// 6.2); the authors' testbed switch has 96 KB, counted in bytes on the wire.
        pub limit: Size = Size::Bytes(Bytes::from_kb(300)),
    }
}

impl Config {
    /// Builds the buffer of a switch with `ports` ports. The number of queues does not matter.
    pub fn build(&self, ports: u16, _queues: u8) -> Result<AnyBuffer, ConfigError> {
        Ok(match self.limit {
            Size::Bytes(limit) => AnyBuffer::PerPort(PerPort::new(ports, limit)?),
            Size::Packets(limit) => AnyBuffer::PacketLimit(PacketLimit::new(ports, limit)?),
        })
    }
}

/// Per-port limits of equal size.
#[derive(Clone, Debug)]
pub struct PerPort {
    /// Bytes that each port may still take, at most `limit`. One subtraction checks whether a
    /// packet fits and takes its bytes.
    free: Box<[u32]>,
    limit: u32,
}

impl PerPort {
    /// A buffer for `ports` ports that hold up to `limit` bytes each.
    pub fn new(ports: u16, limit: Bytes) -> Result<Self, ConfigError> {
        let limit = super::limit("limit", limit)?;
        Ok(Self { free: vec![limit; super::port_count(ports)?].into(), limit })
    }

    /// Account of the port with this number, or `None` if the port does not exist.
    #[inline]
    pub(crate) fn account(&mut self, port: usize) -> Option<Account<'_>> {
        let free = self.free.get_mut(port)?;
        Some(Account { free, limit: self.limit })
    }
}

impl Buffer for PerPort {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        match self.account(request.port.index()) {
            Some(mut account) => account.admit(request),
            None => Err(DropReason::PortFull),
        }
    }

    #[inline]
    fn release(&mut self, charge: Charge) {
        if let Some(mut account) = self.account(charge.account() as usize) {
            account.release(charge);
        }
    }

    #[inline]
    fn pass(&mut self, request: Request) -> Result<(), DropReason> {
        match self.account(request.port.index()) {
            Some(mut account) => account.pass(request),
            None => Err(DropReason::PortFull),
        }
    }

    /// There is no pool, and the limits are per port.
    fn has_slack(&self, _influx: Influx, _pool_below: u32) -> bool {
        true
    }
}

/// Per-port limits in packets of any length.
#[derive(Clone, Debug)]
pub struct PacketLimit {
    /// Packets that each port may still take, at most `limit`.
    free: Box<[u32]>,
    limit: u32,
}

impl PacketLimit {
    /// A buffer for `ports` ports that hold up to `limit` packets each.
    pub fn new(ports: u16, limit: u32) -> Result<Self, ConfigError> {
        if limit == 0 {
            let allowed = "at least 1pkts";
            return Err(ConfigError::out_of_range("limit", "0pkts", allowed));
        }
        Ok(Self { free: vec![limit; super::port_count(ports)?].into(), limit })
    }
}

impl Buffer for PacketLimit {
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        let full = DropReason::PortFull;
        let free = self.free.get_mut(request.port.index()).ok_or(full)?;
        *free = free.checked_sub(1).ok_or(full)?;
        Ok(Charge::new(request.len, u32::from(request.port.0)))
    }

    fn release(&mut self, charge: Charge) {
        if let Some(free) = self.free.get_mut(charge.account() as usize) {
            debug_assert!(
                *free < self.limit,
                "a receipt is released once, to the buffer that issued it"
            );
            *free = (*free + 1).min(self.limit);
        }
    }

    /// There is no pool, and the limits are per port.
    fn has_slack(&self, _influx: Influx, _pool_below: u32) -> bool {
        true
    }
}

/// The limit of one port, for a host that serves many of its packets in a row.
pub(crate) struct Account<'a> {
    free: &'a mut u32,
    limit: u32,
}

impl Buffer for Account<'_> {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        let full = DropReason::PortFull;
        *self.free = self.free.checked_sub(request.len).ok_or(full)?;
        Ok(Charge::new(request.len, u32::from(request.port.0)))
    }

    #[inline]
    fn release(&mut self, charge: Charge) {
        let sum = u64::from(*self.free) + u64::from(charge.bytes());
        // As in `super::free`: a receipt that is released twice panics in a debug build.
        debug_assert!(
            sum <= u64::from(self.limit),
            "a receipt is released once, to the buffer that issued it"
        );
        // At most the limit.
        *self.free = sum.min(u64::from(self.limit)) as u32;
    }

    #[inline]
    fn pass(&mut self, request: Request) -> Result<(), DropReason> {
        if request.len <= *self.free { Ok(()) } else { Err(DropReason::PortFull) }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::buffer::testing;

    fn request(port: u16, len: u32) -> Request {
        testing::request(port, 0, len)
    }

    #[test]
    fn a_packet_fits_exactly_up_to_the_limit() {
        let mut buffer = PerPort::new(2, Bytes(3000)).unwrap();
        let first = buffer.admit(request(0, 1500)).unwrap();
        assert_eq!(buffer.admit(request(0, 1501)), Err(DropReason::PortFull));
        let second = buffer.admit(request(0, 1500)).unwrap();
        assert_eq!(buffer.admit(request(0, 1)), Err(DropReason::PortFull));
        let other = buffer.admit(request(1, 3000)).unwrap();
        for charge in [first, second, other] {
            buffer.release(charge);
        }
        assert_eq!(*buffer.free, [3000, 3000]);
    }

    #[test]
    fn a_limit_in_packets_ignores_their_length() {
        let mut buffer = PacketLimit::new(2, 2).unwrap();
        let small = buffer.admit(request(0, 40)).unwrap();
        let large = buffer.admit(request(0, 60_000)).unwrap();
        assert_eq!(buffer.admit(request(0, 1)), Err(DropReason::PortFull));
        let other = buffer.admit(request(1, 1500)).unwrap();
        assert_eq!(small.bytes(), 40);
        buffer.release(small);
        let again = buffer.admit(request(0, 1500)).unwrap();
        for charge in [large, other, again] {
            buffer.release(charge);
        }
        assert_eq!(*buffer.free, [2, 2]);
        assert_eq!(buffer.admit(request(2, 1)), Err(DropReason::PortFull));
        assert_eq!(
            PacketLimit::new(1, 0).unwrap_err().to_string(),
            "limit = 0pkts is out of range; allowed: at least 1pkts"
        );
    }

    #[test]
    fn the_extremes_are_errors_or_drops() {
        assert_eq!(
            PerPort::new(0, Bytes(1)).unwrap_err().to_string(),
            "ports = 0 is out of range; allowed: 1 to 65535"
        );
        assert_eq!(
            PerPort::new(1, Bytes(1 << 32)).unwrap_err().to_string(),
            "limit = 4GiB is out of range; allowed: 1B to 4.294967295GB"
        );
        let mut buffer = PerPort::new(1, Bytes(u64::from(u32::MAX))).unwrap();
        let _held = buffer.admit(request(0, u32::MAX)).unwrap();
        assert_eq!(buffer.admit(request(0, u32::MAX)), Err(DropReason::PortFull));
        assert_eq!(buffer.admit(request(9, 1)), Err(DropReason::PortFull));
    }
}
