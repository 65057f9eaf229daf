//! Slow and obvious models that the library is compared with.

pub mod codel;
