//! Sweeps: the axes of a scenario, and the points of their cross product.

use super::{range, undo};
use crate::sections::ROOT;
use crate::settings::limits::Limits;
use crate::settings::reader::suggest;
use crate::text::document::{Entry, Node, Step, Table, Value, both_given, now, steps};
use crate::text::problem::{Location, Problem};

/// An axis: a varied key with its values in order.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) key: String,
    pub(crate) loc: Location,
    /// As written, labels included.
    pub(crate) values: Vec<Node>,
    pub(crate) choices: Vec<Choice>,
}

/// One value of an axis: the keys that it sets.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) label: String,
    pub(crate) setting: Coordinate,
    pub(crate) sets: Vec<(Vec<Step>, Node)>,
}

/// Value of an axis at a point of the sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Key that the axis varies, or the name of the axis.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Coordinate {
    /// Key and value.
    pub fn pair(&self) -> (&str, &str) {
        (&self.key, &self.value)
    }
}

/// Keys that no axis can vary: they belong to the scenario, not to a run.
const FIXED: &[&str] = &["baseline", "include", "name", "runs", "sweep", "threads", "title"];

/// Axes of `[sweep]`, in the order of the file.
pub(crate) fn axes(sweep: &Node, limits: &Limits) -> Result<Vec<Axis>, Problem> {
    let Value::Table(table) = &sweep.value else {
        let message = format!("`sweep` is {}, and should be a table", sweep.noun());
        return Err(Problem::new(message)
            .at(&sweep.loc)
            .help("such as [sweep] with \"traffic.0.load\" = [0.3, 0.5]"));
    };
    let mut axes = Vec::new();
    collect(&mut Vec::new(), table, limits, &mut axes)?;
    for (number, axis) in axes.iter().enumerate() {
        if axes[..number].iter().any(|before| before.key == axis.key) {
            return Err(Problem::new(format!("`{}` is swept twice", axis.key)).at(&axis.loc));
        }
    }
    // Axes with the same last word are distinguished by the word before it.
    let lasts: Vec<String> = axes.iter().map(|axis: &Axis| last(&axis.key, 1)).collect();
    for (number, axis) in axes.iter_mut().enumerate() {
        let ambiguous = lasts.iter().filter(|other| **other == lasts[number]).count() > 1;
        name_choices(axis, if ambiguous { 2 } else { 1 })?;
    }
    Ok(axes)
}

/// Refuses axes whose values a later axis overwrites: labels of points would be wrong. `table` is
/// the scenario without the sweep.
pub(crate) fn refuse_undone(axes: &[Axis], table: &Table) -> Result<(), Problem> {
    for (number, later) in axes.iter().enumerate() {
        for axis in &axes[..number] {
            refuse_undone_by(later, axis, table)?;
        }
    }
    Ok(())
}

fn refuse_undone_by(later: &Axis, axis: &Axis, table: &Table) -> Result<(), Problem> {
    let own = axis.choices.iter().flat_map(|choice| &choice.sets);
    for (path, _) in own {
        let mut sets = later.choices.iter().flat_map(|choice| &choice.sets);
        if !sets.any(|(other, node)| undo::undoes(other, node, path, table)) {
            continue;
        }
        let message = format!(
            "the sweep over `{}` sets `{}`, but the later sweep over `{}` overwrites it",
            axis.key,
            undo::names(path).join("."),
            later.key
        );
        let help = format!("put `{}` first, or set the value there too", later.key);
        return Err(Problem::new(message).at(&axis.loc).help(help));
    }
    Ok(())
}

fn collect(
    above: &mut Vec<String>,
    table: &Table,
    limits: &Limits,
    axes: &mut Vec<Axis>,
) -> Result<(), Problem> {
    for entry in table.entries() {
        above.push(entry.key.clone());
        match &entry.node.value {
            // `traffic.0.load` without quotes is three tables.
            Value::Table(below) if !is_range(below) => {
                collect(above, below, limits, axes)?;
            }
            _ => axes.push(axis(&above.join("."), entry, limits)?),
        }
        above.pop();
    }
    Ok(())
}

/// Whether a table is a range. One of these keys with a list is an axis over a setting of that
/// name.
fn is_range(table: &Table) -> bool {
    let scalar = |key| table.get(key).and_then(Node::scalar).is_some();
    ["from", "to", "step"].into_iter().any(scalar)
}

fn axis(key: &str, entry: &Entry, limits: &Limits) -> Result<Axis, Problem> {
    let values = values(key, &entry.node, limits)?;
    if values.is_empty() {
        return Err(Problem::new(format!("the sweep over `{key}` has no values"))
            .at(&entry.node.loc)
            .help("remove the line, or add a value"));
    }
    let path = steps(key, &entry.loc.source, entry.loc.span.clone())?;
    let first = path[0].name.as_str();
    let keys = (ROOT.own_keys)("");
    let known: Vec<&str> =
        keys.iter().map(|key| key.name).filter(|name| !FIXED.contains(name)).collect();
    let is_table = |node: &Node| matches!(node.value, Value::Table(_));
    let is_free = !known.contains(&first) && path.len() == 1 && values.iter().all(is_table);
    if FIXED.contains(&first) {
        return Err(fixed(&path[0]));
    }
    if !known.contains(&first) && !is_free {
        let message = format!("`{key}` cannot be swept: there is no such key");
        return Err(Problem::new(message).at(&entry.loc).help(suggest(first, &known)));
    }
    let choice = |node: &Node| choice(if is_free { &[] } else { &path }, node);
    Ok(Axis {
        key: path.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join("."),
        loc: entry.loc.clone(),
        choices: values.iter().map(choice).collect::<Result<_, _>>()?,
        values,
    })
}

