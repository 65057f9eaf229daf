//! A web server for one folder, on loopback, until the process ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

/// Address of a server of a folder.
pub(super) fn begun(folder: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            // Browsers open connections in advance.
            thread::spawn(move || serve(stream, &folder));
        }
    });
    address
}

fn serve(mut stream: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = first.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
    let name = match path.split(['?', '#']).next() {
        Some("") | None => "index.html",
        Some(name) => name,
    };
    let kind = match name.rsplit('.').next() {
        Some("css") => "text/css",
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        _ => "application/wasm",
    };
    let answer = match fs::read(folder.join(name)) {
        Ok(body) if !name.contains("..") => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            [head.into_bytes(), body].concat()
        }
        _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    };
    // The browser may have closed the connection.
    let _ = stream.write_all(&answer);
}
