//! Errors of the package.

use std::fmt::Display;

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    tidegate,
    Error,
    PyValueError,
    "Error with the text of the command line. A mistake in a scenario comes with its line, a caret and the \
     allowed values."
);

/// Error with this text.
pub(crate) fn error(text: impl Display) -> PyErr {
    Error::new_err(text.to_string())
}
