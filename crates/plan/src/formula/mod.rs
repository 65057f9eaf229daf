//! What publications give as thresholds, one file for each formula.
//!
//! Bytes and times are whole numbers, rounded as each file says. Fractions of throughput are
//! estimates and no more than shown with two digits.

pub mod bcc;
pub mod dcqcn;
pub mod ecn_sharp;
pub mod headroom;
pub mod limit;
pub mod sojourn;
pub mod standard;
pub mod throughput;
