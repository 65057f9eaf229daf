//! The playground: the simulator in a browser.
//!
//! A page sends requests as JSON and gets answers: problems and controls of a scenario, completions
//! at the cursor, and runs as columns of numbers for playback. Tests call the same functions
//! natively; only `abi` is for the browser alone.
//!
//! The interface is raw instead of `wasm-bindgen`: it has three functions, and the tool of
//! `wasm-bindgen` would have to be installed in the exact version of its library.

#[cfg(target_family = "wasm")]
mod abi;
mod answer;
mod columns;
mod complete;
mod controls;
mod edit;
pub mod lessons;
pub mod page;
mod problems;
mod run;
mod tree;

pub use answer::{answer, refusal};
pub use run::{LIMITS, LONGEST};
