//! BCC's thresholds of the shared pool (BCC §4.3): `B_R = C · RTT · (1 + λ) − S_min`, `K_max = B −
//! B_R/α`, `K_min = K_max − C · N · h`, marked with up to 10 %.
//!
//! `C` is the fastest of the ports that share the pool, `N` how many there are. As the scheme
//! itself has these formulas, they are taken from there.

use tidegate_dataplane::mark::bcc::{Config, Parameters};
use tidegate_units::{Bytes, ConfigError, Ratio, Span};

use crate::network::Network;

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

/// Pool thresholds for a transport with this `λ`, or the setting that rules them out.
pub fn thresholds(network: &Network, lambda: Ratio) -> Result<PoolThresholds, ConfigError> {
    let pool = network.pool();
    let speeds = network.speeds();
    let fastest = speeds[speeds.len() - 1];
    let config = Config {
        shared_buffer: crate::judge::shared_memory(network),
        alpha: vec![network.switch.alpha],
        ports: u16::try_from(pool.ports).unwrap_or(u16::MAX),
        rtt: network.rtt.p90,
        lambda,
        reserve: network.switch.reserve,
        headroom: HEADROOM,
        ..Config::default()
    };
    let derived = Parameters::derive(&config, fastest)?;
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

    fn network(buffer: &str) -> Network {
        let text = format!(
            "fabric = {{ host_ports = \"8x100Gbps\" }}\n\
             switch = {{ buffer = \"{buffer}\", alpha = 4, reserve = \"128KiB\" }}\n\
             rtt = {{ base = \"80us\" }}\n"
        );
        Network::parse("bcc.toml", &text).unwrap()
    }

    #[test]
    fn the_thresholds_of_the_evaluation_follow_from_its_network() {
        // §5: 3 MB for eight ports besides 128 KB for each; K_max about 2.6 MB and K_min 1.8 MB.
        let lambda = Ratio::new(72, 100).unwrap();
        let thresholds = thresholds(&network("4MiB"), lambda).unwrap();
        assert_eq!(thresholds.required, Bytes(1_720_000 - 131_072));
        assert_eq!(thresholds.max, Bytes((3 << 20) - 1_588_928 / 4));
        assert_eq!(thresholds.min, Bytes(thresholds.max.0 - 800_000));
    }

    #[test]
    fn a_pool_that_is_too_small_has_no_thresholds() {
        assert!(thresholds(&network("1800KiB"), Ratio::ONE).is_err());
    }
}
