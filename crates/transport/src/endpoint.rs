//! One end of a TCP connection: handshake, states, FIN and reset (RFC 9293), around a sender and a
//! receiver.
//!
//! The host pushes what happens ([`on_segment`](Endpoint::on_segment),
//! [`on_timeout`](Endpoint::on_timeout), [`write`](Endpoint::write), …) and after each push polls
//! segments until there are none, and the next deadline.

use tidegate_units::{ConfigError, Ratio, Time};

use crate::{Config, Segment, Seq, Stats, window};

/// The states of a connection (RFC 9293, section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection: before `listen` or `connect`, or after the end.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN arrived and was answered.
    SynReceived,
    /// Data flows.
    Established,
    /// Our FIN was sent, or waits behind data.
    FinWait1,
    /// Our FIN was acknowledged.
    FinWait2,
    /// The peer's FIN arrived; we may still send.
    CloseWait,
    /// Both sent a FIN at the same time.
    Closing,
    /// The peer closed first, then we did.
    LastAck,
    /// Both closed: late segments are still answered.
    TimeWait,
}

/// Where a byte lies in the application's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The message's number, counted from zero over the whole connection.
    pub message: u64,
    /// Bytes of the message before this one.
    pub offset: u64,
    /// Bytes of the whole message.
    pub len: u64,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    stats: Stats,
}

#[expect(
    unused_variables,
    clippy::unused_self,
    reason = "the interface comes first"
)]
impl Endpoint {
    /// Opens a connection actively: the SYN leaves at the first poll.
    pub fn connect(config: &Config, rule: &window::Config, iss: Seq) -> Result<Self, ConfigError> {
        Ok(Self {
            stats: Stats::default(),
        })
    }

    /// Waits for a SYN.
    pub fn listen(config: &Config, rule: &window::Config, iss: Seq) -> Result<Self, ConfigError> {
        Ok(Self {
            stats: Stats::default(),
        })
    }

    /// A connection whose handshake has gone by, with a peer of the same settings whose initial
    /// sequence number is `peer_iss`.
    pub fn established(
        config: &Config,
        rule: &window::Config,
        iss: Seq,
        peer_iss: Seq,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            stats: Stats::default(),
        })
    }

    /// A segment arrived, with the ECN codepoint as the network left it.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {}

    /// Call when the time last returned by `poll_timeout` has come. Calling early is harmless.
    pub fn on_timeout(&mut self, now: Time) {}

    /// The next segment to send, if any. Poll until `None` after every other call.
    pub fn poll_segment(&mut self, now: Time) -> Option<Segment> {
        None
    }

    /// When to call `on_timeout` next. It may change after any other call.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Adds a message of `bytes` bytes to what is to be sent. Ignored after `close`.
    pub fn write(&mut self, bytes: u64, now: Time) {}

    /// Takes up to `bytes` received bytes out of the buffer, and answers how many there were. Only
    /// of use with [`Reader::Manual`](crate::config::Reader).
    pub fn read(&mut self, bytes: u64, now: Time) -> u64 {
        0
    }

    /// No more data will be written: a FIN follows what is already there.
    pub fn close(&mut self, now: Time) {}

    /// Ends the connection at once with a RST.
    pub fn abort(&mut self, now: Time) {}

    /// The state of the connection.
    pub fn state(&self) -> State {
        State::Closed
    }

    /// Payload bytes received in order since the beginning.
    pub fn received(&self) -> u64 {
        0
    }

    /// Payload bytes received in order and not yet read.
    pub fn readable(&self) -> u64 {
        0
    }

    /// Payload bytes written by the application since the beginning.
    pub fn written(&self) -> u64 {
        0
    }

    /// Payload bytes acknowledged by the peer since the beginning.
    pub fn acked(&self) -> u64 {
        0
    }

    /// Whether the peer has sent its FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        false
    }

    /// Where the first payload byte of a segment lies in the messages written here; `None` once
    /// acknowledged, or if the segment has no payload.
    pub fn place(&self, segment: &Segment) -> Option<Place> {
        None
    }

    /// The congestion window in bytes.
    pub fn window(&self) -> u32 {
        0
    }

    /// The slow start threshold in bytes.
    pub fn threshold(&self) -> u32 {
        0
    }

    /// The estimate of the marked fraction, if the window rule keeps one.
    pub fn alpha(&self) -> Option<Ratio> {
        None
    }

    /// Bytes thought to be on the way (`pipe` in RFC 6675).
    pub fn in_flight(&self) -> u32 {
        0
    }

    /// Whether both ends agreed on ECN.
    pub fn is_ecn(&self) -> bool {
        false
    }

    /// What was counted so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
