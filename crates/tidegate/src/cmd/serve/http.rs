//! As much of HTTP as pages need: one request a connection, `GET` and `HEAD`, from this machine only.
//!
//! Written by hand: what is answered is a table of pages, and everything that a server could do beyond that would
//! have to be forbidden again.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::site::{Resource, Site};

/// The most bytes of a request, connections at a time, and the time that a browser may take.
const LONGEST: usize = 16 << 10;
const CONNECTIONS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers until the process ends.
pub(super) fn listen(listener: &TcpListener, site: Site) {
    let port = listener.local_addr().map_or(0, |address| address.port());
    let (site, open) = (Arc::new(site), Arc::new(AtomicUsize::new(0)));
    for stream in listener.incoming().flatten() {
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (site, open) = (Arc::clone(&site), Arc::clone(&open));
        thread::spawn(move || {
            talk(stream, &site, port);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Reads a request and answers it. A browser that goes away in between is no error.
fn talk(mut stream: TcpStream, site: &Site, port: u16) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let Some(head) = head(&mut stream) else {
        return;
    };
    let request = Request::read(&head);
    let answer = answer(request.as_ref(), site, port);
    let with_body = request.is_none_or(|request| request.method != "HEAD");
    let _ = stream.write_all(&answer.bytes(with_body));
}

/// The head of a request, unless it is too long or never ends.
fn head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(count) if count > 0 && head.len() + count <= LONGEST => {
                head.extend_from_slice(&part[..count]);
            }
            _ => return None,
        }
    }
    String::from_utf8(head).ok()
}

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    method: &'a str,
    path: &'a str,
    host: &'a str,
    /// Where the request comes from, as browsers tell: `none` for an address that somebody typed.
    origin: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn read(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, path) = (first.next()?, first.next()?);
        let path = path.split('?').next()?.strip_prefix('/')?;
        let header = |name: &str| {
            let mut lines = lines.clone().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim())
        };
        Some(Self {
            method,
            path,
            host: header("host")?,
            origin: header("sec-fetch-site"),
        })
    }
}

/// An answer.
struct Answer {
    status: &'static str,
    resource: Resource,
}

fn answer(request: Option<&Request<'_>>, site: &Site, port: u16) -> Answer {
    let refused = |status, why: &str| Answer {
        status,
        resource: Resource::text(why),
    };
    let Some(request) = request else {
        return refused("400 Bad Request", "this is no request that a browser makes");
    };
    // Another name for this machine is somebody else's page that wants to read ours.
    let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if !own.iter().any(|own| own == request.host) {
        let why = format!("this is for {} only", own.join(" and "));
        return refused("403 Forbidden", &why);
    }
    if matches!(request.origin, Some("cross-site" | "same-site")) && !is_page(request.path) {
        return refused("403 Forbidden", "another page has no business here");
    }
    if !matches!(request.method, "GET" | "HEAD") {
        return refused("405 Method Not Allowed", "there is only GET and HEAD");
    }
    match site.resource(request.path) {
        Some(Ok(resource)) => Answer {
            status: "200 OK",
            resource,
        },
        Some(Err(why)) => refused("500 Internal Server Error", &why),
        None => refused("404 Not Found", "there is no such page"),
    }
}

/// Links from elsewhere may lead to pages, and to nothing else.
fn is_page(path: &str) -> bool {
    path.is_empty() || path.ends_with('/') || path.rsplit('.').next() == Some("html")
}

impl Answer {
    fn bytes(&self, with_body: bool) -> Vec<u8> {
        let Resource {
            kind,
            policy,
            bytes,
        } = &self.resource;
        let mut out = format!(
            "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            self.status,
            bytes.len()
        )
        .into_bytes();
        if with_body {
            out.extend_from_slice(bytes);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_from_its_head() {
        let head = "GET /a/b?c HTTP/1.1\r\nhOst: localhost:1\r\nSec-Fetch-Site: none\r\n\r\n";
        let expected = Request {
            method: "GET",
            path: "a/b",
            host: "localhost:1",
            origin: Some("none"),
        };
        assert_eq!(Request::read(head), Some(expected));
        for wrong in [
            "",
            "GET",
            "GET /\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: x\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(Request::read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_head_ends_and_is_not_too_long() {
        assert_eq!(
            head(&mut &b"a\r\n\r\nrest"[..]).as_deref(),
            Some("a\r\n\r\nrest")
        );
        assert_eq!(head(&mut &b"never"[..]), None);
        assert_eq!(head(&mut &vec![b'x'; LONGEST + 1][..]), None);
        assert_eq!(head(&mut &b"\xff\r\n\r\n"[..]), None);
    }
}
