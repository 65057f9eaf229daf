//! The laboratory: scenario files, sweeps over them, and what becomes of their runs.

pub mod live;
pub mod record;
pub mod reference;
pub mod reproduce;
pub mod scenario;
pub mod schema;
pub mod sweep;

pub use record::record;
pub use reference::reference;
pub use scenario::Scenario;
pub use schema::schema;
