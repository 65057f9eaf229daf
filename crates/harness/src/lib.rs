//! What tests of several crates run in. It depends on nothing, so that any of them can use it.
//!
//! - [`suite`] runs tests that need something the machine may not give, and reports those that it
//!   cannot run as skipped, by name.
//! - [`allocation`] counts what a thread allocates.

pub mod allocation;
pub mod suite;
