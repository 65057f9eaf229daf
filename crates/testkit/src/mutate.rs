//! Inputs that are nearly valid: parsers get further with them than with random bytes.

use tidegate_units::Rng;

/// Up to `most` bytes, all random.
pub fn bytes(rng: &mut Rng, most: u32) -> Vec<u8> {
    let count = rng.next_u32() % most;
    (0..count).map(|_| rng.next_u32().to_le_bytes()[3]).collect()
}

/// Changes, removes or repeats a few bytes.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>) {
    for _ in 0..=rng.next_u32() % 4 {
        let at = rng.next_u32() as usize % input.len().max(1);
        let end = (at + rng.next_u32() as usize % 8).min(input.len());
        match rng.next_u32() % 5 {
            0 if at < input.len() => input[at] = rng.next_u32().to_le_bytes()[0],
            1 if at < input.len() => input[at] = b"0123456789-.'\"[]{}=,\n"[at % 21],
            2 => drop(input.drain(at..end)),
            3 => input.extend_from_within(at..end),
            // A longer number, for extreme values.
            _ => drop(input.splice(at..at, *b"99999")),
        }
    }
}

/// Joins the head of one input and the tail of another.
pub fn cross(rng: &mut Rng, head: &[u8], tail: &[u8]) -> Vec<u8> {
    let cut = |rng: &mut Rng, len: usize| rng.next_u32() as usize % (len + 1);
    let mut crossed = head[..cut(rng, head.len())].to_vec();
    crossed.extend_from_slice(&tail[cut(rng, tail.len())..]);
    crossed
}
