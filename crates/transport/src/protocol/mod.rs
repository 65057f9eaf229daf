//! Transports other than TCP.
//!
//! A [`Transport`] is both ends of a connection. Its packets have a header of its own. Each
//! transport is a folder or a file of this module and one line in the list at its end; the
//! simulator, scenario files and the program take it from there.

mod datagram;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use core::fmt::Debug;

pub use datagram::Datagram;

use tidegate_units::{ConfigError, Ecn, Named, Rate, Time, catalogue};

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends the flow's bytes.
    Source = 0,
    /// Receives them.
    Sink = 1,
}

/// A packet as an end sends it, and as the network delivers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<H> {
    /// The transport's own header.
    pub header: H,
    /// Payload bytes. A packet without payload is feedback: it takes the first class of the
    /// switches.
    pub len: u32,
    /// IP codepoint: as sent, then as the network left it.
    pub ecn: Ecn,
    /// Whether payload of it was sent before: for statistics, unknown to the receiver.
    pub is_retransmission: bool,
}

/// A transport: both ends of a connection that carries a stream of bytes from its source to its
/// sink.
///
/// A host pushes facts in and pulls work out: [`write`](Self::write),
/// [`on_packet`](Self::on_packet) and [`on_timeout`](Self::on_timeout) in,
/// [`poll_packet`](Self::poll_packet) until it has none, then
/// [`poll_timeout`](Self::poll_timeout). An end uses only its own state: the hosts of a connection
/// may be simulated by different threads, each with a copy of the whole.
pub trait Transport: Sized {
    /// Parameters. [`Config`] finds them by name.
    type Config: Named;

    /// Header of a packet, at most 16 bytes.
    type Header: Copy + Debug;

    /// The end that counts marks for results.
    const MARKS_AT: Side = Side::Sink;

    /// Whether it expects a network that loses nothing.
    const NEEDS_LOSSLESS: bool = false;

    /// Published sets of parameters, if there are any.
    const PROFILES: Option<Profiles> = None;

    /// Parameters of a published set, or the defaults, for hosts whose links run at `line`; `None`
    /// if there is no such set.
    fn config(profile: Option<&str>, _line: Rate) -> Option<Self::Config> {
        profile.is_none().then(Self::Config::default)
    }

    /// Payload of a full packet, in bytes.
    fn payload(config: &Self::Config) -> u32;

    /// A connection whose source has a link of speed `line`. Names the parameter that cannot be
    /// used.
    fn new(config: &Self::Config, line: Rate) -> Result<Self, ConfigError>;

    /// The application at the source hands over `bytes` more.
    fn write(&mut self, bytes: u64);

    /// Bytes that an end knows to have arrived, in order.
    fn arrived(&self, side: Side) -> u64;

    /// The packet that an end sends now, if there is one.
    fn poll_packet(&mut self, side: Side, now: Time) -> Option<Packet<Self::Header>>;

    /// The first bit of the packet that an end has just sent leaves its host at `leaves`, behind
    /// packets that wait there. Only for hosts without ports.
    fn on_queued(&mut self, _side: Side, _leaves: Time) {}

    /// A packet from the other end arrived at this one.
    fn on_packet(&mut self, side: Side, packet: &Packet<Self::Header>, now: Time);

    /// Whether the source repeats data and nothing new arrives. The run ends then.
    fn is_livelocked(&self) -> bool {
        false
    }

    /// Time of the next call of [`on_timeout`](Self::on_timeout) and
    /// [`poll_packet`](Self::poll_packet) at an end; a time that has passed means at once. It may
    /// change with any other call.
    fn poll_timeout(&self, side: Side) -> Option<Time>;

    /// The time of [`poll_timeout`](Self::poll_timeout) has come, or an earlier one.
    fn on_timeout(&mut self, side: Side, now: Time);

    /// Counts of an end since the connection was made.
    fn counts(&self, side: Side) -> Counts;

