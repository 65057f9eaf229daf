#![doc = include_str!("../README.md")]
//!
//! A [`Folder`] keeps the files of many runs. A [`Page`] shows them.

#[cfg(feature = "parquet")]
pub mod export;
pub mod figures;
#[cfg(feature = "parquet")]
pub mod folder;
pub mod gallery;
mod html;
pub mod manifest;
pub mod page;
pub mod plot;
pub mod reading;
pub mod sheet;

#[cfg(feature = "parquet")]
pub use folder::Folder;
pub use gallery::Gallery;
pub use html::escaped;
pub use page::Page;
pub use sheet::Sheet;
