//! `tidegate live`.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tidegate_live::namespace::Namespace;

use super::{Folder, out, reaches, signal, talk, tidegate};

const FILE: &str = "[switch]\nmarking = { kind = \"tcn\", threshold = \"256us\" }\n\
    [[port]]\ninterface = \"port0\"\nrate = \"100Mbps\"\n\
    [[port]]\ninterface = \"port1\"\nrate = \"100Mbps\"\n";

pub(crate) fn switch_runs_reloads_is_monitored_and_ends() {
    let [left, middle, right] = [(); 3].map(|()| Namespace::new().unwrap());
    for (host, number) in [(&left, 0), (&right, 1)] {
        host.connect("host", &middle, &format!("port{number}")).unwrap();
        host.ip(&format!("address add 10.0.0.{}/24 dev host", number + 1)).unwrap();
    }
    let folder = Folder::new("switch");
    let file = folder.file("switch.toml", FILE);
    let arguments = ["live", "run", &file, "--json", "--listen", "127.0.0.1:4000"];
    let started = middle.run(|| {
        let mut command = tidegate(&arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    });
    let mut switch = Ended(started.unwrap().unwrap());
    let switch = &mut switch.0;
    let mut talk = BufReader::new(switch.stderr.take().unwrap()).lines();
    let mut next = || talk.next().unwrap().unwrap();
    let line = next();
    assert!(line.starts_with("forwarding with tcn: port0 at 100Mbps"), "{line}");
    assert!(line.ends_with("counters at http://127.0.0.1:4000"), "{line}");

    for _ in 0..3 {
        assert!(reaches(&left, &right, "10.0.0.2"));
    }

    assert_confined(switch.id());
    // An interface that is created again is taken up by the switch's new user.
    left.ip("link delete host").unwrap();
    left.connect("host", &middle, "port0").unwrap();
    left.ip("address add 10.0.0.1/24 dev host").unwrap();
    assert!(reaches(&left, &right, "10.0.0.2"));

    let view = middle.run(|| {
        let top = ["live", "top", "--at", "127.0.0.1:4000", "--count", "2", "--every", "50ms"];
        tidegate(&top).output()
    });
    let view = out(&view.unwrap().unwrap());
    assert!(view.contains("2 ports, 2 stations") && view.contains("port1"), "{view}");
    assert!(view.lines().all(|line| line.chars().count() <= 80), "{view}");

    let hang_up = || signal("HUP", switch.id());
    folder.file("switch.toml", &FILE.replace("256us", "1ms"));
    hang_up();
    assert!(next().starts_with("reloaded "));
    folder.file("switch.toml", &FILE.replace("100Mbps", "200Mbps"));
    hang_up();
    let line = next();
    assert!(line.starts_with("warning: reload refused: rate = "), "{line}");
    assert!(line.contains("only `marking` can change"), "{line}");
    folder.file("switch.toml", "[switch\n");
    hang_up();
    assert!(next().starts_with("warning: reload refused: "));

    tidegate_live::ask_to_end(switch.id()).unwrap();
    assert!(switch.wait().unwrap().success());
    let mut text = String::new();
    switch.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let counters: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sent = counters["ports"][1]["sent"]["packets"].as_u64().unwrap();
    assert!(sent >= 3, "{counters}");
}

/// Asserts that no thread of a process started by root is root's or has privileges beyond a
/// switch's needs.
pub(crate) fn assert_confined(process: u32) {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let mut count = 0;
    for thread in threads {
        let thread = thread.unwrap().path();
        let read = |name: &str| std::fs::read_to_string(thread.join(name)).unwrap();
        if !thread.ends_with(process.to_string()) {
            // Only the thread that forwards has a raised priority.
            assert_eq!(nice(&read("stat")), Some("0"), "{}", read("comm"));
        }
        let status = read("status");
        let field = |name: &str| {
            let mut lines = status.lines().filter_map(|line| line.split_once(":\t"));
            lines.find(|(found, _)| *found == name).unwrap().1.trim()
        };
        for name in ["Uid", "Gid"] {
            let mut numbers = field(name).split_whitespace();
            assert!(numbers.all(|number| number != "0"), "{status}");
        }
        assert_eq!(field("Groups"), "", "{status}");
        for name in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(field(name), "0000000000000000", "{name} of {status}");
        }
        assert_eq!((field("NoNewPrivs"), field("Seccomp")), ("1", "2"));
        count += 1;
    }
    assert!(count >= 2, "the switch and its endpoint");
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size"));
    let core: Vec<_> = core.unwrap().split_whitespace().skip(4).take(2).collect();
    assert_eq!(core, ["0", "0"]);
    assert!(!is_dumpable(process));
}

