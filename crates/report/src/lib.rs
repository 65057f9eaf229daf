#![doc = include_str!("../README.md")]
//!
//! A [`Folder`] keeps the files of many runs. A [`Page`] shows them.

pub mod export;
pub mod figures;
pub mod folder;
pub mod gallery;
mod html;
pub mod page;
pub mod plot;
pub mod reading;
pub mod sheet;

pub use folder::Folder;
pub use gallery::Gallery;
pub use html::escaped;
pub use page::Page;
pub use sheet::Sheet;
