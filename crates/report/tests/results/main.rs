//! Results folders: written, read back, read by another program, and damaged.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod documentation;
mod duckdb;
mod folder;
mod sample;
