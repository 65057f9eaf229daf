//! Text of a file: its tree of keys and values, and problems with their line and column.

pub(crate) mod cut;
pub(crate) mod depth;
pub(crate) mod diagnose;
pub(crate) mod document;
pub(crate) mod problem;
