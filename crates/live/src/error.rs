//! Errors outside of the switch itself.

use std::io;

use tidegate_units::ConfigError;

/// Reason why a switch cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A call to the system failed.
    #[error("cannot {action}: {error}")]
    System {
        /// The attempted action.
        action: String,
        /// Error returned by the system.
        error: io::Error,
    },
    /// The switch has run to the end of its clock's range.
    #[error(
        "the switch has run for 206 days, the limit of its picosecond clock\n\
         hint: restart it; in a systemd unit, set Restart=on-failure"
    )]
    Worn,
    /// A privilege is missing.
    #[error(
        "cannot {action}: {capability} is missing\n\
         hint: run as root, or give the program the capability: setcap {}=ep PROGRAM",
        .capability.to_lowercase()
    )]
    Privilege {
        /// The attempted action.
        action: String,
        /// Capability that allows it.
        capability: &'static str,
    },
}

impl Error {
    /// Error of the system during `action`, which may need `capability`.
    pub(crate) fn system(
        action: impl Into<String>,
        capability: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                Self::Privilege { action, capability }
            } else {
                Self::System { action, error }
            }
        }
    }

    /// Whether a missing privilege is the cause.
    pub const fn is_privilege(&self) -> bool {
        matches!(self, Self::Privilege { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_privilege_is_named() {
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Error::system("open a packet socket", "CAP_NET_RAW")(refused);
        assert!(error.is_privilege());
        let text = error.to_string();
        assert!(text.starts_with("cannot open a packet socket: CAP_NET_RAW is missing"));
        assert!(text.ends_with("setcap cap_net_raw=ep PROGRAM"), "{text}");
        let other = io::Error::from(io::ErrorKind::NotFound);
        assert!(!Error::system("x", "CAP_NET_RAW")(other).is_privilege());
    }
}
