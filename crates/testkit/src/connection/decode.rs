//! Decodes setup and operations from bytes.

use tidegate_transport::config::{
    AckPolicy, Avoidance, ClockReading, Credit, Echo, EcnFallback, Ect, Growth, IdleRestart, Qdisc,
    Reader, Repair, SlowStart, SynLoss, TsoSizing,
};
use tidegate_transport::{Config, Flags, Range, SackBlocks, Segment, Seq, cc};
use tidegate_units::{Bytes, Ecn, Setting, Size, Span};

use super::{End, Op, Side};

/// Reads two ends and then operations from `bytes` until they end. Every input is valid.
pub fn decode(bytes: &[u8]) -> ([End; 2], Vec<Op>) {
    let mut source = Source(bytes);
    let ends = [source.end(), source.end()];
    let mut ops = Vec::new();
    while let Some(kind) = source.next() {
        let side = Side::BOTH[usize::from(kind >> 7)];
        ops.push(match kind % 32 {
            0..=13 => Op::Deliver(source.byte() % 4),
            14 => Op::Deliver(source.byte()),
            15..=16 => Op::Duplicate(source.byte()),
            17..=19 => Op::Lose(source.byte()),
            20..=21 => Op::Mark(source.byte()),
            22..=24 => Op::Write(side, u32::from(source.word())),
            25..=26 => Op::Read(side, u32::from(source.word())),
            27..=29 => Op::Advance(Span::from_us(u64::from(source.word()))),
            30 if source.byte() < 16 => Op::Close(side),
            31 if source.byte() < 64 => Op::Forge(side, source.segment()),
            _ => Op::Deliver(0),
        });
    }
    (ends, ops)
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

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// One of the named choices of a setting.
    fn choice<T: Setting>(&mut self, names: &[&str]) -> T {
        T::read(self.pick(names)).expect("every name in the list is a choice")
    }

    fn end(&mut self) -> End {
        let mss = self.pick(&[1460, 1, 2, 7, 100, 536, 9000]);
        let buffer = match self.byte() % 8 {
            0..=2 => 1 << 20,
            3 => u64::from(mss),
            4 => u64::from(mss) + 1,
            5 => 3 * u64::from(mss) - 1,
            6 => 1 << 30,
            _ => u64::from(mss) + u64::from(self.word()),
        };
        let config = Config {
            mss,
            initial_window: Size::Packets(1 + u32::from(self.byte() % 12)),
            max_window: self.pick(&[None, Some(Size::Packets(2)), Some(Size::Packets(9))]),
            receive_window: Bytes(buffer),
            reader: self.pick(&[Reader::Immediate, Reader::Manual]),
            rto_initial: Span::from_ms(1),
            rto_min: Span::from_us(200 + u64::from(self.byte())),
            rto_max: Span::from_secs(2),
            clock_granularity: self.pick(&[Span::from_us(1), Span::from_ms(1)]),
            clock_reading: ClockReading::Elapsed,
            syn_loss: self.choice(SynLoss::NAMES),
            max_retries: None,
            // Longer than any input takes, so that no end forgets the other.
            time_wait: Span::from_secs(1000),
            acks: self.choice(AckPolicy::NAMES),
            delayed_ack: 1 + self.byte() % 4,
            ack_delay: Span::from_us(1 + 4 * u64::from(self.byte())),
            sack: !self.byte().is_multiple_of(4),
            dsack: self.flag(),
            prr: self.flag(),
            dupack_threshold: self.pick(&[3, 3, 1, 2, 5, 255]),
            limited_transmit: self.flag(),
            abc: self.pick(&[None, Some(1), Some(2), Some(255)]),
            slow_start: self.choice(SlowStart::NAMES),
            growth: self.choice(Growth::NAMES),
            avoidance: self.choice(Avoidance::NAMES),
            credit: self.choice(Credit::NAMES),
            idle_restart: self.choice(IdleRestart::NAMES),
            nagle: self.flag(),
            ecn: !self.byte().is_multiple_of(8),
            ecn_request: !self.byte().is_multiple_of(8),
            ecn_fallback: self.choice(EcnFallback::NAMES),
            echo: self.choice(Echo::NAMES),
            ect_syn: self.choice(Ect::NAMES),
            ect_reset: self.choice(Ect::NAMES),
            ect_ack: self.choice(Ect::NAMES),
            ect_probe: self.choice(Ect::NAMES),
            ect_retransmission: self.choice(Ect::NAMES),
            repair: self.choice(Repair::NAMES),
            tso: self.pick(&[None, None, Some(Size::Packets(2)), Some(Size::Packets(44))]),
            tso_sizing: self.choice(TsoSizing::NAMES),
            // Only hosts with several connections use these.
            qdisc: Qdisc::Fifo,
            limit_output: Bytes(u64::MAX),
        };
        // Half of the sequence numbers wrap soon.
        let iss = match self.byte() {
            near @ 0..128 => Seq(u32::MAX - 40 * u32::from(near)),
            far => Seq(u32::from(far) << 24),
        };
        End { config, cc: self.cc(), iss }
    }

    fn cc(&mut self) -> cc::Config {
        let named = cc::Config::NAMES;
        let profiles = cc::dctcp::Config::PROFILES;
        let number = usize::from(self.byte()) % (named.len() + profiles.len());
        let cc = match named.get(number) {
            Some(name) => cc::Config::named(name),
            None => {
                let profile = cc::dctcp::Config::profile(profiles[number - named.len()]);
                profile.map(cc::Config::Dctcp)
            }
        };
        cc.expect("every name in the lists is known")
    }

    /// A distance from a boundary value: mostly small, occasionally any.
    fn distance(&mut self) -> Seq {
        match self.byte() % 8 {
            0..=3 => Seq(0),
            4 => Seq(u32::from(self.word())),
            5 => Seq(0) - u32::from(self.word()),
            6 => Seq(u32::from(self.byte()) << 24),
            _ => Seq(u32::from(self.byte())),
        }
    }

    fn segment(&mut self) -> Segment {
        let mut sack = SackBlocks::default();
        for _ in 0..self.byte() % 5 {
            sack.push(Range::new(self.distance(), self.distance()));
        }
        Segment {
            seq: self.distance(),
            ack: self.distance(),
            len: match self.byte() % 8 {
                0..=3 => 0,
                4 => u32::MAX - u32::from(self.byte()),
                5 => 1 << (self.byte() % 32),
                _ => u32::from(self.word()),
            },
            window: match self.byte() % 4 {
                0 => 0,
                1 => u32::MAX,
                _ => u32::from(self.word()),
            },
            sack,
            flags: match self.byte() {
                some @ 0..64 => Flags::from_bits(some) | Flags::ACK,
                any => Flags::from_bits(any),
            },
            ecn: Ecn::from_bits(self.byte()),
            class: 0,
            sack_permitted: self.flag(),
            mss: self.word(),
            is_retransmission: false,
        }
    }
}
