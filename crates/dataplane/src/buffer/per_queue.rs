//! A private limit per queue, and optionally one per port: a queue cannot take its neighbours'
//! share.
//!
//! None of the five papers uses it. It is the static alternative that shared buffers are measured
//! against, and the behaviour of a switch with a private pool per egress queue and no shared one
//! (Bai et al., "Congestion Control for High-speed Extremely Shallow-buffered Datacenter Networks",
//! APNet 2017, section 2.1). A packet is dropped if the bytes held by its queue plus its own length
//! exceed the queue's limit, or the bytes of its port exceed the port's limit. No stored packet is
//! pushed out.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::{Bytes, ConfigError, settings};

use super::{Buffer, Charge, Influx, Request};
use crate::DropReason;

settings! {
    /// Parameters of the per-queue limits.
    #[named("per-queue", "stores a packet if its queue has room, and its port if limited",
        "buffers.md#per-queue")]
    pub struct Config {
        /// Most bytes that a queue holds: one value for all, or one for each queue of a port. The
        /// default is the limit of a whole port in TCN's simulations (section 6.2).
        pub limit: Vec<Bytes> = vec![Bytes::from_kb(300)],
        /// Most bytes that the queues of a port hold together, or `none`.
        pub port_limit: Option<Bytes> = None,
    }
}

impl Config {
    /// Builds the buffer of a switch with `ports` ports of `queues` queues each.
    pub fn build(&self, ports: u16, queues: u8) -> Result<PerQueue, ConfigError> {
        PerQueue::new(self, ports, queues)
    }
}

/// Per-queue limits.
#[derive(Clone, Debug)]
pub struct PerQueue {
    /// All queues, in order of ports, from port 0.
    queues: Box<[Queue]>,
    /// Bytes held by each port, at most `port_limit`.
    ports: Box<[u32]>,
    port_limit: u32,
    queues_per_port: u8,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Bytes held, at most `limit`.
    held: u32,
    limit: u32,
    port: u16,
}

impl PerQueue {
    /// Builds per-queue limits for `ports` ports of `queues` queues each.
    pub fn new(config: &Config, ports: u16, queues: u8) -> Result<Self, ConfigError> {
        let pairs = super::pair_count(ports, queues)?;
        super::one_or_each("limit", &config.limit, usize::from(queues), "queue")?;
        let mut table = Vec::with_capacity(pairs);
        for port in 0..ports {
            for queue in 0..usize::from(queues) {
                let limit = super::pick(&config.limit, queue).copied().unwrap_or_default();
                table.push(Queue { held: 0, limit: super::limit("limit", limit)?, port });
            }
        }
        let port_limit = match config.port_limit {
            Some(limit) => super::limit("port_limit", limit)?,
            // A port's counter cannot hold more.
            None => u32::MAX,
        };
        Ok(Self {
            queues: table.into(),
            ports: vec![0; usize::from(ports)].into(),
            port_limit,
            queues_per_port: queues,
        })
    }
}

