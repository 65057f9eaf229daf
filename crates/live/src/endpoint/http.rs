//! Requests and responses as text.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Pages;

/// Response to a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// Send these bytes.
    Now(Vec<u8>),
    /// Send the counters in this form, once they are available.
    Counters(Form),
}

/// Form of the counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    kind: &'static str,
    render: fn(&dyn Pages) -> String,
    has_body: bool,
}

impl Form {
    /// The complete response.
    pub(super) fn answer(self, counters: &dyn Pages) -> Vec<u8> {
        let body = (self.render)(counters);
        message("200 OK", self.kind, &body, self.has_body)
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// Response to a client whose counters did not come.
pub(super) fn no_counters() -> Vec<u8> {
    let body = "no counters came\n";
    message("503 Service Unavailable", PLAIN, body, true)
}

fn message(status: &str, kind: &str, body: &str, has_body: bool) -> Vec<u8> {
    let head = format!(
        "HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if has_body { body } else { "" };
    (head + body).into_bytes()
}

/// Response to a request, whose host may have one of these names.
pub(super) fn reply(head: &[u8], names: &[String]) -> Reply {
    let plain = |status, body: &str| Reply::Now(message(status, PLAIN, body, true));
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return plain("400 Bad Request", "this is no HTTP request\n");
    };
    let has_body = match method {
        "GET" => true,
        "HEAD" => false,
        _ => return plain("405 Method Not Allowed", "only GET and HEAD\n"),
    };
    let headers = lines.filter_map(|line| line.split_once(':'));
    let mut hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (None, _) if words.next() != Some("HTTP/1.1") => {}
        (Some((_, host)), None) if is_own(host.trim(), names) => {}
        (Some(_), None) => {
            let body = "this endpoint answers to its address, to localhost, and to names that the \
                        switch was started with: --host NAME\n";
            return plain("421 Misdirected Request", body);
        }
        _ => return plain("400 Bad Request", "there must be one Host\n"),
    }
    let (kind, render): (_, fn(&dyn Pages) -> String) = match path.split('?').next() {
        Some("/counters") => ("application/json", |pages| pages.json()),
        Some("/metrics") => ("text/plain; version=0.0.4; charset=utf-8", |pages| pages.metrics()),
        Some("/") => {
            let body = "the counters: /counters (JSON), /metrics (Prometheus)\n";
            return Reply::Now(message("200 OK", PLAIN, body, has_body));
        }
        _ => return plain("404 Not Found", "there are /counters and /metrics\n"),
    };
    Reply::Counters(Form { kind, render, has_body })
}

/// Whether a host, with or without a port, is this server. Every IP address is accepted, because a
/// client that uses one reached this server by it. A name could be pointed at this machine by its
/// owner, so that a page of theirs could read the counters.
fn is_own(host: &str, names: &[String]) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let (address, port) = rest.split_once(']').unwrap_or((rest, "?"));
        // A link-local address may contain the client's zone.
        let (address, _) = address.split_once('%').unwrap_or((address, ""));
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
        return is_port && address.parse::<Ipv6Addr>().is_ok();
    }
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_known = || {
        let mut known = names.iter().map(String::as_str).chain(["localhost"]);
        known.any(|known| known.eq_ignore_ascii_case(name))
    };
    is_number(port) && (name.parse::<Ipv4Addr>().is_ok() || is_known())
}

fn is_number(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;

    #[test]
    fn hosts_are_addresses_localhost_and_names_that_were_given() {
        let names = ["switch.example".to_owned()];
        let own = [
            "127.0.0.1",
            "10.1.2.3:9755",
            "[::1]",
            "[fe80::1]:80",
            "[fe80::1%2]:80",
            "localhost:9755",
            "LocalHost",
            "Switch.Example:1",
        ];
        for host in own {
            assert!(is_own(host, &names), "{host}");
        }
        let others = [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:9755",
            "localhost:x",
            "localhost:1:2",
            "[::1",
            "[::1]x",
            "[localhost]",
            "other.switch.example",
        ];
        for host in others {
            assert!(!is_own(host, &names), "{host}");
        }
    }

    #[test]
    fn exactly_one_host_is_required_by_http_1_1() {
        let status = |request: &str| match reply(request.as_bytes(), &[]) {
            Reply::Counters(_) => "200".to_owned(),
            Reply::Now(answer) => String::from_utf8(answer[9..12].to_vec()).unwrap(),
        };
        for (request, expected) in [
            ("GET /metrics HTTP/1.0\r\n\r\n", "200"),
            ("GET /metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200"),
            ("GET /metrics HTTP/1.1\r\nhOST:evil.example\r\n\r\n", "421"),
            ("GET /metrics HTTP/1.0\r\nHost: evil.example\r\n\r\n", "421"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "400"),
        ] {
            assert_eq!(status(request), expected, "{request}");
        }
    }

    #[test]
    fn a_head_response_has_the_length_of_the_omitted_body() {
        let answer = |method: &str| {
            let request = format!("{method} /counters HTTP/1.0\r\n\r\n");
            let Reply::Counters(form) = reply(request.as_bytes(), &[]) else {
                panic!("{request}");
            };
            String::from_utf8(form.answer(&Counters::default())).unwrap()
        };
        let (whole, head) = (answer("GET"), answer("HEAD"));
        assert!(head.ends_with("\r\n\r\n"));
        assert!(whole.starts_with(&head) && whole.len() > head.len());
    }
}
