//! Throughput that a threshold keeps, as a range: a testbed measurement is the lower end, a model
//! of the congestion window the upper end.
//!
//! The measurement is BCC (APNet 2017), figure 1: 16 flows over 100 Gb/s, base round trip 30 µs,
//! Linux hosts, digitised from the figure. The model is a window that rises by a packet a round
//! trip and falls on a mark: by half for ECN*, by α/2 for DCTCP with α = √(2/W) (DCTCP, SIGCOMM
//! 2010, §3.3). Offloads send bursts, which the model leaves out.

use crate::transport::Transport;

/// Source of the measurement.
pub const SECTION: &str = "BCC §2.2, fig. 1";

/// Goodput in Gb/s at thresholds of 25, 50, … 325 KB; the last value is full goodput.
const DCTCP: [f64; 13] =
    [47.2, 60.0, 67.8, 74.2, 78.5, 82.6, 85.3, 87.4, 88.8, 89.4, 89.6, 89.8, 89.8];
const ECN_STAR: [f64; 13] =
    [47.6, 56.5, 62.4, 67.0, 71.2, 74.7, 77.9, 80.5, 83.2, 86.0, 88.3, 89.3, 89.5];
/// The bandwidth-delay product of the measurement: 100 Gb/s for 30 µs.
const BDP: f64 = 375_000.0;
const STEP: f64 = 25_000.0;

/// Range of the throughput that a threshold keeps, as fractions of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Lower end: the measurement.
    pub least: f64,
    /// Upper end: the model.
    pub most: f64,
}

/// Throughput with a threshold of `ratio` bandwidth-delay products of `window` packets. `None` if
/// the transport's throughput does not follow from a threshold.
pub fn kept(transport: Transport, ratio: f64, window: f64) -> Option<Kept> {
    let (curve, cut) = match transport {
        Transport::Dctcp | Transport::Odctcp => {
            let window = (window * (1.0 + ratio)).max(2.0);
            (&DCTCP, (2.0 / window).sqrt() / 2.0)
        }
        Transport::EcnStar | Transport::Rfc3168 => (&ECN_STAR, 0.5),
        _ => return None,
    };
    let most = sawtooth(ratio, cut);
    Some(Kept { least: measured(curve, ratio).min(most), most })
}

fn measured(curve: &[f64; 13], ratio: f64) -> f64 {
    let place = ratio * BDP / STEP - 1.0;
    let last = curve.len() - 1;
    let share = if place <= 0.0 {
        // Below the first point, a line to zero for an empty queue.
        curve[0] * (place + 1.0).max(0.0)
    } else {
        #[expect(
            clippy::cast_sign_loss,
            reason = "it is above zero, and beyond the curve the last point counts"
        )]
        let below = (place as usize).min(last);
        let above = (below + 1).min(last);
        curve[below] + (curve[above] - curve[below]) * place.fract()
    };
    (share / curve[last]).min(1.0)
}

/// Throughput of a window, in bandwidth-delay products, that rises to `1 + ratio` and falls by the
/// fraction `cut`. A queue makes the round trip longer.
fn sawtooth(ratio: f64, cut: f64) -> f64 {
    let (high, low) = (1.0 + ratio, (1.0 + ratio) * (1.0 - cut));
    if low >= 1.0 {
        return 1.0;
    }
    let sent = (high * high - low * low) / 2.0;
    let time = (1.0 - low) + (high * high - 1.0) / 2.0;
    (sent / time).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_without_a_queue_keeps_three_quarters() {
        assert!((sawtooth(0.0, 0.5) - 0.75).abs() < 1e-9);
        assert!((sawtooth(1.0, 0.5) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn estimate_meets_measured_points_and_is_full_at_the_published_lambda() {
        let kept = |ratio| kept(Transport::Dctcp, ratio, 250.0).unwrap();
        assert!((kept(100.0 / 375.0).least - 74.2 / 89.8).abs() < 1e-9);
        assert!(kept(0.72).least > 0.99);
        assert!(kept(0.1).least < kept(0.2).least);
        assert!(kept(0.0).least < 0.01 && kept(5.0).least > 0.999);
    }

    #[test]
    fn transports_without_ecn_window_control_have_no_estimate() {
        assert_eq!(kept(Transport::Dcqcn, 1.0, 100.0), None);
        assert_eq!(kept(Transport::Reno, 1.0, 100.0), None);
    }
}