impl Buffer for PerQueue {
    #[inline]
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        let Request { port, queue, len, .. } = request;
        // A queue number beyond the port's last would select a queue of the next port.
        if queue.0 >= self.queues_per_port {
            return Err(DropReason::QueueFull);
        }
        let port_held = self.ports.get_mut(port.index()).ok_or(DropReason::PortFull)?;
        let index = port.index() * usize::from(self.queues_per_port) + queue.index();
        let queue = self.queues.get_mut(index).ok_or(DropReason::QueueFull)?;
        if len > queue.limit - queue.held {
            return Err(DropReason::QueueFull);
        }
        if len > self.port_limit - *port_held {
            return Err(DropReason::PortFull);
        }
        queue.held += len;
        *port_held += len;
        // At most 2^15 queues.
        Ok(Charge::new(len, index as u32))
    }

    #[inline]
    fn release(&mut self, charge: Charge) {
        if let Some(queue) = self.queues.get_mut(charge.account() as usize) {
            let freed = super::free(&mut queue.held, charge.bytes());
            super::free(&mut self.ports[usize::from(queue.port)], freed);
        }
    }

    /// There is no pool, and the limits are per port and queue.
    fn has_slack(&self, _influx: Influx, _pool_below: u32) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::testing::{error, request};

    #[test]
    fn each_queue_fills_exactly_to_its_own_limit() {
        let config = Config { limit: vec![Bytes(3000), Bytes(1500)], ..Config::default() };
        let mut buffer = PerQueue::new(&config, 2, 2).unwrap();
        for (port, queue, limit) in [(0, 0, 3000), (0, 1, 1500), (1, 0, 3000), (1, 1, 1500)] {
            let above = buffer.admit(request(port, queue, limit + 1));
            assert_eq!(above, Err(DropReason::QueueFull));
            let _below = buffer.admit(request(port, queue, limit - 1)).unwrap();
            let _equal = buffer.admit(request(port, queue, 1)).unwrap();
            let full = buffer.admit(request(port, queue, 1));
            assert_eq!(full, Err(DropReason::QueueFull));
        }
    }

    #[test]
    fn the_port_limit_spans_its_queues_and_everything_is_released() {
        let config = Config { limit: vec![Bytes(3000)], port_limit: Some(Bytes(4500)) };
        let mut buffer = PerQueue::new(&config, 2, 2).unwrap();
        let first = buffer.admit(request(0, 0, 3000)).unwrap();
        assert_eq!(buffer.admit(request(0, 1, 1501)), Err(DropReason::PortFull));
        let second = buffer.admit(request(0, 1, 1500)).unwrap();
        let neighbour = buffer.admit(request(1, 1, 3000)).unwrap();
        assert_eq!(*buffer.ports, [4500, 3000]);
        buffer.release(first);
        assert_eq!(*buffer.ports, [1500, 3000]);
        for charge in [second, neighbour] {
            buffer.release(charge);
        }
        assert_eq!(*buffer.ports, [0, 0]);
        assert!(buffer.queues.iter().all(|queue| queue.held == 0));
    }

    #[test]
    fn packets_for_unknown_ports_and_queues_are_dropped() {
        let mut buffer = Config::default().build(2, 2).unwrap();
        assert_eq!(buffer.admit(request(0, 2, 1)), Err(DropReason::QueueFull));
        assert_eq!(buffer.admit(request(2, 0, 1)), Err(DropReason::PortFull));
        buffer.release(Charge::new(1, u32::MAX));
    }

    #[test]
    fn the_extremes_fit_and_impossible_parameters_are_named() {
        let most = Bytes(u64::from(u32::MAX));
        let config = |limit: &[Bytes], port_limit| Config { limit: limit.to_vec(), port_limit };
        let mut buffer = PerQueue::new(&config(&[most], None), 256, 128).unwrap();
        let charge = buffer.admit(request(255, 127, u32::MAX)).unwrap();
        assert_eq!(charge.account(), 0x7FFF);
        assert_eq!(buffer.admit(request(255, 126, 1)), Err(DropReason::PortFull));
        buffer.release(charge);

        let field = |config: Config, ports, queues| error(config.build(ports, queues));
        assert_eq!(field(config(&[most], None), 0, 1), "ports");
        assert_eq!(field(config(&[most], None), 257, 128), "ports");
        assert_eq!(field(config(&[most], None), 1, 0), "queues");
        assert_eq!(field(config(&[most], None), 1, 129), "queues");
        assert_eq!(field(config(&[], None), 1, 1), "limit");
        assert_eq!(field(config(&[most; 2], None), 1, 3), "limit");
        assert_eq!(field(config(&[most, Bytes(0)], None), 1, 2), "limit");
        assert_eq!(field(config(&[most], Some(Bytes(1 << 32))), 1, 1), "port_limit");
    }
}
