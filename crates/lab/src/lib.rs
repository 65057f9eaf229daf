//! The laboratory: scenario files, sweeps over them, and what becomes of their runs.

pub mod reference;
pub mod scenario;
pub mod schema;

pub use reference::reference;
pub use scenario::Scenario;
pub use schema::schema;
