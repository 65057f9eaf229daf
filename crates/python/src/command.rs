//! Whole commands of the program.

use std::ffi::OsString;

use pyo3::prelude::*;
use tidegate::embed::{self, Called};

use crate::waiting::wait;

/// Carries out a command and returns its exit code, what it printed, and why it could not be carried out, or
/// `None`. `tick` is called with the lines that it says in the meantime.
#[pyfunction]
pub(crate) fn command(
    py: Python<'_>,
    words: Vec<OsString>,
    tick: Py<PyAny>,
) -> PyResult<(u8, String, Option<String>)> {
    let tell = |py: Python<'_>| {
        let said = embed::said();
        if !said.is_empty() {
            tick.call1(py, (said,))?;
        }
        Ok(())
    };
    let called = wait(py, || embed::call(&words), tell, embed::interrupt)?;
    let Called {
        code,
        printed,
        said,
        error,
    } = called;
    if !said.is_empty() {
        tick.call1(py, (said,))?;
    }
    Ok((code, printed, error))
}

/// Is the program: takes its words, the first of which is its name, and returns the exit code. `again` is how it is
/// started once more.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>, again: Vec<OsString>) -> u8 {
    embed::set_program(again);
    py.detach(|| tidegate::run(&words))
}
