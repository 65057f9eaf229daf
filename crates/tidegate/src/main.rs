//! Tidegate's command line.

fn main() {}
