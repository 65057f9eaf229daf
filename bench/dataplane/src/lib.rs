//! The measured work: marking decisions alone, and packets through a whole port.
//!
//! Each kind of work is a loop around one call. The same loop around an empty call gives the
//! harness's own cost, which is subtracted.

mod case;
mod work;

pub use case::{Case, Form};
