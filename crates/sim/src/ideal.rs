//! Ideal times: the completion time of a flow alone on its path.
//!
//! The network stores and forwards: a packet leaves a node when its last bit has arrived and the
//! previous packet has left. The sender hands over all packets at once and never waits. The result
//! is therefore a lower bound for every transport, exact to the picosecond for one with an open
//! window.

use tidegate_units::{ConfigError, Span};

use crate::network::{LinkId, Network};

/// Division of a flow's bytes into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    mss: u32,
    header: u32,
    least: u32,
}

impl Framing {
    /// Packets of at most `mss` payload bytes, each with `header` bytes added.
    pub fn new(mss: u32, header: u32) -> Result<Self, ConfigError> {
        if mss == 0 {
            return Err(ConfigError::out_of_range("mss", mss, "at least 1"));
        }
        if mss.checked_add(header).is_none() {
            let allowed = format!("at most {}", u32::MAX - mss);
            return Err(ConfigError::out_of_range("header", header, allowed));
        }
        Ok(Self { mss, header, least: 0 })
    }

    /// Sets the smallest size that a packet counts with.
    #[must_use]
    pub const fn padded_to(self, least: u32) -> Self {
        Self { least, ..self }
    }

    /// Payload bytes of a full packet.
    pub const fn payload(self) -> u64 {
        self.mss as u64
    }

    /// Number of packets for `bytes`.
    pub const fn packets(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss as u64)
    }

    /// Bytes of a full packet.
    const fn full(self) -> u32 {
        self.size(self.mss)
    }

    /// Bytes of the last packet of a flow that is not empty.
    const fn last(self, bytes: u64) -> u32 {
        let payload = match bytes % self.mss as u64 {
            0 => self.mss,
            rest => rest as u32, // below `mss`
        };
        self.size(payload)
    }

    /// Bytes of a packet with this payload.
    const fn size(self, payload: u32) -> u32 {
        let size = payload + self.header;
        if size < self.least { self.least } else { size }
    }
}

/// Time from the first bit of a lone packet of `bytes` leaving to its last bit arriving.
pub fn transit(network: &Network, path: &[LinkId], bytes: u32) -> Span {
    let times = path.iter().map(|&link| network.link(link).rate.time_for(bytes));
    times.fold(network.path_delay(path), |sum, time| sum + time)
}

/// Time from the first bit of a flow of `bytes` leaving to its last bit arriving, alone on `path`;
/// zero for an empty flow. Saturates.
///
/// A packet waits at a link for the one before it, so the last one arrives after the longest chain
/// of transmissions in which each step goes to the next link or to the next packet. Of `n` packets
/// all except the last are alike: their part of the chain passes each link up to some link `j`
/// once, and the slowest of these links `n − 2` more times. The last packet passes the links from
/// `j` on.
pub fn completion(network: &Network, path: &[LinkId], bytes: u64, framing: Framing) -> Span {
    if bytes == 0 {
        return Span::ZERO;
    }
    let last = framing.last(bytes);
    let Some(repeats) = framing.packets(bytes).checked_sub(2) else {
        return transit(network, path, last);
    };
    let time = |link: LinkId, bytes| u128::from(network.link(link).rate.time_for(bytes).as_ps());
    // Time that the last packet still needs.
    let mut tail: u128 = path.iter().map(|&link| time(link, last)).sum();
    let (mut head, mut slowest, mut longest) = (0, 0, 0);
    for &link in path {
        let full = time(link, framing.full());
        head += full;
        slowest = slowest.max(full);
        let waits = u128::from(repeats).saturating_mul(slowest);
        longest = longest.max(waits.saturating_add(head + tail));
        tail -= time(link, last);
    }
    let sending = Span::from_ps(u64::try_from(longest).unwrap_or(u64::MAX));
    network.path_delay(path) + sending
}

#[cfg(test)]
mod tests {
    use tidegate_units::{Rate, Rng};

    use super::*;
    use crate::network::NodeId;

    /// A chain of links with these rates and delays, and the path along it.
    fn chain(links: &[(Rate, Span)]) -> (Network, Vec<LinkId>) {
        let switches = links.len() as u32 - 1;
        let mut network = Network::new(2, switches);
        let mut path = Vec::new();
        let mut from = NodeId(0);
        for (to, &(rate, delay)) in (2..2 + switches).chain([1]).map(NodeId).zip(links) {
            path.push(network.connect(from, to, rate, delay));
            from = to;
        }
        network.check().unwrap();
        (network, path)
    }

