//! Examples of names in scenario files.

use tidegate_units::About;

use super::{Kind, Parameter};

/// Example of a name that is not a part.
pub(super) fn named(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Convention => format!("[measure]\nconvention = \"{name}\"\n"),
        Kind::Profile => {
            format!("[transport]\nprofile = \"{name}\"\ncc = {{ kind = \"dctcp\" }}\n")
        }
        Kind::Sizes => format!(
            "[[traffic]]\nkind = \"poisson\"\nload = 0.6\nsizes = \"{name}\"\nflows = 1000\n"
        ),
        _ => String::new(),
    }
}

/// Example of a part: its first parameters, and the tables it needs.
pub(super) fn part(kind: Kind, about: &About, parameters: &[Parameter]) -> String {
    let About { name, needs, .. } = about;
    let table = inline(about, parameters);
    let own = match kind {
        Kind::Buffer => format!("[switch]\nbuffer = {table}\n"),
        Kind::FlowControl => format!("[switch.flow_control]\nkind = \"{name}\"\n"),
        Kind::Scheduler => format!("[switch]\nscheduler = {table}\n"),
        Kind::Scheme => format!("[switch]\nmarking = {table}\n"),
        Kind::Topology => format!("[topology]\nkind = \"{name}\"\n{}", lines(parameters, 3)),
        Kind::Traffic => format!("[[traffic]]\nkind = \"{name}\"\n"),
        Kind::Transport => {
            format!("[transport]\nprofile = \"rfc\"\ncc = {{ kind = \"{name}\" }}\n")
        }
        _ => String::new(),
    };
    format!("{own}{needs}")
}

/// An inline table of a part, with its inner parts and the default of its first parameter.
fn inline(about: &About, parameters: &[Parameter]) -> String {
    let pieces = about.pieces.iter().filter_map(|piece| {
        let name = piece.example?;
        Some(format!(", {} = {{ kind = \"{name}\" }}", piece.key))
    });
    let shown = parameters.iter().filter(|parameter| is_shown(parameter));
    let first = shown.take(1).map(|first| format!(", {} = {}", first.name, value(&first.default)));
    let inside = pieces.chain(first).collect::<String>();
    format!("{{ kind = \"{}\"{inside} }}", about.name)
}

/// Some parameters, one per line.
fn lines(parameters: &[Parameter], count: usize) -> String {
    let shown = parameters.iter().filter(|parameter| is_shown(parameter));
    let lines =
        shown.map(|parameter| format!("{} = {}\n", parameter.name, value(&parameter.default)));
    lines.take(count).collect()
}

fn is_shown(parameter: &Parameter) -> bool {
    !parameter.default.is_empty() && parameter.default != "none"
}

/// A value in TOML: numbers and booleans bare, everything else quoted.
pub(crate) fn value(text: &str) -> String {
    let is_bare = text.parse::<u64>().is_ok() || text == "true" || text == "false";
    match text.split_once(", ") {
        Some(_) => {
            let parts = text.split(", ").map(value).collect::<Vec<_>>();
            format!("[{}]", parts.join(", "))
        }
        None if is_bare => text.to_owned(),
        None => format!("\"{text}\""),
    }
}
