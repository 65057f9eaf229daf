#![doc = include_str!("../README.md")]
//!
//! A [`Record`] is a run, a [`Summary`] what several have in common, a [`Folder`] where they are
//! kept, a [`Page`] what shows them.

mod brief;
pub mod export;
pub mod figures;
pub mod folder;
pub mod format;
pub mod gallery;
mod html;
pub mod page;
pub mod plot;
pub mod reading;
pub mod record;
pub mod sheet;
pub mod statistics;
pub mod summary;

pub use brief::{Brief, Briefs};
pub use folder::Folder;
pub use gallery::Gallery;
pub use html::escaped;
pub use page::Page;
pub use record::Record;
pub use sheet::Sheet;
pub use summary::Summary;
