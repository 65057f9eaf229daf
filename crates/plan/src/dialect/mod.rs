//! The languages that switches are configured in.

use tidegate_units::choices;

choices! {
    /// A configuration language.
    pub enum Dialect {
        /// SONiC: `config_db.json`.
        Sonic = "sonic",
        /// Arista EOS: lines of the command line.
        Eos = "eos",
        /// Juniper Junos: `set` lines.
        Junos = "junos",
        /// NVIDIA Cumulus Linux: `nv set` lines.
        Nvue = "nvue",
        /// Cisco NX-OS: lines of the command line.
        Nxos = "nxos",
        /// Linux: lines of `tc`.
        Tc = "tc",
    }
}
