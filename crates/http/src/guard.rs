use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::answer::Answer;
use crate::request::Request;

const CROSS_ORIGIN: &str = "cross-origin request refused";

/// Decides which requests a server answers.
///
/// `Host` must name the server: an address, `localhost`, or a name that the user has allowed. The
/// owner of any other name can make it resolve to this machine, so that a page of that name could
/// read the answers (DNS rebinding). HTTP/1.0 may omit `Host` where a server only shows data;
/// browsers never do.
///
/// Other pages may link to some pages of the server, and send no other requests.
#[derive(Debug)]
pub struct Guard {
    /// Address that `Host` must match.
    own: Option<SocketAddr>,
    names: Vec<String>,
    token: Option<String>,
    takes_posts: bool,
    is_linked: fn(&str) -> bool,
}

impl Guard {
    /// For a server that only shows data, perhaps through a forwarded port: `Host` may have any
    /// address and any port, and other pages may link to all pages. `names` are further hosts.
    pub fn open(names: &[String]) -> Self {
        let names = names.to_vec();
        Self { own: None, names, token: None, takes_posts: false, is_linked: |_| true }
    }

    /// For a server at `own` that takes POST requests from its own pages. `Host` must have its port
    /// and, on a loopback address, a loopback address. Other pages may link to HTML pages only.
    pub fn same_origin(own: SocketAddr, names: &[String]) -> Self {
        let names = names.to_vec();
        Self { own: Some(own), names, token: None, takes_posts: true, is_linked: is_page }
    }

    /// Requires a token: in the query as `token`, which sets a cookie, or as `Authorization:
    /// Bearer`.
    #[must_use]
    pub fn with_token(self, token: String) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The answer to a request that is refused.
    pub fn refusal(&self, request: &Request) -> Option<Answer> {
        let refused = |status, why: &str| Some(Answer::text(status, why));
        let host = request.header("host");
        if host.is_none() && (self.own.is_some() || !request.omits_host()) {
            return refused("400 Bad Request", "exactly one Host header is needed");
        }
        // The client must not choose which of several lines counts.
        for name in ["origin", "sec-fetch-site", "content-type", "authorization"] {
            if request.is_repeated(name) {
                return refused("400 Bad Request", &format!("the header {name} is repeated"));
            }
        }
        if host.is_some_and(|host| !self.is_own(host)) {
            return refused(
                "421 Misdirected Request",
                "unknown host name: use the address, localhost, or a name given with --host NAME",
            );
        }
        if let Some(answer) = self.unknown(request) {
            return Some(answer);
        }
        let site = request.header("sec-fetch-site");
        let is_foreign = matches!(site, Some("cross-site" | "same-site"));
        match request.method.as_str() {
            "GET" | "HEAD" if is_foreign && !(self.is_linked)(&request.path) => {
                refused("403 Forbidden", CROSS_ORIGIN)
            }
            "GET" | "HEAD" => None,
            "POST" if self.takes_posts => {
                let own = host.map(|host| format!("http://{host}"));
                let origin = request.header("origin");
                if is_foreign || origin.is_some_and(|origin| Some(origin) != own.as_deref()) {
                    return refused("403 Forbidden", CROSS_ORIGIN);
                }
                // A page of another origin can send JSON only if the server permits it.
                if request.header("content-type") == Some("application/json") {
                    return None;
                }
                refused("415 Unsupported Media Type", "send application/json")
            }
            _ if self.takes_posts => refused("405 Method Not Allowed", "use GET, HEAD or POST"),
            _ => refused("405 Method Not Allowed", "use GET or HEAD"),
        }
    }

    /// Whether a host, with or without a port, names the server.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            // A colon within brackets belongs to an address.
            Some((name, port)) if !port.contains(']') => (name, Some(port)),
            _ => (host, None),
        };
        let is_port = match (self.own, port) {
            (None, port) => port.is_none_or(|port| port.parse::<u16>().is_ok()),
            (Some(own), Some(port)) => port == own.port().to_string(),
            // Browsers omit the default port.
            (Some(own), None) => own.port() == 80,
        };
        let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(bare) => {
                // A link-local address may have the zone of the client.
                let (bare, _) = bare.split_once('%').unwrap_or((bare, ""));
                bare.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
            }
            None => name.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        };
        let is_local = self.own.is_some_and(|own| own.ip().is_loopback());
        let is_known = |known: &str| known.eq_ignore_ascii_case(name);
        let is_name = match address {
            Some(address) => !is_local || address.is_loopback(),
            None => is_known("localhost") || self.names.iter().any(|name| is_known(name)),
        };
        is_port && is_name
    }

    /// The answer to a request without the token, or with a token that becomes a cookie.
    fn unknown(&self, request: &Request) -> Option<Answer> {
        let token = self.token.as_deref()?;
        let is_token = |given: &str| are_equal(given.as_bytes(), token.as_bytes());
        // Cookies do not distinguish ports.
        let cookie = format!("tidegate-{}", self.own.map_or(0, |own| own.port()));
        if request.query("token").any(is_token) {
            let mut answer = Answer::text("303 See Other", "welcome");
            // Lax: pages of results have an opaque origin, and links. Following a link changes
            // nothing.
            answer.header = Some(format!(
                "Location: /{}\r\nSet-Cookie: {cookie}={token}; HttpOnly; SameSite=Lax; Path=/",
                request.path.trim_start_matches('/')
            ));
            return Some(answer);
        }
        let bearer = request.header("authorization");
        let bearer = bearer.and_then(|given| given.strip_prefix("Bearer "));
        let cookies = request.header("cookie").unwrap_or_default();
        let cookies = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let kept = cookies.filter_map(|(key, value)| (key == cookie).then_some(value));
        let is_known = bearer.into_iter().chain(kept).any(is_token);
        let why = "open the address with the token that `tidegate serve` printed at startup";
        (!is_known).then(|| Answer::text("401 Unauthorized", why))
    }
}

