//! Texts: the tree of keys and values that a file is, and what is wrong with it, by line and
//! column.

pub(crate) mod cut;
pub(crate) mod depth;
pub(crate) mod diagnose;
pub(crate) mod document;
pub(crate) mod problem;
