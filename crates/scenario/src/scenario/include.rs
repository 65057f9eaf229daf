//! Reads files and their includes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::Files;
use crate::layout::Section;
use crate::text::document::{Entry, Node, Overlay, Table, Value};
use crate::text::problem::{Location, Problem, Source};

/// Maximum size of a scenario file.
const LONGEST_FILE: u64 = 4 << 20;

/// Maximum depth of includes.
const DEEPEST_INCLUDE: usize = 16;

/// Reads a file, merged over its includes.
pub(super) fn read(files: &dyn Files, path: &Path) -> Result<(Table, Location), Problem> {
    load(files, path, None, &mut Vec::new())
}

fn load(
    files: &dyn Files,
    path: &Path,
    from: Option<&Location>,
    open: &mut Vec<PathBuf>,
) -> Result<(Table, Location), Problem> {
    let at = |problem: Problem| match from {
        Some(loc) => problem.at(loc),
        None => problem,
    };
    let (real, text) = files.read(path, LONGEST_FILE).map_err(|why| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        at(Problem::new(message))
    })?;
    if open.contains(&real) {
        return Err(at(Problem::new(format!("`{}` includes itself", path.display())))
            .help("includes must not form a cycle"));
    }
    if open.len() == DEEPEST_INCLUDE {
        let message = format!("files include each other more than {DEEPEST_INCLUDE} deep");
        return Err(at(Problem::new(message)));
    }
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let source = Arc::new(Source { name: files.title(path), text, folder: Some(folder.clone()) });
    let mut table = Table::parse(&source)?;
    let whole = Location::whole(&source);
    let Some(include) = table.remove("include") else {
        return Ok((table, whole));
    };
    open.push(real);
    let mut below = Table::default();
    for (name, loc) in included(&include)? {
        let (mut table, _) = load(files, &folder.join(name), Some(&loc), open)?;
        // Claims apply only to their own file.
        table.remove("figure");
        lay_over(&mut below, &table);
    }
    open.pop();
    lay_over(&mut below, &table);
    Ok((below, whole))
}

/// Merges a file over the ones before it.
fn lay_over(below: &mut Table, above: &Table) {
    for entry in above.entries() {
        below.lay(&mut Vec::new(), entry, Overlay::Merge, &Section::selects);
    }
}

/// The names of included files.
fn included(include: &Entry) -> Result<Vec<(String, Location)>, Problem> {
    let items = match &include.node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&include.node),
    };
    let name = |item: &Node| match &item.value {
        Value::Text(name) => Ok((name.clone(), item.loc.clone())),
        _ => Err(Problem::new(format!(
            "`include` is {}, and should be the name of a file",
            item.noun()
        ))
        .at(&item.loc)),
    };
    items.iter().map(name).collect()
}
