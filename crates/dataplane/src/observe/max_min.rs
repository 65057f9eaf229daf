//! Max-min fair shares of a link, by filling it like a vessel with water.
//!
//! DiffECN, section III-B: all flows get the same more and more until one has what it asks for; the
//! others go on until nothing is left.

use alloc::vec;
use alloc::vec::Vec;

/// What each flow gets of `capacity`, in the order of their demands and in their unit. What does
/// not divide evenly goes to those that ask for most.
pub fn max_min(capacity: u64, demands: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|&flow| demands[flow]);
    let mut shares = vec![0; demands.len()];
    let mut left = capacity;
    for (position, &flow) in order.iter().enumerate() {
        // Those that are left ask for no less than this one.
        let level = left / (order.len() - position) as u64;
        shares[flow] = demands[flow].min(level);
        left -= shares[flow];
    }
    shares
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::*;

    #[test]
    fn table_i_of_diff_ecn() {
        // From 30 ms on F1 and F2 at a link of 40 Gb/s, from 60 ms on F3 and F4 too.
        assert_eq!(max_min(40, &[25, 13]), [25, 13]);
        assert_eq!(max_min(40, &[25, 13, 5, 5]), [17, 13, 5, 5]);
        // Section VI-C.2: three of 15 Gb/s, then a fourth of 5.
        assert_eq!(max_min(42, &[15, 15, 15]), [14, 14, 14]);
        assert_eq!(max_min(41, &[15, 15, 15, 5]), [12, 12, 12, 5]);
    }

    #[test]
    fn nothing_is_shared_as_nothing() {
        assert_eq!(max_min(40, &[]), []);
        assert_eq!(max_min(0, &[3, 0]), [0, 0]);
        assert_eq!(max_min(5, &[0, 9]), [0, 5]);
        assert_eq!(max_min(u64::MAX, &[u64::MAX, 1]), [u64::MAX - 1, 1]);
    }

    /// The algorithm as section III-B describes it, one unit for each flow at a time.
    fn unit_by_unit(capacity: u64, demands: &[u64]) -> Vec<u64> {
        let mut shares = vec![0; demands.len()];
        let mut left = capacity;
        loop {
            let hungry = |&flow: &usize| shares[flow] < demands[flow];
            let hungry: Vec<usize> = (0..demands.len()).filter(hungry).collect();
            if hungry.is_empty() || left < hungry.len() as u64 {
                return shares;
            }
            for &flow in &hungry {
                shares[flow] += 1;
            }
            left -= hungry.len() as u64;
        }
    }

    #[test]
    fn shares_agree_with_filling_unit_by_unit() {
        let mut rng = Rng::new(11, 0);
        for _ in 0..500 {
            let flows = rng.next_u32() % 7;
            let demands: Vec<u64> = (0..flows).map(|_| u64::from(rng.next_u32() % 40)).collect();
            let capacity = u64::from(rng.next_u32() % 120);
            let (shares, slow) = (max_min(capacity, &demands), unit_by_unit(capacity, &demands));
            // Filling stops when a round of units does not fit; dividing goes on with what is left,
            // and the largest demands have it.
            for ((share, slow), demand) in shares.iter().zip(&slow).zip(&demands) {
                assert!(slow <= share && *share <= slow + 1 && share <= demand);
            }
            assert!(shares.iter().sum::<u64>() <= capacity);
        }
    }
}
