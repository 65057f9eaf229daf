//! Layout of the page and the gallery at three widths, on light and dark backgrounds.
//!
//! A browser's window is at least 500 pixels wide, so the page is put into a frame. A script in it
//! finds clipped, covered and invisible elements; screenshots stay in `target/tmp`.

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_report::gallery::{Headlines, NOT_RUN, Row, Shown};
use tidegate_report::plot::{Axis, Chart, Kind, Line, Mark, Origin};
use tidegate_report::{Gallery, Page};
use tidegate_results::{Summary, View};

use super::browser::{begun, between};
use super::sample;

const STEPS: &str = include_str!("layout.js");
const WIDTHS: [u32; 3] = [400, 800, 1280];
/// Height of the screenshots.
const HEIGHT: u32 = 4_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    Dark,
    Light,
}

/// Lays the page out in a frame and returns the output of the steps.
fn measured(dir: &Path, page: &str, width: u32, ground: Ground) -> Vec<String> {
    let page = page.replacen("</body>", &format!("<script>{STEPS}</script></body>"), 1);
    let escaped = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<!doctype html><html style=\"color-scheme: light dark\"><body style=\"margin: 0\">\
         <script>function finish(text, dark, width) {{ \
           const seen = document.createElement('pre'); seen.id = 'seen'; seen.hidden = true; \
           seen.textContent = `${{text}}\\n${{dark ? 'dark' : 'light'}} ${{width}}`; document.body.append(seen); \
         }}</script>\
         <iframe srcdoc=\"{escaped}\" style=\"border: 0; width: {width}px; height: {HEIGHT}px\"></iframe>"
    );
    let name = format!("{width}-{ground:?}").to_lowercase();
    let file = dir.join(format!("{name}.html"));
    fs::write(&file, frame).unwrap();
    let picture = dir.join(format!("{name}.png"));
    let mut command = begun(&dir.join("profile"), (width.max(500), HEIGHT));
    if ground == Ground::Dark {
        command.arg("--force-dark-mode");
    }
    let mut screenshot = std::ffi::OsString::from("--screenshot=");
    screenshot.push(&picture);
    let text = super::browser::printed(command.arg(screenshot), &file);
    assert!(ink(&fs::read(&picture).unwrap()) > 0.002, "{} is blank", picture.display());
    let lines = between(&text, "<pre id=\"seen\" hidden=\"\">", "</pre>");
    let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    let theme = format!("{ground:?}").to_lowercase();
    assert_eq!(lines.pop().unwrap(), format!("{theme} {width}"));
    lines
}

/// The share of bytes in a picture that differ from the row above or the pixel before: zero for a
/// blank one.
fn ink(png: &[u8]) -> f64 {
    let mut packed = Vec::new();
    let mut at = 8;
    while at + 8 <= png.len() {
        let length = u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
        if &png[at + 4..at + 8] == b"IDAT" {
            packed.extend(&png[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let rows = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).unwrap();
    rows.iter().filter(|byte| **byte != 0).count() as f64 / rows.len() as f64
}

fn check(name: &str, page: &str) {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("layout-{name}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    let mut wrong = Vec::new();
    for width in WIDTHS {
        for ground in [Ground::Dark, Ground::Light] {
            let lines = measured(&dir, page, width, ground);
            assert!(lines.len() > 10, "{lines:#?}");
            let bad = lines.into_iter().filter(|line| !line.starts_with("ok "));
            wrong.extend(bad.map(|line| format!("{width} {ground:?}: {line}")));
        }
    }
    let first = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{} faults: {first:#?}", wrong.len());
}

#[test]
fn the_page_is_not_clipped_at_any_width() {
    let (manifest, records) = sample::sweep(7, &["0.5", "0.8"], 2);
    let summary = Summary::new(&records, Some("queue-red"));
    let page = Page {
        title: "Seven marking schemes on a leaf-spine fabric",
        manifests: &[manifest],
        records: records.iter().map(View::from).collect(),
        summary: &summary,
    };
    check("page", &page.render());
}

fn figure(number: usize) -> Shown {
    let line = |hue: usize, name: &str, origin| Line {
        name: name.to_owned(),
        hue,
        marks: (1..=9)
            .map(|load| {
                let y = 1e-3 * (1.0 + hue as f64 / 3.0) / (1.05 - f64::from(load) / 10.0);
                Mark {
                    interval: (load % 2 == 0).then_some((0.8 * y, 1.3 * y)),
                    ..Mark::new(f64::from(load) / 10.0, y)
                }
            })
            .collect(),
        origin,
    };
    let chart = |place: usize| Chart {
        id: place.to_string(),
        title: "Small flows: 99th percentile of completion times, per-queue RED = 1".into(),
        kind: Kind::Curves,
        x: Axis::linear("load", ""),
        y: Axis::linear("99th percentile of small flows", "s"),
        lines: vec![
            line(0, "TCN", Origin::Measured),
            line(1, "per-queue RED with the standard threshold", Origin::Measured),
            line(1, "per-queue RED with the standard threshold (paper)", Origin::Published),
        ],
        notes: Vec::new(),
        commands: vec!["tidegate run".into()],
    };
    let row = |verdict: &str, class| Row {
        claim: "the 99th percentile of small flows is up to 73.3 % lower than with RED, at loads \
                from 0.1 to 0.9 in steps of a tenth"
            .into(),
        paper: "-73.3%, within 15%".into(),
        measured: "-38.0 % [-39.0 %, -37.0 %]".into(),
        verdict: verdict.into(),
        class,
        note: Some("the hosts' own delays and the timing of the kernel are not modelled".into()),
    };
    Shown {
        id: format!("tcn-f{number}"),
        title: format!("TCN, figure {number}: isolation of services under DWRR"),
        intro: "Completion times normalised to TCN; TCN, section 6.1 (quick version).".into(),
        charts: (1..=3).map(chart).collect(),
        claims: vec![
            row("reproduced", "reproduced"),
            row("same direction, other size", "same-direction"),
            row("inconclusive: 12 runs would decide", "inconclusive"),
            row("not reproduced", "not-reproduced"),
            row("not run", NOT_RUN),
        ],
        outside: vec![row("reproduced", "reproduced")],
        remarks: vec![(
            "What was cut",
            vec![
                "measure.some_long_key=\"1000000us\"; traffic.0.flows=5000".into(),
                format!("nine in ten (--set transport.host_delay.values=[{}])", "70us,".repeat(40)),
            ],
        )],
        command: format!("tidegate reproduce tcn-f{number} --quick"),
        report: Some(format!("tcn-f{number}/report.html")),
    }
}

#[test]
fn the_gallery_is_not_clipped_at_any_width() {
    let figures: Vec<Shown> = (1..=12).map(figure).collect();
    let facts = ["tidegate 0.1.0 0123456789ab".to_owned(), "20 figures".to_owned()];
    let headlines = [Headlines {
        title: "TCN: what became of its main claims".into(),
        claims: figures[0].claims.iter().map(|row| ("tcn-f1".to_owned(), row.clone())).collect(),
    }];
    let gallery = Gallery {
        title: "Published figures, run again",
        facts: &facts,
        verdicts: &[("reproduced", 20), ("same direction, other size", 20), ("not run", 20)],
        headlines: &headlines,
        figures: &figures,
    };
    check("gallery", &gallery.render());
}