/// Compares secrets in a time that depends on their lengths only.
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

fn is_page(path: &str) -> bool {
    path.is_empty() || path.ends_with('/') || path.rsplit('.').next() == Some("html")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        Request::read(&mut text.as_bytes(), 0).unwrap().unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn guard(address: &str, allowed: &[&str]) -> Guard {
        Guard::same_origin(address.parse().unwrap(), &names(allowed))
    }

    #[test]
    fn same_origin_guard_needs_its_port_and_an_address_localhost_or_an_allowed_name() {
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
        // Browsers omit the default port, and only that.
        let usual = guard("127.0.0.1:80", &[]);
        assert!(usual.is_own("localhost") && usual.is_own("localhost:80"));
        assert!(!usual.is_own("localhost:81") && !usual.is_own("lab.example"));
    }

    #[test]
    fn open_guard_accepts_any_address_and_port() {
        let guard = Guard::open(&names(&["switch.example"]));
        for host in [
            "127.0.0.1",
            "10.1.2.3:9755",
            "[::1]",
            "[fe80::1]:80",
            "[fe80::1%2]:80",
            "localhost:9755",
            "LocalHost",
            "Switch.Example:1",
        ] {
            assert!(guard.is_own(host), "{host}");
        }
        for host in [
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
        ] {
            assert!(!guard.is_own(host), "{host}");
        }
    }

    #[test]
    fn http_1_1_needs_exactly_one_host() {
        let guard = Guard::open(&[]);
        for (text, expected) in [
            ("GET /metrics HTTP/1.0\r\n\r\n", "200"),
            ("GET /metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200"),
            ("GET /metrics HTTP/1.1\r\nhOST:evil.example\r\n\r\n", "421"),
            ("GET /metrics HTTP/1.0\r\nHost: evil.example\r\n\r\n", "421"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "400"),
            ("GET / HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        ] {
            let refusal = guard.refusal(&request(text));
            assert_eq!(refusal.map_or("200", |answer| &answer.status[..3]), expected, "{text}");
        }
        // A server that takes POST requests needs it from HTTP/1.0, too.
        let own = self::guard("127.0.0.1:80", &[]);
        for text in ["GET / HTTP/1.0\r\n\r\n", "POST / HTTP/1.0\r\n\r\n"] {
            let refusal = own.refusal(&request(text));
            assert!(refusal.is_some_and(|answer| answer.status.starts_with("400")), "{text}");
        }
    }

    #[test]
    fn remote_clients_need_the_token() {
        let guard = guard("0.0.0.0:80", &[]).with_token("secret".into());
        let status = |path: &str, line: &str| {
            let text = format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.1:80\r\n{line}\r\n");
            guard.refusal(&request(&text)).map(|answer| answer.status)
        };
        let unknown = Some("401 Unauthorized");
        assert_eq!(status("/", ""), unknown);
        assert_eq!(status("/?token=wrong", ""), unknown);
        assert_eq!(status("/?token=secrets", ""), unknown);
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
    fn only_own_pages_may_post() {
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
        for repeated in [
            "Origin: http://evil.example\r\nOrigin: http://evil.example",
            "Origin: http://localhost:80\r\norigin: http://evil.example",
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
        ] {
            assert_eq!(with(repeated), Some("400 Bad Request"), "{repeated}");
        }
        let form = status("Content-Type: text/plain\r\n");
        assert_eq!(form, Some("415 Unsupported Media Type"));
    }

    #[test]
    fn other_pages_may_only_link_to_pages() {
        let status = |guard: &Guard, path: &str| {
            let lines = "Host: localhost:80\r\nSec-Fetch-Site: cross-site";
            let refusal =
                guard.refusal(&request(&format!("GET {path} HTTP/1.1\r\n{lines}\r\n\r\n")));
            refusal.map(|answer| answer.status)
        };
        let (own, open) = (guard("127.0.0.1:80", &[]), Guard::open(&[]));
        for path in ["/", "/results/one/", "/docs/scenario.html"] {
            assert_eq!(status(&own, path), None, "{path}");
        }
        assert_eq!(status(&own, "/results/one/summary.json"), Some("403 Forbidden"));
        assert_eq!(status(&open, "/metrics"), None);
    }
}
