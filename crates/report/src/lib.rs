//! Results: what a run left behind as plain data, the statistics over it, and the files, figures and
//! pages made from it.
//!
//! It knows nothing of simulators: a [`Record`] says the same of a run on real packets.

pub mod export;
pub mod figures;
pub mod folder;
pub mod format;
pub mod gallery;
mod html;
pub mod page;
pub mod plot;
pub mod record;
pub mod sheet;
pub mod statistics;
pub mod summary;

pub use folder::Folder;
pub use gallery::Gallery;
pub use html::escaped;
pub use page::Page;
pub use record::Record;
pub use sheet::Sheet;
pub use summary::Summary;
