//! A memory management unit that remembers every packet it holds and recomputes all sums on every
//! call.
//!
//! It has no counters that could be wrong. Sizes are `i128`, so that they cannot overflow. Written
//! from the description of the buffers, not from their code.

/// A packet's request for memory.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Egress port.
    pub port: usize,
    /// Queue of that port.
    pub queue: usize,
    /// Ingress account.
    pub ingress: usize,
    /// Bytes.
    pub len: i128,
}

/// A held packet.
#[derive(Clone, Debug)]
struct Held {
    id: u64,
    ask: Ask,
    on_reserve: bool,
}

/// Owner of a reserve or a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A port.
    Port,
    /// A queue.
    Queue,
}

/// Egress rules.
#[derive(Clone, Debug)]
pub enum Egress {
    /// No limit.
    Unlimited,
    /// A limit for each port.
    PerPort {
        /// Bytes.
        limit: i128,
    },
    /// A limit for each queue, and optionally for each port.
    PerQueue {
        /// By queue of a port.
        limits: Vec<i128>,
        /// Bytes.
        port_limit: Option<i128>,
    },
    /// Reserves, and pools with a dynamic threshold.
    Shared {
        /// Bytes of each pool.
        pool_size: i128,
        /// By port.
        pools: Vec<usize>,
        /// By queue of a port: numerator and denominator.
        alphas: Vec<(i128, i128)>,
        /// Bytes of each reserve.
        reserve_size: i128,
        /// Owner of the reserves.
        reserve: Owner,
        /// Whether a reserve is charged with the whole length.
        leaks: bool,
        /// Whether the compared length includes the packet.
        counts_packet: bool,
        /// Owner of the compared length.
        length: Owner,
    },
}

/// An egress buffer.
#[derive(Clone, Debug)]
pub struct Mmu {
    egress: Egress,
    held: Vec<Held>,
    /// For the leaking reserve: by port, bytes charged beyond the packets' own lengths.
    leaked: Vec<i128>,
}

impl Mmu {
    /// Creates an empty buffer for a switch with `ports` ports.
    pub fn new(egress: Egress, ports: usize) -> Self {
        Self { egress, held: Vec::new(), leaked: vec![0; ports] }
    }

    fn sum(&self, counts: impl Fn(&Held) -> bool) -> i128 {
        let counted = self.held.iter().filter(|held| counts(held));
        counted.map(|held| held.ask.len).sum()
    }

    /// Bytes in the pool of `port`.
    pub fn pool(&self, port: usize) -> i128 {
        match &self.egress {
            Egress::Shared { pools, .. } => {
                self.sum(|held| !held.on_reserve && pools[held.ask.port] == pools[port])
            }
            _ => 0,
        }
    }

    /// Admits packet `id`, or names the reason for the drop.
    pub fn admit(&mut self, id: u64, ask: Ask) -> Result<(), &'static str> {
        let same_port = |held: &Held| held.ask.port == ask.port;
        let same_queue = |held: &Held| same_port(held) && held.ask.queue == ask.queue;
        let port = self.sum(same_port);
        let queue = self.sum(same_queue);
        let mut on_reserve = false;
        match &self.egress {
            Egress::Unlimited => {}
            Egress::PerPort { limit } => {
                if port + ask.len > *limit {
                    return Err("port-full");
                }
            }
            Egress::PerQueue { limits, port_limit } => {
                if queue + ask.len > limits[ask.queue] {
                    return Err("queue-full");
                }
                if port_limit.is_some_and(|limit| port + ask.len > limit) {
                    return Err("port-full");
                }
            }
            Egress::Shared {
                pool_size,
                alphas,
                reserve_size,
                reserve,
                leaks,
                counts_packet,
                length,
                ..
            } => {
                let length = match length {
                    Owner::Port => port,
                    Owner::Queue => queue,
                };
                let mut reserved = self.sum(|held| {
                    held.on_reserve
                        && match reserve {
                            Owner::Port => same_port(held),
                            Owner::Queue => same_queue(held),
                        }
                });
                let mut cost = ask.len;
                if *leaks {
                    reserved += self.leaked[ask.port];
                    cost += length;
                }
                on_reserve = reserved + cost <= *reserve_size;
                if on_reserve {
                    self.leaked[ask.port] += cost - ask.len;
                } else {
                    let free = pool_size - self.pool(ask.port);
                    let (numerator, denominator) = alphas[ask.queue];
                    // The threshold α·free in whole bytes: rounded down for "above", up for "at
                    // least".
                    let drops = if *counts_packet {
                        length + ask.len > numerator * free / denominator
                    } else {
                        length >= (numerator * free + denominator - 1) / denominator
                    };
                    if drops || ask.len > free {
                        return Err("pool-full");
                    }
                }
            }
        }
        self.held.push(Held { id, ask, on_reserve });
        Ok(())
    }

    /// Releases packet `id`.
    pub fn release(&mut self, id: u64) {
        self.held.retain(|held| held.id != id);
    }
}

/// Threshold of an ingress account.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Above this fraction, numerator and denominator, of the free pool.
    Factor(i128, i128),
    /// At the free pool, shifted.
    Shift {
        /// Distance below the threshold at which an account is resumed.
        resume_offset: i128,
    },
    /// At a fixed number of bytes.
    Static {
        /// Pause threshold.
        xoff: i128,
        /// Resume threshold.
        xon: i128,
    },
}

