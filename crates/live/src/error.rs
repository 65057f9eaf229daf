//! What can go wrong outside of the switch.

use std::io;

use tidegate_units::ConfigError;

/// Why a switch cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A call to the system failed.
    #[error("cannot {action}: {error}")]
    System {
        /// What was to be done.
        action: String,
        /// What the system said.
        error: io::Error,
    },
    /// The switch has run for as long as its clock lasts.
    #[error(
        "the switch has run for 206 days, as long as its clock of picoseconds is good for\n\
         hint: start it again; in a unit of systemd, Restart=on-failure does"
    )]
    Worn,
    /// A privilege is missing.
    #[error(
        "cannot {action}: {capability} is missing\n\
         hint: run as root, or give the program the capability: setcap {}=ep PROGRAM",
        .capability.to_lowercase()
    )]
    Privilege {
        /// What was to be done.
        action: String,
        /// The capability that allows it.
        capability: &'static str,
    },
}

impl Error {
    /// An error of the system while doing `action`, which may need `capability`.
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

    /// Whether it is for want of a privilege.
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
