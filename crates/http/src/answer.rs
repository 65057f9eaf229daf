use std::borrow::Cow;
use std::fmt::{self, Debug, Formatter, Write};

/// Policy of an answer that is not a page: it may load and do nothing.
const CLOSED: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// Status code and reason.
    pub status: &'static str,
    /// Media type.
    pub kind: &'static str,
    /// `Content-Security-Policy`. By default, a page of this answer may load and do nothing.
    pub policy: Cow<'static, str>,
    /// Further header lines, separated by `\r\n`.
    pub header: Option<String>,
    /// Content.
    pub body: Body,
}

/// Content of an answer.
pub enum Body {
    /// All of it.
    Bytes(Vec<u8>),
    /// Parts in turn, until the client closes the connection.
    Stream(Box<dyn FnMut() -> Vec<u8>>),
}

impl Debug for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Stream(_) => f.write_str("a stream"),
        }
    }
}

impl Answer {
    /// An answer with status 200.
    pub fn new(kind: &'static str, bytes: Vec<u8>) -> Self {
        let (policy, body) = (CLOSED.into(), Body::Bytes(bytes));
        Self { status: "200 OK", kind, policy, header: None, body }
    }

    /// A line of text, such as an error.
    pub fn text(status: &'static str, text: &str) -> Self {
        let bytes = format!("{text}\n").into_bytes();
        Self { status, ..Self::new("text/plain; charset=utf-8", bytes) }
    }

    /// Status line and header.
    pub(crate) fn head(&self) -> String {
        let mut out = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Security-Policy: {}\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n",
            self.status, self.kind, self.policy,
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
