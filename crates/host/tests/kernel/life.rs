//! From load to unload: the kernel's state in between, and the remains.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde_json::Value;
use tidegate_harness::suite;
use tidegate_host::algorithm::Algorithm;
use tidegate_host::{kernel, machine};

use super::bed::{Bed, SERVER, Setting, TIMEOUT};
use super::program::{Loaded, command, pins, refused, run, status, succeed};
use super::traces::Watching;

/// Everything of ours that the kernel holds: programs, maps and links of congestion controls.
fn held() -> BTreeSet<String> {
    use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter};
    let programs = ProgInfoIter::default()
        .filter(|program| program.ty == libbpf_rs::ProgramType::StructOps)
        .map(|program| format!("program {} {}", program.id, program.name.display()));
    let maps = MapInfoIter::default()
        .filter(|map| {
            let name = map.name.to_string_lossy();
            name.starts_with("tg_")
                || ["counters", "control", "events", ".rodata.params"].contains(&&*name)
        })
        .map(|map| format!("map {} {}", map.id, map.name.display()));
    let links = LinkInfoIter::default()
        .filter(|link| matches!(link.info, LinkTypeInfo::StructOps(_)))
        .map(|link| format!("link {}", link.id));
    programs.chain(maps).chain(links).collect()
}

/// Nothing is held any more than before, at the latest when the kernel has cleaned up.
fn check_nothing_is_left(before: &BTreeSet<String>) {
    let more = || held().difference(before).cloned().collect::<Vec<_>>();
    // It frees programs and maps some time after the last use.
    suite::wait_until(|| more().is_empty());
    assert_eq!(more(), Vec::<String>::new());
    let available = machine::available();
    assert!(!available.iter().any(|name| name.starts_with("tg_")), "{available:?}");
}

pub(crate) fn a_dry_run_changes_nothing() {
    let before = held();
    let said = succeed(&["load", "--dry-run", "tg_dctcp", "--set", "gain=1/8"]);
    assert!(said.starts_with("would load tg_dctcp, pinned at "), "{said}");
    assert!(said.contains("gain=1/8"), "{said}");
    check_nothing_is_left(&before);
    let loaded = Loaded::new("tg_dctcp", &[]);
    let said = succeed(&["unload", "--dry-run"]);
    assert_eq!(said, "would unload tg_dctcp\n");
    assert_eq!(loaded.status()["connections"], 0);
    drop(loaded);
    check_nothing_is_left(&before);
}

pub(crate) fn parameters_are_read_back_from_the_kernel() {
    let before = held();
    let names = Algorithm::NAMES;
    let mut arguments = vec!["load", "--json", "--quiet"];
    arguments.extend(names);
    let settings = [
        "tg_dctcp.gain=1/4",
        "tg_dctcp.loss=alpha",
        "tg_ecn_star.regrowth=frozen",
        "tg_odctcp_rcv.echo=odctcp-inverted",
        "tg_odctcp_snd.initial_alpha=1/2",
    ];
    for setting in &settings {
        arguments.extend(["--set", setting]);
    }
    let loaded: Value = serde_json::from_str(&succeed(&arguments)).unwrap();
    assert_eq!(loaded.as_array().unwrap().len(), names.len());
    for setting in settings {
        let (name, rest) = setting.split_once('.').unwrap();
        let (field, value) = rest.split_once('=').unwrap();
        let status = status(name).unwrap();
        assert_eq!(status["parameters"][field], value, "{status}");
        let pin = pins().join(name);
        assert_eq!(status["holder"]["pin"], pin.to_str().unwrap());
    }
    let said = succeed(&["unload"]);
    assert_eq!(said.lines().count(), names.len(), "{said}");
    check_nothing_is_left(&before);
}

