//! A private reserve first, then a shared pool in which a queue may hold α times the free space.
//!
//! Choudhury and Hahne's dynamic threshold (1998) as used by Bai et al., "Congestion Control for
//! High-speed Extremely Shallow-buffered Datacenter Networks" (BCC), APNet 2017, sections 2.1, 4.2
//! and 5. Decisions are made on arrival only; no stored packet is pushed out.
//!
//! An arriving packet uses its reserve if it fits there. Otherwise it uses the pool if the pool has
//! room for it and its queue, including it, is not longer than α·(pool size − bytes in the pool).
//! The queue's length includes its bytes on reserve. M greedy queues converge to αB/(1 + Mα) bytes
//! each. The comparison is exact: nothing is divided or rounded.
//!
//! Differs from the paper, section 4.2: the paper drops a packet if the queue has reached the
//! threshold before it; here, as in the authors' simulator, the packet counts. See [`Compare`].
//!
//! Differs from the authors' simulator:
//! - the reserve is charged with the packet; see [`Reserve::Leaking`];
//! - a packet larger than the free pool is dropped, where α > 1 could overfill it;
//! - ports have several queues, and the compared length is the queue's; see [`Length`].

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::{Bytes, ConfigError, PortId, QueueId, Ratio, choices, settings};

use super::{Buffer, Charge, Influx, MAX_PAIRS, Request};
use crate::DropReason;

choices! {
    /// Length that is compared with the threshold.
    #[non_exhaustive]
    pub enum Compare {
        /// The length before the packet: drop if it is at or above the threshold (section 4.2).
        BeforePacket = "before-packet",
        /// The length with the packet: drop if it is above the threshold (simulator).
        WithPacket = "with-packet",
    }
}

choices! {
    /// Owner of the length that is compared with the threshold. With one queue per port, as in the
    /// paper, both are the same.
    #[non_exhaustive]
    pub enum Length {
        /// All queues of the port together.
        Port = "port",
        /// The packet's queue.
        Queue = "queue",
    }
}

choices! {
    /// Owner of a reserve, and the way in which it is charged.
    #[non_exhaustive]
    pub enum Reserve {
        /// Each port, as in the simulator, with its error. A packet uses the reserve only if the
        /// reserve has room for the whole queue with the packet, and is charged that much, but
        /// frees only its own length when it leaves. The difference is lost for the rest of the
        /// run, so after a few bursts only the pool is left. Needed only to reproduce the paper's
        /// Figure 2.
        Leaking = "leaking",
        /// Each port (section 5).
        PerPort = "per-port",
        /// Each queue (section 2.1).
        PerQueue = "per-queue",
    }
}

settings! {
    /// Parameters of the shared buffer.
    #[named("dynamic-threshold", "stores a packet if the reserve or its share of the pool has room",
        "buffers.md#dynamic-threshold")]
    pub struct Config {
        /// Bytes of each pool (`B`), without the reserves. The default is from the simulator, 3 MiB
        /// (3 MB in section 5).
        pub pool_size: Bytes = Bytes::from_kib(3 * 1024),
        /// Number of consecutive ports that share a pool: 8 (section 5). The last pool may have
        /// fewer.
        pub ports_per_pool: u16 = 8,
        /// Pool of each port by number, from 0, instead of `ports_per_pool`. Empty: not used.
        pub pools: Vec<u16> = Vec::new(),
        /// Multiple of the free pool that a queue may hold (`α`): one value for all, or one for
        /// each queue of a port. 4 in section 5; chips offer powers of two from 1/128 to 8 (section
        /// 4.2).
        pub alpha: Vec<Ratio> = vec![Ratio::whole(4)],
        /// Bytes of each reserve, 0 for none. The default is from the simulator, 128 KiB (128 KB in
        /// section 5).
        pub reserve_size: Bytes = Bytes::from_kib(128),
        /// Owner of a reserve, and the way in which it is charged.
        pub reserve: Reserve = Reserve::PerPort,
        /// Length that is compared with the threshold.
        pub compare: Compare = Compare::WithPacket,
        /// Owner of the length that is compared with the threshold.
        pub length: Length = Length::Queue,
    }
}

