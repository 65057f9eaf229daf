//! A browser, controlled with its developer tools' protocol over a pipe.
//!
//! The pipe consists of two named pipes, which a shell opens as the descriptors that the browser
//! reads and writes. The tests of a suite share one process; each has cookies, storage and pages of
//! its own.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::suite::CEILING;

/// A browser for one test: its pages close when this is dropped.
#[derive(Debug)]
pub struct Browser {
    process: Rc<Process>,
    /// Context of its pages.
    context: Value,
}

/// A running browser, which ends when this is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    pipe: RefCell<Pipe>,
    folder: PathBuf,
}

thread_local! {
    /// The browser of this thread's tests.
    static PROCESS: RefCell<Option<Rc<Process>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct Pipe {
    input: File,
    output: BufReader<File>,
    count: u64,
    /// Errors and warnings of pages.
    faults: Vec<String>,
}

/// A page of a browser.
#[derive(Debug)]
pub struct Page<'a> {
    browser: &'a Browser,
    session: String,
}

/// Interval between checks of a condition.
const TICK: Duration = Duration::from_millis(50);

static IS_INSTALLED: LazyLock<bool> = LazyLock::new(|| {
    let chromium = Command::new("chromium").arg("--version").output();
    chromium.is_ok_and(|output| output.status.success())
});

/// Requirements of a test besides a browser. `./test` provides them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Need {
    /// The built playground.
    Playground,
    /// The accessibility checker axe-core.
    Axe,
}

impl Need {
    /// Location of the requirement, if it is present.
    pub fn path(self) -> PathBuf {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        target.join(match self {
            Self::Playground => "playground",
            Self::Axe => "axe/package/axe.min.js",
        })
    }
}

