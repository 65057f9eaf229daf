//! Content of the page and the figures.

use std::fs;
use std::path::PathBuf;

use tidegate_report::Page;
use tidegate_report::figures::{self, Titles};
use tidegate_report::manifest::Manifest;
use tidegate_results::{Record, Summary, View};

use super::sample;

fn rendered(title: &str, manifest: &Manifest, records: &[Record]) -> String {
    let summary = Summary::new(records, Some("queue-red"));
    let page = Page {
        title,
        manifests: std::slice::from_ref(manifest),
        records: records.iter().map(View::from).collect(),
        summary: &summary,
    };
    page.render()
}

/// The data of the page's script.
fn data(page: &str) -> serde_json::Value {
    let begin = page.find(r#"id="data">"#).unwrap() + r#"id="data">"#.len();
    let end = begin + page[begin..].find("</script>").unwrap();
    serde_json::from_str(&page[begin..end]).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

#[test]
fn a_usual_page_is_small_and_deterministic() {
    let (manifest, records) = sample::sweep(7, &sample::LOADS, 3);
    let page = rendered("Leaf-spine", &manifest, &records);
    assert!(page.len() < 3_500_000, "{} bytes", page.len());
    assert!(page == rendered("Leaf-spine", &manifest, &records));
}

#[test]
fn a_page_always_stays_below_five_megabytes() {
    let loads: Vec<String> = (1..=18).map(|n| format!("{:.2}", f64::from(n) / 20.0)).collect();
    let loads: Vec<&str> = loads.iter().map(String::as_str).collect();
    let (manifest, records) = sample::sweep(18, &loads, 1);
    let page = rendered("Large", &manifest, &records);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("to keep the page small"), "what is left out is stated");
}

#[test]
fn names_with_markup_are_escaped() {
    let (mut manifest, mut records) = sample::sweep(2, &["0.3", "0.5"], 1);
    let nasty = "</script><script>alert(1)</script><!-- & \"'";
    manifest.name = nasty.to_owned();
    manifest.title = nasty.to_owned();
    manifest.scenario = nasty.to_owned();
    manifest.command = nasty.to_owned();
    for record in &mut records {
        record.run.label = record.run.label.replace("codel", nasty);
        record.run.point[0].value = record.run.point[0].value.replace("codel", nasty);
        record.run.id = format!("{nasty}{}", record.run.id);
        record.run.command = nasty.to_owned();
        record.queues[0].port = nasty.to_owned();
        record.series.traces[0].of = nasty.to_owned();
        record.series.traces[2].of = nasty.to_owned();
    }
    let page = rendered(nasty, &manifest, &records);
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<!--"));
    assert_eq!(data(&page)["title"], nasty);
    let summary = Summary::new(&records, None);
    let page = Page {
        title: nasty,
        manifests: &[manifest],
        records: records.iter().map(View::from).collect(),
        summary: &summary,
    };
    for panel in page.sections().into_iter().flat_map(|section| section.panels) {
        let file_safe = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
        assert!(panel.chart.id.chars().all(file_safe), "{}", panel.chart.id);
    }
}

#[test]
fn network_hosts_and_load_are_at_the_top() {
    let (manifest, records) = sample::sweep(2, &["0.3", "0.5"], 1);
    let page = rendered("Leaf-spine", &manifest, &records);
    let header = &page[..page.find("</header>").unwrap()];
    for text in [
        "<dt>network</dt><dd>leaf-spine, 128 hosts at 10Gbps</dd>",
        "<dt>marking</dt><dd>tcn: threshold 78us</dd><dd>codel: target 51.2us</dd>",
        "<dt>hosts</dt><dd>dctcp: initial window 10</dd>",
        "<dt>load</dt><dd>60.0 % of the busiest link</dd>",
    ] {
        assert!(header.contains(text), "{text} is not in {header}");
    }
    // Two folders with the same setup show it once.
    let summary = Summary::new(&records, None);
    let page = Page {
        title: "Both",
        manifests: &[manifest.clone(), manifest],
        records: records.iter().map(View::from).collect(),
        summary: &summary,
    };
    assert_eq!(page.render().matches("<dt>network</dt>").count(), 1);
}

#[test]
fn the_glossary_of_the_page_matches_the_documentation() {
    let documented = include_str!("../../../../docs/glossary.md").replace("| 1. ", "| ");
    for (term, meaning) in tidegate_report::page::TERMS {
        let row = format!("| {term} | {meaning}");
        assert!(documented.contains(&row), "docs/glossary.md lacks the row\n{row}");
    }
}

#[test]
fn a_page_loads_nothing() {
    let (manifest, records) = sample::sweep(1, &["0.3"], 1);
    let page = rendered("One run", &manifest, &records);
    for leak in ["src=", "href=\"http", "@import", "url(http", "fetch(", "import("] {
        assert!(!page.contains(leak), "{leak}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_chart_has_data_commands_and_a_unique_id() {
    let (manifest, records) = sample::sweep(7, &sample::LOADS, 1);
    let data = data(&rendered("Leaf-spine", &manifest, &records));
    let commands = data["commands"].as_array().unwrap();
    let mut names = std::collections::BTreeSet::new();
    for section in data["sections"].as_array().unwrap() {
        for chart in section["charts"].as_array().unwrap() {
            let id = chart["id"].as_str().unwrap();
            assert!(names.insert(id.to_owned()), "{id} comes twice");
            assert!(!chart["lines"].as_array().unwrap().is_empty(), "{id}");
            let places = chart["commands"].as_array().unwrap();
            assert!(!places.is_empty(), "{id}");
            for place in places {
                let command = commands[usize::try_from(place.as_u64().unwrap()).unwrap()].as_str();
                assert!(command.unwrap().starts_with("tidegate run"), "{id}");
            }
        }
    }
    for kind in ["fct-small-p99", "cdf-fct-small-0.8", "cdf-slowdown-large-0.3", "queue-marks-0.5"]
    {
        assert!(names.contains(kind), "{kind} is missing from {names:?}");
    }
}

#[test]
fn a_page_without_results_renders() {
    let page = rendered("Nothing", &sample::manifest(&[]), &[]);
    assert!(page.contains("0 settings, 0 runs"));
    assert_eq!(data(&page)["sections"].as_array().unwrap().len(), 0);
}

#[test]
fn the_table_marks_the_best_of_each_group() {
    let (manifest, records) = sample::sweep(3, &["0.3", "0.8"], 3);
    let page = rendered("Table", &manifest, &records);
    let table = &page[page.find("<table class=\"headline\"").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    assert_eq!(table.matches("<tbody>").count(), 2);
    for group in table.split("<tbody>").skip(1) {
        let count = |class: &str| group.matches(&format!("class=\"{class}\"")).count();
        assert!(count("best") + count("tied") >= 4, "{group}");
    }
    assert!(table.contains("±"));
    assert!(page.contains("<h2>Warnings</h2>"));
}

#[test]
fn figures_are_written_as_pdf_svg_and_png_with_or_without_titles() {
    let (manifest, records) = sample::sweep(2, &["0.6"], 2);
    let summary = Summary::new(&records, None);
    let page = Page {
        title: "Figures",
        manifests: &[manifest],
        records: records.iter().map(View::from).collect(),
        summary: &summary,
    };
    let dir = folder("figures");
    let files = figures::write(&dir, &page, Titles::Shown).unwrap();
    let panels = page.sections().iter().map(|section| section.panels.len()).sum::<usize>();
    assert_eq!(files.len(), 3 * panels);
    for file in &files {
        let bytes = fs::read(file).unwrap();
        match file.extension().unwrap().to_str().unwrap() {
            "png" => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 2000),
            "pdf" => assert!(bytes.starts_with(b"%PDF-1.4") && bytes.ends_with(b"%%EOF\n")),
            _ => assert!(bytes.starts_with(b"<svg ") && bytes.ends_with(b"</svg>\n")),
        }
    }
    let in_the_way = dir.join("fct-mean.svg");
    let error = figures::write(&in_the_way, &page, Titles::Shown).unwrap_err();
    assert!(error.to_string().contains("fct-mean.svg"), "{error}");

    let titled = fs::read_to_string(dir.join("fct-mean.svg")).unwrap();
    assert!(titled.contains(">FCT, overall mean</text>"), "{titled}");
    let chart = page.chart_of("fct_mean").into_iter();
    figures::write_charts(&dir, chart, Titles::LeftOut).unwrap();
    let bare = fs::read_to_string(dir.join("fct-mean.svg")).unwrap();
    assert_eq!(bare.matches("FCT, overall mean").count(), 1, "the axis has it");
}

/// The lines of a chart of the page, by name.
fn lines<'a>(data: &'a serde_json::Value, id: &str) -> Vec<&'a serde_json::Value> {
    let sections = data["sections"].as_array().unwrap().iter();
    let mut charts = sections.flat_map(|section| section["charts"].as_array().unwrap());
    let chart = charts.find(|chart| chart["id"] == id);
    let chart = chart.unwrap_or_else(|| panic!("there is no chart {id}"));
    chart["lines"].as_array().unwrap().iter().collect()
}

#[test]
fn a_line_breaks_where_only_others_have_points() {
    let (manifest, mut records) = sample::sweep(2, &["0.3", "0.5", "0.8"], 1);
    records.retain(|record| record.run.label != "codel, load 0.5");
    let data = data(&rendered("Gap", &manifest, &records));
    let lines = lines(&data, "fct-mean");
    assert_eq!(lines[1]["name"], "codel");
    assert_eq!(lines[1]["x"].as_array().unwrap().len(), 3);
    assert!(lines[1]["y"][1].is_null() && lines[1]["y"][2].is_number());
    assert!(lines[0]["y"].as_array().unwrap().iter().all(serde_json::Value::is_number));
}

#[test]
fn queue_lengths_and_waits_have_log_axes() {
    let (manifest, records) = sample::sweep(2, &["0.3", "0.5"], 1);
    let data = data(&rendered("Queues", &manifest, &records));
    let sections = data["sections"].as_array().unwrap().iter();
    let charts = sections.flat_map(|section| section["charts"].as_array().unwrap());
    let queues: Vec<_> = charts
        .filter(|chart| chart["kind"] == "cdf")
        .filter(|chart| chart["id"].as_str().unwrap().starts_with("queue-"))
        .collect();
    assert!(queues.len() >= 4);
    assert!(queues.iter().all(|chart| chart["x"]["log"] == true));
}

#[test]
fn several_classes_of_service_have_a_table_and_charts() {
    let (manifest, mut records) = sample::sweep(2, &["0.3", "0.5"], 2);
    let page = rendered("Classes", &manifest, &records);
    let section = &page[page.find("<section id=\"classes\">").unwrap()..];
    let section = &section[..section.find("</section>").unwrap()];
    for group in ["class 0, load 0.3", "class 3, load 0.5"] {
        assert!(section.contains(group), "{group}");
    }
    let data = data(&page);
    let by_class = lines(&data, "class-fct-small-p99-0.5");
    assert_eq!(by_class[0]["y"].as_array().unwrap().len(), 4);
    for flow in records.iter_mut().flat_map(|record| &mut record.flows) {
        flow.service = 2;
    }
    let page = rendered("One class", &manifest, &records);
    assert!(!page.contains("<section id=\"classes\">"));
}

#[test]
fn warnings_that_differ_only_in_numbers_are_merged() {
    let (manifest, records) = sample::sweep(3, &["0.3", "0.8"], 2);
    let page = rendered("Warnings", &manifest, &records);
    let begin = page.find("<h2>Warnings</h2>").unwrap();
    let warnings = &page[begin..begin + page[begin..].find("</section>").unwrap()];
    let (shown, _) = warnings.split_once("<details>").unwrap();
    assert_eq!(shown.matches("the p99 of small flows").count(), 1, "{shown}");
    assert!(warnings.contains("similar in 6 of 6 settings"), "{warnings}");
}
