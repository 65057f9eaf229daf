//! Service of a port's queues: in rounds, or without.

use alloc::vec::Vec;

use tidegate_units::{ConfigError, QueueId};

use super::{Config, PACKET};
use crate::mark::PortInfo;
use crate::mark::red::{bytes, per_queue};

/// Service of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// In turns with the other queues of its group, with a quantum of bytes for each turn.
    Rounds {
        group: u8,
        quantum: u32,
        /// Whether the queue holds packets.
        is_active: bool,
    },
    /// Without rounds, so that the threshold is fixed.
    Strict { threshold: u32 },
}

impl Service {
    /// Service of each queue of the port.
    pub(super) fn of_queues(config: &Config, port: &PortInfo) -> Result<Vec<Self>, ConfigError> {
        let strict = match &config.strict_threshold[..] {
            [] => &[config.threshold],
            list => list,
        };
        let strict = per_queue("strict_threshold", strict, port.queues)?;
        let queues = (0..port.queues).map(QueueId).zip(strict);
        let service = |(queue, strict)| {
            let threshold = bytes("strict_threshold", strict, PACKET)?;
            Ok((port.round)(queue).map_or(Self::Strict { threshold }, |round| Self::Rounds {
                group: round.group,
                quantum: round.quantum,
                is_active: false,
            }))
        };
        queues.map(service).collect()
    }

    /// Group of queues that this one takes turns with.
    #[inline]
    pub(super) fn group(self) -> Option<usize> {
        match self {
            Self::Rounds { group, .. } => Some(usize::from(group)),
            Self::Strict { .. } => None,
        }
    }

    /// Whether the queue takes turns in `group` now.
    pub(super) fn is_active_in(self, group: usize) -> bool {
        matches!(self, Self::Rounds { is_active: true, .. }) && self.group() == Some(group)
    }

    /// Records the queue's first packet, or the loss of its last one.
    #[inline]
    pub(super) const fn set_active(&mut self, holds_packets: bool) {
        if let Self::Rounds { is_active, .. } = self {
            *is_active = holds_packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use tidegate_units::{Bytes, Size};

    use super::super::tests::{arrival, with_round};
    use super::*;
    use crate::Rule;
    use crate::mark::testing::port_info;
    use crate::mark::{MarkDecision, Marker};
    use crate::sched::Round;

    fn strict(list: &[Size]) -> Config {
        Config { strict_threshold: list.to_vec(), ..Config::default() }
    }

    /// Service of three queues, the second of which has rounds.
    fn services(config: &Config) -> Result<Vec<Service>, ConfigError> {
        let round = Round { group: 7, quantum: 9_000 };
        let port =
            PortInfo { round: &|queue| (queue == QueueId(1)).then_some(round), ..port_info(3) };
        Service::of_queues(config, &port)
    }

    #[test]
    fn queues_without_rounds_have_thresholds_of_their_own() {
        let rounds = Service::Rounds { group: 7, quantum: 9_000, is_active: false };
        let expect = |first, last| {
            let [first, last] = [first, last].map(|threshold| Service::Strict { threshold });
            Ok(vec![first, rounds, last])
        };
        assert_eq!(services(&strict(&[])), expect(97_500, 97_500));
        let [one, two, three] = [1, 2, 3].map(Size::Packets);
        assert_eq!(services(&strict(&[two])), expect(3_000, 3_000));
        assert_eq!(services(&strict(&[one, two, three])), expect(1_500, 4_500));
    }

    #[test]
    fn a_list_of_another_length_is_refused() {
        let error = services(&strict(&[Size::Packets(1); 2])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "strict_threshold = 2 values is out of range; allowed: 1 value, or 1 for each of the 3 \
             queues"
        );
    }

    #[test]
    fn a_strict_threshold_has_32_bits() {
        let most = Bytes(u64::from(u32::MAX));
        assert!(services(&strict(&[Size::Bytes(most)])).is_ok());
        let error = services(&strict(&[Size::Bytes(Bytes(1 << 32))])).unwrap_err();
        assert!(error.to_string().starts_with("strict_threshold = 4GiB "));
    }

    #[test]
    fn a_strict_queue_is_marked_above_its_own_threshold_in_any_round() {
        let mark = MarkDecision::Mark(Rule::QueueLength);
        // Below and above the port's 65 packets. The round leaves a tenth to the others.
        for packets in [4, 100] {
            let mut mq_ecn = with_round(&strict(&[Size::Packets(packets)]), 144_000_000);
            let threshold = packets * 1_500;
            assert_eq!(mq_ecn.threshold(QueueId(2)), Some(threshold));
            assert_eq!(mq_ecn.threshold(QueueId(0)), Some(9_750));
            // The packet itself has 1500 bytes.
            let verdicts = [1_501, 1_500, 1_499]
                .map(|less| mq_ecn.on_enqueue(&arrival(0, 2, threshold - less)));
            assert_eq!(verdicts, [MarkDecision::Pass, MarkDecision::Pass, mark]);
            assert_eq!(mq_ecn.capacity(QueueId(2)), None);
        }
    }
}
