//! What the dataplane is tested with.
//!
//! - [`vector`] runs the golden vectors of `testdata/`: timed operations and expected answers, worked
//!   out by hand from the papers.
//! - [`ops`] drives a port with any sequence of operations and checks every invariant after each,
//!   against a model of its own.

pub mod ops;
pub mod vector;
