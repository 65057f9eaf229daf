//! Thresholds that vendors and publications print, judged on a network beside the formulas.

use tidegate_units::{Bytes, Rate, Ratio, Span};

use crate::formula::{dcqcn, limit};
use crate::marking::Ramp;
use crate::network::Network;

/// A printed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Vendor or publication.
    pub source: &'static str,
    /// Thresholds at ports of the given speed.
    pub ramp: Ramp,
}

/// Settings printed for ports of a speed. Some sources print one value for all speeds, some scale
/// it, and some print a few speeds only.
pub fn settings(network: &Network, speed: Rate) -> Vec<Printed> {
    let mut all = vec![
        printed("SONiC template", ramp(1_048_576, 2_097_152, 5)),
        printed("OpenConfig DP-1.3", ramp(80_000, 80_001, 100)),
        printed("Cisco NX-OS", ramp(150_000, 3_000_000, 7)),
        printed("Arista 7060DX5", ramp(222_000, 2_000_000, 1)),
    ];
    let (min, max) = dcqcn::thresholds(speed);
    let hpcc = Ramp { min, max, probability: dcqcn::PROBABILITY };
    all.push(printed("HPCC for DCQCN", hpcc));
    // 30 KB for each 10 Gb/s.
    let of_speed = Bytes(speed.bytes_in(Span::from_us(24)));
    all.push(printed("HPCC for DCTCP", Ramp::step(of_speed)));
    match speed.as_bps() / 1_000_000_000 {
        10 => all.push(printed("DCTCP (2010), 65 packets", ramp(97_500, 97_500, 100))),
        25 => {
            all.push(printed("Huawei, delay", ramp(7_000, 150_000, 30)));
            all.push(printed("Huawei, throughput", ramp(7_000, 200_000, 10)));
        }
        100 => {
            all.push(printed("Huawei, delay", ramp(7_000, 500_000, 30)));
            all.push(printed("Huawei, throughput", ramp(7_000, 750_000, 10)));
        }
        _ => {}
    }
    // Fill levels are percent of the queue's limit.
    let memory = limit::of_queue(network.shared_memory(), network.switch.alpha, 1).0;
    let apstra = ramp(memory / 100 * 55, memory / 100 * 90, 100);
    all.push(printed("Juniper Apstra 6.1", apstra));
    all
}

const fn printed(source: &'static str, ramp: Ramp) -> Printed {
    Printed { source, ramp }
}

fn ramp(min: u64, max: u64, percent: u32) -> Ramp {
    Ramp {
        min: Bytes(min),
        max: Bytes(max),
        probability: Ratio::new(percent, 100).expect("100 is not zero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_of_hpcc_for_dctcp_scales_with_the_speed() {
        let text = "fabric = { host_ports = \"8x25Gbps\" }\nswitch = { buffer = \"16MB\" }\n\
                    rtt = { base = \"20us\" }\n";
        let network = Network::parse("a.toml", text).unwrap();
        let step = |gbps| {
            let all = settings(&network, Rate::from_gbps(gbps));
            let hpcc = all.iter().find(|printed| printed.source == "HPCC for DCTCP");
            hpcc.unwrap().ramp
        };
        assert_eq!(step(10), Ramp::step(Bytes(30_000)));
        assert_eq!(step(25), Ramp::step(Bytes(75_000)));
        assert_eq!(step(1), Ramp::step(Bytes(3_000)));
    }
}