    /// State of the source for observers.
    fn sample(&self, now: Time) -> Sample;

    /// Position in the stream of a packet's payload.
    fn offset(header: &Self::Header) -> u64;

    /// A packet with `len` bytes of payload as captures show it. `port` is the port of the
    /// connection's end that receives it, and `unit` the payload of full packets.
    fn datagram(header: &Self::Header, len: u32, port: u16, _unit: u32) -> Datagram {
        let mut datagram = Datagram::new(port, len);
        datagram.put(Self::offset(header).to_be_bytes());
        datagram
    }
}

/// Names of published sets of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiles {
    /// All names.
    pub names: &'static [&'static str],
    /// The set without a name.
    pub default: &'static str,
}

/// Counts of an end. Numbers beyond 32 bits wrap: only differences are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Retransmissions, as the transport counts them.
    pub retransmissions: u32,
    /// Expirations of a retransmission timer.
    pub timeouts: u32,
    /// Marked packets or their notifications, at the end that [counts](Transport::MARKS_AT) them.
    pub marks: u32,
}

/// State of a source at one moment: as much as the transport has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Sending rate.
    pub rate: Option<Rate>,
    /// Window in bytes.
    pub window: Option<u32>,
    /// Estimate of congestion, in units of 2^−32.
    pub alpha: Option<u64>,
}

/// Declares, from one list, the modules of all transports other than TCP, the enums of their
/// connections, headers and parameters, and the names by which files know them.
macro_rules! transports {
    ($($variant:ident($module:ident),)*) => {
        $(pub mod $module;)*

        /// A connection of any transport other than TCP.
        #[derive(Debug)]
        pub enum Connection {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $variant(Box<$module::$variant>),
            )*
        }

        /// Header of any transport.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyHeader {
            /// TCP's, with its payload length and codepoint.
            Tcp(crate::Header),
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $variant {
                    /// Payload bytes.
                    len: u32,
                    /// The transport's own header.
                    header: <$module::$variant as Transport>::Header,
                },
            )*
        }

        catalogue! {
            /// Parameters of any transport other than TCP.
            #[non_exhaustive]
            pub enum Config {
                []
                $($variant($module::Config),)*
            }
        }

        $(
            const _: () = assert!(
                size_of::<<$module::$variant as Transport>::Header>() <= 16,
                "a header has at most 16 bytes"
            );

            impl From<$module::Config> for Config {
                fn from(config: $module::Config) -> Self {
                    Self::$variant(config)
                }
            }
        )*

        /// Evaluates the expression with the connection, of any type.
        macro_rules! with_connection {
            ($any:expr, $connection:ident => $call:expr) => {
                match $any {
                    $(Connection::$variant($connection) => $call,)*
                }
            };
        }

        impl Config {
            /// Parameters of a transport's published set, or its defaults, for hosts whose links
            /// run at `line`; `None` if there is no such transport or set.
            pub fn profile(name: &str, profile: Option<&str>, line: Rate) -> Option<Self> {
                $(if name == <$module::Config as Named>::ABOUT.name {
                    return $module::$variant::config(profile, line).map(Self::$variant);
                })*
                None
            }

            /// Published sets of parameters of a transport, if it has any.
            pub fn profiles(name: &str) -> Option<Profiles> {
                $(if name == <$module::Config as Named>::ABOUT.name {
                    return <$module::$variant as Transport>::PROFILES;
                })*
                None
            }

            /// Payload of a full packet, in bytes.
            pub fn payload(&self) -> u32 {
                match self {
                    $(Self::$variant(config) => $module::$variant::payload(config),)*
                }
            }

            /// As [`Transport::NEEDS_LOSSLESS`].
            pub const fn needs_lossless(&self) -> bool {
                match self {
                    $(Self::$variant(_) => <$module::$variant as Transport>::NEEDS_LOSSLESS,)*
                }
            }

            /// A connection whose source has a link of speed `line`. Names the parameter that
            /// cannot be used.
            pub fn build(&self, line: Rate) -> Result<Connection, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => Connection::$variant(Box::new(
                        <$module::$variant as Transport>::new(config, line)?,
                    )),)*
                })
            }
        }

        impl AnyHeader {
            /// Payload bytes.
            #[inline]
            pub const fn payload(&self) -> u32 {
                match self {
                    Self::Tcp(header) => header.len,
                    $(Self::$variant { len, .. } => *len,)*
                }
            }

            /// As [`Transport::offset`]; `None` for TCP.
            pub fn offset(&self) -> Option<u64> {
                match self {
                    Self::Tcp(_) => None,
                    $(Self::$variant { header, .. } => Some($module::$variant::offset(header)),)*
                }
            }

            /// As [`Transport::datagram`]; `None` for TCP.
            pub fn datagram(&self, port: u16, unit: u32) -> Option<Datagram> {
                match self {
                    Self::Tcp(_) => None,
                    $(Self::$variant { len, header } => {
                        Some($module::$variant::datagram(header, *len, port, unit))
                    })*
                }
            }
        }

        impl Connection {
            /// The end that counts marks.
            pub const fn marks_at(&self) -> Side {
                match self {
                    $(Self::$variant(_) => <$module::$variant as Transport>::MARKS_AT,)*
                }
            }

            /// As [`Transport::poll_packet`].
            #[inline]
            pub fn poll_packet(&mut self, side: Side, now: Time) -> Option<Packet<AnyHeader>> {
                match self {
                    $(Self::$variant(connection) => {
                        let Packet { header, len, ecn, is_retransmission } =
                            connection.poll_packet(side, now)?;
                        let header = AnyHeader::$variant { len, header };
                        Some(Packet { header, len, ecn, is_retransmission })
                    })*
                }
            }

            /// As [`Transport::on_packet`]. A packet of another transport is ignored.
            #[inline]
            pub fn on_packet(&mut self, side: Side, header: &AnyHeader, ecn: Ecn, now: Time) {
                match (self, header) {
                    $((Self::$variant(connection), &AnyHeader::$variant { len, header }) => {
                        let packet = Packet { header, len, ecn, is_retransmission: false };
                        connection.on_packet(side, &packet, now);
                    })*
                    _ => {}
                }
            }
        }
    };
}

