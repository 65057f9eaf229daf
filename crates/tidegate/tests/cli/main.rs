//! The program as a whole: its output and its exit codes.
//!
//! Expected output is in `snapshots/`. `TIDEGATE_BLESS=1 cargo test -p tidegate` writes it anew;
//! read the changes.

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
