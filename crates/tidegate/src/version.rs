//! The build of this program, for manifests.

use tidegate_study::study::Build;
use tidegate_version::{FINGERPRINT, REVISION, VERSION};

/// Version, source revision and fingerprint of this program.
pub(crate) const BUILD: Build =
    Build { version: VERSION, revision: REVISION, fingerprint: FINGERPRINT };
