//! Test tools for the dataplane, the transports and the live switch.
//!
//! - [`vector`] runs the golden vectors of `testdata/`: timed operations and expected answers,
//!   worked out by hand from the papers.
//! - [`ops`] drives a port with any sequence of operations and checks every invariant after each
//!   one against an independent model.
//! - [`connection`] does the same with two endpoints of a connection and the network between them.
//! - [`frames`] sends random frames through the live switch and checks the output.
//! - [`oracle`] has slow and obvious reference models.
//! - [`parts`] lists every scheme, scheduler and buffer, for tests that try them all.
//! - [`fuzz`] has the entry points of the fuzz targets, and [`mutate`] derives inputs for them from
//!   others.

pub mod connection;
pub mod frames;
pub mod fuzz;
pub mod mutate;
pub mod ops;
pub mod oracle;
pub mod parts;
pub mod vector;

/// The example of `docs/api.md` is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/api.md")]
mod api {}
