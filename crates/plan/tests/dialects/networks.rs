//! Random networks as text.

use std::fmt::Write;

use tidegate_units::Rng;

/// A network of this seed: most can be read.
pub(crate) fn random(seed: u64) -> String {
    let mut rng = Rng::new(seed, 1);
    let speeds = ["10Gbps", "25Gbps", "40Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps"];
    let mut text = String::new();
    let mtu = pick(&mut rng, &[1500, 4200, 9000]);
    writeln!(text, "mtu = {mtu}").unwrap();
    writeln!(
        text,
        "transport = \"{}\"",
        pick(&mut rng, &["dctcp", "rfc3168", "dcqcn", "ecn-star"])
    )
    .unwrap();
    let hosts = 2 + rng.next_u64() % 40;
    let rate = pick(&mut rng, &speeds);
    let uplinks = match rng.next_u64() % 3 {
        0 => String::new(),
        _ => format!(", uplinks = \"{}x{}\"", 1 + rng.next_u64() % 16, pick(&mut rng, &speeds)),
    };
    writeln!(text, "fabric = {{ host_ports = \"{hosts}x{rate}\"{uplinks} }}").unwrap();
    let megabytes = 1_u64 << (rng.next_u64() % 9);
    let alpha = pick(&mut rng, &["1/8", "1/3", "1", "4", "1000"]);
    let cell = pick(&mut rng, &[1, 1, 208, 256]);
    writeln!(text, "switch = {{ buffer = \"{megabytes}MB\", alpha = \"{alpha}\", cell = {cell} }}")
        .unwrap();
    let mean = 1 + rng.next_u64() % 60;
    let p90 = mean + rng.next_u64() % 60;
    writeln!(text, "rtt = {{ mean = \"{mean}us\", p90 = \"{p90}us\" }}").unwrap();
    let queues = 1 + rng.next_u64() % 8;
    for i in 0..queues {
        writeln!(text, "[[queue]]\nname = \"q{i}\"\ndscp = {}", i * 7).unwrap();
        match rng.next_u64() % 8 {
            0 => text.push_str("strict = true\n"),
            1 => text.push_str("lossless = true\ntransport = \"dcqcn\"\n"),
            2 => text.push_str("transport = \"reno\"\n"),
            _ => {}
        }
    }
    text
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    let at = rng.next_u64() % from.len() as u64;
    from[usize::try_from(at).unwrap()]
}
