//! What can be named at a port, for the documentation of the package.

use std::collections::BTreeMap;

use tidegate_dataplane::{buffer, mark, sched};
use tidegate_units::Catalogue;

/// The names of each kind of part, each with what it does in a line.
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
