//! Amounts by host and by pair of switches.

use std::collections::BTreeMap;

use crate::network::HostId;

/// Amounts by where they come from and where they go. Hosts hang on one switch each, so that this
/// is all that links can depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    /// By sender.
    pub(crate) sent: BTreeMap<HostId, f64>,
    /// By receiver.
    pub(crate) received: BTreeMap<HostId, f64>,
    /// By the racks of sender and receiver.
    pub(crate) between: BTreeMap<(u32, u32), f64>,
}

impl Shares {
    /// Adds an amount between two hosts, whose racks these are.
    pub(crate) fn add(&mut self, pair: (HostId, HostId), racks: (u32, u32), amount: f64) {
        *self.sent.entry(pair.0).or_default() += amount;
        *self.received.entry(pair.1).or_default() += amount;
        *self.between.entry(racks).or_default() += amount;
    }

    /// So many times as much of everything.
    pub(crate) fn times(mut self, factor: f64) -> Self {
        let of_hosts = self.sent.values_mut().chain(self.received.values_mut());
        for amount in of_hosts.chain(self.between.values_mut()) {
            *amount *= factor;
        }
        self
    }
}
