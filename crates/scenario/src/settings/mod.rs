//! From the tree of a file to typed settings, each with the location where it was written.

pub(crate) mod describe;
pub(crate) mod limits;
pub(crate) mod reader;
pub(crate) mod traffic;
