//! Two hosts around a switch that marks, each a namespace.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidegate_harness::suite;
use tidegate_live::config::PortSettings;
use tidegate_live::namespace::Namespace;
use tidegate_live::{Config, Counters, Error, Live, raise_priority};

/// Time limit for everything that happens at all.
pub(crate) const TIMEOUT: Duration = suite::CEILING;

/// The address of the second host.
pub(crate) const SERVER: &str = "10.0.0.2:5001";

pub(crate) struct Bed {
    pub(crate) hosts: [Namespace; 2],
    switch: Namespace,
}

impl Bed {
    /// Both hosts have Reno, and ECN as Linux comes: only if the other asks.
    pub(crate) fn new() -> Self {
        let bed = Self {
            hosts: [(); 2].map(|()| Namespace::new().unwrap()),
            switch: Namespace::new().unwrap(),
        };
        for (number, host) in bed.hosts.iter().enumerate() {
            let port = format!("port{number}");
            host.connect("host", &bed.switch, &port).unwrap();
            let quiet = format!("net/ipv6/conf/{port}/disable_ipv6");
            bed.switch.set(&quiet, "1").unwrap();
            let address = format!("address add 10.0.0.{}/24 dev host", number + 1);
            host.ip(&address).unwrap();
            bed.choose(number, "reno", 2);
            // One connection's metrics are not the next one's.
            host.set("net/ipv4/tcp_no_metrics_save", "1").unwrap();
        }
        bed
    }

    /// Sets the congestion control of a host, and whether it asks for ECN.
    pub(crate) fn choose(&self, host: usize, algorithm: &str, ecn: u8) {
        let host = &self.hosts[host];
        host.set("net/ipv4/tcp_congestion_control", algorithm).unwrap();
        host.set("net/ipv4/tcp_ecn", &ecn.to_string()).unwrap();
    }

    /// A switch that marks above one number of packets and drops above another.
    pub(crate) fn config(rate: &str, mark: u32, limit: u32) -> Config {
        let mut config = Config::new();
        let port = |number| PortSettings::new(format!("port{number}"), rate.parse().unwrap());
        config.ports = (0..2).map(port).collect();
        config.marking = tidegate_dataplane::mark::Config::named("queue-red").unwrap();
        let bytes = |packets: u32| format!("{}B", packets * 1538);
        config.marking.set("threshold", &bytes(mark)).unwrap();
        config.buffer.set("limit", &bytes(limit)).unwrap();
        config
    }

    /// Runs the switch while `load` runs. Returns its counters.
    pub(crate) fn run(&self, config: &Config, load: impl FnOnce()) -> Counters {
        let (is_open, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let stopping = Setting(&stop);
        thread::scope(|scope| {
            let switch = scope.spawn(|| {
                let opening = Setting(&is_open);
                self.switch.run(|| {
                    let mut live = Live::open(config)?;
                    drop(opening);
                    // Other work on the machine should not disturb the measurement.
                    let _ = raise_priority();
                    live.run(|_| {
                        if stop.load(Ordering::Acquire) {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    })?;
                    Ok::<_, Error>(live.counters())
                })
            });
            while !is_open.load(Ordering::Acquire) {
                thread::yield_now();
            }
            load();
            drop(stopping);
            switch.join().unwrap().unwrap().unwrap()
        })
    }

    /// Sends `bytes` over TCP from one host, which opens the connection if it is the first, to the
    /// other.
    pub(crate) fn transfer(&self, from: usize, bytes: usize) {
        let (mut client, mut server) = self.connect();
        let (sender, receiver) = match from {
            0 => (&mut client, &mut server),
            _ => (&mut server, &mut client),
        };
        send(sender, receiver, bytes);
    }

    /// A connection that the first host has opened to the second: its two ends.
    pub(crate) fn connect(&self) -> (TcpStream, TcpStream) {
        let listener = self.hosts[1].run(|| TcpListener::bind(SERVER));
        let listener = listener.unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        let client = self.hosts[0].run(|| TcpStream::connect_timeout(&address, TIMEOUT));
        let client = client.unwrap().unwrap();
        let (server, _) = listener.accept().unwrap();
        for end in [&client, &server] {
            end.set_read_timeout(Some(TIMEOUT)).unwrap();
            end.set_write_timeout(Some(TIMEOUT)).unwrap();
        }
        (client, server)
    }
}

/// Sends bytes from one end of a connection to the other and closes that direction.
pub(crate) fn send(sender: &mut TcpStream, receiver: &mut TcpStream, bytes: usize) {
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut buffer = vec![0; 1 << 16];
            let mut total = 0;
            loop {
                match receiver.read(&mut buffer).unwrap() {
                    0 => return total,
                    len => total += len,
                }
            }
        });
        let block = vec![7; 1 << 16];
        let mut left = bytes;
        while left > 0 {
            let len = left.min(block.len());
            sender.write_all(&block[..len]).unwrap();
            left -= len;
        }
        sender.shutdown(Shutdown::Write).unwrap();
        assert_eq!(receiving.join().unwrap(), bytes);
    });
}

/// Is set when this value is dropped, also if something failed.
pub(crate) struct Setting<'a>(pub(crate) &'a AtomicBool);

impl Drop for Setting<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A capture at the second host, read by Wireshark. The file is removed with this value.
pub(crate) struct Capture {
    path: PathBuf,
    child: Child,
}

impl Capture {
    /// Captures from now on.
    pub(crate) fn start(bed: &Bed) -> Self {
        let path =
            std::env::temp_dir().join(format!("tidegate-host-{}.pcapng", std::process::id()));
        let child = bed.hosts[1].run(|| {
            let mut command = Command::new("dumpcap");
            command.args(["-q", "-i", "host", "-B", "64", "-a", "duration:120", "-w"]);
            command.arg(&path).stderr(Stdio::piped()).spawn()
        });
        let mut child = child.unwrap().expect("Wireshark's dumpcap is installed");
        let stderr = child.stderr.take().unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
        let started = lines.any(|line| line.is_ok_and(|line| line.starts_with("File:")));
        assert!(started, "dumpcap says which file it writes");
        // Later messages have no reader.
        thread::spawn(move || lines.for_each(drop));
        Self { path, child }
    }

    /// Ends it, and reads the fields of all packets that a filter accepts.
    pub(crate) fn read(mut self, fields: &[&str], filter: &str) -> Vec<Vec<String>> {
        tidegate_live::ask_to_end(self.child.id()).unwrap();
        self.child.wait().unwrap();
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&self.path).args(["-Y", filter, "-T", "fields"]);
        for field in fields {
            command.args(["-e", field]);
        }
        let output = command.output().expect("tshark is installed");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
        text.lines().map(cells).collect()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.path);
    }
}