/// Reason why a test with these requirements cannot run, if any.
pub fn missing(needs: &[Need]) -> Option<String> {
    let is_needed = |need| needs.contains(&need);
    let reason = if !*IS_INSTALLED {
        "no chromium; on Debian: apt-get install chromium"
    } else if is_needed(Need::Playground) && !Need::Playground.path().join("tidegate.wasm").exists()
    {
        "the playground is not built: crates/web/build"
    } else if is_needed(Need::Axe) && !Need::Axe.path().exists() {
        "no axe-core; ./test takes it from npm"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

impl Process {
    /// Starts a browser with its files in a folder of its own.
    fn start() -> Self {
        let folder = format!("tidegate-browser-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let pipes = ["to", "from"].map(|pipe| folder.join(pipe));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        let mut command = Command::new("bash");
        command
            .args(["-c", "exec chromium \"${@:3}\" 3<\"$1\" 4>\"$2\"", "bash"])
            .args(&pipes)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap();
        // In the order in which the shell opens them.
        let input = File::create(&pipes[0]).unwrap();
        let output = BufReader::new(File::open(&pipes[1]).unwrap());
        let pipe = Pipe { input, output, count: 0, faults: Vec::new() };
        Self { child, pipe: RefCell::new(pipe), folder }
    }

    /// Sends a request and waits for the response.
    fn ask(&self, session: Option<&str>, method: &str, params: &Value) -> Value {
        let mut pipe = self.pipe.borrow_mut();
        pipe.count += 1;
        let id = pipe.count;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let text = format!("{message}\0");
        pipe.input.write_all(text.as_bytes()).unwrap();
        loop {
            let mut text = Vec::new();
            pipe.output.read_until(0, &mut text).unwrap();
            text.pop();
            assert!(!text.is_empty(), "the browser went away during {method}");
            let answer: Value = serde_json::from_slice(&text).unwrap();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            pipe.faults.extend(fault(&answer));
        }
    }
}

impl Browser {
    /// Opens the browser, which is started if no test has done so.
    pub fn start() -> Self {
        let process = PROCESS.with_borrow_mut(|shared| {
            Rc::clone(shared.get_or_insert_with(|| Rc::new(Process::start())))
        });
        let context = process.ask(None, "Target.createBrowserContext", &json!({}));
        process.pipe.borrow_mut().faults.clear();
        Self { context: context["browserContextId"].clone(), process }
    }

    /// Opens a page in a window of this size.
    pub fn open(&self, address: &str, (width, height): (u32, u32)) -> Page<'_> {
        let target = self.process.ask(
            None,
            "Target.createTarget",
            // A page in a window of its own stays visible, even if others are opened later.
            &json!({ "url": "about:blank", "newWindow": true, "browserContextId": self.context }),
        );
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.process.ask(None, "Target.attachToTarget", &attach);
        let page =
            Page { browser: self, session: session["sessionId"].as_str().unwrap().to_owned() };
        for domain in ["Page", "Runtime", "Log"] {
            page.ask(&format!("{domain}.enable"), &json!({}));
        }
        page.resize((width, height));
        page.ask("Page.navigate", &json!({ "url": address }));
        page
    }

    /// Errors and warnings of pages; empty if there are none.
    pub fn faults(&self) -> Vec<String> {
        std::mem::take(&mut self.process.pipe.borrow_mut().faults)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if thread::panicking() {
            // The next test has a new process, because this one may be broken.
            PROCESS.with_borrow_mut(|shared| *shared = None);
        } else {
            let context = json!({ "browserContextId": self.context });
            self.process.ask(None, "Target.disposeBrowserContext", &context);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The error or warning in an event, if it is one.
fn fault(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
        "Log.entryAdded" if params["entry"]["level"] != "info" => Some(params["entry"].to_string()),
        "Runtime.consoleAPICalled" if params["type"] == "error" || params["type"] == "warning" => {
            Some(params["args"].to_string())
        }
        _ => None,
    }
}

impl Page<'_> {
    fn ask(&self, method: &str, params: &Value) -> Value {
        self.browser.process.ask(Some(&self.session), method, params)
    }

    /// Resizes its window; a narrow one counts as a phone's.
    pub fn resize(&self, (width, height): (u32, u32)) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets the user's preferences for colours (`dark`) and motion (`reduce`).
    pub fn prefer(&self, scheme: &str, motion: &str) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": motion },
        ]);
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Value of an expression, which may be a promise.
    pub fn value(&self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        let answer = self.ask("Runtime.evaluate", &params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Value of an expression as text; empty if it is not a text.
    pub fn text(&self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true, up to the time limit of a test.
    #[expect(
        clippy::disallowed_methods,
        reason = "a browser works in real time and does not announce when it is done"
    )]
    pub fn wait(&self, expression: &str) {
        // A page does not answer before its scripts have run.
        let is_true = format!("document.readyState === 'complete' && ({expression})");
        let begun = Instant::now();
        while begun.elapsed() < CEILING {
            if self.value(&is_true) == true {
                return;
            }
            thread::sleep(TICK);
        }
        let shown = self.text("`${document.body.dataset.state} ${[...document.querySelectorAll('[role=alert], [role=status]')].map(one => one.textContent).join(' ')}`");
        panic!("never true: {expression}; {shown}");
    }

    /// Accessibility violations found by the axe-core script at this path; empty if there are none.
    pub fn barriers(&self, axe: &Path) -> Vec<String> {
        let script = fs::read_to_string(axe).unwrap();
        self.value(&format!("{script};true"));
        let found = self.value(
            "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.nodes.map(node => node.target + ' ' + node.failureSummary).join('; ')}`))",
        );
        serde_json::from_value(found).unwrap()
    }

    /// Saves a screenshot.
    pub fn picture(&self, file: &Path) {
        let answer = self.ask("Page.captureScreenshot", &json!({ "format": "png" }));
        fs::write(file, decoded(answer["data"].as_str().unwrap())).unwrap();
    }
}

/// Bytes of a base 64 text.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').collect();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for four in letters.chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, letter| bits << 6 | u32::from(value(*letter)));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
