//! Pages of the site as HTML. Scripts and styles are separate files.

use std::fmt::Write;
use std::path::Path;

use tidegate_plan::dialect::Os;
use tidegate_report::escaped;
use tidegate_report::folder::Folder;
use tidegate_study::text::count;

use super::follow::Progress;
use super::playground;
use super::preview::Preview;
use super::results::ResultsFolder;
use crate::builtin;
use crate::catalogue;

/// Contents of the page of a folder.
pub(super) struct FolderPage<'a> {
    pub(super) path: &'a Path,
    pub(super) progress: &'a Progress,
    pub(super) preview: Result<&'a Preview, &'a str>,
    pub(super) is_read_only: bool,
}

/// A page around a body. `up` is the path from it to the first page.
fn frame(title: &str, up: &str, links: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="{up}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{up}assets/report.css">
<link rel="stylesheet" href="{up}assets/serve.css">
<script type="module" src="{up}assets/serve.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<h1>{title}</h1>
<nav aria-label="Pages">{links}</nav>
</header>
<main id="main">
{body}</main>
</body>
</html>
"##
    )
}

/// Links to the pages of a server.
fn links(up: &str) -> String {
    let mut out = String::new();
    for (path, name) in [
        ("", "Results"),
        ("start/", "Start a study"),
        ("plan/", "Plan a network"),
        ("playground/index.html", "Playground"),
        ("docs/reproduction.html", "Reproduced figures"),
        ("docs/scenario.html", "Scenario files"),
    ] {
        let up = if path.is_empty() && up.is_empty() { "./" } else { up };
        _ = write!(out, r#"<a href="{up}{path}">{name}</a>"#);
    }
    out
}

/// The first page: with the results on a server, with only the galleries in an export.
pub(super) fn index(results: Option<&str>, galleries: &[String], has_playground: bool) -> String {
    let mut body = results.unwrap_or_default().to_owned();
    if has_playground {
        body.push_str(
            "<section><h2><a href=\"playground/index.html\">Playground</a></h2><p>Watch a switch queue and \
             its ECN marks, simulated packet by packet.</p></section>\n",
        );
    } else {
        _ = writeln!(body, "<p class=\"warning\">{}</p>", escaped(playground::NONE));
    }
    body.push_str(
        "<section><h2>Reference</h2><ul><li><a href=\"docs/scenario.html\">Scenario files</a>: every key\
         <li><a href=\"docs/reproduction.html\">Reproduced figures</a>",
    );
    for name in galleries {
        let name = escaped(name);
        _ = write!(
            body,
            "<li><a href=\"galleries/{name}/index.html\">Gallery of reproduced figures: {name}</a>"
        );
    }
    body.push_str("</ul></section>\n<section><h2>Glossary of names</h2>\n");
    let mut kind = None;
    for entry in catalogue::all() {
        if kind != Some(entry.kind) {
            let end = if kind.is_some() { "</ul>" } else { "" };
            _ = write!(body, "{end}<h3>{}</h3><ul>", escaped(entry.kind.name()));
            kind = Some(entry.kind);
        }
        let name = escaped(entry.name);
        let line = escaped(&entry.line);
        _ = write!(body, "<li><a href=\"explain/{name}.html\">{name}</a>: {line}");
    }
    body.push_str("</ul></section>\n");
    let links = match results {
        Some(_) => links(""),
        None => String::new(),
    };
    frame("Tidegate", "", &links, &body)
}

/// List of the results folders.
pub(super) fn results(all: &[(String, ResultsFolder)]) -> String {
    let mut out = String::from("<section id=\"results\"><h2>Results</h2>\n");
    if all.is_empty() {
        out.push_str(
            "<p>No results yet: <a href=\"start/\">start a study</a>, or run a scenario with \
             <code>tidegate run</code> and reload this page.</p></section>\n",
        );
        return out;
    }
    out.push_str(
        "<form action=\"compare\" method=\"get\">\n<p class=\"buttons\"><label>Filter \
         <input type=\"search\" id=\"filter\" autocomplete=\"off\"></label> \
         <button class=\"framed\">Compare selected</button></p>\n\
         <div class=\"wide\" tabindex=\"0\"><table class=\"claims list\"><thead><tr>\
         <th><span class=\"unseen\">compare</span><th>results<th>runs<th>folder<th>files</tr></thead><tbody>\n",
    );
    for (name, item) in all {
        row(&mut out, name, item);
    }
    out.push_str("</tbody></table></div></form>\n<p id=\"none\" hidden>No results match the filter.</p></section>\n");
    out
}

fn row(out: &mut String, name: &str, item: &ResultsFolder) {
    let shown = escaped(&item.path().display().to_string());
    match item {
        ResultsFolder::Reproduction(_) => {
            _ = writeln!(
                out,
                "<tr><td><td><a href=\"galleries/{name}/\">Reproduced figures</a><td><td>\
                 <code>{shown}</code><td>"
            );
        }
        ResultsFolder::Runs(path) => match Folder::open(path) {
            Ok(folder) => {
                let manifest = folder.manifest();
                let title = match manifest.title.as_str() {
                    "" => &manifest.name,
                    title => title,
                };
                let title = escaped(title);
                _ = writeln!(
                    out,
                    "<tr><td><input type=\"checkbox\" name=\"with\" value=\"{name}\" aria-label=\"compare {name}\">\
                     <td><a href=\"results/{name}/\">{title}</a><td data-name=\"runs\">{} of {}<td><code>{shown}</code>\
                     <td><a href=\"results/{name}/report.html\" aria-label=\"report of {name}\">report</a>",
                    folder.finished().len(),
                    manifest.runs.len()
                );
            }
            Err(error) => {
                let error = escaped(&error.to_string());
                _ = writeln!(out, "<tr><td><td>{error}<td><td><code>{shown}</code><td>");
            }
        },
    }
}

/// Progress and preview of a folder.
pub(super) fn folder(page: &FolderPage<'_>) -> String {
    let FolderPage { path, progress, preview, is_read_only } = page;
    let folder = Folder::open(path);
    let (title, facts) = match &folder {
        Err(_) => (path.display().to_string(), String::new()),
        Ok(folder) => {
            let manifest = folder.manifest();
            let title = match manifest.title.as_str() {
                "" => manifest.name.clone(),
                title => title.to_owned(),
            };
            let facts = format!(
                "<p class=\"facts\"><span>{}</span><span>tidegate {} <code>{}</code></span><span>seed {}</span></p>\
                 <pre class=\"command\" tabindex=\"0\">{}</pre>",
                escaped(&path.display().to_string()),
                escaped(&manifest.version),
                escaped(&manifest.revision),
                escaped(&manifest.seed),
                escaped(&manifest.command)
            );
            (title, facts)
        }
    };
    let mut body = facts;
    _ = write!(
        body,
        "<section id=\"progress\" data-finished=\"{}\" data-planned=\"{}\" aria-labelledby=\"progress-title\">\
         <h2 id=\"progress-title\">Progress</h2>\n\
         <progress id=\"bar\" max=\"{}\" value=\"{}\" aria-labelledby=\"progress-title\"></progress>\
         <p id=\"state\" role=\"status\">{}</p>\n",
        progress.finished,
        progress.planned,
        progress.planned.max(1),
        progress.finished,
        escaped(&state(progress))
    );
    if !is_read_only {
        body.push_str(
            "<p class=\"buttons\"><button type=\"button\" class=\"framed\" id=\"stop\" hidden>Stop and keep finished \
             runs</button><button type=\"button\" class=\"framed\" id=\"resume\" hidden>Resume</button></p>\n",
        );
    }
    body.push_str(
        "<p id=\"answer\" class=\"warning\" role=\"alert\" hidden></p><pre id=\"message\" tabindex=\"0\" hidden></pre>\
         <ul id=\"failed\"></ul></section>\n",
    );
    body.push_str(
        "<section><h2>Results so far</h2><p><a href=\"report.html\">Full report</a> with all charts · \
         <a href=\"manifest.json\">manifest</a> · <a href=\"summary.csv\">table as CSV</a> (when all runs are \
         finished)</p>\n<div id=\"preview\">",
    );
    match preview {
        Ok(preview) => body.push_str(&self::preview(preview)),
        Err(why) => body.push_str(&paragraph(why)),
    }
    body.push_str("</div></section>\n");
    frame(&title, "../../", &links("../../"), &body)
}

/// Progress in words. The page's script has the same ones.
fn state(progress: &Progress) -> String {
    if let Some(problem) = &progress.problem {
        return problem.clone();
    }
    if progress.planned == 0 {
        return "starting".to_owned();
    }
    let of = count(progress.planned, "run");
    format!("{} of {of} finished", progress.finished)
}

/// Chart and table of the finished runs.
pub(super) fn preview(preview: &Preview) -> String {
    let mut out = String::new();
    if let Some([light, _]) = &preview.chart {
        let title = light.split("<title>").nth(1);
        let title = title.and_then(|rest| rest.split("</title>").next());
        _ = writeln!(
            out,
            "<picture><source srcset=\"chart-dark.svg?runs={runs}\" media=\"(prefers-color-scheme: dark)\">\
             <img src=\"chart-light.svg?runs={runs}\" alt=\"{alt}\"></picture>",
            runs = preview.runs(),
            // The title was escaped when it was drawn.
            alt = title.unwrap_or("chart")
        );
    }
    out.push_str(&preview.table);
    out
}

/// Form for a scenario.
pub(super) fn start(folder: &Path, limits: &str, is_read_only: bool) -> String {
    if is_read_only {
        let body = "<p class=\"warning\">Read-only: studies cannot be started, stopped or resumed (<code>--read-only</code>).</p>\n";
        return frame("Start a study", "../", &links("../"), body);
    }
    let mut body = format!(
        "<p>Run a scenario as with <code>tidegate run</code>. Its results go to a new folder in \
         <code>{}</code>; follow them here. Limits: {}.</p>\n\
         <form id=\"start\">\n<p class=\"buttons\"><label>Example <select id=\"example\">",
        escaped(&folder.display().to_string()),
        escaped(limits)
    );
    for builtin in builtin::ALL {
        let (name, title) = (escaped(builtin.name), escaped(builtin.title()));
        _ = write!(body, "<option value=\"{name}\">{name}: {title}</option>");
    }
    body.push_str(
        "</select></label></p>\n<label for=\"text\">Scenario, as <a href=\"../docs/scenario.html\">TOML</a></label>\n\
         <textarea id=\"text\" spellcheck=\"false\" autocomplete=\"off\" autocapitalize=\"off\" rows=\"28\"></textarea>\n\
         <p class=\"buttons\"><button class=\"framed\" id=\"go\">Start</button>\
         <button type=\"button\" class=\"framed\" id=\"check\">Check only</button></p>\n</form>\n\
         <pre id=\"answer\" role=\"status\" tabindex=\"0\" hidden></pre>\n",
    );
    frame("Start a study", "../", &links("../"), &body)
}

/// Form for a network.
pub(super) fn plan() -> String {
    let mut body = String::from(
        "<p>Describe a network in ten lines. <code>tidegate plan</code> computes the marking thresholds that it needs and \
         explains them, or writes the configuration of its switches.</p>\n<form id=\"plan\">\n<p class=\"buttons\">\
         <label>Example <select id=\"example\">",
    );
    for network in builtin::NETWORKS {
        _ = write!(body, "<option>{}</option>", network.name);
    }
    body.push_str("</select></label> <label>Output <select id=\"emit\"><option value=\"\">thresholds with reasons</option>");
    for os in Os::ALL {
        let (name, title) = (os.name(), escaped(os.title()));
        _ = write!(body, "<option value=\"{name}\">configuration for {title}</option>");
    }
    body.push_str(
        "</select></label></p>\n<label for=\"text\">Network, as TOML</label>\n\
         <textarea id=\"text\" spellcheck=\"false\" autocomplete=\"off\" autocapitalize=\"off\" rows=\"14\"></textarea>\n\
         <p class=\"buttons\"><button class=\"framed\" id=\"go\">Plan</button></p>\n</form>\n\
         <pre id=\"answer\" role=\"status\" tabindex=\"0\" hidden></pre>\n",
    );
    frame("Plan a network", "../", &links("../"), &body)
}

/// A page with a message instead of its content.
pub(super) fn message(title: &str, up: &str, text: &str) -> String {
    let body = format!("<p class=\"warning\">{}</p>\n", escaped(text));
    frame(title, up, &links(up), &body)
}

/// A message within a page.
pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", escaped(text))
}