fn fixed(step: &Step) -> Problem {
    Problem::new(format!("`{}` cannot be swept", step.name))
        .at(&step.loc)
        .help("it is the same for all runs of a scenario")
}

/// Values of a list or a range.
fn values(key: &str, node: &Node, limits: &Limits) -> Result<Vec<Node>, Problem> {
    let range = match &node.value {
        Value::List(items) => return Ok(items.clone()),
        Value::Table(range) => range,
        _ => {
            return Err(Problem::new(format!("`{key}` is swept over {}", node.noun()))
                .at(&node.loc)
                .help("a list of values, or { from = 0.1, to = 0.9, step = 0.1 }"));
        }
    };
    let names = ["from", "to", "step"];
    if let Some(other) = range.entries().iter().find(|entry| !names.contains(&entry.key.as_str())) {
        return Err(Problem::new(format!("unknown key `{}` in a range", other.key))
            .at(&other.loc)
            .help(suggest(&other.key, &names)));
    }
    let part = |name: &str| match range.get(name).map(|node| (node.scalar(), node)) {
        Some((Some(text), _)) => Ok(text),
        Some((None, node)) => {
            let message = format!("`{name}` is {}, and should be a value", node.noun());
            Err(Problem::new(message).at(&node.loc))
        }
        None => Err(Problem::new(format!("the range has no `{name}`"))
            .at(&node.loc)
            .help("such as { from = 0.1, to = 0.9, step = 0.1 }")),
    };
    let expanded = range::expand(&part("from")?, &part("to")?, &part("step")?, limits.runs);
    let texts = expanded.map_err(|(name, why)| {
        let loc = range.get(name).map_or(&node.loc, |node| &node.loc);
        Problem::new(why).at(loc)
    })?;
    let is_number =
        |name: &str| matches!(range.get(name), Some(Node { value: Value::Number(_), .. }));
    let numbers = names.into_iter().all(is_number);
    let value = |text: String| Node {
        value: if numbers { Value::Number(text) } else { Value::Text(text) },
        loc: node.loc.clone(),
    };
    Ok(texts.into_iter().map(value).collect())
}

/// Refuses keys of one table under its old and its current name.
fn refuse_two_names(sets: &[(Vec<Step>, Node)]) -> Result<(), Problem> {
    for (at, (later, node)) in sets.iter().enumerate() {
        for (first, _) in &sets[..at] {
            let steps = first.iter().zip(later);
            let mut same = steps.take_while(|(first, later)| now(&first.name) == now(&later.name));
            if let Some((first, later)) = same.find(|(first, later)| first.name != later.name) {
                return Err(both_given(&first.name, &later.name).at(&node.loc));
            }
        }
    }
    Ok(())
}

/// Keys that one value sets. Labels are added later unless it has its own.
fn choice(path: &[Step], node: &Node) -> Result<Choice, Problem> {
    let mut node = node.clone();
    let mut label = String::new();
    if let Value::Table(table) = &mut node.value
        && let Some(entry) = table.remove("label")
    {
        label = match entry.node.scalar() {
            Some(text) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => {
                let message = "a label must be text";
                return Err(Problem::new(message).at(&entry.node.loc));
            }
        };
    }
    let is_empty = matches!(&node.value, Value::Table(table) if table.entries().is_empty());
    let mut sets = Vec::new();
    flatten(path.to_vec(), &node, &mut sets)?;
    refuse_two_names(&sets)?;
    // An empty table is ambiguous: it could mean nothing, or a table with defaults.
    if sets.is_empty() || is_empty {
        return Err(Problem::new("this value of the sweep sets nothing").at(&node.loc));
    }
    for (path, _) in &sets {
        if let Some(first) = path.first()
            && FIXED.contains(&first.name.as_str())
        {
            return Err(fixed(first));
        }
    }
    Ok(Choice { label, setting: Coordinate { key: String::new(), value: String::new() }, sets })
}

/// A table sets each of its keys; a table with a kind, or without keys, is set as a whole.
fn flatten(path: Vec<Step>, node: &Node, sets: &mut Vec<(Vec<Step>, Node)>) -> Result<(), Problem> {
    let below = match &node.value {
        Value::Table(table)
            if path.is_empty() || (table.get("kind").is_none() && !table.entries().is_empty()) =>
        {
            table
        }
        _ => {
            sets.push((path, node.clone()));
            return Ok(());
        }
    };
    for entry in below.entries() {
        let more = steps(&entry.key, &entry.loc.source, entry.loc.span.clone())?;
        let mut path = path.clone();
        path.extend(more);
        flatten(path, &entry.node, sets)?;
    }
    Ok(())
}

