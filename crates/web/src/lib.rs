//! The playground: the simulator in a browser.
//!
//! A page hands in requests as JSON text and gets answers: what is wrong with a scenario, what can
//! be turned in it, what may stand at the cursor, and runs as columns of numbers that are played
//! back. Everything is in plain functions that tests call natively; `abi` is all that a browser
//! needs beside them.
//!
//! A raw interface instead of `wasm-bindgen`: there are three functions, whose tool would have to
//! be installed in the very version of its library.

#[cfg(target_family = "wasm")]
mod abi;
mod answer;
mod columns;
mod complete;
mod controls;
mod edit;
pub mod lessons;
mod numbers;
pub mod page;
mod problems;
mod run;
mod tree;

pub use answer::{answer, refusal};
pub use run::{LIMITS, LONGEST};
