#![doc = include_str!("../README.md")]
//!
//! [`setup`] writes the library's settings as numbers. The programs are C, in `bpf/`: the schemes
//! and the scheduler as plain functions, and around them the code that connects them to the kernel.
//! The tests compare the functions step by step with `tidegate-dataplane`.
//!
//! There is no unsafe code.

#![forbid(unsafe_code)]

#[cfg(feature = "bpf")]
pub mod error;
#[cfg(feature = "bpf")]
pub mod kernel;
#[cfg(feature = "bpf")]
pub mod setup;
