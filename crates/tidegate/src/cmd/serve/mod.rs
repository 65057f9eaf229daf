//! `tidegate serve`: results in progress, studies, explanations and the playground in a browser.

mod answer;
mod follow;
mod pages;
pub(crate) mod playground;
mod preview;
mod results;
mod site;
mod study;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;
use tidegate_http::{Guard, Limits, Request, Server};

use self::site::Site;
use self::study::Studies;
use crate::args::Serve;
use crate::output::{Error, ExitStatus, Output};

/// Most bytes of a text. JSON may make it twice as long.
const TEXT: usize = 256 << 10;

/// Time of a client to send its request, and to read each part of an answer.
const PATIENCE: Duration = Duration::from_secs(10);

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
            "cannot listen on {}, port {}: {error}\nhint: `--port 0` takes any free port",
            arguments.listen, arguments.port
        ))
    })?;
    let address = listener.local_addr().map_err(Error::new)?;
    let mut guard = Guard::same_origin(address, &arguments.host);
    let token = if address.ip().is_loopback() { None } else { Some(random_token()?) };
    let query = token.as_ref().map_or_else(String::new, |token| format!("?token={token}"));
    let (is_any, is_remote) = (address.ip().is_unspecified(), token.is_some());
    if let Some(token) = token {
        guard = guard.with_token(token);
    }
    let address = format!("http://{address}/{query}");
    if output.json {
        output.print_json(&json!({ "address": address }))?;
    } else {
        output.print(&format!("{address}\n"))?;
    }
    if is_any {
        output.say("use any address of this machine in place of that one");
    }
    if is_remote {
        output.say(
            "anyone with this address can connect; the connection is not encrypted; Ctrl-C stops the server",
        );
    } else {
        output.say("open it in a browser on this machine; Ctrl-C stops the server");
    }
    stop_with_us(site.studies(), output);
    let limits = Limits { body: 2 * TEXT, patience: PATIENCE };
    let answer = |request: &Request, is_gone: &dyn Fn() -> bool| site.answer(request, is_gone);
    Server::new(guard, limits).run(&listener, &AtomicBool::new(false), answer);
    Ok(ExitStatus::Good)
}

/// A token of 128 random bits.
fn random_token() -> Result<String, Error> {
    let mut bytes = [0; 16];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| Error::new(format!("cannot make a random token: {error}")))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Stops all studies on Ctrl-C; finished runs are kept.
fn stop_with_us(studies: &Studies, output: Output) {
    let studies = studies.clone();
    let set = ctrlc::set_handler(move || {
        studies.end();
        std::process::exit(0);
    });
    if let Err(error) = set {
        output.warn(&format!("Ctrl-C will not stop running studies: {error}"));
    }
}

/// Writes the static pages into a folder, for any web server.
fn export(site: &Site, folder: &Path, output: Output) -> Result<ExitStatus, Error> {
    let mut written = Vec::new();
    for (path, bytes) in site.files() {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(Error::write(&file))?;
        }
        fs::write(&file, bytes).map_err(Error::write(&file))?;
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
