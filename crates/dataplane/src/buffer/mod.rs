//! Buffers: admission of packets to a switch's memory.
//!
//! A buffer belongs to a whole switch and is passed to each port's calls. Admission returns a
//! [`Charge`], and returning the charge is the only way to free its bytes: charged and released
//! bytes cannot differ.
//!
//! Each buffer has its own file; to choose one at run time, see [`Config`] and [`AnyBuffer`].

pub mod dynamic_threshold;
pub mod per_port;
pub mod per_queue;
pub mod pfc;
pub mod unlimited;

pub use dynamic_threshold::DynamicThreshold;
pub use per_port::{PacketLimit, PerPort};
pub use per_queue::PerQueue;
pub use pfc::{Pause, PauseAction, Pfc};
pub use unlimited::Unlimited;

use alloc::boxed::Box;
use alloc::format;

use tidegate_units::{Bytes, ConfigError, Named, PortId, QueueId, catalogue};

use crate::{DropReason, MAX_QUEUES};

/// A packet's request for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Egress port.
    pub port: PortId,
    /// Queue of that port.
    pub queue: QueueId,
    /// Place where the packet came in, see [`Pkt::ingress`](crate::Pkt::ingress).
    pub ingress: u16,
    /// Length in bytes.
    pub len: u32,
}

/// The receipt for admitted bytes.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an unreleased charge leaks buffer"]
pub struct Charge {
    len: u32,
    account: u32,
}

impl Charge {
    /// Receipt for `len` bytes. Only a [`Buffer`] creates one; `account` is the buffer's own number
    /// for the account that it charged.
    #[inline]
    pub const fn new(len: u32, account: u32) -> Self {
        Self { len, account }
    }

    /// Bytes charged: the length of the packet.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        self.len
    }

    /// Account that the buffer charged.
    #[inline]
    pub const fn account(&self) -> u32 {
        self.account
    }

    /// Moves the receipt out of a slot that becomes free; the value left behind is never read.
    #[inline]
    pub(crate) const fn move_out(&mut self) -> Self {
        Self { ..*self }
    }
}

/// Upper bound of the bytes that arrive at a switch within some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Influx {
    /// Bytes in total.
    pub total: u32,
    /// Bytes arriving through one port.
    pub per_ingress: u32,
}

/// Decides which packets are stored.
pub trait Buffer {
    /// Charges the request's bytes, or returns the reason for the drop. Called once per arriving
    /// packet.
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason>;

    /// Releases a receipt. Called once per departing packet, after it left its queue.
    fn release(&mut self, charge: Charge);

    /// Charges a packet that does not wait, and releases it at once.
    #[inline]
    fn pass(&mut self, request: Request) -> Result<(), DropReason> {
        let charge = self.admit(request)?;
        self.release(charge);
        Ok(())
    }

    /// Bytes held in the shared pool that `queue` of `port` draws from; zero if there is none. The
    /// port reads it before [`admit`](Self::admit) and after [`release`](Self::release), so that it
    /// never includes the packet in hand.
    #[inline]
    fn pool_bytes(&self, _port: PortId, _queue: QueueId) -> u32 {
        0
    }

    /// Whether the ports of the switch are independent of each other for some time. The answer is
    /// yes if, while no more than `influx` arrives and in any order of arrivals and departures,
    /// every packet is admitted that the limits of its own port and queue allow, no account changes
    /// between paused and running, and every pool stays below `pool_below` bytes. A host may then
    /// serve one port after the other. A buffer that cannot tell answers no.
    fn has_slack(&self, _influx: Influx, _pool_below: u32) -> bool {
        false
    }

    /// Next change of an ingress account between paused and running that the host has not yet
    /// polled. Only lossless buffers have such changes. The host calls it after each arrival and
    /// each departure until it returns `None`.
    #[inline]
    fn poll_pause(&mut self) -> Option<Pause> {
        None
    }

    /// Whether an ingress account is paused.
    fn is_paused(&self, _ingress: u16) -> bool {
        false
    }
}

