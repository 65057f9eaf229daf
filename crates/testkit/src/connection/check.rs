//! Runs operations on two endpoints and checks every invariant after each.

use tidegate_transport::{Endpoint, Range, SackBlocks, Segment, Seq, State};
use tidegate_units::{ConfigError, Ecn, Span, Time};

use super::{End, Op, Side};

/// Largest number of segments that one call may send: more than the largest window of the smallest
/// segments.
const BURST: usize = 100_000;
/// Number of events in which a fair network must deliver everything written.
const PATIENCE: usize = 400_000;
/// Delay of a segment through the fair network.
const DELAY: Span = Span::from_us(50);
/// Most bytes added by one write, in segments: longer writes show nothing new.
const SEGMENTS_PER_WRITE: u32 = 60;

/// Runs the operations on two endpoints. Afterwards the network is fair and the applications read
/// and close. If no segment was forged, everything written must arrive, and both ends must finish.
/// The error names the violated property; the endpoints check their own invariants by panicking.
pub fn check(ends: &[End; 2], ops: &[Op]) -> Result<(), String> {
    let mut pair = Pair::new(ends).map_err(|error| error.to_string())?;
    pair.flush()?;
    for (number, &op) in ops.iter().enumerate() {
        pair.apply(op)
            .and_then(|()| pair.flush())
            .map_err(|problem| format!("operation {number}, {op:?}: {problem}"))?;
    }
    if pair.forged {
        return Ok(());
    }
    pair.finish().map_err(|problem| format!("on a fair network: {problem}"))
}

struct Pair {
    ends: [Endpoint; 2],
    mss: [u32; 2],
    now: Time,
    /// Segments in flight, in the order of sending, with destination and arrival time on a fair
    /// network.
    in_flight: Vec<(Time, Side, Segment)>,
    forged: bool,
}

impl Pair {
    fn new([client, server]: &[End; 2]) -> Result<Self, ConfigError> {
        Ok(Self {
            ends: [
                Endpoint::connect(&client.config, &client.cc, client.iss)?,
                Endpoint::listen(&server.config, &server.cc, server.iss)?,
            ],
            mss: [client, server].map(|end| u32::from(end.config.mss)),
            now: Time::ZERO,
            in_flight: Vec::new(),
            forged: false,
        })
    }

    fn end(&mut self, side: Side) -> &mut Endpoint {
        &mut self.ends[side as usize]
    }

    fn apply(&mut self, op: Op) -> Result<(), String> {
        let now = self.now;
        match op {
            Op::Advance(span) => return self.advance(now + span),
            // Closing before there is a connection resets a peer that believes there is one.
            Op::Close(side) if is_before_connection(self.end(side)) => {}
            Op::Close(side) => self.end(side).close(now),
            Op::Deliver(number) => {
                if let Some(index) = self.index(number) {
                    let (_, side, segment) = self.in_flight.remove(index);
                    self.end(side).on_segment(&segment, now);
                }
            }
            Op::Duplicate(number) => {
                if let Some(index) = self.index(number) {
                    let (_, side, segment) = self.in_flight[index];
                    self.end(side).on_segment(&segment, now);
                }
            }
            Op::Forge(side, segment) => {
                self.forged = true;
                let segment = self.aim(side, &segment);
                self.end(side).on_segment(&segment, now);
            }
            Op::Lose(number) => {
                if let Some(index) = self.index(number) {
                    self.in_flight.remove(index);
                }
            }
            Op::Mark(number) => {
                if let Some(index) = self.index(number)
                    && self.in_flight[index].2.ecn.is_capable()
                {
                    self.in_flight[index].2.ecn = Ecn::Ce;
                }
            }
            Op::Read(side, bytes) => {
                self.end(side).read(u64::from(bytes), now);
            }
            Op::Write(side, bytes) => {
                let most = SEGMENTS_PER_WRITE * self.mss[0].min(self.mss[1]);
                self.end(side).write(u64::from(bytes.min(most)), now);
            }
        }
        Ok(())
    }

    fn index(&self, number: u8) -> Option<usize> {
        usize::from(number).checked_rem(self.in_flight.len())
    }

