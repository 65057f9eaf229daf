//! Proportional rate reduction: send in proportion to deliveries while the window falls.
//!
//! RFC 6937, with the slow-start reduction bound (PRR-SSRB). Used in fast recovery as an option,
//! and for the reductions of rules that thin sending out after a mark, as Linux does.

use crate::seq::Seq;

/// A reduction in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// One past the last byte sent when the reduction began.
    pub(crate) end: Seq,
    /// Bytes outstanding then (`RecoverFS`), at least one.
    flight: u32,
    /// Bytes that have arrived since (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since (`prr_out`).
    out: u64,
    /// Bytes that may leave now (`sndcnt`).
    allowance: u32,
    /// Bytes that may leave as long as none have.
    at_once: u32,
}

impl Prr {
    /// A reduction that begins with `flight` bytes outstanding, the last of them before `end`.
    pub(crate) fn new(flight: u32, end: Seq) -> Self {
        Self { end, flight: flight.max(1), delivered: 0, out: 0, allowance: 0, at_once: 0 }
    }

    /// A reduction in which `delivered` bytes have arrived already and `at_once` may leave before
    /// any other delivery.
    pub(crate) fn begun(flight: u32, end: Seq, delivered: u32, at_once: u32) -> Self {
        Self { delivered: u64::from(delivered), at_once, ..Self::new(flight, end) }
    }

    /// `delivered` more bytes have arrived, `pipe` are in flight, and `target` may be in the end
    /// (`ssthresh`).
    #[inline]
    pub(crate) fn on_delivered(&mut self, delivered: u32, pipe: u32, target: u32, mss: u32) {
        self.delivered += u64::from(delivered);
        let allowance = if pipe > target {
            let flight = u64::from(self.flight);
            // A division of 128 bits takes as long as all else that an ACK does, and is needed for
            // no less than 2^32 bytes.
            let due = match self.delivered.checked_mul(u64::from(target)) {
                Some(share) => share.div_ceil(flight),
                None => {
                    let share = u128::from(self.delivered) * u128::from(target);
                    u64::try_from(share.div_ceil(u128::from(flight))).unwrap_or(u64::MAX)
                }
            };
            due.saturating_sub(self.out)
        } else {
            let owed = self.delivered.saturating_sub(self.out);
            let limit = owed.max(u64::from(delivered)) + u64::from(mss);
            limit.min(u64::from(target - pipe))
        };
        let allowance = u32::try_from(allowance).unwrap_or(u32::MAX);
        self.allowance = allowance.max(if self.out == 0 { self.at_once } else { 0 });
    }

    /// `bytes` were sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: u32) {
        self.out += u64::from(bytes);
        self.allowance = self.allowance.saturating_sub(bytes);
    }

    /// Bytes that may leave now.
    pub(crate) const fn allowance(&self) -> u32 {
        self.allowance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_segment_leaves_while_the_window_halves() {
        // RFC 6937, section 4, in segments of 100: 20 outstanding, the target is 10.
        let mut prr = Prr::new(2000, Seq(2000));
        prr.on_sent(100);
        let mut pipe = 1900;
        let mut sent = 1;
        for ack in 1..=13 {
            pipe -= 100;
            prr.on_delivered(100, pipe, 1000, 100);
            while prr.allowance() >= 100 {
                prr.on_sent(100);
                pipe += 100;
                sent += 1;
            }
            // ⌈ack · 100 · 1000 / 2000⌉ = 50 · ack bytes are due; only whole segments leave, and
            // the retransmission at the start was the first of them.
            assert_eq!(sent, (ack / 2).max(1), "after {ack}");
        }
        // 1900 − 1300 + 500 are in flight. One more arrives: the target is reached, not passed.
        assert_eq!(pipe, 1100);
        prr.on_delivered(100, 1000, 1000, 100);
        assert_eq!(prr.allowance(), 0);
        prr.on_delivered(100, 900, 1000, 100);
        assert_eq!(prr.allowance(), 100);
    }

    #[test]
    fn a_reduction_that_has_begun_lets_a_segment_leave_and_counts_its_ack_twice() {
        // 18 segments of 100 are left, the target is 16; 100 more arrive than the ACKs say.
        let mut prr = Prr::begun(1800, Seq(1900), 100, 100);
        prr.on_delivered(100, 1800, 1600, 100);
        // ⌈200 · 1600 / 1800⌉ = 178, and one segment at least.
        assert_eq!(prr.allowance(), 178);
        let mut prr = Prr::begun(1800, Seq(1900), 0, 100);
        prr.on_delivered(100, 1800, 900, 100);
        assert_eq!(prr.allowance(), 100);
        prr.on_sent(100);
        prr.on_delivered(100, 1800, 900, 100);
        // ⌈200 · 900 / 1800⌉ − 100: once something has left, only the rest that is due.
        assert_eq!(prr.allowance(), 0);
    }

    #[test]
    fn below_the_target_one_segment_more_than_arrived_leaves() {
        let mut prr = Prr::new(2000, Seq(2000));
        // Most of the flight was lost: 300 in flight, the target is 1000.
        prr.on_delivered(100, 300, 1000, 100);
        assert_eq!(prr.allowance(), 200);
        prr.on_sent(200);
        assert_eq!(prr.allowance(), 0);
        // Close to the target, only the missing bytes leave.
        prr.on_delivered(100, 950, 1000, 100);
        assert_eq!(prr.allowance(), 50);
    }
}
