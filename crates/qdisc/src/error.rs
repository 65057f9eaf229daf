//! Errors, each in a sentence, with a hint.

use tidegate_units::ConfigError;

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(#[from] ConfigError),
    /// The kernel refused a call.
    #[error("cannot {action}: {why}")]
    System {
        /// The attempted action.
        action: String,
        /// Error from the kernel.
        why: String,
    },
}

impl Error {
    /// Error of the system during `action`.
    pub fn system<E: std::fmt::Display>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |why| Self::System { action, why: why.to_string() }
    }
}