/// Declares, from one list, the enum of all buffers, the enum of their parameters, and the names of
/// both in files and on the command line.
macro_rules! buffers {
    ($($variant:ident($module:ident),)*) => {
        /// Any buffer, chosen at run time.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyBuffer {
            /// Per-port limits in packets.
            PacketLimit(PacketLimit),
            /// Lossless ingress accounting over an egress buffer that may drop.
            PfcOver(Box<Pfc<Self>>),
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $variant($module::$variant),
            )*
        }

        catalogue! {
            /// Parameters of any buffer.
            #[non_exhaustive]
            pub enum Config {
                [
                    /// Lossless ingress accounting over an egress buffer that may drop.
                    PfcOver(Box<(pfc::Config, Self)>): pfc::Config::ABOUT, |pair| pair.0;
                ]
                $($variant($module::Config),)*
            }
        }

        impl Config {
            /// Builds the buffer of a switch with `ports` ports of `queues` queues each, or names
            /// the parameter that cannot be used there.
            pub fn build(&self, ports: u16, queues: u8) -> Result<AnyBuffer, ConfigError> {
                Ok(match self {
                    Self::PfcOver(pair) => {
                        let egress = pair.1.build(ports, queues)?;
                        if let AnyBuffer::Pfc(_) | AnyBuffer::PfcOver(_) = egress {
                            let allowed = "a buffer without ingress accounting of its own";
                            return Err(ConfigError::out_of_range("egress", "pfc", allowed));
                        }
                        AnyBuffer::PfcOver(Box::new(Pfc::over(&pair.0, ports, egress)?))
                    }
                    $(Self::$variant(config) => config.build(ports, queues)?.into(),)*
                })
            }
        }

        $(impl From<$module::$variant> for AnyBuffer {
            fn from(buffer: $module::$variant) -> Self {
                Self::$variant(buffer)
            }
        })*

        /// Calls the same method of the buffer, of any type.
        macro_rules! forward {
            ($self:ident, $buffer:ident => $call:expr) => {
                match $self {
                    AnyBuffer::PacketLimit($buffer) => $call,
                    AnyBuffer::PfcOver($buffer) => $call,
                    $(AnyBuffer::$variant($buffer) => $call,)*
                }
            };
        }
    };
}

buffers! {
    DynamicThreshold(dynamic_threshold),
    PerPort(per_port),
    PerQueue(per_queue),
    Pfc(pfc),
    Unlimited(unlimited),
}

/// The most common buffer is compiled into the packet path, and so is the one without work. The
/// others are called, so that their code exists once and not in the path of every pair of scheme
/// and scheduler; PFC without an egress buffer by itself, because a call of any buffer saves the
/// registers that the largest one needs.
impl Buffer for AnyBuffer {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        match self {
            Self::PerPort(buffer) => buffer.admit(request),
            Self::Pfc(buffer) => buffer.admit_alone(request.ingress, request.len),
            Self::Unlimited(buffer) => buffer.admit(request),
            other => {
                let Request { port, queue, ingress, len } = request;
                other.admit_elsewhere(port, queue, ingress, len)
            }
        }
    }

    #[inline]
    fn release(&mut self, charge: Charge) {
        match self {
            Self::PerPort(buffer) => buffer.release(charge),
            Self::Pfc(buffer) => buffer.release_alone(charge),
            Self::Unlimited(buffer) => buffer.release(charge),
            other => other.release_elsewhere(charge),
        }
    }

    #[inline]
    fn pass(&mut self, request: Request) -> Result<(), DropReason> {
        match self {
            Self::PerPort(buffer) => buffer.pass(request),
            Self::Pfc(buffer) => buffer.pass_alone(request.ingress, request.len),
            Self::Unlimited(buffer) => buffer.pass(request),
            other => {
                let Request { port, queue, ingress, len } = request;
                other.pass_elsewhere(port, queue, ingress, len)
            }
        }
    }

    #[inline]
    fn pool_bytes(&self, port: PortId, queue: QueueId) -> u32 {
        forward!(self, buffer => buffer.pool_bytes(port, queue))
    }

    fn has_slack(&self, influx: Influx, pool_below: u32) -> bool {
        forward!(self, buffer => buffer.has_slack(influx, pool_below))
    }

    #[inline]
    fn poll_pause(&mut self) -> Option<Pause> {
        forward!(self, buffer => buffer.poll_pause())
    }

    fn is_paused(&self, ingress: u16) -> bool {
        forward!(self, buffer => buffer.is_paused(ingress))
    }
}

