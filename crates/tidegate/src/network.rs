//! Networks by name, and their plans as text.

use std::path::Path;

use tidegate_plan::answer;
use tidegate_plan::dialect::{Configuration, Os, Request};
use tidegate_plan::screen::screen;
use tidegate_plan::{Network, Plan};
use tidegate_units::Setting;

use crate::builtin::NETWORKS;
use crate::output::Error;

/// The plan of a network given as text, or its configuration in a dialect, as the command prints
/// them.
pub(crate) fn answered(text: &str, emit: Option<&str>, width: usize) -> Result<String, Error> {
    let network = Network::parse("network", text).map_err(Error::new)?;
    let plan = Plan::new(&network);
    let Some(name) = emit else {
        let sheet = answer::sheet(&plan, None);
        return Ok(screen(&sheet, &answer::ON_SCREEN, width, str::to_owned));
    };
    let dialect = Os::read(name).map_err(Error::new)?;
    let emitted = dialect.emit(&plan, &Request::smallest(dialect.default_scheme()));
    let emitted = emitted.map_err(Error::new)?;
    let remarks = remarks(&emitted).join("\n");
    Ok(format!("{}\n{remarks}", emitted.text))
}

/// Whether a built-in network has this name.
pub(crate) fn is_builtin(name: &str) -> bool {
    NETWORKS.iter().any(|network| network.name == name)
}

/// Reads a network. A file takes precedence over a built-in network of the same name.
pub(crate) fn read(name: &str) -> Result<Network, Error> {
    let path = Path::new(name);
    let builtin = NETWORKS.iter().find(|network| network.name == name);
    match builtin {
        Some(network) if !path.exists() => Network::parse(name, network.text).map_err(Error::new),
        _ if !path.exists() => {
            let known: Vec<&str> = NETWORKS.iter().map(|network| network.name).collect();
            let known = known.join(", ");
            Err(Error::new(format!(
                "cannot read {name}: there is no such file\n\
                 hint: give the path of a network file, or a built-in network: {known}"
            )))
        }
        _ => Network::read(path).map_err(Error::new),
    }
}

/// Values that rounding changed, and notes.
pub(crate) fn remarks(configuration: &Configuration) -> Vec<String> {
    let changes = configuration.changes.iter();
    let changes = changes.map(|change| format!("rounded: {}", answer::change(change)));
    let notes = configuration.notes.iter().map(|note| format!("note: {note}"));
    let summary = configuration.summary.iter().cloned();
    changes.chain(summary).chain(notes).collect()
}
