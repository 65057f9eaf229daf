//! Columns in memory, in Arrow's layout.

/// The cells of a column, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Booleans.
    Bool(Vec<bool>),
    /// 8-bit integers.
    Byte(Vec<u8>),
    /// 64-bit integers.
    Long(Vec<u64>),
    /// The same, which may be missing.
    LongOrNull(Vec<Option<u64>>),
    /// 32-bit integers.
    Number(Vec<u32>),
    /// Floating point.
    Real(Vec<f64>),
    /// The same, which may be missing.
    RealOrNull(Vec<Option<f64>>),
    /// Texts.
    Text(Texts),
}

/// Texts, concatenated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// All bytes.
    pub all: String,
    /// End of each text.
    pub ends: Vec<usize>,
}

impl Texts {
    /// Each text.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.all[begin..end])
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        let mut found = Self::default();
        for text in texts {
            found.all.push_str(text);
            found.ends.push(found.all.len());
        }
        found
    }
}

impl Cells {
    /// Number of texts.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(cells) => cells.len(),
            Self::Byte(cells) => cells.len(),
            Self::Long(cells) => cells.len(),
            Self::LongOrNull(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Real(cells) => cells.len(),
            Self::RealOrNull(cells) => cells.len(),
            Self::Text(cells) => cells.ends.len(),
        }
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use tidegate_results::record::{Link, Quantity, Series, Trace};

    use super::*;
    use crate::export::{FLOWS, LINKS, Origin, SERIES, samples};

    #[test]
    fn texts_are_stored_separately() {
        let texts: Texts = ["a", "", "bc"].into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "bc"]);
        assert_eq!(Texts::default().iter().count(), 0);
    }

    #[test]
    fn columns_in_memory_have_the_rows_of_the_table() {
        let link = Link {
            name: "leaf0>host3".to_owned(),
            rate_bps: 10_000_000_000,
            packets: 3,
            bytes: 4500,
            utilisation: 0.25,
            goodput_bps: 1e9,
            paused: 0.0,
            paused_by_class: std::collections::BTreeMap::new(),
        };
        let cells = |name: &str| {
            let field = LINKS.iter().find(|field| field.name == name).unwrap();
            field.cells(std::slice::from_ref(&link))
        };
        assert_eq!(cells("rate_bps"), Cells::Long(vec![10_000_000_000]));
        assert_eq!(cells("utilisation"), Cells::Real(vec![0.25]));
        assert_eq!(cells("name"), Cells::Text(["leaf0>host3"].into_iter().collect()));
        // Columns have types even without rows.
        assert!(FLOWS.iter().all(|field| field.cells(&[]).is_empty()));
        assert!(Origin::none().cells(2, &[]).is_empty());
    }

    #[test]
    fn samples_are_ordered_by_trace_and_missing_values_are_null() {
        let trace = |of: &str, values: &[f64]| Trace {
            of: of.to_owned(),
            quantity: Quantity::ALL[0],
            values: values.to_vec(),
        };
        let series = Series {
            from_ps: 5,
            interval_ps: 10,
            traces: vec![trace("a", &[1.0, f64::NAN]), trace("b", &[]), trace("c", &[2.0])],
        };
        let rows: Vec<_> = samples(&series).collect();
        let cells: Vec<Cells> = SERIES.iter().map(|field| field.cells(&rows)).collect();
        assert_eq!(cells[0], Cells::Long(vec![5, 15, 5]));
        assert_eq!(cells[1], Cells::Text(["a", "a", "c"].into_iter().collect()));
        assert_eq!(cells[3], Cells::RealOrNull(vec![Some(1.0), None, Some(2.0)]));
    }
}