    /// Sends every packet over every link, one after the other.
    fn simulated(network: &Network, path: &[LinkId], bytes: u64, mss: u32, header: u32) -> Span {
        let mut free = vec![Span::ZERO; path.len()];
        let mut left = bytes;
        let mut now = Span::ZERO;
        while left > 0 {
            let payload = left.min(mss.into()) as u32;
            left -= u64::from(payload);
            now = Span::ZERO;
            for (free, &link) in free.iter_mut().zip(path) {
                let link = network.link(link);
                *free = now.max(*free) + link.rate.time_for(payload + header);
                now = *free + link.delay;
            }
        }
        now
    }

    #[test]
    fn completion_equals_a_simulated_pipeline_of_queues() {
        let mut rng = Rng::new(1, 0);
        let mut below = |limit: u64| rng.next_u64() % limit;
        // 995 Mb/s and 7 bit/s do not take whole picoseconds per byte.
        let speeds = [995_000_000, 1_000_000_000, 10_000_000_000, 40_000_000_000, 7];
        let mut slowest_places = [0; 6];
        for round in 0..20_000 {
            let links: Vec<(Rate, Span)> = (0..=below(6))
                .map(|_| {
                    let rate = Rate::from_bps(speeds[below(5) as usize]).unwrap();
                    (rate, Span::from_ps(below(100_000_000)))
                })
                .collect();
            let (network, path) = chain(&links);
            let (mss, header) = (1 + below(3000) as u32, below(100) as u32);
            let bytes = below(u64::from(mss) * 12);
            let framing = Framing::new(mss, header).unwrap();
            assert_eq!(
                completion(&network, &path, bytes, framing),
                simulated(&network, &path, bytes, mss, header),
                "round {round}: {bytes} bytes in packets of {mss} + {header} over {links:?}"
            );
            let rates = links.iter().map(|&(rate, _)| rate.as_bps());
            let slowest = rates.enumerate().min_by_key(|&(_, rate)| rate).unwrap().0;
            slowest_places[slowest.min(5)] += 1;
        }
        assert!(
            slowest_places.iter().all(|&count| count > 50),
            "the slowest link is not tested at every position: {slowest_places:?}"
        );
    }

    #[test]
    fn equal_links_give_the_textbook_formula() {
        // Ten packets of 1500 bytes over four links of 10 Gb/s: 13 · 1.2 µs, plus the propagation
        // delay.
        let (network, path) = chain(&[(Rate::from_gbps(10), Span::from_us(5)); 4]);
        let framing = Framing::new(1460, 40).unwrap();
        let took = completion(&network, &path, 14_600, framing);
        assert_eq!(took, Span::from_ns(13 * 1_200 + 20_000));
        assert_eq!(completion(&network, &path, 1, framing), transit(&network, &path, 41));
        assert_eq!(transit(&network, &path, 1500), Span::from_ns(24_800));
    }

    #[test]
    fn short_packets_are_padded() {
        let (network, path) = chain(&[(Rate::from_gbps(10), Span::from_us(5)); 2]);
        let framing = Framing::new(1460, 78).unwrap().padded_to(84);
        let took = |bytes| completion(&network, &path, bytes, framing);
        // One byte counts as 84, seven as 85; the last of two packets follows the first.
        assert_eq!(took(1), transit(&network, &path, 84));
        assert_eq!(took(7), transit(&network, &path, 85));
        assert_eq!(took(1461) - took(1460), Rate::from_gbps(10).time_for(84));
    }

    #[test]
    fn empty_flows_take_no_time_and_endless_flows_saturate() {
        let (network, path) = chain(&[(Rate::from_bps(1).unwrap(), Span::from_us(5)); 9]);
        let framing = Framing::new(1, u32::MAX - 1).unwrap();
        assert_eq!(completion(&network, &path, 0, framing), Span::ZERO);
        assert_eq!(completion(&network, &path, u64::MAX, framing), Span::MAX);
        assert_eq!(framing.packets(u64::MAX), u64::MAX);
        assert_eq!(completion(&network, &[], 5, framing), Span::ZERO);
    }

    #[test]
    fn impossible_framing_is_refused() {
        let error = |mss, header| Framing::new(mss, header).unwrap_err().to_string();
        assert_eq!(error(0, 40), "mss = 0 is out of range; allowed: at least 1");
        assert_eq!(error(u32::MAX, 1), "header = 1 is out of range; allowed: at most 0");
    }
}
