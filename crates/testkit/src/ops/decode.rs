//! Decodes operations from bytes.

use tidegate_dataplane::Pkt;
use tidegate_units::{Ecn, FlowId, QueueId, Span};

use super::Op;

/// Reads operations from `bytes` until they end. Every input is valid; the probabilities below hold
/// for uniformly random bytes.
pub fn decode(bytes: &[u8]) -> Vec<Op> {
    let mut source = Source(bytes);
    let mut ops = Vec::new();
    while let Some(kind) = source.next() {
        ops.push(match kind % 16 {
            0..=7 => Op::Enqueue(source.queue(), source.pkt()),
            8..=11 => Op::Dequeue,
            12 => Op::Drain,
            _ => Op::Advance(source.span()),
        });
    }
    ops
}

struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The next byte; zeroes follow the end.
    fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// One of the first eight queues, or with probability 1/16 any.
    fn queue(&mut self) -> QueueId {
        match self.byte() {
            near @ 0..240 => QueueId(near % 8),
            _ => QueueId(self.byte()),
        }
    }

    fn pkt(&mut self) -> Pkt {
        let len = match self.byte() % 16 {
            0 => 0,
            1 => 1,
            2 => 64,
            3..=9 => 1500,
            10 => 9000,
            11 => 65_535,
            12..=14 => u32::from(self.word() % 1501),
            // One packet in 256 has the largest possible length, or nearly.
            _ => match self.byte() {
                0..16 => u32::MAX - u32::from(self.byte()),
                some => u32::from(some),
            },
        };
        let bits = self.byte();
        Pkt {
            len,
            flow: FlowId(match bits >> 2 {
                0 => u32::MAX,
                few => u32::from(few % 12),
            }),
            ecn: Ecn::from_bits(bits),
            ingress: u16::from(bits >> 6),
            rank: match self.byte() {
                0 => u64::MAX,
                some => u64::from(some) * 1_000_000,
            },
        }
    }

    /// Mostly about a packet's time at 10 Gb/s, sometimes long, rarely close to the largest time.
    fn span(&mut self) -> Span {
        match self.byte() {
            0..176 => Span::from_ns(u64::from(self.word() % 2400)),
            176..216 => Span::from_us(u64::from(self.byte())),
            216..254 => Span::from_us(u64::from(self.word())),
            254 => Span::from_secs(u64::from(self.byte())),
            255 => match self.byte() {
                0..32 => Span::MAX,
                32..64 => Span::from_ps(u64::MAX / 2),
                _ => Span::ZERO,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::*;

    #[test]
    fn every_kind_of_operation_occurs() {
        let mut rng = Rng::new(1, 0);
        let bytes: Vec<u8> = (0..200_000).map(|_| (rng.next_u32() >> 24) as u8).collect();
        let ops = decode(&bytes);
        let lengths: Vec<u32> = ops
            .iter()
            .filter_map(|op| match op {
                Op::Enqueue(_, pkt) => Some(pkt.len),
                _ => None,
            })
            .collect();
        for len in [0, 1, 64, 1500, 9000, 65_535] {
            assert!(lengths.contains(&len), "{len}");
        }
        assert!(lengths.iter().any(|&len| len > u32::MAX - 256));
        assert!(ops.contains(&Op::Dequeue));
        assert!(ops.contains(&Op::Drain));
        assert!(ops.contains(&Op::Advance(Span::MAX)));
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert!(ops.iter().any(|op| matches!(op, Op::Enqueue(_, pkt) if pkt.ecn == ecn)));
        }
        let unknown = |op: &Op| matches!(op, Op::Enqueue(queue, _) if queue.0 >= 128);
        assert!(ops.iter().any(unknown));
        assert!(decode(&[]).is_empty());
    }
}
