//! The published figures: each a scenario with what the paper claims, judged by what was measured.

pub mod arithmetic;
pub mod chart;
pub mod figure;
pub mod judged;
pub mod library;
pub mod measure;
pub mod number;
mod pattern;
pub mod trial;
pub mod verdict;

pub use figure::Figure;
pub use judged::Judged;
pub use library::{Entry, Version};
pub use verdict::{Finding, Verdict, judge};
