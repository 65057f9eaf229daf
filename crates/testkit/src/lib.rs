//! What the dataplane, the transports and the live switch are tested with.
//!
//! - [`vector`] runs the golden vectors of `testdata/`: timed operations and expected answers,
//!   worked out by hand from the papers.
//! - [`ops`] drives a port with any sequence of operations and checks every invariant after each,
//!   against a model of its own.
//! - [`connection`] does the same to two endpoints of a connection and the network between them.
//! - [`frames`] sends any frames through the live switch and checks what comes out.
//! - [`oracle`] has slow and obvious models to compare with.
//! - [`parts`] lists every scheme, scheduler and buffer, for tests that try them all.
//! - [`fuzz`] is what the fuzz targets call, and [`mutate`] makes inputs for them from others.

pub mod connection;
pub mod frames;
pub mod fuzz;
pub mod mutate;
pub mod ops;
pub mod oracle;
pub mod parts;
pub mod vector;

/// The examples of the workspace's README are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
