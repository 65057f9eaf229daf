//! Emulated cable from a host to its port, with a rate and a propagation delay.
//!
//! A veth pair is as fast as the processor and has no length. With an emulated cable a frame
//! arrives when it would have: after earlier frames have passed at the cable's rate, and a delay
//! later. Frames in flight take slots of the switch's store.

use std::collections::VecDeque;

use tidegate_units::{ByteTime, Span, Time};

use crate::config::{Config, PortSettings};
use crate::store::FrameId;

/// A cable with its frames in flight.
#[derive(Debug)]
pub(super) struct Cable {
    wire: Option<ByteTime>,
    delay: Span,
    /// Time at which the last bit so far has left the host.
    free: Time,
    /// Frames by time of arrival.
    frames: VecDeque<(Time, FrameId)>,
}

/// A cable for each port, or an empty list if none is emulated.
pub(super) fn cables(config: &Config) -> Vec<Cable> {
    let is_imitated = |port: &PortSettings| port.uplink.is_some() || port.delay > Span::ZERO;
    if !config.ports.iter().any(is_imitated) {
        return Vec::new();
    }
    let places = config.options.frames as usize;
    let cable = |port: &PortSettings| Cable {
        wire: port.uplink.map(ByteTime::new),
        delay: port.delay,
        free: Time::ZERO,
        frames: VecDeque::with_capacity(places),
    };
    config.ports.iter().map(cable).collect()
}

impl Cable {
    /// Sends a frame of `len` bytes from the host at `sent`.
    #[inline]
    pub(super) fn push(&mut self, id: FrameId, sent: Time, len: u32) {
        let span = self.wire.as_ref().map_or(Span::ZERO, |wire| wire.span(len));
        self.free = self.free.max(sent) + span;
        self.frames.push_back((self.free + self.delay, id));
    }

    /// The next frame that has arrived by `now`, with its arrival time.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<(FrameId, Time)> {
        self.next_arrival().filter(|&at| at <= now)?;
        self.frames.pop_front().map(|(at, id)| (id, at))
    }

    /// Arrival of the next frame.
    #[inline]
    pub(super) fn next_arrival(&self) -> Option<Time> {
        self.frames.front().map(|&(at, _)| at)
    }

    /// Number of frames in flight.
    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rate;

    use super::*;

    #[test]
    fn frames_arrive_one_after_the_other_and_a_delay_later() {
        let mut config = Config::new();
        let port = PortSettings::new("a", Rate::from_gbps(1));
        config.ports.push(port);
        assert!(cables(&config).is_empty(), "nothing to emulate");
        // 1250 bytes take 10 µs.
        config.ports[0].uplink = Some(Rate::from_gbps(1));
        config.ports[0].delay = Span::from_us(100);
        let mut cable = cables(&config).remove(0);
        for (number, sent) in (0..).zip([0, 0, 500]) {
            cable.push(FrameId(number), Time::from_us(sent), 1250);
        }
        assert_eq!(cable.frames(), 3);
        assert_eq!(cable.pop(Time::from_us(109)), None);
        let mut arrived = Vec::new();
        while let Some((id, at)) = cable.pop(Time::from_ms(1)) {
            arrived.push((id.0, at));
        }
        let expected = [(0, 110), (1, 120), (2, 610)].map(|(id, us)| (id, Time::from_us(us)));
        assert_eq!(arrived, expected);
    }

    #[test]
    fn a_cable_without_a_speed_only_delays() {
        let mut config = Config::new();
        let mut port = PortSettings::new("a", Rate::from_gbps(1));
        port.delay = Span::from_us(5);
        config.ports.push(port);
        let mut cable = cables(&config).remove(0);
        cable.push(FrameId(7), Time::from_us(1), 9_000);
        assert_eq!(cable.next_arrival(), Some(Time::from_us(6)));
    }
}
