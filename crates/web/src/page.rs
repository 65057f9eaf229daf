//! Files of the page, for programs that serve it.

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[
            ("number.js", tidegate_results::format::SCRIPT),
            $(($name, include_str!(concat!("../page/", $name)))),+
        ]
    };
}

/// Names and texts of the page's files. The page also needs `report.css`, the style of reports,
/// and a simulator.
pub const FILES: &[(&str, &str)] = files![
    "draw.js",
    "editor.js",
    "engine.js",
    "format.js",
    "icon.svg",
    "index.html",
    "link.js",
    "main.js",
    "model.js",
    "playground.css",
    "worker.js",
];

/// `index.html` for a server, with a link to the server's first page. Simulations run at the
/// address `simulator`, where [`crate::answer()`] answers, or in the browser without one.
pub fn served(index: &str, simulator: Option<&str>) -> String {
    let index = index.replace(HIDDEN, SHOWN);
    match simulator {
        Some(address) => index.replace(IN_BROWSER, &IN_BROWSER.replace("tidegate.wasm", address)),
        None => index,
    }
}

const HIDDEN: &str = r#"<a id="results" href="../" hidden>"#;
const SHOWN: &str = r#"<a id="results" href="../">"#;
const IN_BROWSER: &str = r#"<meta name="simulator" content="tidegate.wasm">"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_the_page_are_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        let listed: Vec<&str> = FILES[1..].iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed);
    }

    #[test]
    fn served_page_links_its_simulator_and_the_first_page() {
        let (_, index) = FILES.iter().find(|(name, _)| *name == "index.html").unwrap();
        for part in [HIDDEN, IN_BROWSER] {
            assert_eq!(index.matches(part).count(), 1, "{part}");
        }
        let here = served(index, Some("simulate"));
        assert!(here.contains(r#"<meta name="simulator" content="simulate">"#), "{here}");
        assert!(here.contains(SHOWN) && !here.contains(HIDDEN), "{here}");
        let there = served(index, None);
        assert!(there.contains(IN_BROWSER) && there.contains(SHOWN), "{there}");
    }
}
