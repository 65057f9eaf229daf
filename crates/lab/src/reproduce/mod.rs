//! The published figures: each a scenario with what the paper claims, judged by what was measured.

pub mod figure;
pub mod measure;
mod pattern;
pub mod verdict;
