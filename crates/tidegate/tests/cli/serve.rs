//! `tidegate serve`, asked as a browser asks it, and as one should not.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use crate::program::{Room, TINY};

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
        Self::open(room, arguments).0
    }

    /// The same for others than this machine, and the token that they need.
    fn begun_for_others(room: &Room) -> (Self, String) {
        let (server, token) = Self::open(room, &["results", "--listen", "0.0.0.0"]);
        (server, token.unwrap())
    }

    fn open(room: &Room, arguments: &[&str]) -> (Self, Option<String>) {
        let all = [&["serve", "--port", "0", "--quiet"], arguments].concat();
        let mut process =
            room.command(&all).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let (address, query) = line.trim().split_once("/?").unwrap_or((line.trim(), ""));
        let port = address.trim_end_matches('/').rsplit(':').next().unwrap();
        let port = port.parse().unwrap();
        let token = query.strip_prefix("token=").map(str::to_owned);
        (Self { process, port }, token)
    }

    /// Sends a request and returns the whole answer.
    fn asked(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request of the page.
    fn did(&self, path: &str, body: &serde_json::Value) -> String {
        let (port, body) = (self.port, body.to_string());
        let length = body.len();
        self.asked(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    fn got(&self, path: &str) -> String {
        let port = self.port;
        self.asked(&format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"))
    }
}

/// A room with results, and a folder that looks like a playground.
fn room(name: &str) -> Room {
    let room = Room::with_tiny(name);
    let said = room.run("run tiny.toml --quiet --out results/tiny");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    fs::create_dir(room.path().join("playground")).unwrap();
    for (file, text) in
        [("index.html", "<p>play"), ("main.js", "run()"), ("tidegate.wasm", "\0asm")]
    {
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
    let report = server.got("/results/tiny/report.html");
    assert!(
        report.contains("Two schemes on a star") && report.contains("threshold"),
        "{}",
        report.len()
    );
    assert!(report.contains("sandbox allow-scripts"));
    let watched = server.got("/results/tiny/");
    for part in ["4 of 4 runs finished", "chart-light.svg?runs=4", "<table"] {
        assert!(watched.contains(part), "no {part} in {watched}");
    }
    let chart = server.got("/results/tiny/chart-dark.svg?runs=4");
    assert!(chart.contains("image/svg+xml") && chart.contains("<svg"), "{chart}");
    assert!(server.got("/results/tiny/summary.csv").contains("text/csv"));
    let explained = server.got("/explain/tcn.html");
    assert!(
        explained.contains("sojourn") && explained.contains("<code>threshold</code>"),
        "{explained}"
    );
    assert!(server.got("/docs/scenario.html").contains("leaf-spine"));
    let script = server.got("/playground/main.js");
    assert!(script.contains("text/javascript") && script.ends_with("run()"), "{script}");
    assert!(server.got("/playground/").ends_with("<p>play"));
    assert!(server.got("/playground/tidegate.wasm").contains("application/wasm"));
}

/// Results are shown as far as they are; runs that are half-written are not finished.
#[test]
fn unfinished_studies_are_reported() {
    let room = room("serve-half");
    let runs = room.path().join("results/tiny/runs");
    let mut all: Vec<_> = fs::read_dir(&runs).unwrap().map(|run| run.unwrap().path()).collect();
    all.sort();
    fs::remove_dir_all(&all[0]).unwrap();
    let server = Server::begun(&room, &["results/tiny"]);
    assert!(server.got("/").contains("3 of 4"));
    assert!(server.got("/results/tiny/").contains("3 of 4 runs finished"));
    fs::write(all[1].join("run.json"), "{ half").unwrap();
    assert!(server.got("/").contains("2 of 4"));
    assert!(server.got("/results/tiny/").contains("2 of 4 runs finished"));
    for run in &all[2..] {
        fs::write(run.join("run.json"), "{ half").unwrap();
    }
    for page in ["", "report.html"] {
        let none = server.got(&format!("/results/tiny/{page}"));
        assert!(none.contains("none of 4 runs is finished yet"), "{none}");
    }
    fs::remove_dir_all(room.path().join("results")).unwrap();
    assert!(server.got("/").starts_with("HTTP/1.1 200 OK"));
    assert!(server.got("/results/tiny/").contains("cannot read"));
}

#[test]
fn requests_outside_the_served_paths_are_refused() {
    let room = room("serve-strict");
    let server = Server::begun(&room, &["results", "--playground", "playground"]);
    let port = server.port;
    for path in [
        "/secret",
        "/../secret",
        "/playground/../secret",
        "/playground/..%2fsecret",
        "/results/tiny/../../../secret",
        "/results/tiny/runs",
        "/results/tiny/log.jsonl",
        "/results/other/",
        "/results/../",
        "/results/tiny",
        "/explain/nothing.html",
        "//",
    ] {
        let answer = server.got(path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "421"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), "421"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400"),
        (format!("PUT / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"), "405"),
        (format!("POST /start/go HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"), "415"),
        (
            format!(
                "POST /start/go HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://evil.example\r\n\
                 Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
            ),
            "403",
        ),
        (
            format!(
                "GET /results/tiny/summary.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\n\r\n"
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
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
    }
    // Too long, or none at all: no answer, and the next one is served.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _ = stream.write_all(&vec![b'x'; 40_000]);
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    let head = server.asked(&format!("HEAD / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: "), "{head}");
}

/// Results from elsewhere may contain links.
#[test]
fn symbolic_links_out_of_the_folder_are_not_followed() {
    let room = room("serve-links");
    let results = room.path().join("results");
    fs::remove_file(results.join("tiny/summary.csv")).unwrap();
    std::os::unix::fs::symlink(room.path().join("secret"), results.join("tiny/summary.csv"))
        .unwrap();
    std::os::unix::fs::symlink(results.join("tiny"), room.path().join("linked")).unwrap();
    fs::create_dir(room.path().join("linked-folders")).unwrap();
    fs::rename(room.path().join("linked"), room.path().join("linked-folders/linked")).unwrap();
    let server = Server::begun(&room, &["results", "linked-folders/linked"]);
    let answer = server.got("/results/tiny/summary.csv");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("a link out of its folder"), "{answer}");
    assert!(!answer.contains("secret"), "{answer}");
    // One that is named is meant; one that is found is not.
    assert!(server.got("/results/linked/").contains("4 of 4 runs finished"));
    let said = room.run("serve linked-folders --port 0");
    assert_eq!(said.code, Some(2), "{}", said.stdout);
}

/// A resumed study gets its scenario from the server; nothing is written where a link may be.
#[test]
fn resuming_writes_only_to_its_own_folder() {
    let room = room("serve-resume");
    let tiny = room.path().join("results/tiny");
    let mut runs: Vec<_> = fs::read_dir(tiny.join("runs")).unwrap().collect();
    fs::remove_dir_all(runs.remove(0).unwrap().path()).unwrap();
    // As an own text of another study would be named.
    room.write("results/tiny.toml", "no scenario");
    std::os::unix::fs::symlink(room.path().join("secret"), tiny.join("scenario.toml")).unwrap();
    let server = Server::begun(&room, &["results"]);
    let answer = server.did("/results/tiny/resume", &serde_json::json!({}));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!answer.contains("error"), "{answer}");
    while !server.got("/results/tiny/").contains("4 of 4 runs finished") {
        std::thread::yield_now();
    }
    let secret = fs::read_to_string(room.path().join("secret")).unwrap();
    assert_eq!(secret, "secret");
}

/// No text ends the server.
#[test]
fn a_plan_too_deep_for_the_stack_is_refused() {
    let room = room("serve-deep");
    let server = Server::begun(&room, &["results", "--read-only"]);
    let key = ["a"; 79].join(".");
    let text = [format!("{key} = {{ ").repeat(70), "b = 1".to_owned(), " }".repeat(70)];
    let asked = serde_json::json!({ "text": text.concat() });
    let answer = server.did("/plan/answer", &asked);
    assert!(answer.contains("more than 64 deep"), "{answer}");
    // Nor is anything checked where nothing can be started.
    let answer = server.did("/start/check", &serde_json::json!({ "text": TINY }));
    assert!(answer.contains("--read-only"), "{answer}");
    assert!(server.got("/").starts_with("HTTP/1.1 200"));
}

/// Other machines need the token, which the address has that is printed.
#[test]
fn clients_of_other_machines_need_the_token() {
    let room = room("serve-token");
    let (server, token) = Server::begun_for_others(&room);
    assert_eq!(token.len(), 32);
    let port = server.port;
    for path in ["/", "/results/tiny/", "/nowhere", "/?token=0", "/assets/serve.js"] {
        let answer = server.got(path);
        assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
    }
    let welcome = server.got(&format!("/?token={token}"));
    assert!(welcome.starts_with("HTTP/1.1 303"), "{welcome}");
    let cookie = welcome.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let answer = server
        .asked(&format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n"));
    assert!(answer.contains("Two schemes on a star"), "{answer}");
    // The token leads nowhere else: browsers take a backslash for a slash.
    for path in ["/\\evil.example", "/\\/evil.example", "//evil.example"] {
        let answer = server.got(&format!("{path}?token={token}"));
        let location = answer.lines().find_map(|line| line.strip_prefix("Location: "));
        let is_own = |place: &str| place.starts_with("/evil.example");
        assert!(location.is_none_or(is_own), "{path}: {answer}");
    }
}

/// Silent and slow clients do not block others.
#[test]
fn silent_connections_leave_room_for_requests() {
    let room = room("serve-silent");
    let (server, token) = Server::begun_for_others(&room);
    let port = server.port;
    let silent: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            if number % 2 == 0 {
                // It may have been closed already.
                drop(stream.write_all(b"GET / HTTP/1.1\r\nHost: "));
            }
            stream
        })
        .collect();
    for _ in 0..3 {
        let answer = server.asked(&format!(
            "GET / HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        ));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(silent);
}

/// The page of every build, and the simulator behind it.
#[test]
fn every_build_contains_the_playground() {
    let room = room("serve-playground");
    let server = Server::begun(&room, &["results", "--read-only"]);
    let page = server.got("/playground/");
    for part in
        ["<meta name=\"simulator\" content=\"simulate\">", "<a id=\"results\" href=\"../\">"]
    {
        assert!(page.contains(part), "no {part} in {page}");
    }
    for (name, text) in tidegate_web::page::FILES {
        if *name != "index.html" {
            assert!(server.got(&format!("/playground/{name}")).ends_with(text), "{name}");
        }
    }
    assert!(server.got("/playground/report.css").contains("text/css"));
    // Its answer equals the simulator's.
    let lesson = tidegate_web::lessons::LESSONS[6].text;
    let run = serde_json::json!({ "do": "run", "text": lesson, "point": 1 });
    let own = tidegate_web::answer(&run.to_string(), &mut |_| true);
    let answer = server.did("/playground/simulate", &run);
    assert!(answer.contains(&format!("Content-Length: {}\r\n", own.len())), "{answer}");
    assert!(answer.ends_with(&*String::from_utf8_lossy(&own)), "other bytes");
    // Invalid requests do not end it.
    for (request, words) in [
        (serde_json::json!({ "do": "nothing" }), "no such request"),
        (serde_json::json!({ "do": "run", "text": "a = [", "point": 0 }), "problems"),
    ] {
        let answer = server.did("/playground/simulate", &request);
        assert!(answer.contains(words), "{answer}");
    }
    // Pages of others cannot ask, and files for other servers do not pretend that they can.
    let port = server.port;
    let strange = server.asked(&format!(
        "POST /playground/simulate HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://evil.example\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    ));
    assert!(strange.starts_with("HTTP/1.1 403"), "{strange}");
    let said = room.run("serve results --export site");
    assert!(said.stderr.contains("--playground FOLDER"), "{}", said.stderr);
    assert!(!room.path().join("site/playground").exists());
    let index = fs::read_to_string(room.path().join("site/index.html")).unwrap();
    assert!(index.contains("crates/web/build"), "{index}");
}

/// Started studies end with the server and keep their finished runs.
#[test]
fn started_studies_end_with_the_server() {
    let room = Room::with_tiny("serve-end");
    let mut server = Server::begun(&room, &["--jobs", "1"]);
    let port = server.port;
    let send = |path: &str, body: &str| {
        let length = body.len();
        server.asked(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    };
    let text = TINY.replace("flows = 100", "flows = 3000").replace("runs = 2", "runs = 20");
    let body = serde_json::json!({ "text": text }).to_string();
    let answer = send("/start/go", &body);
    assert!(answer.ends_with(r#"{"name":"tiny"}"#), "{answer}");
    assert!(send("/start/go", &body).contains("wait for it, or stop it"));
    let runs = room.path().join("tidegate-results/tiny/runs");
    let finished = || {
        let runs = fs::read_dir(&runs).into_iter().flatten().flatten();
        runs.filter(|run| !run.file_name().to_string_lossy().starts_with('.')).count()
    };
    while finished() == 0 {
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("sh")
        .args(["-c", &format!("kill -TERM {}", server.process.id())])
        .status();
    assert!(kill.unwrap().success());
    assert!(server.process.wait().unwrap().success());
    let kept = finished();
    assert!((1..40).contains(&kept), "{kept} runs");
    // No process writes there any more.
    let said = room.run("run tidegate-results/tiny.toml --quiet --set traffic.0.flows=1 --out tidegate-results/tiny --resume");
    assert!(said.stderr.contains("holds results of another study"), "{}", said.stderr);
}

/// Resuming a folder discards half-written runs, which must not be another program's.
#[test]
fn a_folder_has_one_writer() {
    let room = Room::with_tiny("serve-claim");
    let slow = "run tiny.toml --quiet --jobs 1 --set traffic.0.flows=3000 --out one";
    let is_begun = || room.path().join("one/manifest.json").exists();
    let said = room.interrupted(slow, || {
        let again = is_begun().then(|| room.run(&format!("{slow} --resume")));
        if let Some(again) = &again {
            assert_eq!(again.code, Some(2), "{}", again.stdout);
            assert!(
                again.stderr.contains("another tidegate is writing to one"),
                "{}",
                again.stderr
            );
        }
        again.is_some()
    });
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let said = room.run(&format!("{slow} --resume"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn invalid_server_options_are_refused_at_startup() {
    let room = room("serve-wrong");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (line, words) in [
        (format!("serve results --port {port}"), "--port 0"),
        ("serve playground --port 0".to_owned(), "playground"),
        ("serve nowhere --port 0".to_owned(), "nowhere"),
        ("serve results --playground results".to_owned(), "crates/web/build"),
    ] {
        let said = room.run(&line);
        assert_eq!(said.code, Some(2), "{line}: {}", said.stdout);
        assert!(said.stderr.contains(words), "{line}: {}", said.stderr);
    }
}

#[test]
fn static_files_are_exported_for_other_servers() {
    let room = room("serve-export");
    for (name, text) in [
        ("results/figures/reproduction.json", "{}"),
        ("results/figures/index.html", "<p>all"),
        ("results/figures/tcn-f10/report.html", "<p>one"),
        ("results/figures/secret/report.html", "<p>no figure"),
    ] {
        let path = room.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let said = room.run("serve results --playground playground --export site");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout, "site/index.html\n");
    let read = |name: &str| fs::read_to_string(room.path().join("site").join(name)).unwrap();
    assert!(read("index.html").contains("explain/tcn.html"));
    assert!(!read("index.html").contains("Two schemes on a star"));
    assert!(!read("index.html").contains("start/"));
    assert!(read("assets/serve.css").contains(".framed"));
    assert_eq!(read("playground/index.html"), "<p>play");
    assert!(read("docs/reproduction.html").contains("<table"));
    assert!(read("index.html").contains("galleries/figures/index.html"));
    assert_eq!(read("galleries/figures/index.html"), "<p>all");
    assert_eq!(read("galleries/figures/tcn-f10/report.html"), "<p>one");
    let site = room.path().join("site/galleries/figures");
    assert!(!site.join("secret").exists());
    assert!(read("explain/ecn-sharp.html").contains("pst_target"));
}
