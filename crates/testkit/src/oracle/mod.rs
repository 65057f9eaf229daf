//! Slow, obvious reference models.

mod gps;

pub use gps::Gps;
