//! Version, source revision and fingerprint of a build.
//!
//! A crate of its own, because any change of the sources changes the fingerprint: only the programs
//! that write it into manifests are built again.

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Revision of the program's source, followed by `-changed` if it was edited; empty if unknown.
pub const REVISION: &str = env!("TIDEGATE_REVISION");

/// Fingerprint of the source, its libraries, the compiler and its options.
pub const FINGERPRINT: &str = env!("TIDEGATE_BUILD");
