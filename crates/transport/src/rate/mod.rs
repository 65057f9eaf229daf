//! Transports that control a sending rate instead of a window.

pub mod dcqcn;
