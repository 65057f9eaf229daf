//! Problems of a scenario, with offsets for an editor.

use serde::Serialize;
use tidegate_scenario::Problem;

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shown {
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
    /// Line and column, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<(usize, usize)>,
    /// Start and end in units of UTF-16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span: Option<(usize, usize)>,
}

impl Shown {
    /// A problem without a location.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, at: None, span: None }
    }

    /// A problem and all others of the same text.
    pub(crate) fn all(problem: &Problem, text: &str) -> Vec<Self> {
        let mut all = vec![Self::one(problem, text)];
        for other in problem.others() {
            all.extend(Self::all(other, text));
        }
        all
    }

    fn one(problem: &Problem, text: &str) -> Self {
        let units = |at: usize| {
            let before = text.char_indices().take_while(|(place, _)| *place < at);
            before.map(|(_, letter)| letter.len_utf16()).sum()
        };
        let span = problem.span();
        Self {
            message: problem.message().to_owned(),
            help: problem.advice().map(str::to_owned),
            at: problem.position(),
            span: span.map(|span| (units(span.start), units(span.end))),
        }
    }
}

/// Byte of a text at an offset in units of UTF-16.
pub(crate) fn byte_at(text: &str, units: usize) -> usize {
    let mut passed = 0;
    for (at, letter) in text.char_indices() {
        if passed >= units {
            return at;
        }
        passed += letter.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;

    #[test]
    fn offsets_are_in_units_of_utf_16() {
        let text = "title = \"ECN♯ 🌊\" ; x";
        let problem = Scenario::parse("t", text, &[]).unwrap_err();
        let shown = Shown::all(&problem, text);
        let (from, _) = shown[0].span.unwrap();
        let units: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(char::from_u32(units[from].into()), Some(';'), "{shown:?}");
        assert_eq!(&text[byte_at(text, from)..], "; x");
        assert_eq!(byte_at(text, 1_000), text.len());
    }
}
