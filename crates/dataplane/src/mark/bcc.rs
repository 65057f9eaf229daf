//! BCC: marks on departure when the port is longer than its standard threshold, or with a rising
//! probability when the shared buffer pool runs full.
//!
//! Bai et al., "Congestion Control for High-speed Extremely Shallow-buffered Datacenter Networks",
//! `APNet` 2017, section 4. Combines two marks: per-port RED as in current practice, and RED on the
//! occupancy of the pool. The second keeps a port's share under the dynamic threshold above the
//! `B_R` bytes that its transport needs for full throughput without loss.
//!
//! As in the authors' simulator, both decide at departure. The port's length includes the departing
//! packet, and only lengths strictly above the threshold mark. The pool's length excludes it, a
//! length of `K_max` marks too, and marks below that are spaced by RED's count correction in bytes,
//! counted per port.
//!
//! Differs from the authors' simulator: thresholds are exact bytes, not multiples of a packet, and
//! the pool's thresholds can be derived from the model, where the scripts have constants in MiB.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use tidegate_units::{Bytes, ConfigError, Rate, Ratio, Size, Span, settings};

use super::red::{
    self, Compare, Correction, Law, Point, Pool, Port, Reading, Red, ShortQueue, Thresholds, Unit,
};
use super::{Cx, MarkDecision, Marker, PortInfo};

settings! {
    /// Parameters of BCC: the three thresholds, or the values that they are derived from. `C` is
    /// the speed of the port.
    #[named("bcc", "marks when the port is long or the shared pool runs full", "schemes/bcc.md",
        "buffer = { kind = \"dynamic-threshold\" }\n")]
    pub struct Config {
        /// Mark above this length of the port (`K`), or `none` for C × RTT × λ. Section 5: 720 KB
        /// at 100 Gb/s.
        #[is(threshold)]
        pub port_threshold: Option<Size> = None,
        /// Mark at this use of the pool (`K_max`), or `none` for B − B_R / α (section 4.3), with
        /// B_R = C × RTT × (1 + λ) − S_min.
        #[is(threshold)]
        pub pool_threshold: Option<Size> = None,
        /// Mark with a rising probability above this use of the pool (`K_min`), or `none` for
        /// `K_max` − C × N × h (equation 3).
        #[is(threshold)]
        pub pool_min_threshold: Option<Size> = None,
        /// The probability that the rise reaches at `K_max` (`P_max`). Section 4.3: 10 %.
        pub max_probability: Ratio = TENTH,
        /// Size of the pool (`B`). Section 5: 3 MB for eight ports. The simulator: 3 MiB, the
        /// default of the buffer `dynamic-threshold`.
        pub shared_buffer: Bytes = Bytes::from_kib(3 * 1024),
        /// Factor of the dynamic threshold (`α`). Section 5: 4. If queues have different factors,
        /// the smallest counts (section 4.4).
        pub alpha: Vec<Ratio> = alloc::vec![Ratio::whole(4)],
        /// Number of ports that share the pool (`N`). Section 5: 8.
        pub ports: u16 = 8,
        /// The time that sets the width of the rise (`h`). Section 4.3: 8 µs.
        pub headroom: Span = Span::from_us(8),
        /// The base round-trip time. Section 5: 80 µs.
        pub rtt: Span = Span::from_us(80),
        /// Fraction of a bandwidth-delay product that the congestion control needs (`λ`). Section
        /// 5: 0.72, measured for DCTCP.
        pub lambda: Ratio = DCTCP,
        /// Buffer reserved for each port outside the pool (`S_min`). Section 5: 128 KB. The
        /// simulator: 128 KiB, the default of the buffer `dynamic-threshold`.
        pub reserve: Bytes = Bytes::from_kib(128),
        /// Bytes in a mean packet, for the count correction and for thresholds given in packets.
        /// The authors' simulator: 9000, a jumbo frame.
        pub mean_packet: u32 = 9000,
    }
}

const TENTH: Ratio = match Ratio::new(1, 10) {
    Some(ratio) => ratio,
    None => Ratio::ONE,
};

