//! What papers give as thresholds, one file for each formula.

pub mod standard;
