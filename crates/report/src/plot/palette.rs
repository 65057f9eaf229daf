//! Colours for any colour vision, with shapes and dashes for prints without colour.

use super::scene::Ink;
use super::{Kind, Line, Origin, Theme};

/// For a white background: Okabe and Ito's set in its order, darkened to a contrast of at least 3
/// to 1. `style.css` has the same colours.
const LIGHT: [&str; 8] =
    ["#0072b2", "#d55e00", "#008f68", "#b5509c", "#3a9bd9", "#c48a00", "#4d4d4d", "#8c3b3b"];

/// For a dark background.
const DARK: [&str; 8] =
    ["#4fa8e0", "#f0883e", "#2fc498", "#e08fca", "#9ad4f7", "#f2c14b", "#c9ccd1", "#e08585"];

/// Dashes of lines that may overlap, in the order of colours.
const DASHES: [&[f32]; 8] = [
    &[],
    &[7.0, 2.5],
    &[2.0, 2.0],
    &[9.0, 2.5, 2.0, 2.5],
    &[4.0, 2.0],
    &[12.0, 3.0],
    &[1.0, 1.6],
    &[7.0, 2.0, 1.5, 2.0, 1.5, 2.0],
];

/// Number of colours; further lines repeat them.
pub(super) const COLOURS: usize = LIGHT.len();

/// The colour of an ink in SVG notation.
pub(super) fn colour(ink: Ink, theme: Theme) -> &'static str {
    match (ink, theme) {
        (Ink::Frame, Theme::Light) => "#333333",
        (Ink::Frame, Theme::Dark) => "#b6bcc4",
        (Ink::Grid, Theme::Light) => "#e3e5e8",
        (Ink::Grid, Theme::Dark) => "#2c323a",
        (Ink::Hue(hue), Theme::Light) => LIGHT[hue % COLOURS],
        (Ink::Hue(hue), Theme::Dark) => DARK[hue % COLOURS],
        (Ink::Paper, Theme::Light) => "#ffffff",
        (Ink::Paper, Theme::Dark) => "#14181d",
        (Ink::Text, Theme::Light) => "#1a1a1a",
        (Ink::Text, Theme::Dark) => "#e6e8eb",
    }
}

/// The colour of an ink as red, green and blue.
pub(super) fn rgb(ink: Ink, theme: Theme) -> [u8; 3] {
    let text = colour(ink, theme);
    [1, 3, 5].map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap_or(0))
}

/// The dashes of a line in a chart of a kind.
pub(super) fn dashes(kind: Kind, line: &Line) -> &'static [f32] {
    match (line.origin, kind) {
        (Origin::Published, _) => &[1.5, 3.0],
        (Origin::Measured, Kind::Cdf | Kind::Curves) => DASHES[line.hue % COLOURS],
        (Origin::Measured, _) => &[],
    }
}

/// The outline of a point's symbol, relative to its centre with a radius of 1; empty for a disc.
pub(super) fn outline(hue: usize) -> &'static [(f64, f64)] {
    const SHAPES: [&[(f64, f64)]; 8] = [
        &[],
        &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
        &[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)],
        &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
        &[(0.0, -1.2), (1.15, -0.37), (0.7, 1.0), (-0.7, 1.0), (-1.15, -0.37)],
        &[(-1.2, 0.0), (0.8, -1.1), (0.8, 1.1)],
        &[(1.2, 0.0), (-0.8, -1.1), (-0.8, 1.1)],
    ];
    SHAPES[hue % COLOURS]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of WCAG.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_line_contrasts_with_its_background() {
        for theme in [Theme::Dark, Theme::Light] {
            let ground = luminance(colour(Ink::Paper, theme));
            for hue in 0..COLOURS {
                let line = luminance(colour(Ink::Hue(hue), theme));
                let contrast = (line.max(ground) + 0.05) / (line.min(ground) + 0.05);
                assert!(contrast >= 3.0, "{theme:?} {hue}: {contrast:.2}");
            }
        }
    }
}
