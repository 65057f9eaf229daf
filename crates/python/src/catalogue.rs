//! Names of schemes, schedulers and buffers, for the documentation of the package.

use std::collections::BTreeMap;

use tidegate_dataplane::{buffer, mark, sched};
use tidegate_units::Catalogue;

/// Names of each kind with one-line descriptions.
pub(crate) fn parts() -> BTreeMap<&'static str, BTreeMap<&'static str, &'static str>> {
    BTreeMap::from([
        ("scheme", named::<mark::Config>()),
        ("scheduler", named::<sched::Config>()),
        ("buffer", named::<buffer::Config>()),
    ])
}

fn named<C: Catalogue>() -> BTreeMap<&'static str, &'static str> {
    let entries = C::entries().into_iter();
    entries.map(|entry| (entry.about.name, entry.about.summary)).collect()
}
