//! The names in `docs/glossary.md`, generated from the catalogue.

use std::fmt::Write;
use std::fs;

use tidegate_harness::golden;

use super::*;

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
    let transports = of::<cc::Config>().into_iter().chain(of::<protocol::Config>());
    table(&mut out, "Transports", &transports.chain([pias::Config::ABOUT]).collect::<Vec<_>>());
    table(&mut out, "Topologies", &of::<topology::Config>());
    let traffic = of::<Source>().into_iter().chain([probe::Config::ABOUT]);
    table(&mut out, "Traffic", &traffic.collect::<Vec<_>>());
    out
}

#[test]
fn the_glossary_lists_every_name() {
    const PAGE: &str = "docs/glossary.md";
    let page = fs::read_to_string(golden::path(PAGE)).unwrap();
    let (kept, _) = page.split_once(BEGIN).unwrap_or((&page, ""));
    golden::check(PAGE, &format!("{kept}{}", names()));
}