const DCTCP: Ratio = match Ratio::new(18, 25) {
    Some(ratio) => ratio,
    None => Ratio::ONE,
};

/// Thresholds of BCC in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameters {
    /// Buffer that a port needs from the pool for full throughput without loss (`B_R`).
    pub required: u64,
    /// Standard threshold of the port (`K`).
    pub port: u32,
    /// Use of the pool at and above which every packet is marked (`K_max`).
    pub pool_max: u32,
    /// Use of the pool above which packets are marked with a probability (`K_min`).
    pub pool_min: u32,
}

impl Parameters {
    /// The thresholds of `config` on a link of `rate`: as configured, or derived as in sections 4.3
    /// and 4.4. Products are rounded down to a byte, and `B_R` / α up.
    pub fn derive(config: &Config, rate: Rate) -> Result<Self, ConfigError> {
        let packet = red::packet_size("mean_packet", config.mean_packet)?;
        let alpha = match config.alpha.iter().min() {
            Some(&alpha) if alpha > Ratio::ZERO => alpha,
            Some(alpha) => return Err(ConfigError::out_of_range("alpha", alpha, "above 0")),
            None => {
                return Err(ConfigError::out_of_range(
                    "alpha",
                    "no value",
                    "1 or more, one for each kind of queue",
                ));
            }
        };
        if config.ports == 0 {
            return Err(ConfigError::out_of_range("ports", config.ports, "1 to 65535"));
        }

        let standard = rate.bytes_in(config.lambda.of_span(config.rtt));
        let port = match config.port_threshold {
            Some(size) => red::bytes("port_threshold", size, packet)?,
            None => u32::try_from(standard).map_err(|_| {
                ConfigError::out_of_range(
                    "rtt",
                    config.rtt,
                    format!("C × RTT × λ of at most {MOST}"),
                )
            })?,
        };
        let required =
            rate.bytes_in(config.rtt).saturating_add(standard).saturating_sub(config.reserve.0);
        let pool_max = match config.pool_threshold {
            Some(size) => red::bytes("pool_threshold", size, packet)?,
            None => {
                let buffer = config.shared_buffer;
                let spare = alpha.divide_up(required);
                let left = buffer.0.checked_sub(spare).ok_or_else(|| {
                    let allowed = format!("at least B_R / α, {}", Bytes(spare));
                    ConfigError::out_of_range("shared_buffer", buffer, allowed)
                })?;
                u32::try_from(left).map_err(|_| {
                    ConfigError::out_of_range("shared_buffer", buffer, format!("at most {MOST}"))
                })?
            }
        };
        let pool_min = match config.pool_min_threshold {
            Some(size) => {
                let low = red::bytes("pool_min_threshold", size, packet)?;
                if low > pool_max {
                    let allowed = format!("at most K_max, {}", Bytes(u64::from(pool_max)));
                    return Err(ConfigError::out_of_range("pool_min_threshold", size, allowed));
                }
                low
            }
            None => {
                let width = rate.bytes_in(config.headroom * u64::from(config.ports));
                let low = u32::try_from(width).ok().and_then(|width| pool_max.checked_sub(width));
                low.ok_or_else(|| {
                    let most = Bytes(u64::from(pool_max));
                    ConfigError::out_of_range(
                        "headroom",
                        config.headroom,
                        format!("C × N × h of at most K_max, {most}"),
                    )
                })?
            }
        };
        Ok(Self { required, port, pool_max, pool_min })
    }
}

const MOST: &str = "4.294967295GB";

/// BCC.
#[derive(Clone, Debug)]
pub struct Bcc {
    /// Boxed to keep the enum of all schemes small.
    parts: Box<Parts>,
}

#[derive(Clone, Debug)]
struct Parts {
    port: Red<Port>,
    pool: Red<Pool>,
}

