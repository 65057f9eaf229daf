//! BCC's thresholds of the shared pool (BCC §4.3): `B_R = C · RTT · (1 + λ) − S_min`, `K_max = B −
//! B_R/α`, `K_min = K_max − C · N · h`, marked with up to 10 %.
//!
//! `C` is the fastest of the ports that share the pool, `N` how many there are. As the scheme
//! itself has these formulas, they are taken from there.

use tidegate_dataplane::mark::bcc::{Config, Parameters};
use tidegate_units::{Bytes, ConfigError, Rate, Ratio, Span};

/// Source.
pub const SECTION: &str = "BCC §4.3";

/// Pool thresholds of BCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolThresholds {
    /// Share of the pool that a port needs for full throughput without loss (`B_R`).
    pub required: Bytes,
    /// No mark below (`K_min`).
    pub min: Bytes,
    /// Every packet above (`K_max`).
    pub max: Bytes,
    /// The probability that the rise reaches at `K_max`.
    pub probability: Ratio,
}

/// A shared pool and its ports.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Shared memory.
    pub shared: Bytes,
    /// Memory reserved for each queue.
    pub reserve: Bytes,
    /// Factor of the dynamic threshold.
    pub alpha: Ratio,
    /// Number of ports.
    pub ports: u32,
    /// Speed of the fastest port.
    pub fastest: Rate,
    /// Round-trip time.
    pub rtt: Span,
}

/// Pool thresholds for a transport with this `λ`, or the setting that rules them out.
pub fn thresholds(pool: &Pool, lambda: Ratio) -> Result<PoolThresholds, ConfigError> {
    let config = Config {
        shared_buffer: pool.shared,
        alpha: vec![pool.alpha],
        ports: u16::try_from(pool.ports).unwrap_or(u16::MAX),
        rtt: pool.rtt,
        lambda,
        reserve: pool.reserve,
        headroom: HEADROOM,
        ..Config::default()
    };
    let derived = Parameters::derive(&config, pool.fastest)?;
    Ok(PoolThresholds {
        required: Bytes(derived.required),
        min: Bytes(u64::from(derived.pool_min)),
        max: Bytes(u64::from(derived.pool_max)),
        probability: config.max_probability,
    })
}

/// The time that sets the width of the rise (`h`), §4.3.
const HEADROOM: Span = Span::from_us(8);

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight ports of 100 Gb/s.
    fn pool(shared: Bytes) -> Pool {
        Pool {
            shared,
            reserve: Bytes(128 << 10),
            alpha: Ratio::whole(4),
            ports: 8,
            fastest: Rate::from_gbps(100),
            rtt: Span::from_us(80),
        }
    }

    #[test]
    fn the_thresholds_of_the_evaluation_follow_from_its_network() {
        // §5: 3 MB for eight ports besides 128 KB for each; K_max about 2.6 MB and K_min 1.8 MB.
        let lambda = Ratio::new(72, 100).unwrap();
        let thresholds = thresholds(&pool(Bytes(3 << 20)), lambda).unwrap();
        assert_eq!(thresholds.required, Bytes(1_720_000 - 131_072));
        assert_eq!(thresholds.max, Bytes((3 << 20) - 1_588_928 / 4));
        assert_eq!(thresholds.min, Bytes(thresholds.max.0 - 800_000));
    }

    #[test]
    fn a_pool_that_is_too_small_has_no_thresholds() {
        assert!(thresholds(&pool(Bytes(776 << 10)), Ratio::ONE).is_err());
    }
}
