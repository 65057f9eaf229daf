//! Published threshold formulas, one file each.
//!
//! Bytes and times are whole numbers, rounded as each file says. Fractions of throughput are
//! estimates, good for two digits.

pub mod bcc;
pub mod dcqcn;
pub mod ecn_sharp;
pub mod headroom;
pub mod limit;
pub mod sojourn;
pub mod standard;
pub mod throughput;
