use alloc::vec::Vec;

use tidegate_units::Rng;

use super::*;

const MSS: u32 = 100;

fn range(start: u32, end: u32) -> Range {
    Range::new(Seq(start), Seq(end))
}

fn blocks(list: &[(u32, u32)]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for &(start, end) in list {
        blocks.push(range(start, end));
    }
    blocks
}

fn board() -> Scoreboard {
    Scoreboard::new(Seq(0), 3, MSS)
}

#[test]
fn loss_takes_three_later_ranges_or_more_than_two_segments_of_later_bytes() {
    // Two whole segments later are not enough; one byte more is.
    let mut b = board();
    b.take(&blocks(&[(100, 300)]), Seq(1000));
    assert!(!b.is_first_lost());
    b.take(&blocks(&[(300, 301)]), Seq(1000));
    assert!(b.is_first_lost());
    // Three ranges of one byte each are enough.
    let mut b = board();
    b.take(&blocks(&[(100, 101), (200, 201)]), Seq(1000));
    assert!(!b.is_first_lost());
    b.take(&blocks(&[(300, 301)]), Seq(1000));
    assert!(b.is_first_lost());
    assert_eq!(b.next_lost(), Some(range(0, 100)));
}

#[test]
fn pipe_counts_bytes_in_flight() {
    let mut b = board();
    assert_eq!(b.pipe(Seq(1000)), 1000);
    // Segments 1, 3, 5, 6, 7 arrive. Lost are the bytes below 500: segments 0, 2 and 4.
    b.take(&blocks(&[(500, 800), (300, 400), (100, 200)]), Seq(1000));
    assert_eq!(b.pipe(Seq(1000)), 200);
    b.begin_recovery();
    let mut sent = Vec::new();
    while let Some(hole) = b.next_lost() {
        b.on_resent(hole);
        sent.push((hole.start.0, hole.end.0));
        b.check(Seq(1000));
    }
    assert_eq!(sent, [(0, 100), (200, 300), (400, 500)]);
    assert_eq!(b.pipe(Seq(1000)), 500);
    assert_eq!(b.next_hole(), None);
    // The first retransmission arrives.
    b.advance(Seq(200));
    b.check(Seq(1000));
    assert_eq!(b.pipe(Seq(1000)), 400);
    b.advance(Seq(1000));
    b.check(Seq(1000));
    assert_eq!((b.pipe(Seq(1000)), b.sacked()), (0, 0));
}

#[test]
fn holes_that_are_not_lost_are_a_last_resort() {
    let mut b = board();
    b.take(&blocks(&[(100, 200), (300, 400)]), Seq(500));
    b.begin_recovery();
    assert_eq!(b.next_lost(), None);
    assert_eq!(b.next_hole(), Some(range(0, 100)));
    b.on_resent(range(0, 100));
    assert_eq!(b.next_hole(), Some(range(200, 300)));
    b.on_resent(range(200, 300));
    assert_eq!(b.next_hole(), None);
    // Sent twice and not known to be lost: both copies count.
    assert_eq!(b.pipe(Seq(500)), 500);
}

#[test]
fn the_rescue_is_the_last_segment_once_after_progress() {
    let mut b = board();
    b.take(&blocks(&[(100, 500)]), Seq(1000));
    b.begin_recovery();
    assert_eq!(b.rescue(Seq(1000)), None, "nothing was retransmitted yet");
    b.on_resent(b.first_hole(Seq(1000)));
    assert_eq!(b.rescue(Seq(1000)), None, "the retransmission is not yet acknowledged");
    b.advance(Seq(500));
    assert_eq!(b.rescue(Seq(1000)), Some(range(900, 1000)));
    b.on_rescued(Seq(1000));
    b.advance(Seq(600));
    assert_eq!(b.rescue(Seq(1000)), None);
    // The tail arrived: the rescue is what lies before it.
    let mut b = board();
    b.take(&blocks(&[(100, 500), (950, 1000)]), Seq(1000));
    b.begin_recovery();
    b.on_resent(range(0, 100));
    b.advance(Seq(500));
    assert_eq!(b.rescue(Seq(1000)), Some(range(850, 950)));
}