impl Config {
    /// Builds the buffer of a switch with `ports` ports of `queues` queues each.
    pub fn build(&self, ports: u16, queues: u8) -> Result<DynamicThreshold, ConfigError> {
        DynamicThreshold::new(self, ports, queues)
    }

    /// Pool of each port.
    fn pool_of_port(&self, ports: u16) -> Result<Vec<u16>, ConfigError> {
        if self.pools.is_empty() {
            if self.ports_per_pool == 0 {
                return Err(ConfigError::out_of_range("ports_per_pool", 0, "1 to 65535"));
            }
            return Ok((0..ports).map(|port| port / self.ports_per_pool).collect());
        }
        if self.pools.len() != usize::from(ports) {
            let found = alloc::format!("{} values", self.pools.len());
            let allowed = alloc::format!("{ports} values: one for each port");
            return Err(ConfigError::out_of_range("pools", found, allowed));
        }
        if let Some(pool) = self.pools.iter().find(|&&pool| pool >= ports) {
            let allowed = alloc::format!("pool numbers 0 to {}", ports - 1);
            return Err(ConfigError::out_of_range("pools", pool, allowed));
        }
        Ok(self.pools.clone())
    }
}

/// Shared pools with dynamic thresholds, and reserves.
#[derive(Clone, Debug)]
pub struct DynamicThreshold {
    /// All queues, in order of ports, from port 0.
    queues: Box<[Queue]>,
    /// Bytes on every account, in one table so that a decision reads one table: first the lengths
    /// that are compared with the threshold, then the reserves, then the pools.
    held: Box<[u32]>,
    pool_size: u32,
    reserve_size: u32,
    /// Numerator and denominator of the smallest α.
    least_alpha: (u64, u64),
    queues_per_port: u8,
    reserve: Reserve,
    compare: Compare,
}

/// The accounts of a queue, as indices into the table, and its α.
#[derive(Clone, Copy, Debug)]
struct Queue {
    numerator: u32,
    denominator: u32,
    length: u32,
    /// Account whose bytes never exceed `reserve_size`.
    reserve: u32,
    /// Account whose bytes never exceed `pool_size`.
    pool: u32,
}

/// Flag in a receipt's account: charged to the reserve. The bits below it are the queue's index.
const ON_RESERVE: u32 = MAX_PAIRS;

impl DynamicThreshold {
    /// Builds shared pools for `ports` ports of `queues` queues each.
    pub fn new(config: &Config, ports: u16, queues: u8) -> Result<Self, ConfigError> {
        let pairs = super::pair_count(ports, queues)?;
        let pool_size = super::limit("pool_size", config.pool_size)?;
        let reserves_of_port = match config.reserve {
            Reserve::Leaking | Reserve::PerPort => 1,
            Reserve::PerQueue => u32::from(queues),
        };
        // Limit so that the bytes of one port, on its reserves and in its pool, fit 32 bits.
        let most = (u32::MAX - pool_size) / reserves_of_port;
        let reserve_size = super::within("reserve_size", config.reserve_size, 0, most)?;
        super::one_or_each("alpha", &config.alpha, usize::from(queues), "queue")?;
        if let Some(alpha) = config.alpha.iter().find(|&&alpha| alpha == Ratio::ZERO) {
            return Err(ConfigError::out_of_range("alpha", alpha, "above 0"));
        }

        let least = config.alpha.iter().min();
        let pool_of_port = config.pool_of_port(ports)?;
        // Space for one length and one reserve per queue, for every kind of owner. At most 3 · 2^15
        // entries.
        let (reserves, pools) = (pairs as u32, 2 * pairs as u32);
        let mut table = Vec::with_capacity(pairs);
        for (of_port, &pool) in (0..).zip(&pool_of_port) {
            for queue in 0..usize::from(queues) {
                let alpha = super::pick(&config.alpha, queue)
                    .expect("`one_or_each` has checked the length of the list");
                let of_queue = table.len() as u32;
                let length = match config.length {
                    Length::Port => of_port,
                    Length::Queue => of_queue,
                };
                let reserve = match config.reserve {
                    Reserve::Leaking | Reserve::PerPort => of_port,
                    Reserve::PerQueue => of_queue,
                };
                table.push(Queue {
                    numerator: alpha.numerator(),
                    denominator: alpha.denominator(),
                    length,
                    reserve: reserves + reserve,
                    pool: pools + u32::from(pool),
                });
            }
        }
        Ok(Self {
            queues: table.into(),
            // A pool's number is below the number of ports.
            held: vec![0; 2 * pairs + usize::from(ports)].into(),
            pool_size,
            reserve_size,
            least_alpha: least.map_or((1, 1), |alpha| {
                (u64::from(alpha.numerator()), u64::from(alpha.denominator()))
            }),
            queues_per_port: queues,
            reserve: config.reserve,
            compare: config.compare,
        })
    }

