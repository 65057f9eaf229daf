//! A router and two hosts. The router is the machine itself, and each host is a namespace.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use socket2::SockRef;
use tidegate_live::namespace::Namespace;

/// Port of the router to the receiver: the bottleneck.
pub(crate) const DEVICE: &str = "right";

pub(crate) struct Bed {
    pub(crate) sender: Namespace,
    pub(crate) receiver: Namespace,
    router: Namespace,
}

impl Bed {
    /// The sender has this congestion control, and the receiver has its echo rule. Both use ECN.
    pub(crate) fn new(congestion_control: &str) -> Self {
        call(&format!("ip netns attach router {}", std::process::id()));
        let bed = Self {
            sender: Namespace::new().unwrap(),
            receiver: Namespace::new().unwrap(),
            router: Namespace::open("router").unwrap(),
        };
        // The kernel's own DCTCP is a module, and namespaces may not use it as it comes.
        call("modprobe tcp_dctcp");
        bed.router.set("net/ipv4/tcp_allowed_congestion_control", "reno cubic dctcp").unwrap();
        bed.router.set("net/ipv4/ip_forward", "1").unwrap();
        for (number, (host, port)) in
            [(&bed.sender, "left"), (&bed.receiver, DEVICE)].into_iter().enumerate()
        {
            host.connect("host", &bed.router, port).unwrap();
            host.ip(&format!("address add 10.0.{number}.1/24 dev host")).unwrap();
            bed.router.ip(&format!("address add 10.0.{number}.2/24 dev {port}")).unwrap();
            host.ip(&format!("route add default via 10.0.{number}.2")).unwrap();
            host.set("net/ipv4/tcp_congestion_control", congestion_control).unwrap();
            host.set("net/ipv4/tcp_ecn", "1").unwrap();
            host.set("net/ipv4/tcp_no_metrics_save", "1").unwrap();
            // Ports have no traffic of their own, except ARP before the first packet.
            for (namespace, device) in [(host, "host"), (&bed.router, port)] {
                let reachable = format!("net/ipv4/neigh/{device}/base_reachable_time_ms");
                namespace.set(&reachable, "3600000").unwrap();
                namespace.set(&format!("net/ipv6/conf/{device}/disable_ipv6"), "1").unwrap();
            }
        }
        bed.transfer(1, 1);
        bed
    }

    /// Sends bytes over this number of concurrent connections, all of them on each.
    pub(crate) fn transfer(&self, flows: usize, bytes: usize) {
        thread::scope(|scope| {
            for flow in 0..flows {
                scope.spawn(move || self.flow(flow, 0, bytes));
            }
        });
    }

    /// Sends bytes over a connection with this type of service, and waits until they have arrived.
    pub(crate) fn flow(&self, number: usize, service: u32, bytes: usize) {
        send(self.connect([&self.sender, &self.receiver], number, service), bytes);
    }

    /// Like [`flow`](Self::flow) in the opposite direction.
    pub(crate) fn flow_back(&self, number: usize, bytes: usize) {
        send(self.connect([&self.receiver, &self.sender], number, 0), bytes);
    }

    /// A connection from the first host to the second: its two ends.
    fn connect(
        &self,
        [from, to]: [&Namespace; 2],
        number: usize,
        service: u32,
    ) -> (TcpStream, TcpStream) {
        let host = u8::from(std::ptr::eq(to, &raw const self.receiver));
        let address = format!("10.0.{host}.1:{}", 5001 + number);
        let listener = to.run(|| TcpListener::bind(&address)).unwrap().unwrap();
        let client = from.run(|| TcpStream::connect(&address)).unwrap().unwrap();
        SockRef::from(&client).set_tos_v4(service).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// CE packets that the receiver's kernel has counted.
    pub(crate) fn received_ce(&self) -> u64 {
        self.receiver.counter("IpExt", "InCEPkts").unwrap().unwrap()
    }

    /// Packets that the receiver has received.
    pub(crate) fn received(&self) -> u64 {
        packets(&self.receiver, "rx")
    }

    /// Packets that the sender has sent.
    pub(crate) fn sent(&self) -> u64 {
        packets(&self.sender, "tx")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for port in ["left", DEVICE] {
            let _ = self.router.ip(&format!("link delete {port}"));
        }
        let _ = Namespace::remove("router");
    }
}

/// Sends bytes over a connection, until all have arrived.
fn send((mut client, mut server): (TcpStream, TcpStream), bytes: usize) {
    thread::scope(|scope| {
        scope.spawn(move || {
            client.write_all(&vec![7; bytes]).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        });
        let (mut block, mut total) = ([0; 1 << 14], 0);
        loop {
            match server.read(&mut block).unwrap() {
                0 => break,
                length => total += length,
            }
        }
        assert_eq!(total, bytes);
    });
}

/// Packets of a host in one direction.
fn packets(host: &Namespace, direction: &str) -> u64 {
    let text = host.ip("-statistics -json link show host").unwrap();
    let links: serde_json::Value = serde_json::from_str(&text).unwrap();
    links[0]["stats64"][direction]["packets"].as_u64().unwrap()
}

/// Output of a command of the machine, which must succeed.
pub(crate) fn call(words: &str) -> String {
    let words: Vec<_> = words.split_ascii_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}
