//! Switch chips by name, with the size of their packet buffer and its source.
//!
//! Vendors publish few sizes. A chip without a public source, such as Cisco's Silicon One, is not
//! listed: network files write `buffer = "…"` instead.

use std::sync::LazyLock;

use tidegate_units::{Bytes, Rate, Setting, Span, choices};

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
        /// Broadcom Trident 4 X11 (BCM56880), 32 x 400 Gb/s: 132 MB in two parts.
        Trident4 = "trident4",
        /// Broadcom Trident 4 X9 (BCM56780), 48 x 100 and 8 x 400 Gb/s: 82 MB.
        Trident4X9 = "trident4-x9",
        /// Broadcom Tomahawk, 32 x 100 Gb/s: 16 MB in four parts.
        Tomahawk = "tomahawk",
        /// Broadcom Tomahawk 2, 64 x 100 Gb/s: 42 MB.
        Tomahawk2 = "tomahawk2",
        /// Broadcom Tomahawk 3, 32 x 400 Gb/s: 64 MB in two parts.
        Tomahawk3 = "tomahawk3",
        /// Broadcom Tomahawk 4, 64 x 400 Gb/s: 112 MB in two parts.
        Tomahawk4 = "tomahawk4",
        /// Broadcom Tomahawk 5, 64 x 800 Gb/s: 165 MB.
        Tomahawk5 = "tomahawk5",
        /// Broadcom Jericho 2, 12 x 400 Gb/s: 32 MB on the chip, beside its external memory.
        Jericho2 = "jericho2",
        /// Cavium Xpliant, 32 x 100 Gb/s: 24 MB.
        Xpliant = "xpliant",
        /// NVIDIA Spectrum-2, 32 x 200 Gb/s: 42 MB.
        Spectrum2 = "spectrum2",
        /// NVIDIA Spectrum-3, 32 x 400 Gb/s: 64 MB.
        Spectrum3 = "spectrum3",
        /// NVIDIA Spectrum-4, 64 x 800 Gb/s: 158 MB.
        Spectrum4 = "spectrum4",
    }
}

/// Published properties of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// All packet memory.
    pub buffer: Bytes,
    /// Number of parts of the memory; a port can use only one of them.
    pub parts: u32,
    /// Bytes of a cell, to which thresholds are rounded; 1 where the size is not public.
    pub cell: u32,
    /// Properties that PFC headroom depends on.
    pub reaction: Reaction,
    /// Source of the size.
    pub source: &'static str,
}

impl Chip {
    /// Published properties.
    pub const fn facts(self) -> Facts {
        let (megabytes, parts, cell, source) = match self {
            Self::Bcm56538 => (4, 1, 1, BCC),
            Self::TridentPlus => (9, 1, 1, BCC),
            Self::Trident2 => (12, 1, 208, BCC),
            Self::Tomahawk => (16, 4, 208, BCC),
            Self::Trident3 => (32, 1, 256, "Arista 7050X3 data sheet"),
            Self::Trident4 => (132, 2, 254, "Juniper, QFX5130 buffer table"),
            Self::Trident4X9 => (82, 1, 318, "people.ucsc.edu/~warner/Bufs/Trident-4"),
            Self::Tomahawk2 => (42, 1, 208, "port-buffers.forwardingplane.net"),
            Self::Tomahawk3 => (64, 2, 254, "Juniper, QFX5220 buffer table; OpenBCM tomahawk3.h"),
            Self::Tomahawk4 => (112, 2, 254, "Juniper, QFX5230 buffer table"),
            Self::Tomahawk5 => (165, 1, 254, "Juniper, QFX5240 buffer table"),
            Self::Jericho2 => (32, 1, 1, "port-buffers.forwardingplane.net"),
            Self::Xpliant => (24, 1, 256, "Arista 7160 architecture paper"),
            Self::Spectrum2 => (42, 1, 144, "Mellanox's announcement of July 2017"),
            Self::Spectrum3 => (64, 1, 144, "NVIDIA SN4000 data sheet"),
            Self::Spectrum4 => (158, 1, 192, "SONiC, egress pool of the SN5600"),
        };
        Facts {
            buffer: Bytes::from_kb(megabytes * 1_000),
            parts,
            cell,
            reaction: self.reaction(),
            source,
        }
    }