transports! {
    Dcqcn(dcqcn),
}

const _: () = assert!(size_of::<AnyHeader>() <= 24, "packets of a simulator have room for it");

impl Connection {
    /// As [`Transport::write`].
    pub fn write(&mut self, bytes: u64) {
        with_connection!(self, connection => connection.write(bytes));
    }

    /// As [`Transport::arrived`].
    #[inline]
    pub fn arrived(&self, side: Side) -> u64 {
        with_connection!(self, connection => connection.arrived(side))
    }

    /// As [`Transport::on_queued`].
    #[inline]
    pub fn on_queued(&mut self, side: Side, leaves: Time) {
        with_connection!(self, connection => connection.on_queued(side, leaves));
    }

    /// As [`Transport::is_livelocked`].
    #[inline]
    pub fn is_livelocked(&self) -> bool {
        with_connection!(self, connection => connection.is_livelocked())
    }

    /// As [`Transport::poll_timeout`].
    #[inline]
    pub fn poll_timeout(&self, side: Side) -> Option<Time> {
        with_connection!(self, connection => connection.poll_timeout(side))
    }

    /// As [`Transport::on_timeout`].
    pub fn on_timeout(&mut self, side: Side, now: Time) {
        with_connection!(self, connection => connection.on_timeout(side, now));
    }

    /// As [`Transport::counts`].
    pub fn counts(&self, side: Side) -> Counts {
        with_connection!(self, connection => connection.counts(side))
    }

    /// As [`Transport::sample`].
    pub fn sample(&self, now: Time) -> Sample {
        with_connection!(self, connection => connection.sample(now))
    }
}
