//! The report page and the figures, from synthetic results.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "tests: synthetic numbers, and unwrap reports failures"
)]

mod browser;
mod layout;
mod render;
mod sample;
