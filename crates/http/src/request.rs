use std::io::{self, Read};

use crate::answer::Answer;

/// Longest head in bytes, and most lines of a head.
const HEAD: usize = 16 << 10;
const LINES: usize = 64;

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method, such as `GET`.
    pub method: String,
    /// Path without its leading slash and without the query.
    pub path: String,
    /// Query without the question mark.
    pub query: String,
    /// Content.
    pub body: Vec<u8>,
    is_http_1_0: bool,
    headers: Vec<(String, String)>,
}

/// Why a request is invalid: status and reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused(&'static str, &'static str);

impl Refused {
    pub(crate) fn answer(&self) -> Answer {
        Answer::text(self.0, self.1)
    }
}

const INVALID: Refused = Refused("400 Bad Request", "invalid HTTP request");

impl Request {
    /// Reads a request whose body has at most `most` bytes. An error means that the stream failed,
    /// or ended before the request did.
    pub(crate) fn read(stream: &mut impl Read, most: usize) -> io::Result<Result<Self, Refused>> {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        let (mut request, length) = loop {
            let count = stream.read(&mut part)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&part[..count]);
            match Self::head(&bytes) {
                Err(refused) => return Ok(Err(refused)),
                Ok(Some(read)) => break read,
                Ok(None) if bytes.len() > HEAD => {
                    let why = "the head is too long";
                    return Ok(Err(Refused("431 Request Header Fields Too Large", why)));
                }
                Ok(None) => {}
            }
        };
        let whole = match request.length(most) {
            Err(refused) => return Ok(Err(refused)),
            Ok(whole) => whole,
        };
        request.body = bytes.split_off(length);
        request.body.truncate(whole);
        let read = request.body.len();
        request.body.resize(whole, 0);
        stream.read_exact(&mut request.body[read..])?;
        Ok(Ok(request))
    }

    /// Parses a head. Returns the request without its body and the length of the head, or nothing
    /// if the head is incomplete.
    fn head(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refused> {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut head = httparse::Request::new(&mut lines);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= HEAD => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            _ => return Err(INVALID),
        };
        let target = head.path.unwrap_or_default();
        // Addresses have no other characters, and a browser takes a backslash for a slash.
        if !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(INVALID);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(path) = path.strip_prefix('/') else {
            return Err(INVALID);
        };
        let mut headers = Vec::new();
        for line in head.headers {
            let Ok(value) = std::str::from_utf8(line.value) else {
                return Err(INVALID);
            };
            headers.push((line.name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let request = Self {
            method: head.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            body: Vec::new(),
            is_http_1_0: head.version == Some(0),
            headers,
        };
        Ok(Some((request, length)))
    }

    /// Length of the body.
    fn length(&self, most: usize) -> Result<usize, Refused> {
        if self.headers("transfer-encoding").next().is_some() {
            let why = "Content-Length is missing";
            return Err(Refused("411 Length Required", why));
        }
        let mut lengths = self.headers("content-length");
        match (lengths.next().map(str::parse::<usize>), lengths.next()) {
            (None, _) => Ok(0),
            (Some(Ok(length)), None) if length <= most => Ok(length),
            (Some(Ok(_)), None) => {
                Err(Refused("413 Content Too Large", "the request body is too long"))
            }
            _ => Err(INVALID),
        }
    }

    fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.headers.iter();
        lines.filter_map(move |(key, value)| (key == name).then_some(value.as_str()))
    }

    /// Whether a header has several lines.
    pub(crate) fn is_repeated(&self, name: &str) -> bool {
        self.headers(name).nth(1).is_some()
    }

    /// Value of a header that has exactly one line.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers(name);
        all.next().filter(|_| all.next().is_none())
    }

    /// Whether the request has no `Host`, and need not have one, as in HTTP/1.0.
    pub(crate) fn omits_host(&self) -> bool {
        self.is_http_1_0 && self.headers("host").next().is_none()
    }

    /// Values of a name in the query.
    pub fn query(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter_map(move |(key, value)| (key == name).then_some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: usize = 1 << 19;

    fn read(text: &[u8]) -> Option<Result<Request, Refused>> {
        Request::read(&mut &*text, BODY).ok()
    }

    #[test]
    fn valid_head_is_parsed_and_others_are_refused() {
        let text =
            "GET /a/b?c=d&c=e&f=g HTTP/1.1\r\nhOst: localhost:1\r\nCookie: a\r\nCookie: b\r\n\r\n";
        let request = read(text.as_bytes()).unwrap().unwrap();
        assert_eq!(request.method, "GET");
        assert_eq!(request.path, "a/b");
        assert_eq!(request.query("c").collect::<Vec<_>>(), ["d", "e"]);
        assert_eq!(request.header("host"), Some("localhost:1"));
        assert_eq!(request.header("cookie"), None, "repeated");
        for wrong in [
            "GET\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /\\evil.example HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /?a=\\ HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/9\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        ] {
            assert_eq!(read(wrong.as_bytes()), Some(Err(INVALID)), "{wrong:?}");
        }
        assert_eq!(read(b""), None);
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost"), None);
    }

    #[test]
    fn body_has_its_declared_length_up_to_the_limit() {
        let body = |text: &str| read(text.as_bytes()).map(|read| read.map(|request| request.body));
        let head = "POST / HTTP/1.1\r\nContent-Length: ";
        assert_eq!(body(&format!("{head}3\r\n\r\nabcd")), Some(Ok(b"abc".to_vec())));
        assert_eq!(body(&format!("{head}3\r\n\r\nab")), None);
        assert_eq!(body("POST / HTTP/1.1\r\n\r\nabc"), Some(Ok(Vec::new())));
        let status = |text: &str| body(text).unwrap().unwrap_err().0;
        assert_eq!(status(&format!("{head}{}\r\n\r\n", BODY + 1)), "413 Content Too Large");
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(status(chunked), "411 Length Required");
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD));
        assert_eq!(status(&long), "431 Request Header Fields Too Large");
    }
}
