//! `tidegate schema`, `completions` and `man`: files generated from the program itself.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;

use crate::args::Cli;
use crate::output::{Error, ExitStatus, Output};

/// Prints the JSON Schema of scenario files.
pub(crate) fn schema(output: Output) -> Result<ExitStatus, Error> {
    output.print(&tidegate_scenario::schema())?;
    Ok(ExitStatus::Good)
}

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell, output: Output) -> Result<ExitStatus, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
    let script = String::from_utf8_lossy(&script);
    if output.json {
        output.print_json(&json!({ "shell": shell.to_string(), "script": script }))?;
    } else {
        output.print(&script)?;
    }
    Ok(ExitStatus::Good)
}

/// Prints the manual page, or writes all pages into a folder.
pub(crate) fn man(folder: Option<&Path>, output: Output) -> Result<ExitStatus, Error> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = folder else {
        let page = page(&command)?;
        if output.json {
            output.print_json(&json!({ "page": page }))?;
        } else {
            output.print(&page)?;
        }
        return Ok(ExitStatus::Good);
    };
    std::fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let mut files = Vec::new();
    let shown = command.get_subcommands().filter(|part| !part.is_hide_set());
    for part in std::iter::once(&command).chain(shown) {
        let name = part.get_display_name().unwrap_or_else(|| part.get_name());
        let path = folder.join(format!("{name}.1"));
        std::fs::write(&path, page(part)?).map_err(Error::write(&path))?;
        files.push(path.display().to_string());
    }
    if output.json {
        output.print_json(&json!({ "files": files }))?;
    } else {
        output.print(&(files.join("\n") + "\n"))?;
    }
    Ok(ExitStatus::Good)
}

fn page(command: &clap::Command) -> Result<String, Error> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(Error::new)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
