//! No limit: every packet is admitted. For tests, and for ports whose host limits its own sending.

use tidegate_units::{ConfigError, settings};

use super::{Buffer, Charge, Influx, Request};
use crate::DropReason;

settings! {
    /// No limit has no parameters.
    #[named("unlimited", "stores every packet", "buffers.md#unlimited")]
    pub struct Config {}
}

impl Config {
    /// Builds the buffer, for any number of ports and queues.
    pub const fn build(&self, _ports: u16, _queues: u8) -> Result<Unlimited, ConfigError> {
        Ok(Unlimited)
    }
}

/// A buffer without limit. It keeps no account: a port refuses packets that its own counters cannot
/// hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Buffer for Unlimited {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        Ok(Charge::new(request.len, 0))
    }

    #[inline]
    fn release(&mut self, _charge: Charge) {}

    /// There are no pool and no limits.
    fn has_slack(&self, _influx: Influx, _pool_below: u32) -> bool {
        true
    }
}
