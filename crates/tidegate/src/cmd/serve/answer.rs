//! Answers with the permissions of their pages.

use std::sync::LazyLock;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tidegate_http::{Answer, Body};
use tidegate_report::page;

use super::follow::Follower;

/// Permissions of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// None: an answer that is not a page.
    Closed,
    /// Files and requests of this server.
    Own,
    /// The same, and WebAssembly in workers.
    Playground,
    /// The program's own style, and no script.
    Document,
    /// For pages made from results, which are not trusted: the style and the script of this program
    /// and no others, in an origin of its own.
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

/// Hashes of the style and the script of reports, as policies name them.
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

/// A page that says why a file is missing.
pub(super) fn missing(text: String) -> Answer {
    Answer { status: "404 Not Found", ..page(Policy::Own, text) }
}

pub(super) fn json(value: &Value) -> Answer {
    Answer::new("application/json", value.to_string().into_bytes())
}

pub(super) fn page(policy: Policy, html: String) -> Answer {
    file(".html", policy, html.into_bytes())
}

/// A file, whose name has its media type.
pub(super) fn file(name: &str, policy: Policy, bytes: Vec<u8>) -> Answer {
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
    Answer { policy: policy.text().into(), ..Answer::new(kind, bytes) }
}

pub(super) fn events(mut follower: Follower) -> Answer {
    let next = move || follower.next_event().into_bytes();
    Answer { body: Body::Stream(Box::new(next)), ..Answer::new("text/event-stream", Vec::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn base64_follows_rfc_4648() {
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
    fn no_policy_allows_inline_scripts() {
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
