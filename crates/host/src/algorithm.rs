//! Algorithms by their kernel names, with their parameters.
//!
//! Parameters are passed to a program as 32-bit numbers, in the order of the structs in `bpf/`, and
//! are read back from the kernel in the same way.

use tidegate_units::{ConfigError, Ratio, Setting, catalogue, choices, settings};

choices! {
    /// Effect of a loss on DCTCP's window.
    pub enum Loss {
        /// Halves it (RFC 8257, section 3.5; Linux since 5.1).
        HalfWindow = "half-window",
        /// Cuts it by α/2, as a mark does (Linux before 5.1).
        Alpha = "alpha",
    }
}

choices! {
    /// Effect of a change of CE at DCTCP's receiver.
    pub enum DctcpEcho {
        /// An ACK of waiting older data with the old state, then one with the new state (Linux
        /// since 4.18).
        DctcpTwoAcks = "dctcp-two-acks",
        /// One ACK at once, of old and new data, with the new state (RFC 8257, section 3.2).
        Dctcp = "dctcp",
        /// An ACK of waiting older data with the old state; the new segment waits (SIGCOMM paper).
        DctcpPaper = "dctcp-paper",
    }
}

choices! {
    /// Effect of a segment with CWR at ODCTCP's receiver.
    pub enum OdctcpEcho {
        /// The delayed ACK keeps waiting (thesis, section 5.2.2).
        Odctcp = "odctcp",
        /// The segment is acknowledged at once (current FreeBSD).
        OdctcpInverted = "odctcp-inverted",
    }
}

choices! {
    /// Growth of the window while the data of a reduction is being acknowledged.
    pub enum Regrowth {
        /// Unchanged (ODCTCP).
        Continues = "continues",
        /// Unchanged, except on the first of a run of ACKs with ECE (ns-2).
        ExceptFirstEcho = "except-first-echo",
        /// None until an ACK covers data sent after the reduction.
        Frozen = "frozen",
    }
}

const SIXTEENTH: Ratio = Ratio::new(1, 16).expect("sixteen is not zero");

settings! {
    /// Parameters of `tg_dctcp`.
    #[named("tg_dctcp", "DCTCP at both ends of a connection (RFC 8257)", "guide/hosts.md")]
    pub struct Dctcp {
        /// Weight of a new sample of the marked fraction (`g`): 1/2^n, n up to 10.
        pub gain: Ratio = SIXTEENTH,
        /// α before the first sample (RFC 8257, section 4.2: 1).
        pub initial_alpha: Ratio = Ratio::ONE,
        /// Lower bound of a window reduced for marks, in packets.
        pub min_window: u8 = 2,
        /// Effect of a loss on the window.
        pub loss: Loss = Loss::HalfWindow,
        /// Effect of a change of CE at the receiver.
        pub echo: DctcpEcho = DctcpEcho::DctcpTwoAcks,
    }
}

settings! {
    /// Parameters of `tg_ecn_star`.
    #[named("tg_ecn_star", "ECN*: standard ECN that halves the window itself", "guide/hosts.md")]
    pub struct EcnStar {
        /// Lower bound of a window reduced for marks, in segments.
        pub min_window: u8 = 1,
        /// Growth after a reduction (ns-2).
        pub regrowth: Regrowth = Regrowth::ExceptFirstEcho,
        /// Segments for which an ACK counts at most in slow start (RFC 3465); 255 as in Linux: all.
        pub abc: u8 = 255,
    }
}

settings! {
    /// Parameters of `tg_odctcp_rcv`.
    #[named("tg_odctcp_rcv", "ODCTCP's receiver, for senders of standard ECN", "guide/hosts.md")]
    pub struct OdctcpReceiver {
        /// Effect of a segment with CWR.
        pub echo: OdctcpEcho = OdctcpEcho::Odctcp,
    }
}

