//! Amounts by host and by pair of switches.

use std::collections::BTreeMap;

use crate::network::HostId;

/// Amounts by source and destination. Each host has one switch, so that the load of links depends
/// on nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    /// Amount by sender.
    pub(crate) sent: BTreeMap<HostId, f64>,
    /// Amount by receiver.
    pub(crate) received: BTreeMap<HostId, f64>,
    /// Amount by the racks of sender and receiver.
    pub(crate) between: BTreeMap<(u32, u32), f64>,
}

impl Shares {
    /// Adds an amount between two hosts in these racks.
    pub(crate) fn add(&mut self, pair: (HostId, HostId), racks: (u32, u32), amount: f64) {
        *self.sent.entry(pair.0).or_default() += amount;
        *self.received.entry(pair.1).or_default() += amount;
        *self.between.entry(racks).or_default() += amount;
    }

    /// Multiplies all amounts by `factor`.
    pub(crate) fn times(mut self, factor: f64) -> Self {
        let of_hosts = self.sent.values_mut().chain(self.received.values_mut());
        for amount in of_hosts.chain(self.between.values_mut()) {
            *amount *= factor;
        }
        self
    }
}
