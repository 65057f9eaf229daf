//! The program as a whole: its output and its exit codes.
//!
//! What is expected stands in `snapshots/`; `TIDEGATE_BLESS=1 cargo test -p tidegate` writes it
//! anew, to be read before it is kept.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod capture;
mod check;
mod engines;
mod evidence;
mod folders;
mod plan;
mod program;
mod reproduce;
mod serve;
mod talk;
