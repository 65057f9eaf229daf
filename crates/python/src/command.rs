//! Whole commands of the program.

use std::ffi::OsString;

use pyo3::prelude::*;
use tidegate::embed::{self, Called, Caller};

use crate::waiting::wait;

/// Carries out a command and returns its exit code, what it printed, and why it could not be
/// carried out, or `None`. `tick` is called with the lines that it says in the meantime.
#[pyfunction]
pub(crate) fn command(
    py: Python<'_>,
    words: Vec<OsString>,
    tick: Py<PyAny>,
) -> PyResult<(u8, String, Option<String>)> {
    let caller = Caller::new();
    let tell = |py: Python<'_>| {
        let said = caller.said();
        if !said.is_empty() {
            tick.call1(py, (said,))?;
        }
        Ok(())
    };
    let done = wait(py, || caller.call(&words), tell, || caller.interrupt())?;
    let Called { code, printed, said, error } = done;
    if !said.is_empty() {
        tick.call1(py, (said,))?;
    }
    Ok((code, printed, error))
}

/// Is the program: takes its words, the first of which is its name, and returns the exit code.
/// `again` is how it is started once more.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>, again: Vec<OsString>) -> u8 {
    embed::set_program(again);
    py.detach(|| tidegate::run(&words))
}
