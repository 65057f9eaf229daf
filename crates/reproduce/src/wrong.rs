//! Errors in files of figures and papers.

use std::ops::Range;

/// Error with its location in the file.
#[derive(Debug, PartialEq)]
pub struct Wrong {
    /// Message.
    pub message: String,
    /// Location.
    pub span: Range<usize>,
}

impl Wrong {
    /// An error of the TOML parser, in one line.
    pub(super) fn of(error: &toml::de::Error) -> Self {
        let message = error.message().trim().replace('\n', ", ");
        Self { message, span: error.span().unwrap_or(0..0) }
    }
}