#[test]
fn senseless_blocks_are_ignored() {
    let mut b = board();
    b.advance(Seq(100));
    let nonsense =
        [(500, 400), (300, 300), (50, 90), (50, 100), (900, 1001), (2000, 3000), (u32::MAX, 0)];
    for block in nonsense {
        assert_eq!(b.take(&blocks(&[block]), Seq(1000)), 0, "{block:?}");
        b.check(Seq(1000));
    }
    // A block over the first missing byte contradicts the acknowledgement.
    assert_eq!(b.take(&blocks(&[(50, 150)]), Seq(1000)), 0);
    assert_eq!(b.take(&blocks(&[(100, 150)]), Seq(1000)), 0);
    assert_eq!(b.take(&blocks(&[(101, 150)]), Seq(1000)), 49);
    assert_eq!(b.sacked_until(Seq(101)), Some(Seq(150)));
    assert_eq!(b.sacked_until(Seq(150)), None);
    assert_eq!(b.next_sacked(Seq(100)), Some(Seq(101)));
    assert_eq!(b.next_sacked(Seq(150)), None);
    // So does an acknowledgement that ends inside a range, or right before it.
    b.take(&blocks(&[(300, 400)]), Seq(1000));
    b.advance(Seq(120));
    assert_eq!(b.sacked(), 100);
    b.advance(Seq(300));
    assert_eq!(b.sacked(), 0);
    b.check(Seq(1000));
}

/// The segment size of the oracle, which takes time in the square of the window.
const SMALL: u32 = 30;

/// The same by the book: a byte map, and the RFC's definitions byte by byte.
struct Oracle {
    una: u32,
    sacked: Vec<bool>,
    resent: u32,
    lost: Vec<bool>,
}

impl Oracle {
    fn is_lost_now(&self, byte: usize) -> bool {
        let mut runs = 0;
        let mut bytes = 0;
        for i in byte + 1..self.sacked.len() {
            if self.sacked[i] {
                bytes += 1;
                runs += u32::from(!self.sacked[i - 1]);
            }
        }
        runs >= 3 || bytes > 2 * SMALL
    }

    fn pipe(&self, sent: u32) -> u32 {
        let mut pipe = 0;
        for byte in self.una..sent {
            if !self.sacked[byte as usize] {
                pipe += u32::from(!self.lost[byte as usize]) + u32::from(byte < self.resent);
            }
        }
        pipe
    }
}

#[test]
fn counters_agree_with_the_definitions_byte_by_byte() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed, 2);
        let mut draw = |n: u32| rng.next_u32() % n;
        let sent = 400;
        let mut b = Scoreboard::new(Seq(0), 3, SMALL);
        b.begin_recovery();
        let size = sent as usize;
        let mut oracle =
            Oracle { una: 0, sacked: [false].repeat(size), resent: 0, lost: [false].repeat(size) };
        for _ in 0..60 {
            match draw(4) {
                0 | 1 => {
                    let start = draw(sent);
                    let end = (start + 1 + draw(50)).min(sent);
                    if start <= oracle.una {
                        assert_eq!(b.take(&blocks(&[(start, end)]), Seq(sent)), 0);
                        continue;
                    }
                    let from = start;
                    let known = |i: &u32| oracle.sacked[*i as usize];
                    let fresh = (from..end).filter(|i| !known(i)).count();
                    assert_eq!(b.take(&blocks(&[(start, end)]), Seq(sent)) as usize, fresh);
                    for i in from..end {
                        oracle.sacked[i as usize] = true;
                    }
                    for i in oracle.una..sent {
                        // Once lost, lost: later merges of ranges do not bring bytes back.
                        let lost = oracle.is_lost_now(i as usize);
                        oracle.lost[i as usize] |= lost;
                    }
                }
                2 => {
                    if let Some(hole) = b.next_hole() {
                        assert!(!oracle.sacked[hole.start.0 as usize]);
                        b.on_resent(hole);
                        oracle.resent = hole.end.0;
                    }
                }
                _ => {
                    // A cumulative ACK goes over data that has arrived.
                    let mut una = (oracle.una + draw(20)).min(sent);
                    while una < sent && oracle.sacked[una as usize] {
                        una += 1;
                    }
                    oracle.una = una;
                    oracle.resent = oracle.resent.max(una);
                    b.advance(Seq(una));
                }
            }
            b.check(Seq(sent));
            assert_eq!(b.pipe(Seq(sent)), oracle.pipe(sent), "seed {seed}");
        }
    }
}