settings! {
    /// Parameters of `tg_odctcp_snd`.
    #[named("tg_odctcp_snd", "ODCTCP's sender, for receivers of standard ECN", "guide/hosts.md")]
    pub struct OdctcpSender {
        /// Weight of a new sample of the marked fraction (`g`): 1/2^n, n up to 10.
        pub gain: Ratio = SIXTEENTH,
        /// α before the first sample: 0 for throughput, 1 for latency (thesis, section 4.2.2).
        pub initial_alpha: Ratio = Ratio::ZERO,
        /// Lower bound of a window reduced for marks, in segments.
        pub min_window: u8 = 2,
        /// Growth after a reduction.
        pub regrowth: Regrowth = Regrowth::Continues,
        /// Segments for which an ACK counts at most in slow start (RFC 3465; the thesis's FreeBSD:
        /// 2).
        pub abc: u8 = 2,
    }
}

catalogue! {
    /// An algorithm with its parameters.
    pub enum Algorithm {
        []
        Dctcp(Dctcp),
        EcnStar(EcnStar),
        OdctcpReceiver(OdctcpReceiver),
        OdctcpSender(OdctcpSender),
    }
}

/// Unit of α in the kernel.
const ALPHA_ONE: u64 = 1024;

impl Algorithm {
    /// Names under which the kernel knows it; users choose the last one, under which connections
    /// are opened. A one-sided algorithm continues under the other name once ECN is negotiated,
    /// DCTCP if it is refused.
    pub const fn kernel_names(&self) -> &'static [&'static str] {
        match self {
            Self::Dctcp(_) => &["tg_dctcp_reno", "tg_dctcp"],
            Self::EcnStar(_) => &["tg_ecn_star"],
            Self::OdctcpReceiver(_) => &["tg_odctcp_rcv_e", "tg_odctcp_rcv"],
            Self::OdctcpSender(_) => &["tg_odctcp_snd_e", "tg_odctcp_snd"],
        }
    }

    /// The algorithm with this kernel name, with its default parameters.
    pub fn of_kernel_name(name: &str) -> Option<Self> {
        let all = Self::NAMES.iter().filter_map(|name| Self::named(name));
        all.into_iter().find(|algorithm| algorithm.kernel_names().contains(&name))
    }

    /// Parameters in the program's format, or the one that cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>, ConfigError> {
        let numbers = match self {
            Self::Dctcp(dctcp) => vec![
                shift(dctcp.gain)?,
                alpha(dctcp.initial_alpha)?,
                at_least_one("min_window", dctcp.min_window)?,
                dctcp.loss as u32,
                dctcp.echo as u32,
            ],
            Self::EcnStar(star) => vec![
                at_least_one("min_window", star.min_window)?,
                star.regrowth as u32,
                at_least_one("abc", star.abc)?,
            ],
            Self::OdctcpReceiver(receiver) => vec![receiver.echo as u32],
            Self::OdctcpSender(sender) => vec![
                shift(sender.gain)?,
                alpha(sender.initial_alpha)?,
                at_least_one("min_window", sender.min_window)?,
                sender.regrowth as u32,
                at_least_one("abc", sender.abc)?,
            ],
        };
        Ok(numbers.into_iter().flat_map(u32::to_ne_bytes).collect())
    }

    /// The algorithm of this name with the parameters given to a program; `None` if they are not in
    /// its format.
    pub fn decode(name: &str, bytes: &[u8]) -> Option<Self> {
        let numbers = bytes.chunks_exact(4).map(|chunk| {
            let chunk = <[u8; 4]>::try_from(chunk).expect("chunks of four bytes");
            u32::from_ne_bytes(chunk)
        });
        let mut numbers = numbers.collect::<Vec<_>>().into_iter();
        let mut next = || numbers.next();
        let mut algorithm = Self::named(name)?;
        match &mut algorithm {
            Self::Dctcp(dctcp) => {
                dctcp.gain = Ratio::new(1, 1_u32.checked_shl(next()?)?)?;
                dctcp.initial_alpha = fraction(next()?)?;
                dctcp.min_window = next()?.try_into().ok()?;
                dctcp.loss = choice(Loss::NAMES, next()?)?;
                dctcp.echo = choice(DctcpEcho::NAMES, next()?)?;
            }
            Self::EcnStar(star) => {
                star.min_window = next()?.try_into().ok()?;
                star.regrowth = choice(Regrowth::NAMES, next()?)?;
                star.abc = next()?.try_into().ok()?;
            }
            Self::OdctcpReceiver(receiver) => {
                receiver.echo = choice(OdctcpEcho::NAMES, next()?)?;
            }
            Self::OdctcpSender(sender) => {
                sender.gain = Ratio::new(1, 1_u32.checked_shl(next()?)?)?;
                sender.initial_alpha = fraction(next()?)?;
                sender.min_window = next()?.try_into().ok()?;
                sender.regrowth = choice(Regrowth::NAMES, next()?)?;
                sender.abc = next()?.try_into().ok()?;
            }
        }
        Some(algorithm)
    }

    /// All parameters as text, in order.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let fields = self.fields().iter();
        let value = |name| self.value(name).unwrap_or_default();
        fields.map(|field| (field.name, value(field.name))).collect()
    }
}

