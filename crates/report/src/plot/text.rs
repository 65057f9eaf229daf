//! Text width and glyph outlines.
//!
//! The font is Noto Sans, from a crate. An SVG file only names fonts, so its text may be slightly
//! narrower than computed here.

use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId};

use super::scene::Weight;

/// The width of a text.
pub(super) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let Some(face) = face(weight) else {
        return text.chars().count() as f64 * size * 0.6;
    };
    let scale = size / f64::from(face.units_per_em());
    glyphs(face, text).map(|(_, advance)| f64::from(advance) * scale).sum()
}

/// The text, cut with an ellipsis if it is wider.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size, Weight::Regular) <= room {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() {
        let cut = format!("{}…", kept.trim_end());
        if width(&cut, size, Weight::Regular) <= room {
            return cut;
        }
    }
    String::new()
}

/// The glyphs of a text with their advances in the font's units.
pub(super) fn glyphs<'a>(
    face: &'a Face<'static>,
    text: &'a str,
) -> impl Iterator<Item = (GlyphId, u16)> + 'a {
    text.chars().map(|letter| {
        // The font lacks the musical sharp of a scheme's name.
        let letter = if letter == '♯' { '#' } else { letter };
        let glyph = face.glyph_index(letter).unwrap_or(GlyphId(0));
        (glyph, face.glyph_hor_advance(glyph).unwrap_or(0))
    })
}

/// The font.
pub(super) fn face(weight: Weight) -> Option<&'static Face<'static>> {
    static BOLD: OnceLock<Option<Face<'static>>> = OnceLock::new();
    static REGULAR: OnceLock<Option<Face<'static>>> = OnceLock::new();
    let (cell, bytes) = match weight {
        Weight::Bold => (&BOLD, ttf_noto_sans::BOLD),
        Weight::Regular => (&REGULAR, ttf_noto_sans::REGULAR),
    };
    cell.get_or_init(|| Face::parse(bytes, 0).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_that_charts_use() {
        for weight in [Weight::Bold, Weight::Regular] {
            let face = face(weight).unwrap();
            for letter in "azAZ09µ±×–…≥%()>♯·".chars() {
                let (glyph, advance) = glyphs(face, &letter.to_string()).next().unwrap();
                assert!(glyph.0 != 0 && advance > 0, "{letter}");
            }
        }
    }

    #[test]
    fn text_that_is_too_wide_is_cut_with_an_ellipsis() {
        assert_eq!(fitted("leaf0>host3 q0", 12.0, 500.0), "leaf0>host3 q0");
        let cut = fitted("leaf0>host3 q0", 12.0, 50.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0, Weight::Regular) <= 50.0, "{cut}");
        assert_eq!(fitted("abc", 12.0, 1.0), "");
    }
}