    /// Index of a queue in the table, or `None` for a queue beyond the port's last, which would be
    /// a queue of the next port. A port beyond the last is beyond the table.
    #[inline]
    fn index(&self, port: PortId, queue: QueueId) -> Option<usize> {
        let known = queue.0 < self.queues_per_port;
        known.then(|| port.index() * usize::from(self.queues_per_port) + queue.index())
    }
}

impl Buffer for DynamicThreshold {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        let Request { port, queue, len, .. } = request;
        let index = self.index(port, queue).ok_or(DropReason::QueueFull)?;
        let queue = self.queues.get(index).ok_or(DropReason::PortFull)?;
        // At most 2^15 queues.
        let account = index as u32;
        let length = self.held[queue.length as usize];

        let reserved = self.held[queue.reserve as usize];
        let cost = match self.reserve {
            Reserve::PerPort | Reserve::PerQueue => len,
            Reserve::Leaking => length.saturating_add(len),
        };
        if cost <= self.reserve_size - reserved {
            self.held[queue.reserve as usize] = reserved + cost;
            self.held[queue.length as usize] = length + len;
            return Ok(Charge::new(len, account | ON_RESERVE));
        }

        let pool = self.held[queue.pool as usize];
        let free = self.pool_size - pool;
        if len > free {
            return Err(DropReason::PoolFull);
        }
        // The bytes of a port fit 32 bits, so no product overflows.
        let threshold = u64::from(queue.numerator) * u64::from(free);
        let scaled = |length: u32| u64::from(length) * u64::from(queue.denominator);
        let drops = match self.compare {
            Compare::BeforePacket => scaled(length) >= threshold,
            Compare::WithPacket => scaled(length + len) > threshold,
        };
        if drops {
            return Err(DropReason::PoolFull);
        }
        self.held[queue.pool as usize] = pool + len;
        self.held[queue.length as usize] = length + len;
        Ok(Charge::new(len, account))
    }

    #[inline]
    fn release(&mut self, charge: Charge) {
        let account = charge.account();
        let index = (account & !ON_RESERVE) as usize;
        let Some(queue) = self.queues.get(index) else {
            return;
        };
        let place = if account & ON_RESERVE == 0 { queue.pool } else { queue.reserve };
        let freed = super::free(&mut self.held[queue.length as usize], charge.bytes());
        super::free(&mut self.held[place as usize], freed);
    }

    #[inline]
    fn pool_bytes(&self, port: PortId, queue: QueueId) -> u32 {
        let index = self.index(port, queue).unwrap_or(usize::MAX);
        self.queues.get(index).map_or(0, |queue| self.held[queue.pool as usize])
    }

    /// The pool does not matter while the longest queue, with the whole influx, stays below the
    /// smallest threshold that the pool leaves after the whole influx.
    fn has_slack(&self, Influx { total, .. }: Influx, pool_below: u32) -> bool {
        let pairs = self.queues.len();
        let (lengths, pools) = (&self.held[..pairs], &self.held[2 * pairs..]);
        let most = |held: &[u32]| held.iter().fold(0, |most, &held| most.max(held));
        let used = most(pools).saturating_add(total);
        if used > self.pool_size || used >= pool_below {
            return false;
        }
        let longest = u64::from(most(lengths)) + u64::from(total);
        let free = u64::from(self.pool_size - used);
        self.least_alpha.0 * free > self.least_alpha.1 * longest
    }
}

#[cfg(test)]
mod tests;