    /// Properties that PFC headroom depends on. Pipeline delays are not published: these values fit
    /// the formula to the tables that SONiC ships for platforms with the chip, at the longest
    /// packets of 9100 B.
    const fn reaction(self) -> Reaction {
        let (ns, small_packets) = match self {
            Self::Bcm56538 | Self::TridentPlus | Self::Xpliant => return Reaction::UNKNOWN,
            Self::Trident2 => (2_500, 0),
            Self::Trident3 | Self::Tomahawk5 => (1_200, 70),
            Self::Trident4 | Self::Trident4X9 => (1_300, 65),
            Self::Tomahawk => (1_700, 80),
            Self::Tomahawk2 => (1_500, 65),
            Self::Tomahawk3 => (2_400, 70),
            Self::Tomahawk4 => (1_100, 75),
            Self::Jericho2 => (800, 10),
            Self::Spectrum2 | Self::Spectrum3 => (800, 100),
            Self::Spectrum4 => (700, 80),
        };
        Reaction { pipeline: Span::from_ns(ns), small_packets }
    }

    /// Largest headroom of a port that SONiC ships for a platform with the chip, and the platform,
    /// for this speed and cable. Lengths between two table rows are interpolated. The result is not
    /// less than for a slower port or a shorter cable.
    pub fn shipped_headroom(self, speed: Rate, link_delay: Span) -> Option<(Bytes, &'static str)> {
        let name = self.write();
        let rows = || shipped().iter().filter(|row| row.chip == name);
        let of_speed = || rows().filter(|row| row.speed == speed);
        let above = of_speed().filter(|row| row.delay >= link_delay).min_by_key(|row| row.delay);
        let between = above.map(|above| {
            let below = of_speed().filter(|row| row.delay <= link_delay);
            let below = below.max_by_key(|row| row.delay).unwrap_or(above);
            (between(below, above, link_delay), above.platform)
        });
        let smaller = rows().filter(|row| row.speed <= speed && row.delay <= link_delay);
        let smaller = smaller.map(|row| (row.xoff, row.platform));
        between.into_iter().chain(smaller).max_by_key(|(xoff, _)| *xoff)
    }
}

/// Headroom for a cable between the lengths of two rows.
fn between(below: &Shipped, above: &Shipped, link_delay: Span) -> Bytes {
    let whole = u128::from((above.delay - below.delay).as_ps());
    if whole == 0 || below.xoff >= above.xoff {
        return above.xoff;
    }
    let part = u128::from((link_delay - below.delay).as_ps());
    let more = (u128::from(above.xoff.0 - below.xoff.0) * part).div_ceil(whole);
    Bytes(below.xoff.0 + u64::try_from(more).expect("it is a part of 64 bits"))
}

/// A row of `facts/headroom.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// The chip's name.
    pub chip: &'static str,
    /// The speed of the port.
    pub speed: Rate,
    /// Propagation delay of the cable, 5 ns a metre.
    pub delay: Span,
    /// The headroom of one port and lossless class.
    pub xoff: Bytes,
    /// The folder of the table in sonic-buildimage.
    pub platform: &'static str,
}

