//! What the dataplane is tested with.
//!
//! - [`oracle`] has slow and obvious models to compare with.
//! - [`vector`] runs the golden vectors of `testdata/`: timed operations and expected answers, worked
//!   out by hand from the papers.
//! - [`oracle`] has slow and obvious reference models.

pub mod oracle;
pub mod vector;
