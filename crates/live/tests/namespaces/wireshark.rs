//! Wireshark reads the frames that leave the switch.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::bed::Bed;
use super::exactness::red;

pub(crate) fn frames_leave_whole_and_wireshark_reads_their_marks() {
    let bed = Bed::new(2);
    let mut config = bed.config("100Mbps");
    config.marking = red(5);
    config.buffer.set("limit", "2MB").unwrap();
    let path = std::env::temp_dir().join(format!("tidegate-live-{}.pcapng", std::process::id()));
    let capture = Capture { path };
    let mut capturing = capture.start(&bed);
    let counters = bed.run(&config, || {
        bed.transfer(0, 1, "10.0.0.2:5001", 1_000_000);
        bed.transfer(0, 1, "[fd00::2]:5001", 1_000_000);
    });
    // It writes its captured packets when it is asked to end.
    tidegate_live::ask_to_end(capturing.id()).unwrap();
    capturing.wait().unwrap();
    let port = &counters.ports[1];
    let fields = capture.read(&["ip.dsfield.ecn", "ipv6.tclass.ecn"], "ip.src or ipv6.src");
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for line in fields.lines() {
        *classes.entry(line.trim()).or_default() += 1;
    }
    // A capture may lose packets at its ends, but never adds any.
    let marked = classes.get("3").copied().unwrap_or(0);
    assert!(marked > 0 && marked <= port.marked, "{classes:?} of {}", port.marked);
    assert!(classes.get("2").copied().unwrap_or(0) > 500, "{classes:?}");
    let right = "ip.checksum.status == 1 and tcp.checksum.status == 1";
    let right = capture.read(&["frame.number"], right).lines().count();
    assert!(right > 500, "checksums were verified");
    // The receiving kernel checked every frame, and captures may be damaged: in one of many runs
    // one contained two wrong frames of 2068.
    for (group, name) in [("Ip", "InHdrErrors"), ("IpExt", "InCsumErrors"), ("Tcp", "InCsumErrors")]
    {
        assert_eq!(bed.counter(1, group, name), 0, "{name}");
    }
    let wrong = "ip.checksum.status == 0 or tcp.checksum.status == 0 or _ws.malformed";
    let wrong = capture.read(&FACTS, wrong);
    assert!(wrong.lines().count() * 100 < right, "{FACTS:?} of the wrong ones:\n{wrong}");
}

/// Fields that distinguish wrong frames.
const FACTS: [&str; 8] = [
    "frame.number",
    "frame.len",
    "eth.src",
    "tcp.flags",
    "tcp.len",
    "ip.checksum.status",
    "tcp.checksum.status",
    "_ws.malformed",
];

/// A file that is removed when this is dropped.
struct Capture {
    path: PathBuf,
}

impl Capture {
    /// Starts a capture at the second host. Returns when it runs.
    fn start(&self, bed: &Bed) -> Child {
        let child = bed.hosts[1].run(|| {
            Command::new("dumpcap")
                .args(["-q", "-i", "host", "-a", "duration:60", "-w"])
                .arg(&self.path)
                .stderr(Stdio::piped())
                .spawn()
        });
        let mut child = child.unwrap().expect("Wireshark's dumpcap is installed");
        let stderr = child.stderr.take().unwrap();
        let mut lines = BufReader::new(stderr).lines();
        let started = lines.any(|line| line.is_ok_and(|line| line.starts_with("File:")));
        assert!(started, "dumpcap says which file it writes");
        // Further output has no reader.
        std::thread::spawn(move || lines.for_each(drop));
        child
    }

    /// Fields of all captured packets that a filter accepts, one line per packet.
    fn read(&self, fields: &[&str], filter: &str) -> String {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&self.path).args(["-Y", filter, "-T", "fields"]);
        for preference in ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE"] {
            command.args(["-o", preference]);
        }
        for field in fields {
            command.args(["-e", field]);
        }
        let output = command.output().expect("tshark is installed");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
