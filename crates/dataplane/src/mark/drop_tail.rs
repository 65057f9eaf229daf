//! Drop tail: no marking, the buffer limit is the only signal.

use tidegate_units::{ConfigError, settings};

use super::{Marker, PortInfo};

settings! {
    /// Drop tail has no parameters.
    #[named("none", "marks nothing: drop tail", "schemes/none.md")]
    pub struct Config {}
}

/// Never marks.
#[derive(Clone, Debug)]
pub struct DropTail;

impl DropTail {
    /// A scheme that never marks.
    pub const fn new(_: &Config, _: &PortInfo) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Marker for DropTail {}
