//! The report page and the figures, from made-up results.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "tests: made-up numbers, and a failure is what unwrap is for"
)]

mod browser;
mod layout;
mod render;
mod sample;
