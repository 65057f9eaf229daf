//! The compiled half of the Python package `tidegate`; the other half is in `python/tidegate`.
//!
//! Studies run as in the program, and ports come from the dataplane. Whole commands run in the
//! program itself, which the package contains. During a run, other Python threads continue.

#![expect(clippy::needless_pass_by_value, reason = "arguments from Python belong to the function")]

mod catalogue;
mod error;
mod marker;
mod packet;
mod port;
mod quantity;
mod study;
mod table;
mod waiting;

use pyo3::pymodule;

/// The compiled half of the package.
#[pymodule]
mod _tidegate {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::packet::{Departure, Enqueued, Packet, PortInfo};
    #[pymodule_export]
    use crate::port::Port;
    #[pymodule_export]
    use crate::study::{RunResult, check, run};
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("PARTS", crate::catalogue::parts())
    }
}
