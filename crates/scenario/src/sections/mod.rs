//! Sections of scenario files: one file each, with the keys that it adds to its tables.
//!
//! To add a section, declare it with `section!` in a file of its own and name its type as a key of
//! the section above it. Readers, resolved texts, the schema and the reference follow.

mod measure;
mod nic;
pub(crate) mod observe;
mod probe;
pub(crate) mod root;
pub(crate) mod switch;
mod topology;
pub(crate) mod traffic;
pub(crate) mod transport;

use crate::layout::Section;
use crate::layout::declare::Table;

/// The section at the top of a file.
pub(crate) const ROOT: &Section = root::Root::SECTION;
