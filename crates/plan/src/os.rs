//! Operating systems of switches, by name.

use tidegate_units::choices;

/// All dialects, one line each: variant, module below `dialect`, name in files and description.
/// Calls a macro with the list.
macro_rules! dialects {
    ($with:ident) => {
        $with! {
            Sonic(sonic) = "sonic", "SONiC: `config_db.json`.";
            Eos(eos) = "eos", "Arista EOS: lines of the command line.";
            Junos(junos) = "junos", "Juniper Junos: `set` lines.";
            Nvue(nvue) = "nvue", "NVIDIA Cumulus Linux: `nv set` lines.";
            Nxos(nxos) = "nxos", "Cisco NX-OS: lines of the command line.";
            Tc(tc) = "tc", "Linux: a batch of `tc`.";
        }
    };
}
pub(crate) use dialects;

macro_rules! names {
    ($($os:ident($module:ident) = $name:literal, $doc:literal;)*) => {
        choices! {
            /// Operating system of a switch, which decides the configuration language.
            pub enum Os {
                $(#[doc = $doc] $os = $name,)*
            }
        }

        impl Os {
            /// All of them, in the order of the list.
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$os),*];
        }
    };
}
dialects!(names);
