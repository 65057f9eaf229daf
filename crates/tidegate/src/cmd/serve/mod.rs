//! `tidegate serve`: results as they come, runs that are started, explanations and the playground
//! in a browser.

mod answer;
mod connections;
mod follow;
mod glance;
mod guard;
mod http;
mod pages;
pub(crate) mod playground;
mod shelf;
mod site;
mod study;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use serde_json::json;

use self::guard::Guard;
use self::site::Site;
use self::study::Studies;
use crate::args::Serve;
use crate::output::{Error, ExitStatus, Output};

pub(crate) fn serve(arguments: &Serve, output: Output) -> Result<ExitStatus, Error> {
    let site = Site::new(arguments)?;
    if let Some(folder) = &arguments.export {
        if !site.has_playground() {
            output.warn(playground::NONE);
        }
        return export(&site, folder, output);
    }
    let listener = TcpListener::bind(SocketAddr::new(arguments.listen, arguments.port));
    let listener = listener.map_err(|error| {
        Error::new(format!(
            "cannot listen on {}, port {}: {error}\nhint: `--port 0` takes any port that is free",
            arguments.listen, arguments.port
        ))
    })?;
    let address = listener.local_addr().map_err(Error::new)?;
    let guard = Guard::new(address, &arguments.host)?;
    let is_any = address.ip().is_unspecified();
    let address = format!("http://{address}/{}", guard.invitation());
    if output.json {
        output.print_json(&json!({ "address": address }))?;
    } else {
        output.print(&format!("{address}\n"))?;
    }
    if is_any {
        output.say("in its place, any address of this machine will do");
    }
    if guard.has_token() {
        output.say(
            "for whoever has this address: what it is asked and answers can be read on the way; Ctrl-C ends it",
        );
    } else {
        output.say("for a browser on this machine; Ctrl-C ends it");
    }
    stop_with_us(site.studies(), output);
    http::listen(&listener, &site, &guard);
    Ok(ExitStatus::Good)
}

/// What was started here ends with us, and keeps what is finished.
fn stop_with_us(studies: &Studies, output: Output) {
    let studies = studies.clone();
    let set = ctrlc::set_handler(move || {
        studies.end();
        std::process::exit(0);
    });
    if let Err(error) = set {
        output.warn(&format!("Ctrl-C will not stop what is started: {error}"));
    }
}

/// Writes what any web server can show into a folder.
fn export(site: &Site, folder: &Path, output: Output) -> Result<ExitStatus, Error> {
    let mut written = Vec::new();
    for (path, bytes) in site.files() {
        let file = folder.join(path);
        let cannot = |error| Error::new(format!("cannot write {}: {error}", file.display()));
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(cannot)?;
        }
        fs::write(&file, bytes).map_err(cannot)?;
        written.push(file.display().to_string());
    }
    if output.json {
        output.print_json(&json!({ "files": written }))?;
    } else {
        let index = folder.join("index.html");
        output.print(&format!("{}\n", index.display()))?;
    }
    Ok(ExitStatus::Good)
}
