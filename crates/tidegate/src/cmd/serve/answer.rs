//! Answers, each with what a browser may do with it.

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tidegate_report::page;

use super::follow::Follower;
use super::playground::Simulation;

/// What is sent.
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    pub(super) policy: Policy,
    /// A header more, without the end of its line.
    pub(super) header: Option<String>,
    pub(super) body: Body,
}

pub(super) enum Body {
    Bytes(Vec<u8>),
    /// Goes on for as long as the browser wants it.
    Events(Box<Follower>),
    /// Is there when the simulation is over, unless the browser goes away.
    Simulation(Simulation),
}

/// What a page may load and do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// Nothing.
    Closed,
    /// Its own files; it may ask this server.
    Own,
    /// The same, and WebAssembly in workers.
    Playground,
    /// The style of our own pages, and no script.
    Document,
    /// Made from results, which may be anybody's: our own style and script as they are in this
    /// program, and no other script, whatever it says; cut off from all other pages.
    Results,
}

impl Policy {
    pub(super) fn text(self) -> String {
        let sums = &*INLINE;
        let own = match self {
            Self::Closed => "default-src 'none'".to_owned(),
            Self::Own => "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                          form-action 'self'"
                .to_owned(),
            Self::Playground => {
                "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                 connect-src 'self'; worker-src 'self'; img-src 'self'"
                    .to_owned()
            }
            Self::Document => format!("default-src 'none'; style-src '{}'", sums[0]),
            Self::Results => format!(
                "default-src 'none'; style-src '{}'; script-src '{}'; \
                 sandbox allow-scripts allow-downloads",
                sums[0], sums[1]
            ),
        };
        let form = match self {
            Self::Own => "",
            _ => "; form-action 'none'",
        };
        format!("{own}; base-uri 'none'{form}; frame-ancestors 'none'")
    }
}

/// The sums of the style and the script of reports, as policies name them.
static INLINE: LazyLock<[String; 2]> = LazyLock::new(|| {
    page::inline().map(|text| format!("sha256-{}", base64(&Sha256::digest(text))))
});

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[bits >> (18 - 6 * place) & 63];
            out.push(if place > three.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

impl Answer {
    /// A page that says why something is not there.
    pub(super) fn missing(text: String) -> Self {
        Self { status: "404 Not Found", ..Self::page(Policy::Own, text) }
    }

    fn new(kind: &'static str, policy: Policy, bytes: Vec<u8>) -> Self {
        Self { status: "200 OK", kind, policy, header: None, body: Body::Bytes(bytes) }
    }

    pub(super) fn text(status: &'static str, text: &str) -> Self {
        let bytes = format!("{text}\n").into_bytes();
        let plain = Self::new("text/plain; charset=utf-8", Policy::Closed, bytes);
        Self { status, ..plain }
    }

    pub(super) fn json(value: &Value) -> Self {
        Self::new("application/json", Policy::Closed, value.to_string().into_bytes())
    }

    pub(super) fn page(policy: Policy, html: String) -> Self {
        Self::new("text/html; charset=utf-8", policy, html.into_bytes())
    }

    /// A file, whose kind its name tells.
    pub(super) fn file(name: &str, policy: Policy, bytes: Vec<u8>) -> Self {
        let kind = match name.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("csv") => "text/csv; charset=utf-8",
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("json") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("wasm") => "application/wasm",
            _ => "text/plain; charset=utf-8",
        };
        Self::new(kind, policy, bytes)
    }

    pub(super) fn events(follower: Follower) -> Self {
        let closed = Self::new("text/event-stream", Policy::Closed, Vec::new());
        Self { body: Body::Events(Box::new(follower)), ..closed }
    }

    pub(super) fn simulation(simulation: Simulation) -> Self {
        let closed = Self::new("application/octet-stream", Policy::Closed, Vec::new());
        Self { body: Body::Simulation(simulation), ..closed }
    }

    /// The lines before the body.
    pub(super) fn head(&self) -> String {
        let mut out = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Security-Policy: {}\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n",
            self.status,
            self.kind,
            self.policy.text(),
        );
        // Writing to a string does not fail.
        if let Body::Bytes(bytes) = &self.body {
            _ = write!(out, "Content-Length: {}\r\n", bytes.len());
        }
        if let Some(header) = &self.header {
            _ = write!(out, "{header}\r\n");
        }
        out.push_str("\r\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn sums_are_written_in_base_64() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn no_policy_allows_scripts_that_are_written_into_a_page() {
        for policy in
            [Policy::Closed, Policy::Own, Policy::Playground, Policy::Document, Policy::Results]
        {
            let text = policy.text();
            assert!(text.starts_with("default-src 'none'"), "{text}");
            assert!(!text.contains("unsafe-inline"), "{text}");
            assert!(text.contains("frame-ancestors 'none'"), "{text}");
            assert_eq!(text.contains("sandbox"), policy == Policy::Results);
        }
    }
}
