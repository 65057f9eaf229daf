//! Embeds all scenario files of the workspace, by their paths below `scenarios`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = Path::new(&manifest).join("../../scenarios");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut code = String::from("/// All scenario files.\npub const FILES: &[Embedded] = &[\n");
    for file in files {
        let inner = file.strip_prefix(&root).unwrap_or(&file);
        let inner = inner.to_string_lossy().replace('\\', "/");
        let whole = file.canonicalize()?.to_string_lossy().into_owned();
        let id = inner.trim_end_matches(".toml").replace('/', "-");
        let entry =
            format!("Embedded {{ id: {id:?}, path: {inner:?}, text: include_str!({whole:?}) }}");
        // Writing to a string does not fail.
        _ = writeln!(code, "    {entry},");
    }
    code.push_str("];\n");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("scenarios.rs"), code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
