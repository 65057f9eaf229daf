//! Imports between modules: commands do not import each other, and there are no cycles.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Modules = BTreeMap<String, BTreeSet<String>>;

/// The modules of a folder, each with the modules of the same folder that it uses. `above` is the
/// path of the folder's module in its crate.
fn imports(folder: &str, above: &[&str]) -> Modules {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    collect(&root, &mut Vec::new(), &mut files);
    let names: BTreeSet<String> =
        files.iter().filter_map(|(module, _)| module.first().cloned()).collect();
    let exported = exported(&fs::read_to_string(root.join("lib.rs")).unwrap_or_default());
    let mut modules = Modules::new();
    for (module, text) in files {
        let Some(name) = module.first() else {
            continue;
        };
        let own: Vec<String> =
            above.iter().map(|part| String::from(*part)).chain(module.clone()).collect();
        let uses = modules.entry(name.clone()).or_default();
        for path in used(&text, &own) {
            let below = above.iter().copied().eq(path.iter().take(above.len()).map(String::as_str));
            let other = path.get(above.len()).filter(|_| below);
            if let Some(other) = other.map(|other| exported.get(other).unwrap_or(other))
                && names.contains(other)
                && other != name
            {
                uses.insert(other.clone());
            }
        }
    }
    modules
}

/// All files below a folder with the paths of their modules, without tests.
fn collect(folder: &Path, module: &mut Vec<String>, files: &mut Vec<(Vec<String>, String)>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(stem);
            collect(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            let mut own = module.clone();
            if !matches!(stem.as_str(), "mod" | "lib" | "main") {
                own.push(stem);
            }
            let text = fs::read_to_string(&path).unwrap();
            files.push((own, text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()));
        }
    }
}

/// Names that a `lib.rs` re-exports, each with its module.
fn exported(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for rest in text.split("pub use ").skip(1) {
        let (path, _) = rest.split_once(';').unwrap();
        let Some((module, names)) = path.split_once("::") else {
            continue;
        };
        let names = names.rsplit("::").next().unwrap().trim_matches(['{', '}']);
        found.extend(names.split(',').map(|name| (name.trim().to_owned(), module.to_owned())));
    }
    found
}

/// Paths from the crate's root that a text uses by `crate::` or `super::`.
fn used(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n")
        .collect();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if !code[..at].ends_with(['_', ':']) && !code[..at].ends_with(char::is_alphanumeric) {
            found.extend(leaves(&code[at + "crate::".len()..], &[]));
        }
    }
    for (at, _) in code.match_indices("super::") {
        if code[..at].ends_with(':') {
            continue;
        }
        let mut rest = &code[at..];
        let mut base = module.to_vec();
        while let Some(after) = rest.strip_prefix("super::") {
            base.pop();
            rest = after;
        }
        found.extend(leaves(rest, &base));
    }
    found
}

/// The paths that a use tree begins with: `a::b`, `{a, b::c}` or `{self, a}`.
fn leaves(rest: &str, base: &[String]) -> Vec<Vec<String>> {
    let path = |text: &str| {
        let parts = text.split("::").map(|part| {
            part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        });
        base.iter().cloned().chain(parts.take_while(|part| !part.is_empty())).collect()
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![path(rest)];
    };
    let (mut depth, mut begin, mut paths) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                paths.push(path(&group[begin..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                paths.push(path(&group[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    paths
}

/// A cycle of modules, if there is one.
fn cycle(modules: &Modules) -> Option<Vec<String>> {
    fn visit(
        name: &str,
        modules: &Modules,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if let Some(begin) = path.iter().position(|other| other == name) {
            path.drain(..begin);
            return true;
        }
        if done.contains(name) {
            return false;
        }
        path.push(name.to_owned());
        if modules
            .get(name)
            .is_some_and(|uses| uses.iter().any(|other| visit(other, modules, path, done)))
        {
            return true;
        }
        path.pop();
        done.insert(name.to_owned());
        false
    }
    let (mut path, mut done) = (Vec::new(), BTreeSet::new());
    modules.keys().any(|name| visit(name, modules, &mut path, &mut done)).then_some(path)
}

#[test]
fn commands_do_not_import_each_other() {
    for (command, uses) in imports("src/cmd", &["cmd"]) {
        assert!(uses.is_empty(), "cmd/{command} uses {uses:?}: move shared code beside cmd");
    }
}

#[test]
fn modules_have_no_cycles() {
    for name in ["tidegate", "study", "reproduce", "report", "results", "scenario"] {
        let modules = imports(&format!("../{name}/src"), &[]);
        assert!(modules.len() > 5, "{name}: {modules:?}");
        assert_eq!(cycle(&modules), None, "in {name}");
    }
}

#[test]
fn finds_imports_and_cycles() {
    let module = ["a", "b"].map(str::to_owned);
    let found = used("use super::c::D;\nuse crate::{e::{f, g}, h};\n// use crate::i;\n", &module);
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["e", "h", "a::c::D"]);
    let found = exported("pub use a::b::{C, d};\npub use e::F;\n");
    let found: Vec<_> = found.iter().map(|(name, module)| format!("{module}::{name}")).collect();
    assert_eq!(found, ["a::C", "e::F", "a::d"]);
    let modules = |edges: &[(&str, &str)]| {
        let mut modules = Modules::new();
        for (from, to) in edges {
            modules.entry(String::from(*from)).or_default().insert(String::from(*to));
        }
        modules
    };
    assert_eq!(cycle(&modules(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    let found = cycle(&modules(&[("a", "b"), ("b", "c"), ("c", "b")])).unwrap();
    assert_eq!(found, ["b", "c"]);
}
