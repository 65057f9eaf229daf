//! From the tree of a file to typed settings with their locations.

pub(crate) mod limits;
pub(crate) mod reader;
pub(crate) mod writer;
