//! Test helpers shared by several crates. Depends on none of them, so that any crate's tests may
//! use it.
//!
//! - [`suite`] runs tests that need something the machine may lack, and reports tests that it
//!   cannot run as ignored, by name.
//! - [`allocation`] counts a thread's allocations.
//! - [`browser`] controls Chromium.
//! - [`folder`] reads all files of a folder.
//! - [`golden`] compares text with a committed file, or writes that file with `TIDEGATE_BLESS=1`.

pub mod allocation;
pub mod browser;
pub mod folder;
pub mod golden;
pub mod suite;
