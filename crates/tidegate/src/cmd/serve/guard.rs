//! Who may ask: this machine, or whoever has the token; and no page of somebody else.

use std::net::{IpAddr, SocketAddr};

use sha2::{Digest, Sha256};

use super::answer::Answer;
use super::http::Request;
use crate::output::Error;

pub(super) struct Guard {
    port: u16,
    /// Whether nobody but this machine can connect.
    is_loopback: bool,
    names: Vec<String>,
    token: Option<Token>,
}

/// What whoever comes from elsewhere has to know.
struct Token {
    text: String,
    /// Tokens are compared by their sums: how long that takes says nothing of the token.
    sum: [u8; 32],
}

impl Token {
    fn new() -> Result<Self, Error> {
        let mut bytes = [0; 16];
        let filled = getrandom::fill(&mut bytes);
        filled.map_err(|error| Error::new(format!("no random token: {error}")))?;
        Ok(Self::of(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    fn of(text: String) -> Self {
        let sum = Sha256::digest(&text).into();
        Self { text, sum }
    }

    fn is(&self, other: &str) -> bool {
        self.sum == <[u8; 32]>::from(Sha256::digest(other))
    }
}

impl Guard {
    pub(super) fn new(address: SocketAddr, names: &[String]) -> Result<Self, Error> {
        let is_loopback = address.ip().is_loopback();
        Ok(Self {
            port: address.port(),
            is_loopback,
            names: names.to_vec(),
            token: if is_loopback { None } else { Some(Token::new()?) },
        })
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// What the address has to end with that lets a browser in.
    pub(super) fn invitation(&self) -> String {
        let token = self.token.as_ref();
        token.map_or_else(String::new, |token| format!("?token={}", token.text))
    }

    /// Why a request is not for the site.
    pub(super) fn refusal(&self, request: &Request) -> Option<Answer> {
        let forbidden = |why: &str| Some(Answer::text("403 Forbidden", why));
        let Some(host) = request.header("host") else {
            return Some(Answer::text("400 Bad Request", "there must be one Host"));
        };
        // Which of them would count is for nobody to choose.
        for name in ["origin", "sec-fetch-site", "content-type", "authorization"] {
            if request.is_repeated(name) {
                let why = format!("there must be one {name} at most");
                return Some(Answer::text("400 Bad Request", &why));
            }
        }
        if !self.is_own(host) {
            return forbidden(
                "this answers to its address, to localhost, and to names that it was started with: --host NAME",
            );
        }
        if let Some(refused) = self.unknown(request) {
            return Some(refused);
        }
        let site = request.header("sec-fetch-site");
        let is_strange = matches!(site, Some("cross-site" | "same-site"));
        match request.method.as_str() {
            "GET" | "HEAD" if is_strange && !is_page(&request.path) => {
                forbidden("another page has no business here")
            }
            "GET" | "HEAD" => None,
            "POST" => {
                let own = format!("http://{host}");
                let origin = request.header("origin");
                if is_strange || origin.is_some_and(|origin| origin != own) {
                    return forbidden("another page has no business here");
                }
                // A page of somebody else cannot say so without being asked first whether it may.
                (request.header("content-type") != Some("application/json")).then(|| {
                    Answer::text("415 Unsupported Media Type", "this takes application/json")
                })
            }
            _ => Some(Answer::text("405 Method Not Allowed", "there is only GET, HEAD and POST")),
        }
    }

    /// Another name for this machine may be somebody's who wants to read what is here with a page
    /// of theirs: an address cannot be.
    fn is_own(&self, host: &str) -> bool {
        let port = format!(":{}", self.port);
        let name = match host.strip_suffix(&port) {
            Some(name) => name,
            // Browsers leave the usual port out.
            None if self.port == 80 => host,
            None => return false,
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is_known = |known: &str| known.eq_ignore_ascii_case(name);
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(address) if bare.is_some() == address.is_ipv6() => {
                !self.is_loopback || address.is_loopback()
            }
            Ok(_) => false,
            Err(_) => is_known("localhost") || self.names.iter().any(|name| is_known(name)),
        }
    }

    /// What somebody gets who does not know the token, or who brings it for the first time.
    fn unknown(&self, request: &Request) -> Option<Answer> {
        let token = self.token.as_ref()?;
        // Cookies do not know of ports.
        let name = format!("tidegate-{}", self.port);
        if request.asked("token").any(|given| token.is(given)) {
            let mut answer = Answer::text("303 See Other", "welcome");
            let text = &token.text;
            // Lax, because pages of results are nobody's, and have links: nothing is changed by
            // following one.
            answer.header = Some(format!(
                "Location: /{}\r\nSet-Cookie: {name}={text}; HttpOnly; SameSite=Lax; Path=/",
                request.path.trim_start_matches('/')
            ));
            return Some(answer);
        }
        let bearer = request.header("authorization");
        let bearer = bearer.and_then(|given| given.strip_prefix("Bearer "));
        let cookies = request.header("cookie").unwrap_or_default();
        let cookies = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let kept = cookies.filter_map(|(key, value)| (key == name).then_some(value));
        let is_known = bearer.into_iter().chain(kept).any(|given| token.is(given));
        let why =
            "this needs the address with the token that `tidegate serve` printed when it began";
        (!is_known).then(|| Answer::text("401 Unauthorized", why))
    }
}

/// Links from elsewhere may lead to pages, and to nothing else.
fn is_page(path: &str) -> bool {
    path.is_empty() || path.ends_with('/') || path.rsplit('.').next() == Some("html")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        Request::read(&mut text.as_bytes()).unwrap().unwrap()
    }

    fn guard(address: &str, names: &[&str]) -> Guard {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        Guard::new(address.parse().unwrap(), &names).unwrap()
    }

    #[test]
    fn hosts_are_addresses_localhost_and_names_that_were_given() {
        let (near, far) = (guard("127.0.0.1:7117", &[]), guard("0.0.0.0:7117", &["lab.example"]));
        for (host, is_near, is_far) in [
            ("127.0.0.1:7117", true, true),
            ("localhost:7117", true, true),
            ("LOCALHOST:7117", true, true),
            ("[::1]:7117", true, true),
            ("10.1.2.3:7117", false, true),
            ("lab.example:7117", false, true),
            ("lab.example", false, false),
            ("localhost:81", false, false),
            ("evil.example:7117", false, false),
            ("127.0.0.1.evil.example:7117", false, false),
            ("::1:7117", false, false),
            ("[127.0.0.1]:7117", false, false),
            ("", false, false),
        ] {
            assert_eq!(near.is_own(host), is_near, "{host}");
            assert_eq!(far.is_own(host), is_far, "{host}");
        }
        // Browsers leave out the usual port of the web, and that alone.
        let usual = guard("127.0.0.1:80", &[]);
        assert!(usual.is_own("localhost") && usual.is_own("localhost:80"));
        assert!(!usual.is_own("localhost:81") && !usual.is_own("lab.example"));
    }

    #[test]
    fn elsewhere_one_has_to_know_the_token() {
        let guard = Guard { token: Some(Token::of("secret".into())), ..guard("0.0.0.0:80", &[]) };
        assert_eq!(guard.invitation(), "?token=secret");
        let status = |path: &str, line: &str| {
            let text = format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.1:80\r\n{line}\r\n");
            guard.refusal(&request(&text)).map(|answer| answer.status)
        };
        let unknown = Some("401 Unauthorized");
        assert_eq!(status("/", ""), unknown);
        assert_eq!(status("/?token=wrong", ""), unknown);
        assert_eq!(status("/", "Cookie: tidegate-80=secre\r\n"), unknown);
        assert_eq!(status("/", "Cookie: tidegate-81=secret\r\n"), unknown);
        assert_eq!(status("/", "Cookie: a=b; tidegate-80=secret\r\n"), None);
        assert_eq!(status("/", "Authorization: Bearer secret\r\n"), None);
        let text = "GET //evil.example/?token=secret HTTP/1.1\r\nHost: 10.0.0.1:80\r\n\r\n";
        let answer = guard.refusal(&request(text)).unwrap();
        assert_eq!(answer.status, "303 See Other");
        let header = answer.header.unwrap();
        assert!(header.starts_with("Location: /evil.example/\r\n"), "{header}");
        assert!(header.contains("HttpOnly; SameSite=Lax"), "{header}");
    }

    #[test]
    fn what_changes_something_is_asked_by_our_own_pages_only() {
        let guard = guard("127.0.0.1:80", &[]);
        let status = |lines: &str| {
            let text = format!("POST /start HTTP/1.1\r\nHost: localhost:80\r\n{lines}\r\n");
            guard.refusal(&request(&text)).map(|answer| answer.status)
        };
        let json = "Content-Type: application/json\r\n";
        assert_eq!(status(json), None);
        let with = |line: &str| status(&format!("{json}{line}\r\n"));
        assert_eq!(with("Origin: http://localhost:80"), None);
        for other in [
            "Origin: http://evil.example",
            "Origin: null",
            "Origin: http://localhost:81",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
        ] {
            assert_eq!(with(other), Some("403 Forbidden"), "{other}");
        }
        for twice in [
            "Origin: http://evil.example\r\nOrigin: http://evil.example",
            "Origin: http://localhost:80\r\norigin: http://evil.example",
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
        ] {
            assert_eq!(with(twice), Some("400 Bad Request"), "{twice}");
        }
        let form = status("Content-Type: text/plain\r\n");
        assert_eq!(form, Some("415 Unsupported Media Type"));
    }
}
