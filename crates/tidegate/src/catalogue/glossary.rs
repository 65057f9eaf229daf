//! The names in `docs/glossary.md`, generated from the catalogue.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::*;

/// Environment variable that makes the test write the page instead of comparing it.
const WRITE: &str = "TIDEGATE_WRITE_REFERENCE";

const BEGIN: &str = "<!-- Generated from the catalogue. -->\n";

fn table(out: &mut String, title: &str, parts: &[About]) {
    _ = write!(out, "\n### {title}\n\n| name | meaning |\n|---|---|\n");
    for part in parts {
        let page = part.page.split('#').next().unwrap_or_default();
        _ = writeln!(out, "| [`{}`]({page}) | {} |", part.name, part.summary);
    }
}

fn of<C: Catalogue>() -> Vec<About> {
    C::entries().into_iter().map(|entry| entry.about).collect()
}

fn names() -> String {
    let mut out = String::from(BEGIN);
    table(&mut out, "Marking schemes", &of::<mark::Config>());
    table(&mut out, "Schedulers", &of::<sched::Config>());
    table(&mut out, "Buffers", &of::<buffer::Config>());
    table(&mut out, "Flow control", &of::<flow_control::Config>());
    let transports = of::<cc::Config>().into_iter();
    let others = [dcqcn::Config::ABOUT, pias::Config::ABOUT];
    table(&mut out, "Transports", &transports.chain(others).collect::<Vec<_>>());
    table(&mut out, "Topologies", &of::<topology::Config>());
    let traffic = of::<Source>().into_iter().chain([probe::Config::ABOUT]);
    table(&mut out, "Traffic", &traffic.collect::<Vec<_>>());
    out
}

#[test]
fn the_glossary_lists_every_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/glossary.md");
    let page = fs::read_to_string(&path).unwrap();
    let (kept, _) = page.split_once(BEGIN).unwrap_or((&page, ""));
    let new = format!("{kept}{}", names());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, new).unwrap();
    } else {
        let help = "run TIDEGATE_WRITE_REFERENCE=1 cargo test -p tidegate --lib glossary";
        assert!(page == new, "docs/glossary.md is out of date: {help}");
    }
}
