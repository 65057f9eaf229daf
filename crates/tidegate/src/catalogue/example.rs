//! A part of a scenario file that uses a name.

use super::{Kind, Parameter};

/// The example of a name.
pub(super) fn example(kind: Kind, name: &str, parameters: &[Parameter]) -> String {
    let table = inline(name, parameters);
    match kind {
        Kind::Buffer if name == "pfc" => {
            format!("[switch]\nbuffer = {table}\n\n[nic]\nbuffer = {{ kind = \"unlimited\" }}\n")
        }
        Kind::Buffer => format!("[switch]\nbuffer = {table}\n"),
        Kind::Convention => format!("[measure]\nconvention = \"{name}\"\n"),
        Kind::Profile => {
            format!("[transport]\nprofile = \"{name}\"\nrule = {{ kind = \"dctcp\" }}\n")
        }
        Kind::Dialect | Kind::Figure | Kind::Scenario => String::new(),
        Kind::Scheduler => format!("[switch]\nscheduler = {table}\n"),
        Kind::Scheme => {
            let marking = match name {
                "or" => {
                    "{ kind = \"or\", first = { kind = \"port-red\" }, second = { kind = \"tcn\" } }"
                }
                _ => &table,
            };
            format!(
                "[switch]\nmarking = {marking}\n{}",
                what_a_scheme_needs(name)
            )
        }
        Kind::Sizes => format!(
            "[[traffic]]\nkind = \"poisson\"\nload = 0.6\nsizes = \"{name}\"\nflows = 1000\n"
        ),
        Kind::Topology => format!("[topology]\nkind = \"{name}\"\n{}", lines(parameters, 3)),
        Kind::Traffic if name == "list" => {
            "[[traffic]]\nkind = \"list\"\nfile = \"flows.csv\"\n".to_owned()
        }
        Kind::Traffic if name == "probe" => {
            "[[probe]]\nfrom = \"0\"\nto = \"1\"\nevery = \"100us\"\n".to_owned()
        }
        Kind::Traffic => format!("[[traffic]]\nkind = \"{name}\"\n{}", traffic(name)),
        Kind::Transport if name == "dcqcn" => "[transport]\nkind = \"dcqcn\"\n".to_owned(),
        Kind::Transport if name == "pias" => {
            "[transport]\ntagging = { rule = \"offset\", thresholds = [\"100KB\"] }\n\n\
             [switch]\nscheduler = { kind = \"sp-dwrr\", strict = 1, quanta = [1500, 1500] }\n"
                .to_owned()
        }
        Kind::Transport => {
            format!("[transport]\nprofile = \"rfc\"\nrule = {{ kind = \"{name}\" }}\n")
        }
    }
}

/// What has to stand beside a scheme for it to work.
fn what_a_scheme_needs(name: &str) -> &'static str {
    match name {
        "bcc" | "pool-red" => "buffer = { kind = \"dynamic-threshold\" }\n",
        "diff-ecn" | "per-flow-tcn" => {
            "scheduler = { kind = \"sp-dwrr\", strict = 1, quanta = [1500, 1500, 1500, 1500, 1500, 1500, 1500] }\n"
        }
        "mq-ecn" => "scheduler = { kind = \"dwrr\", quanta = [1500, 1500, 1500, 1500] }\n",
        _ => "",
    }
}

fn traffic(name: &str) -> &'static str {
    match name {
        "burst" => "start = \"1ms\"\nfan_in = 8\n",
        "long-lived" => "from = \"0\"\nto = \"1\"\n\n[measure]\nend = \"10ms\"\n",
        _ => "load = 0.6\nflows = 1000\n",
    }
}

/// A table in braces with the first of its parameters at its default.
fn inline(name: &str, parameters: &[Parameter]) -> String {
    let first = parameters.iter().find(|parameter| is_shown(parameter));
    let field = first.map(|first| format!(", {} = {}", first.name, value(&first.default)));
    format!("{{ kind = \"{name}\"{} }}", field.unwrap_or_default())
}

/// Some parameters, each on its line.
fn lines(parameters: &[Parameter], count: usize) -> String {
    let shown = parameters.iter().filter(|parameter| is_shown(parameter));
    let lines =
        shown.map(|parameter| format!("{} = {}\n", parameter.name, value(&parameter.default)));
    lines.take(count).collect()
}

fn is_shown(parameter: &Parameter) -> bool {
    !parameter.default.is_empty() && parameter.default != "none"
}

/// A value as it stands in a file: numbers and switches as they are, all else as text.
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