impl AnyBuffer {
    /// Takes the parts of a request, so that the other path need not keep it in memory.
    #[inline(never)]
    fn admit_elsewhere(
        &mut self,
        port: PortId,
        queue: QueueId,
        ingress: u16,
        len: u32,
    ) -> Result<Charge, DropReason> {
        let request = Request { port, queue, ingress, len };
        forward!(self, buffer => buffer.admit(request))
    }

    #[inline(never)]
    fn release_elsewhere(&mut self, charge: Charge) {
        forward!(self, buffer => buffer.release(charge));
    }

    #[inline(never)]
    fn pass_elsewhere(
        &mut self,
        port: PortId,
        queue: QueueId,
        ingress: u16,
        len: u32,
    ) -> Result<(), DropReason> {
        let request = Request { port, queue, ingress, len };
        forward!(self, buffer => buffer.pass(request))
    }
}

/// Largest number of (port, queue) pairs of a switch: 256 ports of 128 queues. The number of a pair
/// and one flag then fit the 16 bits of a receipt that ingress accounting leaves free.
const MAX_PAIRS: u32 = 1 << 15;

/// Subtracts the `bytes` of a receipt from an account, and returns the number subtracted. A receipt
/// that was released before, or issued by another buffer, is a bug of the host: it panics in a
/// debug build, and otherwise frees no more than the account holds.
#[inline]
fn free(held: &mut u32, bytes: u32) -> u32 {
    debug_assert!(bytes <= *held, "a receipt is released once, to the buffer that issued it");
    let freed = bytes.min(*held);
    *held -= freed;
    freed
}

/// Checks the number of ports.
fn port_count(ports: u16) -> Result<usize, ConfigError> {
    if ports == 0 {
        return Err(ConfigError::out_of_range("ports", ports, "1 to 65535"));
    }
    Ok(usize::from(ports))
}

/// Checks the number of ports and queues, and returns the number of pairs.
fn pair_count(ports: u16, queues: u8) -> Result<usize, ConfigError> {
    let ports = port_count(ports)?;
    if !(1..=MAX_QUEUES).contains(&queues) {
        let allowed = format!("1 to {MAX_QUEUES}");
        return Err(ConfigError::out_of_range("queues", queues, allowed));
    }
    let pairs = ports * usize::from(queues);
    if pairs > MAX_PAIRS as usize {
        let allowed = format!("at most {MAX_PAIRS} queues in all");
        return Err(ConfigError::out_of_range(
            "ports",
            format!("{ports} of {queues} queues"),
            allowed,
        ));
    }
    Ok(pairs)
}

/// Checks that a list has one value for all, or one for each of `count` items.
fn one_or_each<T>(
    field: &'static str,
    values: &[T],
    count: usize,
    things: &str,
) -> Result<(), ConfigError> {
    if values.len() == 1 || values.len() == count {
        return Ok(());
    }
    let found = format!("{} values", values.len());
    Err(ConfigError::out_of_range(
        field,
        found,
        format!("1 value, or {count}: one for each {things}"),
    ))
}

/// The value for the item at `index` in such a list.
fn pick<T>(values: &[T], index: usize) -> Option<&T> {
    values.get(if values.len() == 1 { 0 } else { index })
}

/// Checks that a limit is not zero and fits the counters.
fn limit(field: &'static str, limit: Bytes) -> Result<u32, ConfigError> {
    within(field, limit, 1, u32::MAX)
}

/// Checks that a number of bytes is between `least` and `most`.
fn within(field: &'static str, bytes: Bytes, least: u32, most: u32) -> Result<u32, ConfigError> {
    match u32::try_from(bytes.0) {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => {
            let [least, most] = [least, most].map(|bound| Bytes(u64::from(bound)));
            Err(ConfigError::out_of_range(field, bytes, format!("{least} to {most}")))
        }
    }
}

/// Fixtures of the buffers' unit tests.
#[cfg(test)]
mod testing {
    use super::*;

    pub(super) fn request(port: u16, queue: u8, len: u32) -> Request {
        Request { port: PortId(port), queue: QueueId(queue), ingress: 0, len }
    }

    /// The field named by a refused configuration.
    pub(super) fn error<T>(result: Result<T, ConfigError>) -> &'static str {
        match result {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            Err(other) => panic!("{other}"),
            Ok(_) => "none",
        }
    }
}

#[cfg(test)]
mod tests;
