//! Switch chips by name, with the size of their packet buffer and where that is printed.
//!
//! Vendors print few of them. A chip whose size has no public source is not here: its owner writes
//! `buffer = "…"` instead.

use tidegate_units::{Bytes, Setting, choices};

use crate::formula::headroom::Reaction;

choices! {
    /// A switch chip whose buffer size is public.
    pub enum Chip {
        /// Broadcom 56538, 48 x 1 Gb/s: 4 MB.
        Bcm56538 = "bcm56538",
        /// Broadcom Trident+, 48 x 10 Gb/s: 9 MB.
        TridentPlus = "trident-plus",
        /// Broadcom Trident II, 32 x 40 Gb/s: 12 MB.
        Trident2 = "trident2",
        /// Broadcom Trident 3, 32 x 100 Gb/s: 32 MB.
        Trident3 = "trident3",
        /// Broadcom Tomahawk, 32 x 100 Gb/s: 16 MB in four parts.
        Tomahawk = "tomahawk",
        /// Broadcom Tomahawk 2, 64 x 100 Gb/s: 42 MB.
        Tomahawk2 = "tomahawk2",
        /// Cavium Xpliant, 32 x 100 Gb/s: 24 MB.
        Xpliant = "xpliant",
        /// NVIDIA Spectrum-2, 32 x 200 Gb/s: 42 MB.
        Spectrum2 = "spectrum2",
        /// NVIDIA Spectrum-3, 32 x 400 Gb/s: 64 MB.
        Spectrum3 = "spectrum3",
    }
}

/// What is public of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// All packet memory.
    pub buffer: Bytes,
    /// How many parts the memory has; a port can use one of them only.
    pub parts: u32,
    /// The bytes of a cell, which thresholds are rounded to; 1 where they are not public.
    pub cell: u32,
    /// What PFC headroom depends on.
    pub reaction: Reaction,
    /// Where the size is printed.
    pub source: &'static str,
}

impl Chip {
    /// What is public of it.
    pub const fn facts(self) -> Facts {
        let (megabytes, parts, cell, source) = match self {
            Self::Bcm56538 => (4, 1, 1, BCC),
            Self::TridentPlus => (9, 1, 1, BCC),
            Self::Trident2 => (12, 1, 1, BCC),
            Self::Tomahawk => (16, 4, 1, BCC),
            Self::Trident3 => (32, 1, 256, "Arista 7050X3 data sheet"),
            Self::Tomahawk2 => (42, 1, 1, "port-buffers.forwardingplane.net"),
            Self::Xpliant => (24, 1, 256, "Arista 7160 architecture paper"),
            Self::Spectrum2 => (42, 1, 1, "Mellanox's announcement of July 2017"),
            Self::Spectrum3 => (64, 1, 1, "NVIDIA SN4000 data sheet"),
        };
        Facts {
            buffer: Bytes::from_kb(megabytes * 1_000),
            parts,
            cell,
            reaction: Reaction::UNKNOWN,
            source,
        }
    }
}

/// All chips as a table in Markdown.
pub fn reference() -> String {
    let rows = Chip::NAMES.iter().map(|name| {
        let chip = Chip::read(name).expect("the name is from the list");
        let facts = chip.facts();
        let parts = match facts.parts {
            1 => String::new(),
            parts => format!(" in {parts} parts"),
        };
        format!(
            "| `{name}` | {}{parts} | {} |\n",
            facts.buffer, facts.source
        )
    });
    format!(
        "| chip | buffer | source |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

const BCC: &str = "BCC (APNet 2017), table 1";