    /// Gives a forged segment the numbers of this connection, as visible in the last segments in
    /// flight: an attacker who sees everything.
    fn aim(&self, side: Side, segment: &Segment) -> Segment {
        let seen = |to| {
            let mut later = self.in_flight.iter().rev();
            later.find_map(|(_, side, segment)| (*side == to).then_some(segment))
        };
        let seq = seen(side).map_or(Seq(0), |last| last.seq);
        let ack = seen(side.peer()).map_or(Seq(0), |last| last.seq);
        let mut sack = SackBlocks::default();
        for block in segment.sack.as_slice() {
            sack.push(Range::new(ack + block.start.0, ack + block.end.0));
        }
        Segment { seq: seq + segment.seq.0, ack: ack + segment.ack.0, sack, ..*segment }
    }

    /// Lets timers expire until `limit`.
    fn advance(&mut self, limit: Time) -> Result<(), String> {
        for _ in 0..BURST {
            let timeouts = self.ends.iter().filter_map(Endpoint::poll_timeout);
            let Some(next) = timeouts.min().filter(|&next| next <= limit) else {
                self.now = limit;
                return Ok(());
            };
            self.now = self.now.max(next);
            for side in Side::BOTH {
                let now = self.now;
                self.end(side).on_timeout(now);
            }
            self.flush()?;
        }
        Err("timers never stop".to_owned())
    }

    /// Takes all segments that both ends want to send, and checks them.
    fn flush(&mut self) -> Result<(), String> {
        for side in Side::BOTH {
            let (now, mut burst) = (self.now, 0);
            while let Some(segment) = self.end(side).poll_segment(now) {
                self.in_flight.push((now + DELAY, side.peer(), segment));
                self.end(side).check();
                burst += 1;
                if burst > BURST {
                    return Err(format!("{side:?} never stops sending"));
                }
            }
            self.end(side).check();
            self.end(side).check_waiting();
        }
        if self.forged {
            return Ok(());
        }
        for side in Side::BOTH {
            let (here, there) = (&self.ends[side as usize], &self.ends[side.peer() as usize]);
            let (written, acked, received) = (here.written(), here.acked(), there.received());
            if !(acked <= received && received <= written) {
                return Err(format!(
                    "{side:?} wrote {written}, {received} arrived, {acked} are acknowledged"
                ));
            }
            if here.is_broken() {
                return Err(format!("{side:?} gave up: {here:?}"));
            }
        }
        Ok(())
    }

    /// Finishes the connection with a fair network and readers that read at once.
    fn finish(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let now = self.now;
            for side in Side::BOTH {
                self.end(side).read(u64::MAX, now);
            }
            self.flush()?;
            if self.is_delivered() {
                for side in Side::BOTH {
                    self.end(side).close(now);
                }
                self.flush()?;
            }
            if self.ends.iter().all(|end| end.state() == State::Closed) {
                return Ok(());
            }
            self.step()?;
        }
        Err(format!("the connection does not finish: {:?}", self.ends))
    }

    /// Whether there was a connection, and everything written has arrived and is acknowledged.
    fn is_delivered(&self) -> bool {
        Side::BOTH.into_iter().all(|side| {
            let (here, there) = (&self.ends[side as usize], &self.ends[side.peer() as usize]);
            let written = here.written();
            !is_before_connection(here) && here.acked() == written && there.received() == written
        })
    }

    /// Handles the next arrival or timeout.
    fn step(&mut self) -> Result<(), String> {
        let arrival = self.in_flight.iter().map(|(time, _, _)| *time).min();
        let timeout = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
        let Some(next) = arrival.into_iter().chain(timeout).min() else {
            return Err(format!("stalled: {:?}", self.ends));
        };
        self.now = self.now.max(next);
        let now = self.now;
        let first = self.in_flight.iter().position(|(time, _, _)| *time <= now);
        if let Some(index) = first {
            let (_, side, segment) = self.in_flight.remove(index);
            self.end(side).on_segment(&segment, now);
        }
        for side in Side::BOTH {
            self.end(side).on_timeout(now);
        }
        self.flush()
    }
}

fn is_before_connection(end: &Endpoint) -> bool {
    matches!(end.state(), State::Listen | State::SynSent)
}