/// Nice value in the form of `/proc/PID/stat`: the 17th field behind the name.
fn nice(stat: &str) -> Option<&str> {
    stat.rsplit_once(") ")?.1.split(' ').nth(16)
}

/// Whether a crash of an unprivileged process may write its memory: if not, its files in `/proc`
/// belong to root.
fn is_dumpable(process: u32) -> bool {
    let found = std::fs::metadata(format!("/proc/{process}/status")).unwrap();
    std::os::unix::fs::MetadataExt::uid(&found) != 0
}

pub(crate) fn privileges_of_a_switch_can_be_chosen() {
    let [left, middle] = [(); 2].map(|()| Namespace::new().unwrap());
    left.connect("host", &middle, "port0").unwrap();
    let folder = Folder::new("chosen");
    let file = FILE.split("[[port]]").take(2).collect::<Vec<_>>().join("[[port]]");
    let file = folder.file("switch.toml", &file);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    let run = |arguments: &[&str]| {
        let mut words = vec!["live", "run", &file, "--for", "100ms"];
        words.extend(arguments);
        middle.run(|| tidegate(&words).output()).unwrap().unwrap()
    };
    let output = run(&["--listen", "127.0.0.1:4000"]);
    assert!(output.status.success(), "{}", talk(&output));
    let said = talk(&output);
    assert!(said.contains("`kill -HUP` cannot reload"), "{said}");
    assert!(!said.contains("no password"), "{said}");
    let output = run(&["--user", "root", "--no-filter", "--core-dumps", "--silent"]);
    assert!(output.status.success(), "{}", talk(&output));
    assert!(!talk(&output).contains("kill -HUP"), "{}", talk(&output));
    let words = ["live", "run", &file, "--silent", "--core-dumps"];
    let started = middle.run(|| tidegate(&words).stderr(Stdio::piped()).spawn());
    let mut switch = Ended(started.unwrap().unwrap());
    let talk_of_switch = BufReader::new(switch.0.stderr.take().unwrap());
    let mut lines = talk_of_switch.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("forwarding")));
    assert!(is_dumpable(switch.0.id()));
    drop(switch);
    let output = run(&["--user", "no-such-user"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("cannot become user no-such-user"), "{}", talk(&output));
    let output = run(&["--listen", "0.0.0.0:4000"]);
    assert!(talk(&output).contains("there is no password"), "{}", talk(&output));
}

/// A full pipe without a reader.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4_096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

/// A pipe has no end as long as it has a writer.
pub(crate) fn pipe_as_a_file_and_unread_messages_do_not_stop_the_switch() {
    let [left, middle, right] = [(); 3].map(|()| Namespace::new().unwrap());
    for (host, number) in [(&left, 0), (&right, 1)] {
        host.connect("host", &middle, &format!("port{number}")).unwrap();
        host.ip(&format!("address add 10.0.0.{}/24 dev host", number + 1)).unwrap();
    }
    let folder = Folder::new("pipes");
    let file = folder.file("switch.toml", FILE);
    let (unread, full) = full_pipe();
    let started = middle.run(|| {
        let mut command = tidegate(&["live", "run", &file, "--json", "--silent"]);
        command.stdout(Stdio::piped()).stderr(full).spawn()
    });
    let mut switch = Ended(started.unwrap().unwrap());
    assert!(reaches(&left, &right, "10.0.0.2"), "nobody reads messages");

    std::fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    signal("HUP", switch.0.id());
    for _ in 0..3 {
        assert!(reaches(&left, &right, "10.0.0.2"), "the file is a pipe");
    }
    tidegate_live::ask_to_end(switch.0.id()).unwrap();
    assert!(switch.0.wait().unwrap().success());
    drop(unread);
}

