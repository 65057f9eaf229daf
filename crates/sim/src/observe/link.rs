//! Traffic of a link in the window, and the time for which it was paused.

use tidegate_units::{Rate, Span};

use super::{Window, statistics};
use crate::fabric::LinkCount;
use crate::network::LinkId;
use crate::pause::{CLASSES, ClassCounters, PauseCounters};
use crate::setup::Accounting;

/// Bytes of a pause frame (IEEE 802.1Qbb).
pub(crate) const PAUSE_FRAME: u32 = 64;

/// Observations of a link in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedLink {
    /// The link.
    pub link: LinkId,
    /// Speed of the link.
    pub rate: Rate,
    /// Length of the observed time.
    pub span: Span,
    /// Packets whose transmission began.
    pub packets: u64,
    /// Bytes of these packets, including the accounted overhead.
    pub bytes: u64,
    /// Bytes of these packets without headers and framing: payload, and padding of short packets.
    /// Retransmissions count again; the goodput of flows counts bytes that arrived once and in
    /// order.
    pub payload: u64,
    /// Pause frames that reached its sender, without frames that end a pause.
    pub pauses: u64,
    /// Time for which its sender was paused in at least one class.
    pub paused: Span,
    /// Pauses by class.
    pub by_class: [ClassCounters; CLASSES],
}

impl ObservedLink {
    pub(super) fn new(
        link: LinkId,
        rate: Rate,
        window: Window,
        accounting: Accounting,
        [before, after]: [LinkState; 2],
    ) -> Self {
        let packets = after.count.packets - before.count.packets;
        let bytes = after.count.bytes - before.count.bytes;
        Self {
            link,
            rate,
            span: window.span(),
            packets,
            bytes,
            payload: bytes.saturating_sub(packets * u64::from(accounting.per_packet)),
            pauses: u64::from(after.count.pauses.wrapping_sub(before.count.pauses)),
            paused: after.pauses.any - before.pauses.any,
            by_class: std::array::from_fn(|class| {
                let [before, after] = [before, after].map(|state| state.pauses.classes[class]);
                ClassCounters {
                    pauses: after.pauses - before.pauses,
                    paused: after.paused - before.paused,
                }
            }),
        }
    }

    /// Utilization: fraction of its capacity that was used.
    pub fn utilisation(&self) -> Option<f64> {
        self.share(self.bytes)
    }

    /// Fraction of its capacity that carried payload.
    pub fn payload_utilisation(&self) -> Option<f64> {
        self.share(self.payload)
    }

    /// Payload over time; `None` without payload.
    pub fn goodput(&self) -> Option<Rate> {
        Rate::from_bytes_over(self.payload, self.span)
    }

    /// Fraction of the time for which it was paused.
    pub fn paused_share(&self) -> Option<f64> {
        let (part, whole) = (self.paused.as_ps(), self.span.as_ps());
        statistics::quotient(u128::from(part), u128::from(whole))
    }

    /// Rate of pause frames, at 64 bytes each; `None` without pauses. DiffECN, section VII compares
    /// schemes by this rate.
    pub fn pause_rate(&self) -> Option<Rate> {
        pause_rate(self.pauses, self.span)
    }

    fn share(&self, bytes: u64) -> Option<f64> {
        // bits · ps/s over bit/s · ps
        let used = u128::from(bytes) * 8_000_000_000_000;
        let whole = u128::from(self.rate.as_bps()) * u128::from(self.span.as_ps());
        statistics::quotient(used, whole)
    }
}

/// Rate of pause frames on all of these links together; `None` without pauses.
pub fn total_pause_rate(links: &[ObservedLink]) -> Option<Rate> {
    let pauses = links.iter().map(|link| link.pauses).sum();
    pause_rate(pauses, links.first()?.span)
}

fn pause_rate(pauses: u64, span: Span) -> Option<Rate> {
    Rate::from_bytes_over(pauses.saturating_mul(u64::from(PAUSE_FRAME)), span)
}

/// Counters of a link at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkState {
    pub(crate) count: LinkCount,
    pub(crate) pauses: PauseCounters,
}

#[cfg(test)]
mod tests {
    use tidegate_units::Time;

    use super::*;

    fn state(packets: u64, bytes: u64, pauses: u32, paused_us: u64) -> LinkState {
        LinkState {
            count: LinkCount { packets, bytes, pauses },
            pauses: PauseCounters {
                any: Span::from_us(paused_us),
                classes: std::array::from_fn(|class| ClassCounters {
                    pauses: u64::from(pauses * u32::from(class == 3)),
                    paused: Span::from_us(paused_us * u64::from(class == 3)),
                }),
            },
        }
    }

    fn seen(before: LinkState, after: LinkState) -> ObservedLink {
        let window = Window { from: Time::from_ms(1), to: Time::from_ms(2) };
        let rate = Rate::from_gbps(10);
        let accounting = Accounting::default();
        ObservedLink::new(LinkId(3), rate, window, accounting, [before, after])
    }

    #[test]
    fn shares_refer_to_the_window() {
        // In a millisecond 10 Gb/s can carry 1,250,000 bytes. Half of that was sent, in 500 packets
        // with 40 bytes of headers.
        let link = seen(state(7, 7_000, 2, 10), state(507, 632_000, 5, 135));
        assert_eq!((link.packets, link.bytes, link.pauses), (500, 625_000, 3));
        assert_eq!(link.utilisation(), Some(0.5));
        assert_eq!(link.payload, 625_000 - 20_000);
        assert_eq!(link.goodput(), Rate::from_bps(605_000 * 8 * 1_000));
        assert_eq!(link.paused_share(), Some(0.125));
        assert_eq!(link.by_class[2], ClassCounters::default());
        assert_eq!(link.by_class[3].pauses, 3);
        assert_eq!(link.by_class[3].paused, Span::from_us(125));
        // 3 · 64 · 8 bits in a millisecond.
        assert_eq!(link.pause_rate(), Rate::from_bps(1_536_000));
        assert_eq!(total_pause_rate(&[link; 2]), Rate::from_bps(3_072_000));
    }

    #[test]
    fn a_silent_link_has_no_rates() {
        let link = seen(state(1, 1, 1, 1), state(1, 1, 1, 1));
        assert_eq!((link.goodput(), link.pause_rate()), (None, None));
        assert_eq!(link.utilisation(), Some(0.0));
        assert_eq!(total_pause_rate(&[]), None);
    }
}
