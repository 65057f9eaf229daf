//! Emitted configurations before programs of others: `pyavd` for EOS, `yanglint` for SONiC, `tc`.
//!
//! None of them is needed to build or use Tidegate. A test whose program is not there is reported
//! as skipped, by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod sonic;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use tidegate_harness::{suite, tests};
use tidegate_plan::dialect::{Os, Request, Scheme};
use tidegate_plan::{Network, Plan};

const TESTS: &[suite::Test] = tests![
    check::eos_passes_pyavd_and_equals_its_output,
    check::sonic_passes_the_published_models,
    check::tc_reads_every_line,
    check::kernel_takes_one_batch_after_another,
];

fn main() -> ExitCode {
    suite::run(TESTS, |name| match name {
        name if name.starts_with("eos") => {
            python().is_none().then(|| "pyavd for Python is not installed".to_owned())
        }
        name if name.starts_with("sonic") => sonic::obstacle(),
        name if name.starts_with("kernel") => kernel_obstacle(),
        _ => obstacle("tc", "-V", "tc (iproute2) is not installed"),
    })
}

/// Reason why a program cannot be run.
fn obstacle(program: &str, argument: &str, reason: &str) -> Option<String> {
    let ran =
        Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    (!ran.is_ok_and(|status| status.success())).then(|| reason.to_owned())
}

/// A shell with a device `swp1` in a network namespace of its own, which goes with it.
fn with_device(script: &str) -> Command {
    let script =
        format!("ip link add swp1 type dummy 2>/dev/null && ip link set swp1 up; {script}");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", &script]);
    command
}

/// Reason why emitted batches of tc cannot be applied here.
fn kernel_obstacle() -> Option<String> {
    let kinds = ["ets bands 2 strict 2", "codel", "red limit 9000 avpkt 1000 bandwidth 1mbit"];
    let missing = kinds.into_iter().find(|kind| {
        let script = format!("tc qdisc replace dev swp1 root {kind}");
        !run(&mut with_device(&script), "").1
    });
    let name = missing?.split(' ').next()?;
    Some(format!("no namespace, or no {name} in this kernel"))
}

/// A Python with pyavd: the tests' own, or the user's.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python3");
    let mut candidates = [own, PathBuf::from("python3")].into_iter();
    candidates.find(|python| {
        let ran = Command::new(python).args(["-c", "import pyavd"]).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    })
}

/// Runs a program with a text as its input; returns its output and its success.
fn run(command: &mut Command, input: &str) -> (String, bool) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.success())
}

/// The worked networks of the guide with their names.
fn networks() -> Vec<(&'static str, Network)> {
    let texts = [
        ("web", include_str!("../../../../networks/web.toml")),
        ("storage", include_str!("../../../../networks/storage.toml")),
        ("training", include_str!("../../../../networks/training.toml")),
    ];
    let read = |(name, text)| (name, Network::parse(name, text).unwrap());
    texts.map(read).into()
}

mod check {
    use super::{
        Command, Network, Os, Plan, Request, Scheme, networks, python, run, sonic, with_device,
    };

    pub(super) fn eos_passes_pyavd_and_equals_its_output() {
        let python = python().unwrap();
        for (name, network) in networks() {
            let plan = Plan::new(&network);
            let text = Os::Eos.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap().text;
            let script = include_str!("eos.py");
            let (said, well) = run(Command::new(&python).args(["-c", script]), &text);
            assert!(well, "{name}: {said}");
            let spoilt = text.replace("weight 0", "weight 16");
            let (_, well) = run(Command::new(&python).args(["-c", script]), &spoilt);
            assert!(!well, "{name}: a weight of 16 passes");
        }
    }

    pub(super) fn sonic_passes_the_published_models() {
        for (name, network) in networks() {
            let plan = Plan::new(&network);
            let text = Os::Sonic.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap().text;
            let tables = serde_json::from_str(&text).unwrap();
            let (said, well) = sonic::validate(&tables, &network);
            assert!(well, "{name}: {said}");
            let spoilt = text.replacen("\"100\"", "\"101\"", 1);
            let (_, well) = sonic::validate(&serde_json::from_str(&spoilt).unwrap(), &network);
            assert!(!well, "{name}: a probability of 101 passes");
        }
    }

    pub(super) fn tc_reads_every_line() {
        let (_, network) = networks().remove(0);
        let plan = Plan::new(&network);
        for scheme in [Scheme::Tcn, Scheme::QueueRed] {
            let text = Os::Tc.emit(&plan, &Request::whole(scheme)).unwrap().text;
            // A port of each speed is like the others. In a namespace of its own if that is
            // allowed.
            let first_uplink = format!(" swp{} ", network.host_ports.count + 1);
            let of_ports: Vec<&str> = text
                .lines()
                .filter(|line| line.contains(" swp1 ") || line.contains(&first_uplink))
                .collect();
            assert!(of_ports.iter().any(|line| line.contains(&first_uplink)));
            for line in of_ports {
                let words = line.split(' ').collect::<Vec<_>>().join(" ");
                let (said, well) = run(&mut with_device(&format!("exec tc {words}")), "");
                // tc reports lines that it cannot read; the kernel reports missing features.
                let not_in_kernel = [
                    "qdisc kind is unknown",
                    "Operation not permitted",
                    "Cannot find device",
                    "Parent Qdisc doesn't exists",
                    "Failed to find specified qdisc",
                    "TC classifier not found",
                    "No such file or directory",
                    "unshare failed",
                ];
                let reached = not_in_kernel.iter().any(|reason| said.contains(reason));
                assert!(well || reached, "{line}\n{said}");
                assert!(!said.contains("WARNING"), "{line}\n{said}");
            }
        }
        let bad = "qdisc replace dev lo root codel limit 10 ce_treshold 5us";
        let (said, well) = run(Command::new("tc").args(bad.split(' ')), "");
        assert!(!well && said.contains("What is"), "{said}");
    }

    pub(super) fn kernel_takes_one_batch_after_another() {
        let (_, network) = networks().remove(0);
        let one = "fabric = { host_ports = \"2x25G\" }\nswitch = { buffer = \"16MB\" }\nrtt = { base = \"20us\" }\n";
        let one = Network::parse("one.toml", one).unwrap();
        let mut batches = Vec::new();
        for network in [&network, &one] {
            for scheme in [Scheme::Tcn, Scheme::QueueRed] {
                let text = Os::Tc.emit(&Plan::new(network), &Request::whole(scheme)).unwrap().text;
                let lines = text.lines().filter(|line| line.contains(" swp1 "));
                batches.push(lines.collect::<Vec<_>>().join("\n"));
            }
        }
        for first in &batches {
            for second in &batches {
                let script = format!(
                    "set -e\ntc -batch - <<E\n{first}\nE\ntc -batch - <<E\n{second}\nE\n\
                     tc filter show dev swp1 parent 1:"
                );
                let (said, well) = run(&mut with_device(&script), "");
                assert!(well, "{first}\nand then\n{second}\n{said}");
                // No filter of the first is left.
                let filters = second.lines().filter(|line| line.starts_with("filter"));
                assert_eq!(said.matches("flowid").count(), filters.count(), "{said}");
            }
        }
    }
}