pub(crate) fn in_the_foreground_it_goes_with_the_process() {
    let before = held();
    let mut command = command(&["load", "tg_odctcp_rcv", "--foreground"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("loaded tg_odctcp_rcv:"), "{first}");
    let holder = status("tg_odctcp_rcv").unwrap()["holder"].clone();
    assert_eq!(holder["processes"][0], child.id());
    let error = refused(super::program::command(&["unload", "tg_odctcp_rcv"]));
    let holder = format!("tg_odctcp_rcv is loaded by process {}", child.id());
    assert_eq!(error, format!("error: {holder}, and is removed when that ends\n"));
    tidegate_live::ask_to_end(child.id()).unwrap();
    assert!(child.wait().unwrap().success());
    check_nothing_is_left(&before);
}

pub(crate) fn a_load_that_is_killed_leaves_nothing_or_is_cleaned_up() {
    let before = held();
    // At different moments, from before it begins until after it is done.
    for round in 0..12_u64 {
        let mut command = command(&["load", "tg_odctcp_snd", "--quiet"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::park_timeout(Duration::from_millis(15 * round));
        let _ = child.kill();
        child.wait().unwrap();
        let available = machine::available();
        if available.iter().any(|name| name == "tg_odctcp_snd") {
            succeed(&["unload", "--quiet"]);
        } else {
            // One name of two may remain, and the next load removes it.
            succeed(&["load", "tg_odctcp_snd", "--quiet"]);
            succeed(&["unload", "--quiet"]);
        }
        check_nothing_is_left(&before);
    }
    // Half of a load, as a kill at the worst moment leaves it.
    let loaded = Loaded::new("tg_odctcp_snd", &[]);
    std::fs::remove_file(pins().join("tg_odctcp_snd")).unwrap();
    let output = run(&["status"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("warning: a load of tg_odctcp_snd was killed half-way"), "{said}");
    succeed(&["load", "tg_odctcp_snd"]);
    succeed(&["unload"]);
    drop(loaded);
    check_nothing_is_left(&before);
    // The command that `status` advises removes it, also with `--quiet`, named or not.
    for name in [&["tg_odctcp_snd"][..], &[]] {
        let loaded = Loaded::new("tg_odctcp_snd", &[]);
        std::fs::remove_file(pins().join("tg_odctcp_snd")).unwrap();
        let said = String::from_utf8(run(&["status", "--quiet"]).stderr).unwrap();
        assert!(said.starts_with("warning: "), "{said}");
        let said = succeed(&[&["unload", "--dry-run"], name].concat());
        let left = "the remains of a killed load of tg_odctcp_snd\n";
        assert_eq!(said, format!("would remove {left}"));
        let said = succeed(&[&["unload"], name].concat());
        assert_eq!(said, format!("removed {left}"));
        std::mem::forget(loaded);
        check_nothing_is_left(&before);
    }
}

/// How often connections of an algorithm are sampled now, in nanoseconds.
fn sampled_every(name: &str) -> u64 {
    let one = registered(name);
    let map = MapHandle::from_map_id(one.maps["control"]).unwrap();
    let value = map.lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
    u64::from_ne_bytes(value.try_into().unwrap())
}

fn registered(name: &str) -> kernel::Registered {
    let all = kernel::registered(&pins()).unwrap();
    all.into_iter().find(|one| one.name == name).unwrap()
}

pub(crate) fn a_reader_that_leaves_ends_the_watch_and_its_samples() {
    let _loaded = Loaded::new("tg_dctcp", &[]);
    let bed = Bed::new();
    bed.choose(0, "tg_dctcp", 2);
    bed.choose(1, "tg_dctcp", 2);
    let mut command = command(&["watch", "--steps"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    errors.next().unwrap().unwrap();
    assert_eq!(sampled_every("tg_dctcp"), 1);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    bed.run(&Bed::config("100Mbps", 10, 500), || {
        bed.transfer(0, 600_000);
        lines.next().unwrap().unwrap();
        drop(lines);
        // There may be none to write but those that are still to come.
        bed.transfer(0, 600_000);
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(errors.next().map(Result::unwrap), None);
    assert_eq!(sampled_every("tg_dctcp"), 0);
}

pub(crate) fn steps_of_an_earlier_time_are_not_shown() {
    let _loaded = Loaded::new("tg_dctcp", &[]);
    let bed = Bed::new();
    bed.choose(0, "tg_dctcp", 2);
    bed.choose(1, "tg_dctcp", 2);
    // As an observer leaves it that is killed.
    let one = registered("tg_dctcp");
    one.observe_every(1).unwrap();
    bed.run(&Bed::config("100Mbps", 10, 500), || {
        bed.transfer(0, 60_000);
    });
    one.observe_every(0).unwrap();
    let said = succeed(&["watch", "--steps", "--for", "300ms", "--quiet"]);
    assert_eq!(said.lines().next(), None);
}

/// A connection whose network namespace only its own two ends hold.
pub(crate) fn connections_out_of_reach_are_counted_and_warned_of() {
    let before = held();
    let loaded = Loaded::new("tg_ecn_star", &[]);
    let bed = Bed::new();
    bed.choose(0, "tg_ecn_star", 2);
    let ends = bed.hosts[0].run(|| {
        let listener = TcpListener::bind("127.0.0.1:701").unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect_timeout(&address, TIMEOUT).unwrap();
        (client, listener.accept().unwrap().0)
    });
    drop(bed);
    let output = run(&["unload", "--force", "--quiet", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let expected =
        "warning: 2 connections of tg_ecn_star are in network namespaces that cannot be seen";
    assert!(said.starts_with(expected), "{said}");
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reports[0]["left"], 2, "{reports}");
    drop(ends);
    std::mem::forget(loaded);
    check_nothing_is_left(&before);
}

/// Connections as many as an argument says, a few at a time, over the loopback of a host.
pub(crate) fn ten_thousand_connections_leave_nothing_behind() {
    const CONNECTIONS: usize = 10_000;
    const THREADS: usize = 4;
    let before = held();
    let loaded = Loaded::new("tg_odctcp_snd", &[]);
    let bed = Bed::new();
    bed.choose(0, "tg_odctcp_snd", 1);
    let host = &bed.hosts[0];
    host.set("net/ipv4/tcp_tw_reuse", "1").unwrap();
    host.set("net/ipv4/ip_local_port_range", "1024 65000").unwrap();
    let listener = host.run(|| TcpListener::bind("127.0.0.1:700")).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CONNECTIONS {
                let (mut end, _) = listener.accept().unwrap();
                end.write_all(&[7; 3000]).unwrap();
            }
        });
        for _ in 0..THREADS {
            scope.spawn(|| {
                let connect = || {
                    for _ in 0..CONNECTIONS / THREADS {
                        let mut end = TcpStream::connect_timeout(&address, TIMEOUT).unwrap();
                        let mut data = Vec::new();
                        end.read_to_end(&mut data).unwrap();
                        assert_eq!(data.len(), 3000);
                    }
                };
                host.run(connect).unwrap();
            });
        }
    });
    // Both ends are ours. The last sockets may still be closing.
    let opened = loaded.status()["opened"].as_u64().unwrap();
    assert_eq!(opened, 2 * CONNECTIONS as u64);
    suite::wait_until(|| loaded.status()["connections"] == 0);
    let status = loaded.status();
    assert_eq!(
        (&status["connections"], &status["refused_ecn"]),
        (&0.into(), &0.into()),
        "{status}"
    );
    drop(listener);
    bed.choose(0, "reno", 1);
    succeed(&["unload", "tg_odctcp_snd"]);
    std::mem::forget(loaded);
    check_nothing_is_left(&before);
}

pub(crate) fn under_traffic_unload_waits_or_forces_and_no_connection_is_lost() {
    let before = held();
    for how in ["--force", "--wait"] {
        let loaded = Loaded::new("tg_odctcp_snd", &[]);
        let bed = Bed::new();
        bed.choose(0, "tg_odctcp_snd", 1);
        let is_over = AtomicBool::new(false);
        bed.run(&Bed::config("100Mbps", 10, 500), || {
            let (client, server) = bed.connect();
            let is_over = &is_over;
            thread::scope(|scope| {
                // Also if something fails: the sender would go on for ever.
                let ending = Setting(is_over);
                let sending = scope.spawn(move || send_until(client, is_over));
                let receiving = scope.spawn(move || receive(server));
                let error = refused(command(&["unload", "tg_odctcp_snd"]));
                let expected = "error: tg_odctcp_snd is in use: 1 connection, 1 network namespace that \
                                has it as default\n";
                assert!(error.starts_with(expected), "{error}");
                let mut unload = command(&["unload", "tg_odctcp_snd", how, "--to", "cubic"]);
                unload.stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut unloading = unload.spawn().unwrap();
                let moved = if how == "--force" {
                    assert!(unloading.wait().unwrap().success());
                    "; sockets moved to cubic: 1"
                } else {
                    let errors = BufReader::new(unloading.stderr.take().unwrap());
                    let first = errors.lines().next().unwrap().unwrap();
                    assert_eq!(first, "tg_odctcp_snd: waiting for 1 connections to end");
                    // It is still there, and nothing to choose or to watch.
                    let text = succeed(&["status"]);
                    assert!(text.contains("its last connections"), "{text}");
                    let error = refused(command(&["watch"]));
                    assert!(error.starts_with("error: no algorithm is loaded"), "{error}");
                    ""
                };
                let available = machine::available();
                assert!(!available.iter().any(|name| name.starts_with("tg_")), "{available:?}");
                assert!(!sending.is_finished());
                drop(ending);
                assert_eq!(sending.join().unwrap(), receiving.join().unwrap());
                let output = unloading.wait_with_output().unwrap();
                assert!(output.status.success(), "{output:?}");
                let said = String::from_utf8(output.stdout).unwrap();
                // A kernel whose CUBIC is for the first namespace alone takes Reno.
                let default = bed.hosts[0].get("net/ipv4/tcp_congestion_control");
                let default = default.unwrap().trim().to_owned();
                assert!(["cubic", "reno"].contains(&&*default), "{default}");
                let expected = format!(
                    "unloaded tg_odctcp_snd{moved}; namespaces whose default is now {default}: 1\n"
                );
                assert_eq!(said, expected);
            });
        });
        drop((loaded, bed));
        check_nothing_is_left(&before);
    }
}

/// Sends until it is over, and says how much.
fn send_until(mut stream: TcpStream, is_over: &AtomicBool) -> usize {
    let mut sent = 0;
    while !is_over.load(Ordering::Acquire) {
        stream.write_all(&[7; 10_000]).unwrap();
        sent += 10_000;
    }
    stream.shutdown(Shutdown::Write).unwrap();
    sent
}

/// Reads to the end, and says how much.
fn receive(mut stream: TcpStream) -> usize {
    let mut data = Vec::new();
    stream.read_to_end(&mut data).unwrap();
    data.len()
}

pub(crate) fn watch_shows_connections_as_json_and_for_prometheus() {
    let _loaded = Loaded::new("tg_dctcp", &[]);
    let bed = Bed::new();
    bed.choose(0, "tg_dctcp", 2);
    bed.choose(1, "tg_dctcp", 2);
    let arguments = ["--json", "--every", "100ms", "--listen", "127.0.0.1:9756"];
    let watching = Watching::start(&arguments);
    let error = refused(command(&["watch"]));
    assert!(error.starts_with("error: another `tidegate host watch` is running"), "{error}");
    let mut page = String::new();
    bed.run(&Bed::config("100Mbps", 10, 500), || {
        // A connection that has ended is on the page for a moment only.
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let now = metrics();
                    if now.contains("algorithm=") {
                        page = now;
                    }
                }
            });
            bed.transfer(0, 6_000_000);
            is_over.store(true, Ordering::Relaxed);
        });
    });
    let rows = watching.end();
    let of = |address: &str| {
        let of_end = rows.iter().filter(|row| row["local"].as_str().unwrap().starts_with(address));
        of_end.cloned().collect::<Vec<_>>()
    };
    let sender = of("10.0.0.1:").pop().unwrap();
    assert_eq!((&sender["peer"], &sender["algorithm"]), (&SERVER.into(), &"tg_dctcp".into()));
    assert!(
        sender["ece"].as_u64().unwrap() > 0 && sender["cuts"].as_u64().unwrap() > 0,
        "{sender}"
    );
    let alpha = sender["alpha"].as_f64().unwrap();
    assert!(alpha > 0.0 && alpha <= 1.0, "{sender}");
    assert!(
        sender["cwnd"].as_u64().unwrap() >= 2 && sender["srtt_us"].as_u64().unwrap() > 0,
        "{sender}"
    );
    let receiver = of(SERVER).pop().unwrap();
    assert!(receiver["ce"].as_u64().unwrap() > 0, "{receiver}");
    for name in ["alpha", "cwnd_packets", "srtt_seconds", "ece_acks_total", "ce_segments_total"] {
        let line = format!("tidegate_host_{name}{{algorithm=\"tg_dctcp\",namespace=\"");
        assert!(page.contains(&line), "{page}");
    }
}

/// The page that Prometheus would read.
fn metrics() -> String {
    let mut stream = TcpStream::connect("127.0.0.1:9756").unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    text
}