/// Headroom tables that SONiC ships, for the chips of the catalogue.
pub fn shipped() -> &'static [Shipped] {
    static ROWS: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
        let text = include_str!("../../facts/headroom.csv");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let row = |line: &'static str| {
            let mut cells = line.split(',');
            let mut next = || cells.next().expect("a row has five cells");
            let chip = next();
            let mut number = || next().parse::<u64>().expect("speeds and sizes are numbers");
            Shipped {
                chip,
                speed: Rate::from_bps(number() * 1_000_000_000).expect("no speed is zero"),
                delay: Span::from_ns(5 * number()),
                xoff: Bytes(number()),
                platform: next(),
            }
        };
        lines.skip(1).map(row).collect()
    });
    &ROWS
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
        let cell = match facts.cell {
            1 => "-".to_owned(),
            cell => format!("{cell} B"),
        };
        format!(
            "| `{name}` | {}{parts} | {cell} | {}, {} % | {} |\n",
            facts.buffer, facts.reaction.pipeline, facts.reaction.small_packets, facts.source
        )
    });
    format!(
        "| chip | buffer | cell | `pipeline`, `small_packets` | source of the size |\n|---|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

const BCC: &str = "BCC (APNet 2017), table 1";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::headroom;

    /// The longest packets that SONiC's tables are made for.
    const MTU: u32 = 9100;

    fn computed(chip: Chip, row: &Shipped) -> Bytes {
        let Facts { cell, reaction, .. } = chip.facts();
        headroom::of_port(row.speed, row.delay, MTU, cell, reaction)
    }

    #[test]
    fn every_shipped_row_is_of_a_known_chip() {
        assert!(shipped().len() > 250, "{}", shipped().len());
        for row in shipped() {
            assert!(Chip::NAMES.contains(&row.chip), "{row:?}");
            assert!(row.xoff > Bytes(10_000) && !row.platform.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn headroom_at_40_m_equals_the_shipped_tables() {
        let of =
            |chip: Chip, gbps| chip.shipped_headroom(Rate::from_gbps(gbps), Span::from_ns(200));
        let s5448f = "dell/x86_64-dellemc_s5448f-r0/DellEMC-S5448f-C48O8";
        assert_eq!(of(Chip::Trident4X9, 100), Some((Bytes(181_896), s5448f)));
        assert_eq!(of(Chip::Trident4X9, 400), Some((Bytes(536_148), s5448f)));
        assert_eq!(of(Chip::Tomahawk3, 400).unwrap().0, Bytes(602_742));
        // 41 m are 1/260 of the way from 40 m, 177,632 B, to 300 m, 268,736 B: 350.4 B more.
        let at = |ns| Chip::Tomahawk.shipped_headroom(Rate::from_gbps(100), Span::from_ns(ns));
        assert_eq!(at(205).unwrap().0, Bytes(177_983));
        assert_eq!(at(1_500).unwrap().0, Bytes(268_736));
        // The longest row counts for longer cables, and the shortest for shorter ones.
        assert_eq!((at(1_505), at(0)), (at(1_500), at(25)));
        assert_eq!(of(Chip::Xpliant, 100), None);
    }

    #[test]
    fn headroom_grows_with_the_speed_and_the_cable() {
        let speeds = [1, 10, 25, 40, 50, 100, 101, 200, 400, 800].map(Rate::from_gbps);
        for name in Chip::NAMES {
            let chip = Chip::read(name).unwrap();
            let size = |speed, metres| {
                let shipped = chip.shipped_headroom(speed, Span::from_ns(5 * metres));
                shipped.map_or(Bytes(0), |(xoff, _)| xoff)
            };
            for metres in [1, 5, 6, 30, 40, 60, 100, 150, 151, 300, 301, 2_000, 90_000] {
                for (slower, faster) in speeds.iter().zip(&speeds[1..]) {
                    // A speed without a table may have less than a slower one has for a cable that
                    // is shorter still.
                    let of_faster = size(*faster, metres);
                    let least = shipped()
                        .iter()
                        .filter(|row| row.chip == *name && row.speed <= *slower)
                        .filter(|row| row.delay <= Span::from_ns(5 * metres))
                        .map(|row| row.xoff);
                    assert!(
                        of_faster >= least.max().unwrap_or(Bytes(0)),
                        "{name} {faster} {metres}"
                    );
                }
                for speed in speeds {
                    assert!(
                        size(speed, metres) <= size(speed, metres + 1).max(size(speed, metres))
                    );
                    if metres >= 5 {
                        assert!(
                            size(speed, metres) <= size(speed, metres + 50),
                            "{name} {speed} {metres}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn formula_follows_shipped_tables_that_vary_with_speed_and_cable() {
        // Chips whose largest table changes with speed and cable.
        for chip in
            [Chip::Trident3, Chip::Trident4X9, Chip::Tomahawk, Chip::Tomahawk2, Chip::Tomahawk4]
        {
            let name = chip.write();
            // The lengths that all platforms have a row for: 40 and 300 m.
            let rows = shipped().iter().filter(|row| {
                row.chip == name
                    && row.speed >= Rate::from_gbps(100)
                    && [Span::from_ns(200), Span::from_ns(1_500)].contains(&row.delay)
            });
            for row in rows {
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let ratio = computed(chip, row).0 as f64 / row.xoff.0 as f64;
                assert!((0.95..1.35).contains(&ratio), "{row:?}: {ratio:.3}");
            }
        }
    }
}
