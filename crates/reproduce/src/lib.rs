//! Published figures: scenarios with the claims of their papers, judged by measurements.

pub mod arithmetic;
pub mod chart;
pub mod claim;
pub mod decide;
pub mod entry;
pub mod estimate;
pub mod figure;
pub mod judged;
pub mod library;
pub mod measure;
pub mod measured;
pub mod measurements;
pub mod number;
pub mod numbers;
mod occupancy;
pub mod page;
pub mod paper;
mod pattern;
mod quote;
mod ranks;
pub mod score;
pub mod source;
mod summaries;
pub mod varied;
pub mod verdict;
pub mod wrong;

pub use claim::Claim;
pub use entry::{Entry, Version};
pub use figure::Figure;
pub use judged::Judged;
pub use measurements::Measurements;
pub use paper::Paper;
pub use verdict::{Finding, Verdict, judge};
