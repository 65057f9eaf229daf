//! What goes wrong, as Python has it.

use std::fmt::Display;

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    tidegate,
    Error,
    PyValueError,
    "What cannot be done, in the words of the command line: a mistake in a scenario comes with its line, a \
     caret and what is allowed."
);

/// An error with this text.
pub(crate) fn error(text: impl Display) -> PyErr {
    Error::new_err(text.to_string())
}
