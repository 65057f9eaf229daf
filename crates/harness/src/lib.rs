//! What tests of several crates run in. It knows none of them, so that any can use it.
//!
//! - [`suite`] runs tests that need something the machine may not give, and reports those that it
//!   cannot run as ignored, by name.
//! - [`allocation`] counts what a thread allocates.
//! - [`browser`] is Chromium, told what to do.
//! - [`folder`] reads all files of a folder.

pub mod allocation;
pub mod browser;
pub mod folder;
pub mod suite;
