//! Samples of connections, as written by the programs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::BitOr;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Event at which a sample was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No particular event.
    #[default]
    Sample = 0,
    /// The connection started.
    Begin = 1,
    /// An ACK.
    Ack = 2,
    /// Duplicate ACKs indicated a loss.
    Loss = 3,
    /// Recovery ended.
    Recovered = 4,
    /// The retransmission timer expired.
    Timeout = 5,
    /// Data is sent after an idle time.
    Idle = 6,
    /// Marks reduced the window.
    Cut = 7,
    /// The connection ended.
    End = 8,
    /// The kernel had changed the window; the algorithm continues from there.
    Resync = 9,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Sample,
        Self::Begin,
        Self::Ack,
        Self::Loss,
        Self::Recovered,
        Self::Timeout,
        Self::Idle,
        Self::Cut,
        Self::End,
        Self::Resync,
    ];
}

/// Further facts about a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The ACK carried ECE.
    pub const ECHO: Self = Self(1);
    /// The ACK may open the window; for `tg_dctcp`, it acknowledged new data.
    pub const MAY_GROW: Self = Self(2);
    /// The window was reduced for a mark.
    pub const REDUCED: Self = Self(4);
    /// The same segment had timed out before.
    pub const REPEATED: Self = Self(8);
    /// Fast recovery is in progress.
    pub const IN_RECOVERY: Self = Self(16);

    /// Whether all of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = [
            ("echo", Self::ECHO),
            ("may_grow", Self::MAY_GROW),
            ("reduced", Self::REDUCED),
            ("repeated", Self::REPEATED),
            ("in_recovery", Self::IN_RECOVERY),
        ];
        let mut map = serializer.serialize_map(Some(names.len()))?;
        for (name, flag) in names {
            map.serialize_entry(name, &self.has(flag))?;
        }
        map.end()
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Both ends of a connection, and the namespace of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Connection {
    /// Number of the network namespace.
    pub namespace: u32,
    /// Local end.
    pub local: SocketAddr,
    /// Remote end.
    pub peer: SocketAddr,
}

/// A sample of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Nanoseconds since the machine started.
    pub time_ns: u64,
    /// Event at which it was taken.
    pub kind: Kind,
    /// Further facts.
    #[serde(flatten)]
    pub flags: Flags,
    /// Connection of the sample.
    #[serde(flatten)]
    pub connection: Connection,
    /// The kernel's state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub state: u8,
    /// First sequence number not yet acknowledged.
    pub una: u32,
    /// Next sequence number to be sent.
    pub nxt: u32,
    /// Newly acknowledged bytes; packets for `tg_dctcp`.
    pub acked: u32,
    /// Part of `acked` with ECE, for `tg_dctcp`.
    pub marked: u32,
    /// Segment size.
    pub mss: u32,
    /// Window in bytes, as kept by the algorithm.
    pub window: u32,
    /// Slow start threshold in bytes; the largest number if there is none.
    pub ssthresh: u32,
    /// Window in packets, as kept by the kernel.
    pub cwnd: u32,
    /// α in 1/1024.
    pub alpha: u32,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// ACKs with ECE so far.
    pub ece: u32,
    /// Segments with CE so far.
    pub ce: u32,
    /// Reductions for marks so far.
    pub cuts: u32,
}

/// Size of `struct tg_event` in `bpf/tidegate.h`.
const BYTES: usize = 104;

const IPV6: u8 = 10;

impl Event {
    /// Decodes a sample written by a program; `None` for other data.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < BYTES {
            return None;
        }
        let word = |place: usize| u32::from_ne_bytes(array(bytes, place));
        let port = |place: usize| u16::from_ne_bytes(array(bytes, place));
        let family = bytes[14];
        let address = |place: usize| {
            if family == IPV6 {
                Ipv6Addr::from(array::<16>(bytes, place)).to_canonical()
            } else {
                IpAddr::V4(Ipv4Addr::from(array::<4>(bytes, place)))
            }
        };
        Some(Self {
            time_ns: u64::from_ne_bytes(array(bytes, 0)),
            kind: *Kind::ALL.get(usize::from(bytes[12]))?,
            flags: Flags(bytes[13]),
            connection: Connection {
                namespace: word(8),
                local: SocketAddr::new(address(20), port(16)),
                peer: SocketAddr::new(address(36), port(18)),
            },
            state: bytes[15],
            una: word(52),
            nxt: word(56),
            acked: word(60),
            marked: word(64),
            mss: word(68),
            window: word(72),
            ssthresh: word(76),
            cwnd: word(80),
            alpha: word(84),
            srtt_us: word(88),
            ece: word(92),
            ce: word(96),
            cuts: word(100),
        })
    }
}

fn array<const N: usize>(bytes: &[u8], place: usize) -> [u8; N] {
    let slice = &bytes[place..place + N];
    slice.try_into().expect("a slice of this length")
}
