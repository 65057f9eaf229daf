//! The report page and the figures, from made-up results.

mod common;

use std::fs;
use std::path::PathBuf;

use tidegate_report::page::Page;
use tidegate_report::plot::{self, Colour, Theme};

#[path = "common/summary.rs"]
mod summary;

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn look() {
    let (manifest, records) = common::sweep(7, &common::LOADS, 3);
    let summary = summary::summary(&records);
    let page = Page {
        title: "Leaf-spine at five loads",
        manifests: &[manifest],
        records: &records,
        summary: &summary,
    };
    let dir = folder("look");
    let text = page.render();
    println!("{} bytes", text.len());
    fs::write(dir.join("report.html"), text).unwrap();
    tidegate_report::figures::write(&dir.join("figures"), &page).unwrap();
    let mut terminal = String::new();
    for panel in page
        .sections()
        .into_iter()
        .flat_map(|section| section.panels)
        .take(20)
    {
        terminal += &plot::terminal(&panel.chart, 80, Colour::None);
        fs::write(dir.join("dark.svg"), plot::svg(&panel.chart, Theme::Dark)).unwrap();
    }
    let (manifest, records) = common::sweep(7, &["0.6"], 3);
    let summary = summary::summary(&records);
    let page = Page {
        title: "Seven schemes",
        manifests: &[manifest],
        records: &records,
        summary: &summary,
    };
    fs::write(dir.join("schemes.html"), page.render()).unwrap();
    tidegate_report::figures::write(&dir.join("figures-schemes"), &page).unwrap();
    for panel in page
        .sections()
        .into_iter()
        .flat_map(|section| section.panels)
    {
        terminal += &plot::terminal(&panel.chart, 80, Colour::None);
    }
    fs::write(dir.join("terminal.txt"), terminal).unwrap();
}