pub(crate) fn switch_ends_even_if_its_results_are_not_read() {
    let namespace = Namespace::new().unwrap();
    namespace.ip("link add port0 type veth peer port1").unwrap();
    let folder = Folder::new("unread");
    let file = folder.file("switch.toml", FILE);
    let (unread, full) = full_pipe();
    let ended = namespace.run(|| {
        let mut command = tidegate(&["live", "run", &file, "--silent", "--for", "100ms"]);
        let both = full.try_clone().unwrap();
        command.stdout(full).stderr(both).status()
    });
    // Its counters are lost, which the exit status reports.
    assert_eq!(ended.unwrap().unwrap().code(), Some(1));
    drop(unread);
}

/// Runs a program with the documented capabilities.
fn with_two_capabilities() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-all,+net_raw,+net_admin"]);
    command
}

/// Why a program cannot be run in this way, if it cannot.
pub(crate) fn obstacle() -> Option<String> {
    let tried = with_two_capabilities().arg("true").status();
    let works = tried.is_ok_and(|status| status.success());
    (!works).then(|| "there is no setpriv of util-linux".to_owned())
}

/// As in a container.
pub(crate) fn root_that_cannot_change_its_user_runs_without_capabilities() {
    let namespace = Namespace::new().unwrap();
    namespace.ip("link add port0 type veth peer port1").unwrap();
    let folder = Folder::new("container");
    let file = folder.file("switch.toml", FILE);
    let run = |more: &[&str]| {
        let output = namespace.run(|| {
            let mut command = with_two_capabilities();
            command.arg(env!("CARGO_BIN_EXE_tidegate"));
            command.args(["live", "run", &file, "--silent", "--for", "100ms"]);
            command.args(more).env("NO_COLOR", "1").output()
        });
        let output = output.unwrap().unwrap();
        (output.status.code(), talk(&output))
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(0), "{said}");
    let stays = "warning: the switch stays root, without capabilities: ";
    assert!(said.contains(stays), "{said}");
    assert!(said.contains("CAP_SETGID is missing"), "{said}");
    let (code, said) = run(&["--user", "nobody"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("CAP_SETGID is missing"), "{said}");
    let (code, said) = run(&["--user", "root"]);
    assert_eq!((code, said.contains("stays root")), (Some(0), false), "{said}");
}

/// A process that ends with the test, in any way.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn switch_names_the_missing_privilege() {
    let folder = Folder::for_everybody("privilege");
    let file = folder.file("switch.toml", FILE);
    let program = folder.0.join("tidegate");
    // By another process: a file that this one writes may be open in a concurrent test when it is
    // executed.
    let cp = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_tidegate").as_ref(), program.as_path()])
        .status();
    assert!(cp.unwrap().success());
    let nobody = 65_534;
    let namespace = Namespace::new().unwrap();
    let pair = "link add port0 type veth peer port1";
    namespace.ip(pair).unwrap();
    let output = namespace.run(|| {
        Command::new(&program)
            .args(["live", "run", &file, "--for", "1s"])
            .env("NO_COLOR", "1")
            .uid(nobody)
            .output()
    });
    let output = output.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let talk = talk(&output);
    assert!(talk.contains("CAP_NET_RAW is missing"), "{talk}");
    assert!(talk.contains("hint: "), "{talk}");
}
