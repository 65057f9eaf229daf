//! `tidegate serve`, asked as a browser asks it, and as one should not.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use crate::program::Room;

/// A server that ends with the test.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn begun(room: &Room, arguments: &[&str]) -> Self {
        let all = [&["serve", "--port", "0", "--quiet"], arguments].concat();
        let mut process = room
            .command(&all)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("http://127.0.0.1:").unwrap();
        let port = port.strip_suffix('/').unwrap().parse().unwrap();
        Self { process, port }
    }

    /// Sends a request and returns the whole answer.
    fn asked(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn got(&self, path: &str) -> String {
        let port = self.port;
        self.asked(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
        ))
    }
}

/// A room with results, and a folder that looks like a playground.
fn room(name: &str) -> Room {
    let room = Room::with_tiny(name);
    let said = room.run("run tiny.toml --quiet --out results/tiny");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    fs::create_dir(room.path().join("playground")).unwrap();
    for (file, text) in [
        ("index.html", "<p>play"),
        ("main.js", "run()"),
        ("tidegate.wasm", "\0asm"),
    ] {
        room.write(&format!("playground/{file}"), text);
    }
    room.write("secret", "secret");
    room
}

#[test]
fn pages_and_results_are_shown() {
    let room = room("serve-pages");
    let server = Server::begun(&room, &["results", "--playground", "playground"]);
    let index = server.got("/");
    assert!(index.starts_with("HTTP/1.1 200 OK\r\n"), "{index}");
    for part in [
        "Two schemes on a star",
        "4 of 4",
        "playground/index.html",
        "explain/tcn.html",
        "Content-Security-Policy: default-src 'none';",
        "frame-ancestors 'none'",
        "nosniff",
    ] {
        assert!(index.contains(part), "no {part} in {index}");
    }
    let report = server.got("/results/0/");
    assert!(
        report.contains("Two schemes on a star") && report.contains("threshold"),
        "{}",
        report.len()
    );
    assert!(server.got("/results/0/summary.csv").contains("text/csv"));
    let explained = server.got("/explain/tcn.html");
    assert!(
        explained.contains("sojourn") && explained.contains("<code>threshold</code>"),
        "{explained}"
    );
    assert!(server.got("/docs/scenario.html").contains("leaf-spine"));
    let script = server.got("/playground/main.js");
    assert!(
        script.contains("text/javascript") && script.ends_with("run()"),
        "{script}"
    );
    assert!(server.got("/playground/").ends_with("<p>play"));
    assert!(
        server
            .got("/playground/tidegate.wasm")
            .contains("application/wasm")
    );
}

/// Results are shown as far as they are; runs that are half-written are not finished.
#[test]
fn what_is_not_finished_is_said() {
    let room = room("serve-half");
    let runs = room.path().join("results/tiny/runs");
    let mut all: Vec<_> = fs::read_dir(&runs)
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    all.sort();
    fs::remove_dir_all(&all[0]).unwrap();
    let server = Server::begun(&room, &["results/tiny"]);
    assert!(server.got("/").contains("3 of 4"));
    assert!(server.got("/results/0/").starts_with("HTTP/1.1 200 OK"));
    fs::write(all[1].join("run.json"), "{ half").unwrap();
    assert!(server.got("/").contains("2 of 4"));
    assert!(server.got("/results/0/").starts_with("HTTP/1.1 200 OK"));
    for run in &all[2..] {
        fs::write(run.join("run.json"), "{ half").unwrap();
    }
    let none = server.got("/results/0/");
    assert!(none.contains("none of 4 runs is finished yet"), "{none}");
    fs::remove_dir_all(room.path().join("results")).unwrap();
    assert!(server.got("/").starts_with("HTTP/1.1 200 OK"));
    assert!(server.got("/results/0/").starts_with("HTTP/1.1 500"));
}

#[test]
fn nothing_else_is_answered() {
    let room = room("serve-strict");
    let server = Server::begun(&room, &["results", "--playground", "playground"]);
    let port = server.port;
    for path in [
        "/secret",
        "/../secret",
        "/playground/../secret",
        "/playground/..%2fsecret",
        "/results/0/../../../secret",
        "/results/0/runs",
        "/results/0/log.jsonl",
        "/results/7/",
        "/results/-1/",
        "/results/0",
        "/explain/nothing.html",
        "//",
    ] {
        let answer = server.got(path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    for (request, status) in [
        (
            "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
            "403",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            "403",
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400"),
        (
            format!("POST / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
            "405",
        ),
        (
            format!(
                "GET /results/0/summary.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\n\r\n"
            ),
            "403",
        ),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: cross-site\r\n\r\n"
            ),
            "200",
        ),
        ("nonsense\r\n\r\n".to_owned(), "400"),
    ] {
        let answer = server.asked(&request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {answer}"
        );
    }
    // Too long, or none at all: no answer, and the next one is served.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _ = stream.write_all(&vec![b'x'; 40_000]);
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    let head = server.asked(&format!(
        "HEAD / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
    ));
    assert!(
        head.ends_with("\r\n\r\n") && head.contains("Content-Length: "),
        "{head}"
    );
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let room = room("serve-wrong");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (line, words) in [
        (format!("serve results --port {port}"), "--port 0"),
        ("serve playground --port 0".to_owned(), "playground"),
        ("serve nowhere --port 0".to_owned(), "nowhere"),
        (
            "serve results --playground results".to_owned(),
            "crates/web/build",
        ),
    ] {
        let said = room.run(&line);
        assert_eq!(said.code, Some(2), "{line}: {}", said.stdout);
        assert!(said.stderr.contains(words), "{line}: {}", said.stderr);
    }
}

#[test]
fn the_fixed_part_is_written_for_other_servers() {
    let room = room("serve-export");
    let said = room.run("serve results --playground playground --export site");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout, "site/index.html\n");
    let read = |name: &str| fs::read_to_string(room.path().join("site").join(name)).unwrap();
    assert!(read("index.html").contains("explain/tcn.html"));
    assert!(!read("index.html").contains("Two schemes on a star"));
    assert_eq!(read("playground/index.html"), "<p>play");
    assert!(read("docs/reproduction.html").contains("<table"));
    assert!(read("explain/ecn-sharp.html").contains("pst_target"));
}