/// Exponent n of a gain of 1/2^n.
fn shift(gain: Ratio) -> Result<u32, ConfigError> {
    let found = (0..=10).find(|&n| Ratio::new(1, 1 << n) == Some(gain));
    found.ok_or_else(|| ConfigError::out_of_range("gain", gain, "1/2^n for n from 0 to 10"))
}

fn alpha(initial: Ratio) -> Result<u32, ConfigError> {
    if initial > Ratio::ONE {
        return Err(ConfigError::out_of_range("initial_alpha", initial, "0 to 1"));
    }
    // At most 1024, so it fits.
    Ok(initial.of(ALPHA_ONE) as u32)
}

/// Fraction of a number of 1024ths, in lowest terms.
fn fraction(alpha: u32) -> Option<Ratio> {
    let shift = alpha.trailing_zeros().min(10);
    Ratio::new(alpha >> shift, ALPHA_ONE as u32 >> shift)
}

fn at_least_one(field: &'static str, value: u8) -> Result<u32, ConfigError> {
    if value == 0 {
        return Err(ConfigError::out_of_range(field, value, "1 to 255"));
    }
    Ok(value.into())
}

/// The choice with this number: both sides number choices in order of declaration.
fn choice<T: Setting>(names: &[&str], number: u32) -> Option<T> {
    T::read(names.get(usize::try_from(number).ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_as_they_were_encoded() {
        let settings = [
            ("tg_dctcp", "gain", "1/8"),
            ("tg_dctcp", "initial_alpha", "1/2"),
            ("tg_dctcp", "loss", "alpha"),
            ("tg_dctcp", "echo", "dctcp-paper"),
            ("tg_ecn_star", "regrowth", "frozen"),
            ("tg_ecn_star", "min_window", "3"),
            ("tg_odctcp_rcv", "echo", "odctcp-inverted"),
            ("tg_odctcp_snd", "initial_alpha", "1"),
            ("tg_odctcp_snd", "regrowth", "frozen"),
            ("tg_odctcp_snd", "abc", "255"),
        ];
        for (name, field, text) in settings {
            let mut algorithm = Algorithm::named(name).unwrap();
            algorithm.set(field, text).unwrap();
            let read = Algorithm::decode(name, &algorithm.encode().unwrap());
            assert_eq!(read, Some(algorithm), "{name} {field}");
        }
    }

    #[test]
    fn impossible_parameters_are_named() {
        for (name, field, text) in [
            ("tg_dctcp", "gain", "1/10"),
            ("tg_dctcp", "gain", "0"),
            ("tg_dctcp", "initial_alpha", "1.5"),
            ("tg_odctcp_snd", "min_window", "0"),
            ("tg_ecn_star", "abc", "0"),
        ] {
            let mut algorithm = Algorithm::named(name).unwrap();
            algorithm.set(field, text).unwrap();
            let error = algorithm.encode().unwrap_err().to_string();
            assert!(error.starts_with(field), "{error}");
        }
    }

    #[test]
    fn invalid_bytes_are_not_decoded() {
        assert_eq!(Algorithm::decode("cubic", &[0; 64]), None);
        assert_eq!(Algorithm::decode("tg_dctcp", &[0; 8]), None);
        assert_eq!(Algorithm::decode("tg_dctcp", &[0xff; 64]), None);
    }

    #[test]
    fn names_fit_the_kernel_s_limit() {
        for name in Algorithm::NAMES {
            let algorithm = Algorithm::named(name).unwrap();
            assert_eq!(algorithm.kernel_names().last(), Some(name));
            assert!(algorithm.kernel_names().iter().all(|name| name.len() < 16));
        }
    }
}