/// Parameters of PFC.
#[derive(Clone, Debug)]
pub struct Lossless {
    /// Total bytes.
    pub buffer: i128,
    /// Classes per port.
    pub classes: usize,
    /// Classes without accounting.
    pub bypass: Vec<usize>,
    /// Bytes of each account.
    pub reserve: i128,
    /// Headroom by port.
    pub headrooms: Vec<i128>,
    /// Shift by port.
    pub shifts: Vec<u32>,
    /// Whether reserve and headroom are set aside for each account instead of each port.
    pub per_account: bool,
    /// Threshold of an account.
    pub rule: Rule,
}

/// Bytes of an account that were stored in one place together.
#[derive(Clone, Copy, Debug)]
struct Run {
    account: usize,
    in_headroom: bool,
    len: i128,
}

/// PFC over an egress buffer.
#[derive(Clone, Debug)]
pub struct Ingress {
    config: Lossless,
    /// Buffer that the packets wait in.
    pub egress: Mmu,
    runs: Vec<Run>,
    asks: Vec<(u64, Ask)>,
    paused: Vec<bool>,
}

impl Ingress {
    /// Creates empty accounts over `egress`.
    pub fn new(config: Lossless, egress: Mmu) -> Self {
        let accounts = config.headrooms.len() * config.classes;
        Self { config, egress, runs: Vec::new(), asks: Vec::new(), paused: vec![false; accounts] }
    }

    fn is_lossless(&self, account: usize) -> bool {
        !self.config.bypass.contains(&(account % self.config.classes))
    }

    fn sum(&self, account: usize, in_headroom: bool) -> i128 {
        let own = |run: &&Run| run.account == account && run.in_headroom == in_headroom;
        self.runs.iter().filter(own).map(|run| run.len).sum()
    }

    /// Bytes of an account above its reserve.
    fn shared(&self, account: usize) -> i128 {
        (self.sum(account, false) - self.config.reserve).max(0)
    }

    /// Bytes of the pool not used by any account.
    fn free(&self) -> i128 {
        let lossless = (0..self.config.classes).filter(|&class| self.is_lossless(class)).count();
        let each = if self.config.per_account { lossless as i128 } else { 1 };
        let headrooms: i128 = self.config.headrooms.iter().sum();
        let reserves = self.config.reserve * self.config.headrooms.len() as i128;
        let used: i128 = (0..self.paused.len()).map(|account| self.shared(account)).sum();
        self.config.buffer - each * (headrooms + reserves) - used
    }

    fn shifted(&self, account: usize) -> i128 {
        self.free() / 2_i128.pow(self.config.shifts[account / self.config.classes])
    }

    /// Admits packet `id`, or names the reason for the drop. Returns whether its account must be
    /// paused.
    pub fn admit(&mut self, id: u64, ask: Ask) -> Result<bool, &'static str> {
        let account = ask.ingress;
        if !self.is_lossless(account) {
            self.egress.admit(id, ask)?;
            self.asks.push((id, ask));
            return Ok(false);
        }
        let all: i128 = self.runs.iter().map(|run| run.len).sum();
        if all + ask.len > self.config.buffer {
            return Err("pool-full");
        }
        let with_packet = (self.sum(account, false) + ask.len - self.config.reserve).max(0);
        let within_threshold = match self.config.rule {
            Rule::Factor(..) => true,
            Rule::Shift { .. } => with_packet <= self.shifted(account),
            Rule::Static { xoff, .. } => with_packet <= xoff,
        };
        let within_pool = with_packet - self.shared(account) <= self.free();
        let in_headroom = !(within_threshold && within_pool);
        let headroom = self.config.headrooms[account / self.config.classes];
        if in_headroom && self.sum(account, true) + ask.len > headroom {
            return Err("headroom-full");
        }
        self.egress.admit(id, ask)?;
        self.asks.push((id, ask));
        self.runs.push(Run { account, in_headroom, len: ask.len });
        let shared = self.shared(account);
        let above = match self.config.rule {
            Rule::Factor(numerator, denominator) => shared * denominator > numerator * self.free(),
            Rule::Shift { .. } => shared >= self.shifted(account),
            Rule::Static { xoff, .. } => shared >= xoff,
        };
        let pauses = !self.paused[account] && (self.sum(account, true) > 0 || above);
        self.paused[account] |= pauses;
        Ok(pauses)
    }

    /// Releases packet `id`, and returns the account to resume, if any.
    pub fn release(&mut self, id: u64) -> Option<usize> {
        self.egress.release(id);
        let place = self.asks.iter().position(|(held, _)| *held == id)?;
        let (_, ask) = self.asks.remove(place);
        let account = ask.ingress;
        if !self.is_lossless(account) {
            return None;
        }
        let mut left = ask.len;
        for in_headroom in [true, false] {
            for run in &mut self.runs {
                if run.account == account && run.in_headroom == in_headroom {
                    let part = left.min(run.len);
                    run.len -= part;
                    left -= part;
                }
            }
        }
        self.runs.retain(|run| run.len > 0);
        let shared = self.shared(account);
        let below = match self.config.rule {
            Rule::Factor(numerator, denominator) => {
                shared * denominator < numerator * (self.free() - 16).max(0)
            }
            Rule::Shift { resume_offset } => shared + resume_offset <= self.shifted(account),
            Rule::Static { xon, .. } => shared <= xon,
        };
        let resumes =
            self.paused[account] && self.sum(account, true) == 0 && (shared == 0 || below);
        self.paused[account] &= !resumes;
        resumes.then_some(account)
    }
}
