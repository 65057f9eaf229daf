//! Embeds the documentation pages of all parts.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

/// Folders of the pages, below `docs`.
const FOLDERS: [&str; 4] = ["", "flow-control/", "schemes/", "transports/"];

/// Writes the table of all pages by their paths.
fn main() -> io::Result<()> {
    let root = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let docs = Path::new(&root).join("../../docs").canonicalize()?;
    let mut code = String::from("const PAGES: &[(&str, &str)] = &[\n");
    for folder in FOLDERS {
        let mut names = Vec::new();
        for file in fs::read_dir(docs.join(folder))? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        names.sort();
        for name in names {
            let path = format!("{folder}{name}");
            let whole = docs.join(&path).to_string_lossy().into_owned();
            println!("cargo::rerun-if-changed={whole}");
            // Writing to a string does not fail.
            _ = writeln!(code, "    ({path:?}, include_str!({whole:?})),");
        }
    }
    code.push_str("];\n");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("pages.rs"), code)
}
