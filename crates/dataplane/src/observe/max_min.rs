//! Max-min fair shares of a link, by water-filling.
//!
//! DiffECN, section III-B: all flows grow equally until one has its demand; the others continue
//! until the capacity is used up.

use alloc::vec;
use alloc::vec::Vec;

/// Share of each flow of `capacity`, in the order of the demands and in their unit. The remainder
/// of a division goes to the flows with the largest demands.
pub fn max_min(capacity: u64, demands: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|&flow| demands[flow]);
    let mut shares = vec![0; demands.len()];
    let mut left = capacity;
    for (position, &flow) in order.iter().enumerate() {
        // The remaining flows demand no less than this one.
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
        // From 30 ms F1 and F2 on a link of 40 Gb/s, from 60 ms F3 and F4 too.
        assert_eq!(max_min(40, &[25, 13]), [25, 13]);
        assert_eq!(max_min(40, &[25, 13, 5, 5]), [17, 13, 5, 5]);
        // Section VI-C.2: three flows of 15 Gb/s, then a fourth of 5.
        assert_eq!(max_min(42, &[15, 15, 15]), [14, 14, 14]);
        assert_eq!(max_min(41, &[15, 15, 15, 5]), [12, 12, 12, 5]);
    }

    #[test]
    fn zero_capacity_or_no_demand_gives_zero_shares() {
        assert_eq!(max_min(40, &[]), []);
        assert_eq!(max_min(0, &[3, 0]), [0, 0]);
        assert_eq!(max_min(5, &[0, 9]), [0, 5]);
        assert_eq!(max_min(u64::MAX, &[u64::MAX, 1]), [u64::MAX - 1, 1]);
    }

    /// The algorithm as described in section III-B, one unit per flow at a time.
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
            // Filling stops when a round of units does not fit; division continues with the
            // remainder, which goes to the largest demands.
            for ((share, slow), demand) in shares.iter().zip(&slow).zip(&demands) {
                assert!(slow <= share && *share <= slow + 1 && share <= demand);
            }
            assert!(shares.iter().sum::<u64>() <= capacity);
        }
    }
}
