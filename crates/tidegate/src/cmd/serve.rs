//! `tidegate serve`: results, explanations and the playground in a browser, from this machine to this machine.

mod http;
mod site;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use serde_json::json;

use self::site::Site;
use crate::args::Serve;
use crate::output::{Error, Output, Verdict};

pub(crate) fn serve(arguments: &Serve, output: Output) -> Result<Verdict, Error> {
    let site = Site::new(arguments)?;
    if !site.has_playground() {
        output.warn(site::NO_PLAYGROUND);
    }
    if let Some(folder) = &arguments.export {
        return export(&site, folder, output);
    }
    // Nobody but this machine can connect.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = listener.map_err(|error| {
        Error::new(format!(
            "cannot listen on port {}: {error}\nhint: `--port 0` takes any that is free",
            arguments.port
        ))
    })?;
    let address = listener.local_addr().map_err(Error::new)?;
    let address = format!("http://{address}/");
    if output.json {
        output.print_json(&json!({ "address": address }))?;
    } else {
        output.print(&format!("{address}\n"))?;
    }
    output.say("for a browser on this machine; Ctrl-C ends it");
    http::listen(&listener, site);
    Ok(Verdict::Good)
}

/// Writes what does not change into a folder.
fn export(site: &Site, folder: &Path, output: Output) -> Result<Verdict, Error> {
    let mut written = Vec::new();
    for (path, bytes) in site.fixed() {
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
    Ok(Verdict::Good)
}