impl Bcc {
    /// Builds BCC with these parameters, on a link of the port's rate.
    pub fn new(config: &Config, info: &PortInfo) -> Result<Self, ConfigError> {
        let Parameters { port, pool_max, pool_min, .. } = Parameters::derive(config, info.rate)?;
        let in_bytes = |bytes| Size::Bytes(Bytes(u64::from(bytes)));
        let law = Law {
            decide: Point::Dequeue,
            reading: Reading::Inclusive,
            compare: Compare::Above,
            unit: Unit::Bytes,
            packet_size: Some(config.mean_packet),
            correction: Correction::Bytes,
            mean_packet: config.mean_packet,
            average_weight: None,
            short_queue: ShortQueue::Mark,
        };
        let step =
            Thresholds { high: in_bytes(port), low: None, max_probability: config.max_probability };
        let rise = Thresholds {
            high: in_bytes(pool_max),
            low: Some(in_bytes(pool_min)),
            max_probability: config.max_probability,
        };
        let pool_law =
            Law { reading: Reading::Exclusive, compare: Compare::AtLeast, ..law.clone() };
        Ok(Self {
            parts: Box::new(Parts {
                port: Red::new(&[step], &law, info)?,
                pool: Red::new(&[rise], &pool_law, info)?,
            }),
        })
    }
}