/// Last words of a key.
fn last(key: &str, words: usize) -> String {
    let all: Vec<&str> = key.split('.').collect();
    all[all.len().saturating_sub(words)..].join(" ").replace('_', " ")
}

/// Gives each value a short label, and refuses duplicates.
fn name_choices(axis: &mut Axis, words: usize) -> Result<(), Problem> {
    let kinds: Vec<Option<String>> = axis.choices.iter().map(only_kind).collect();
    let is_plain = axis.choices.iter().all(|choice| choice.label.is_empty())
        && axis.choices.iter().all(|choice| is_one_value(&axis.key, choice));
    let mut keys_of_kind = true;
    for number in 0..axis.choices.len() {
        let choice = &axis.choices[number];
        let same =
            |kind: &String| kinds.iter().filter(|other| other.as_ref() == Some(kind)).count();
        let label = match &kinds[number] {
            _ if !choice.label.is_empty() => {
                keys_of_kind = false;
                choice.label.clone()
            }
            Some(kind) if same(kind) == 1 => kind.clone(),
            _ => {
                keys_of_kind = false;
                let sets = choice.sets.iter();
                let texts: Vec<String> =
                    sets.map(|(path, node)| words_of(path, node, words)).collect();
                texts.join(" ")
            }
        };
        let value = match (&choice.sets[..], is_plain) {
            ([(_, node)], true) => plain(node),
            _ => label.clone(),
        };
        axis.choices[number].label = label;
        axis.choices[number].setting.value = value;
    }
    let swept_table =
        axis.choices.iter().any(|choice| matches!(choice.sets[0].1.value, Value::Table(_)));
    let key =
        if keys_of_kind && swept_table { format!("{}.kind", axis.key) } else { axis.key.clone() };
    for number in 0..axis.choices.len() {
        axis.choices[number].setting.key.clone_from(&key);
        let label = axis.choices[number].label.clone();
        if axis.choices[..number].iter().any(|before| before.label == label) {
            return Err(Problem::new(format!(
                "two values of `{}` are both called `{label}`",
                axis.key
            ))
            .at(&axis.choices[number].sets[0].1.loc)
            .help("give them different labels, such as { kind = \"tcn\", label = \"TCN 60us\" }"));
        }
    }
    Ok(())
}

fn is_one_value(key: &str, choice: &Choice) -> bool {
    let [(path, node)] = &choice.sets[..] else {
        return false;
    };
    let names: Vec<&str> = path.iter().map(|step| step.name.as_str()).collect();
    names.join(".") == key && !matches!(node.value, Value::Table(_))
}

/// The kind, if a value sets one table with a kind, or only a kind.
fn only_kind(choice: &Choice) -> Option<String> {
    let [(path, node)] = &choice.sets[..] else {
        return None;
    };
    match &node.value {
        Value::Table(table) => table.text("kind").map(str::to_owned),
        _ => {
            let word = path.last().map(|step| step.name.as_str());
            matches!(word, Some("kind" | "profile")).then(|| plain(node))
        }
    }
}

/// A value in words: `load 0.6`, or `tcn threshold 60us`.
fn words_of(path: &[Step], node: &Node, words: usize) -> String {
    let key = path.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(".");
    match &node.value {
        Value::Table(table) if !table.entries().is_empty() => {
            let entries = table.entries().iter();
            let texts: Vec<String> = entries
                .map(|entry| match entry.key.as_str() {
                    "kind" => plain(&entry.node),
                    key => format!("{} {}", key.replace('_', " "), plain(&entry.node)),
                })
                .collect();
            texts.join(" ")
        }
        _ => match path.last().map(|step| step.name.as_str()) {
            Some("kind" | "profile") => plain(node),
            _ => format!("{} {}", last(&key, words), plain(node)),
        },
    }
}

/// A value without quotes.
fn plain(node: &Node) -> String {
    match &node.value {
        Value::List(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Table(_) => node.toml(),
        _ => node.scalar().unwrap_or_default(),
    }
}

/// Choices of every point, the first axis varying slowest. Without axes there is one point.
pub(crate) fn points<'a>(
    axes: &'a [Axis],
    limits: &Limits,
) -> Result<Vec<Vec<&'a Choice>>, Problem> {
    let mut count: u64 = 1;
    for axis in axes {
        count = count.saturating_mul(axis.choices.len() as u64);
        if count > limits.runs {
            let message = format!("the sweep has more than {} points", limits.runs);
            return Err(Problem::new(message).at(&axis.loc));
        }
    }
    let mut points: Vec<Vec<&Choice>> = vec![Vec::new()];
    for axis in axes {
        let longer = points.iter().flat_map(|point| {
            axis.choices.iter().map(|choice| {
                let mut point = point.clone();
                point.push(choice);
                point
            })
        });
        points = longer.collect();
    }
    Ok(points)
}