impl Marker for Bcc {
    const READS_POOL: bool = true;

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        // Both see every packet; if both mark, the port's mark counts.
        let Parts { port, pool } = &mut *self.parts;
        port.on_dequeue(cx).or(pool.on_dequeue(cx))
    }

    fn ignores_pool_below(&self) -> u32 {
        self.parts.pool.ignores_below()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use tidegate_units::Settings;

    use super::*;
    use crate::Rule;
    use crate::buffer::dynamic_threshold;
    use crate::mark::testing::{cx, port_info};

    const LINK: Rate = Rate::from_gbps(100);

    /// Section 5, in decimal units.
    fn paper() -> Config {
        Config { shared_buffer: Bytes(3_000_000), reserve: Bytes(128_000), ..Config::default() }
    }

    fn made(config: &Config) -> Bcc {
        Bcc::new(config, &PortInfo { rate: LINK, ..port_info(1) }).unwrap()
    }

    #[test]
    fn the_paper_s_parameters_follow_from_its_model() {
        // C × RTT = 1 MB. B_R = 1.72 MB − 128 KB; a quarter of it is 398 KB. C × N × h = 800 KB.
        let expected = Parameters {
            required: 1_592_000,
            port: 720_000,
            pool_max: 2_602_000,
            pool_min: 1_802_000,
        };
        assert_eq!(Parameters::derive(&paper(), LINK), Ok(expected));
    }

    #[test]
    fn the_default_pool_equals_the_default_buffer_s() {
        let (bcc, buffer) = (Config::default(), dynamic_threshold::Config::default());
        assert_eq!(bcc.shared_buffer, buffer.pool_size);
        assert_eq!(bcc.reserve, buffer.reserve_size);
        assert_eq!(bcc.ports, buffer.ports_per_pool);
        assert_eq!(bcc.alpha, buffer.alpha);
    }

    #[test]
    fn the_smallest_alpha_counts_and_its_part_is_rounded_up() {
        let alpha = |alpha| Config { alpha, ..paper() };
        let max = |config: Config| Parameters::derive(&config, LINK).unwrap().pool_max;
        assert_eq!(max(alpha(vec![Ratio::whole(8), Ratio::ONE])), 1_408_000);
        // 1 592 000 / 3 = 530 666.7.
        assert_eq!(max(alpha(vec![Ratio::whole(3)])), 2_469_333);
        let reserve = Bytes(2_000_000);
        let covered = Config { reserve, ..paper() };
        assert_eq!(max(covered), 3_000_000, "the reserve alone is enough");
    }

    #[test]
    fn given_thresholds_take_precedence() {
        let config = Config {
            port_threshold: Some(Size::Packets(22)),
            pool_threshold: Some(Size::Bytes(Bytes(2_727_608))),
            pool_min_threshold: Some(Size::Bytes(Bytes(1_908_408))),
            // Unused, so that these values cannot be wrong.
            shared_buffer: Bytes(0),
            headroom: Span::MAX,
            ..paper()
        };
        let derived = Parameters::derive(&config, LINK).unwrap();
        let thresholds = [derived.port, derived.pool_max, derived.pool_min];
        assert_eq!(thresholds, [198_000, 2_727_608, 1_908_408]);
        let only_max = Config { pool_min_threshold: None, headroom: Span::from_us(8), ..config };
        assert_eq!(Parameters::derive(&only_max, LINK).unwrap().pool_min, 1_927_608);
    }

    #[test]
    fn the_port_marks_above_its_threshold_at_departure() {
        let mut bcc = made(&paper());
        let mut verdict = |port_bytes| bcc.on_dequeue(&Cx { port_bytes, ..cx() }, Span::ZERO);
        // The departing packet's 1500 bytes count.
        assert_eq!(verdict(718_500), MarkDecision::Pass);
        assert_eq!(verdict(718_501), MarkDecision::Mark(Rule::PortLength));
        let full = Cx { port_bytes: u32::MAX, pool_bytes: u32::MAX, ..cx() };
        assert_eq!(bcc.on_enqueue(&full), MarkDecision::Pass);
        assert_eq!(bcc.on_dequeue(&full, Span::ZERO), MarkDecision::Mark(Rule::PortLength));
    }

    #[test]
    fn the_pool_marks_at_its_upper_threshold_and_never_at_the_lower() {
        let mut bcc = made(&paper());
        let mut hits = |pool_bytes| {
            let cx = Cx { pool_bytes, ..cx() };
            let mark = MarkDecision::Mark(Rule::PoolLength);
            (0..10_000).filter(|_| bcc.on_dequeue(&cx, Span::ZERO) == mark).count()
        };
        assert_eq!([hits(0), hits(1_802_000), hits(2_602_000)], [0, 0, 10_000]);
        // Just below K_max, p = 1/10. After k unmarked packets of 1500 bytes, the next one is
        // marked with 1500·p / (9000 − 1500·k·p) = 1/(60 − k): each of the first 53 is the first
        // mark with 1/59, and the 54th is marked if none was. The mean is 29.75 packets.
        let due = hits(2_601_999);
        assert!(due.abs_diff(336) < 40, "{due}");
    }

    #[test]
    fn a_bcc_fits_the_enum_of_schemes() {
        assert!(size_of::<Bcc>() <= 64);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let error = |settings: &[(&'static str, &str)]| {
            let mut config = paper();
            for (field, text) in settings {
                config.set(field, text).unwrap();
            }
            let link = PortInfo { rate: LINK, ..port_info(1) };
            match Bcc::new(&config, &link) {
                Ok(_) => None,
                Err(ConfigError::OutOfRange { field, .. }) => Some(field),
                Err(other) => panic!("{other}"),
            }
        };
        let wrong = [
            ("alpha", ""),
            ("alpha", "1, 0"),
            ("ports", "0"),
            ("mean_packet", "0"),
            ("max_probability", "101%"),
            // B_R / α is 398 KB.
            ("shared_buffer", "397999B"),
            ("shared_buffer", "1000GB"),
            // C × N × h is 2.7 MB.
            ("headroom", "27us"),
            ("headroom", "100s"),
            ("rtt", "1s"),
            ("port_threshold", "5GB"),
            ("pool_threshold", "5GB"),
            ("pool_min_threshold", "2602001B"),
            ("pool_min_threshold", "5GB"),
        ];
        for (field, text) in wrong {
            assert_eq!(error(&[(field, text)]), Some(field), "{text}");
        }
        assert_eq!(error(&[("pool_min_threshold", "2602KB")]), None, "equal thresholds are a step");
        // K_max = 0 is possible, but leaves no room for a rise.
        assert_eq!(error(&[("shared_buffer", "398KB")]), Some("headroom"));
        let step = [("shared_buffer", "398KB"), ("headroom", "0us")];
        assert_eq!(error(&step), None);
    }
}
