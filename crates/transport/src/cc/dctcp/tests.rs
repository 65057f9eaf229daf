//! α and window sequences worked out by hand, for every profile.

use alloc::vec::Vec;

use tidegate_units::Settings;

use super::*;
use crate::cc::AckKind;
use crate::cc::testing::{ack, flight, params, start};

const MSS: u32 = 1000;

fn cc(name: &str) -> Dctcp {
    let mut cc = Dctcp::new(&Config::profile(name).unwrap(), &params()).unwrap();
    cc.begin(&start(MSS, 10 * MSS));
    cc
}

/// α in parts of 1024, rounded down.
fn alpha(cc: &Dctcp) -> u64 {
    cc.alpha().unwrap().of(1024)
}

/// Feeds windows of ten segments, of which the first `marked[i]` are echoed in the i-th, and
/// answers α in parts of 1024 after each window.
fn alphas(name: &str, marked: &[u32]) -> Vec<u64> {
    let mut cc = cc(name);
    let mut acked = 0;
    // The first ACK ends the empty window that every implementation starts with, as a sample of
    // one ACK. It is unmarked.
    cc.on_ack(&ack(1, 10, false));
    acked += 1;
    let mut seen = Vec::from([alpha(&cc)]);
    let mut end = 10;
    for &marked in marked {
        let start = acked;
        let next_end = end + 10;
        // The window is over at the ACK that reaches its end, or at the one that passes it.
        let last = match rule_end(name) {
            WindowEnd::At => end,
            _ => end + 1,
        };
        while acked < last {
            acked += 1;
            cc.on_ack(&ack(acked, next_end, acked - start <= marked));
        }
        end = next_end;
        seen.push(alpha(&cc));
    }
    seen
}

fn rule_end(name: &str) -> WindowEnd {
    Config::profile(name).unwrap().window_end
}

#[test]
fn alpha_follows_the_marks_in_every_profile() {
    // RFC 8257: α₀ = 1. One unmarked ACK ends the first window: 1 · 15/16 = 0.9375 = 960/1024.
    // Ten ACKs (2..=11), five of them marked: 0.9375 · 15/16 + 0.5/16 = 0.910156 → 932/1024
    // (exactly 932.0). None marked: 0.910156 · 15/16 = 0.853271 → 873.75. All marked:
    // 0.853271 · 15/16 + 1/16 = 0.862442 → 883.14.
    let exact_one = [960, 932, 873, 883];
    assert_eq!(alphas("rfc8257", &[5, 0, 10]), exact_one);
    // α₀ = 0: 0, then 0.5/16 = 0.03125 → 32; · 15/16 → 30; 30/1024 · 15/16 + 1/16 → 92.125.
    assert_eq!(alphas("ns2", &[5, 0, 10]), [0, 32, 30, 92]);

    // The windows of the profiles that end *at* the mark: ACKs 2..=10 first, nine of them, then
    // ten each. Exact: 0.9375 · 15/16 + (5/9)/16 = 0.913628 → 935.55; · 15/16 → 877.08;
    // 877.08 · 15/16 + 64 = 886.26.
    assert_eq!(alphas("ns3", &[5, 0, 10]), [960, 935, 877, 886]);
    assert_eq!(alphas("ecn-sharp-ns3", &[5, 0, 10]), [960, 935, 877, 886]);

    // Linux: 1024 − 64 = 960. 960 − 60 + ⌊5·64/9⌋ = 900 + 35 = 935. 935 − 58 = 877.
    // 877 − 54 + 64 = 887.
    for name in ["linux-3.18", "linux-4.9", "linux-5.1"] {
        assert_eq!(alphas(name, &[5, 0, 10]), [960, 935, 877, 887], "{name}");
    }
    // FreeBSD now: 960; 960 − 60 + ⌊5·64/10⌋ = 932; 932 − 58 = 874; 874 − 54 + 64 = 884.
    assert_eq!(alphas("freebsd", &[5, 0, 10]), [960, 932, 874, 884]);
    // FreeBSD of the thesis: 0; 32; 32 − 2 = 30; 30 − 1 + 64 = 93.
    assert_eq!(alphas("freebsd-thesis", &[5, 0, 10]), [0, 32, 30, 93]);
    assert_eq!(alphas("thesis-plain", &[5, 0, 10]), [0, 32, 30, 93]);
}

#[test]
fn small_alpha_stalls_in_old_kernels_and_reaches_zero_in_newer_ones() {
    // Below 16/1024 the shift takes nothing away.
    let quiet = [0; 100];
    assert_eq!(alphas("linux-3.18", &quiet).last(), Some(&15));
    assert_eq!(alphas("freebsd", &quiet).last(), Some(&15));
    assert_eq!(alphas("linux-4.9", &quiet).last(), Some(&0));
    // Exact: (15/16)^101 = 0.00148 → 1.5/1024.
    assert_eq!(alphas("rfc8257", &quiet).last(), Some(&1));
}

/// The windows and thresholds, in bytes, after each of ten echoed ACKs, from α = `alpha`.
fn cut(name: &str, initial: u32, alpha: Ratio) -> (u32, u32) {
    let mut config = Config::profile(name).unwrap();
    config.initial_alpha = alpha;
    let mut cc = Dctcp::new(&config, &CwndParams { initial, ..params() }).unwrap();
    cc.begin(&start(MSS, initial));
    // The ACK of nothing new: no sample is taken, so the cut uses α as given.
    let mut echo = ack(1, 10, true);
    echo.bytes = 0;
    echo.kind = AckKind::Other;
    echo.ack = Seq(0);
    assert_eq!(cc.on_ack(&echo), Reaction::Reduced(config.pace));
    (cc.window(), cc.ssthresh())
}

#[test]
fn a_mark_cuts_by_half_of_alpha_with_each_profiles_rounding() {
    let half = Ratio::new(1, 2).unwrap();
    // 10 500 · (1 − 1/4) = 7875.
    assert_eq!(cut("rfc8257", 10_500, half), (7875, 7875));
    assert_eq!(cut("freebsd", 10_500, half), (7875, 7875));
    assert_eq!(cut("ns3", 10_500, half), (7875, 7875));
    // ns-2: ssthresh is an integer number of packets.
    assert_eq!(cut("ns2", 10_500, half), (7875, 7000));
    // FreeBSD of the thesis rounds both down to whole segments.
    assert_eq!(cut("freebsd-thesis", 10_500, half), (7000, 7000));
    // Linux counts packets: 10 − ⌊10/4⌋ = 8.
    assert_eq!(cut("linux-4.9", 10_500, half), (8000, 8000));
    assert_eq!(cut("linux-5.1", 10_500, half), (8000, 8000));
    // ECN♯'s ns-3: ssthresh is at least half of the flight of 10 segments.
    assert_eq!(cut("ecn-sharp-ns3", 4_000, half), (3000, 5000));
}

#[test]
fn the_lower_bound_of_the_window_differs() {
    // From two segments with α = 1.
    assert_eq!(cut("rfc8257", 2000, Ratio::ONE), (2000, 2000));
    assert_eq!(cut("linux-5.1", 2000, Ratio::ONE), (2000, 2000));
    assert_eq!(cut("freebsd-thesis", 2000, Ratio::ONE), (2000, 2000));
    assert_eq!(cut("ns2", 2000, Ratio::ONE), (1000, 2000));
    assert_eq!(cut("ns3", 2000, Ratio::ONE), (1000, 1000));
    // A cut never raises the window.
    assert_eq!(cut("rfc8257", 1000, Ratio::ONE), (1000, 2000));
    // No bound at all: half a segment.
    assert_eq!(cut("ecn-sharp-ns3", 1000, Ratio::ONE).0, 500);
}

/// The window after each of these echoes, ACK by ACK from the first, ten segments per window.
fn windows(name: &str, echoes: &[bool]) -> Vec<u32> {
    let mut cc = cc(name);
    let mut acked: u32 = 0;
    echoes
        .iter()
        .map(|&echo| {
            acked += 1;
            let sent = acked.div_ceil(10) * 10;
            cc.on_ack(&ack(acked, sent, echo));
            cc.window()
        })
        .collect()
}

#[test]
fn growth_after_a_cut_differs() {
    let (yes, no) = (true, false);
    let echoes = [yes, yes, yes, no, no, no, no, no, no, no, no, no];
    // RFC 8257, α₀ = 1: the first ACK is a sample with F = 1, α stays 1, the window halves to
    // 5000 and stays until an ACK passes 10 000, the end of data at the cut. From there avoidance
    // needs 5000 acknowledged bytes per segment, counted from ACK 11.
    assert_eq!(windows("rfc8257", &echoes), [5000; 12]);
    // ns-2, α₀ = 0: the sample of the first ACK makes α = 1/16, the cut is 10 000 · 31/32 = 9687.5;
    // ⌊10 000/32⌋ = 312 taken. The first echo of the run does not open the window, the others do:
    // ssthresh is 9000, below the window, so avoidance counts 1000 per ACK and opens at 9688
    // counted bytes, which is at the eleventh ACK (ten ACKs counted).
    let ns2 = windows("ns2", &echoes);
    assert_eq!(ns2[..10], [9688; 10]);
    assert_eq!(ns2[10..], [10_688; 2]);
    // FreeBSD of the thesis, α₀ = 0: the echo is handled before the sample of its ACK, so the cut
    // is by nothing (figure 4.4). Growth goes on, from that ACK on: ten ACKs make one segment.
    let freebsd = windows("freebsd-thesis", &echoes);
    assert_eq!(freebsd[..9], [10_000; 9]);
    assert_eq!(freebsd[9..], [11_000; 3]);
    // The same without the modifications of the thesis: frozen.
    assert_eq!(windows("thesis-plain", &echoes), [10_000; 12]);
}

#[test]
fn in_freebsd_the_ack_that_cuts_also_grows_the_window() {
    let params = CwndParams { slow_start: crate::config::SlowStart::UpTo, ..params() };
    // α = 0: nothing is cut, and at ssthresh it is still slow start.
    for (name, window) in [("freebsd-thesis", 11_000), ("thesis-plain", 10_000)] {
        let mut cc = Dctcp::new(&Config::profile(name).unwrap(), &params).unwrap();
        cc.begin(&start(MSS, 10 * MSS));
        cc.on_ack(&ack(1, 10, true));
        assert_eq!(cc.window(), window, "{name}");
    }
}

#[test]
fn there_is_one_cut_per_window_of_data() {
    let mut cc = cc("rfc8257");
    let windows: Vec<u32> = (1..=12)
        .map(|i| {
            // 10 segments were sent before the cut; later ones follow.
            cc.on_ack(&ack(i, if i == 1 { 10 } else { 20 }, true));
            cc.window()
        })
        .collect();
    // The second cut comes with the ACK that passes segment 10, that is the eleventh; α is 1.
    assert_eq!(windows, [5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 2500, 2500]);
}

/// The window and threshold after a loss with ten segments outstanding, at α = 1/4, with an echo
/// before it in the same window of data if `marked`.
fn after_loss(name: &str, marked: bool) -> (u32, u32) {
    let mut config = Config::profile(name).unwrap();
    config.initial_alpha = Ratio::new(1, 4).unwrap();
    let mut cc = Dctcp::new(&config, &params()).unwrap();
    cc.begin(&start(MSS, 10 * MSS));
    if marked {
        let mut echo = ack(1, 10, true);
        echo.ack = Seq(0);
        echo.bytes = 0;
        echo.kind = AckKind::Other;
        cc.on_ack(&echo);
    }
    cc.on_loss(&flight(0, 10));
    (cc.window(), cc.ssthresh())
}

#[test]
fn the_reaction_to_loss_differs() {
    // Half of the flight of 10 segments.
    assert_eq!(after_loss("rfc8257", false), (5000, 5000));
    assert_eq!(after_loss("ns2", false), (5000, 5000));
    assert_eq!(after_loss("linux-5.1", false), (5000, 5000));
    assert_eq!(after_loss("freebsd", false), (5000, 5000));
    // Linux before 5.1: by α, 10 − ⌊10/8⌋ = 9 packets; ns-3: 10 000 · 7/8.
    assert_eq!(after_loss("linux-3.18", false), (9000, 9000));
    assert_eq!(after_loss("linux-4.9", false), (9000, 9000));
    assert_eq!(after_loss("ns3", false), (8750, 8750));
    // After a mark, which cut to 8750 (Linux: 9000; thesis: 8000).
    assert_eq!(after_loss("rfc8257", true), (5000, 5000), "half of the flight");
    assert_eq!(after_loss("ns2", true), (4375, 4375), "half of what the mark left");
    assert_eq!(after_loss("linux-4.9", true), (9000, 9000), "no second cut");
    assert_eq!(
        after_loss("linux-5.1", true),
        (4000, 4000),
        "half of the nine segments that the mark left, rounded down"
    );
    assert_eq!(after_loss("freebsd-thesis", true), (5000, 5000), "half of the window before");
}

#[test]
fn in_freebsd_a_loss_halves_the_window_of_the_last_echo() {
    let mut config = Config::profile("freebsd-thesis").unwrap();
    config.initial_alpha = Ratio::ONE;
    let mut cc = Dctcp::new(&config, &params()).unwrap();
    cc.begin(&start(MSS, 10 * MSS));
    // The first echo halves to five segments; the second is in the same window of data.
    cc.on_ack(&ack(1, 10, true));
    assert_eq!(cc.window(), 5 * MSS);
    cc.on_ack(&ack(2, 10, true));
    cc.on_loss(&flight(2, 10));
    assert_eq!(cc.window(), 2500, "half of five segments, not of ten");
}

#[test]
fn a_timeout_with_nothing_counted_lowers_alpha_in_freebsd() {
    let mut config = Config::profile("freebsd-thesis").unwrap();
    config.initial_alpha = Ratio::ONE;
    let mut cc = Dctcp::new(&config, &params()).unwrap();
    cc.begin(&start(MSS, 10 * MSS));
    cc.on_timeout(&flight(0, 10), Timeout::First);
    assert_eq!(alpha(&cc), 1024 - 64);
}

#[test]
fn the_window_before_a_mark_is_forgotten_with_its_data() {
    let mut cc = cc("freebsd-thesis");
    cc.on_ack(&ack(1, 10, true));
    cc.on_loss(&flight(1, 10));
    assert_eq!(cc.window(), 5000, "half of the ten segments before the mark");
    cc.on_recovered(Seq(10 * MSS));
    cc.on_loss(&flight(10, 15));
    assert_eq!(cc.window(), 2500, "half of the window as it is");
}

/// The slow start threshold after a timeout with ten segments outstanding, at α = 1/4; after a mark
/// if `marked`.
fn after_timeout(name: &str, marked: bool) -> u32 {
    let mut config = Config::profile(name).unwrap();
    config.initial_alpha = Ratio::new(1, 4).unwrap();
    let mut cc = Dctcp::new(&config, &params()).unwrap();
    cc.begin(&start(MSS, 10 * MSS));
    if marked {
        let mut echo = ack(1, 10, true);
        echo.ack = Seq(0);
        echo.bytes = 0;
        echo.kind = AckKind::Other;
        cc.on_ack(&echo);
    }
    cc.on_timeout(&flight(0, 10), Timeout::First);
    assert_eq!(cc.window(), MSS, "{name}");
    let ssthresh = cc.ssthresh();
    cc.on_timeout(&flight(0, 1), Timeout::Repeated);
    assert_eq!(cc.ssthresh(), ssthresh, "{name}: a repeated timeout keeps ssthresh");
    ssthresh
}

#[test]
fn only_ns3_lets_the_threshold_fall_below_two_segments() {
    // One segment, α = 1: half of the window and half of the flight are 500 bytes.
    for (name, expected) in [("ecn-sharp-ns3", 500), ("linux-4.9", 2000), ("ns3", 500)] {
        let mut cc = Dctcp::new(&Config::profile(name).unwrap(), &params()).unwrap();
        cc.begin(&start(MSS, MSS));
        cc.on_timeout(&flight(0, 1), Timeout::First);
        assert_eq!(cc.ssthresh(), expected, "{name}");
    }
}

#[test]
fn the_reaction_to_a_timeout_differs() {
    assert_eq!(after_timeout("rfc8257", false), 5000);
    assert_eq!(after_timeout("linux-4.9", false), 9000);
    assert_eq!(after_timeout("linux-5.1", false), 5000);
    assert_eq!(after_timeout("ecn-sharp-ns3", false), 8750);
    assert_eq!(after_timeout("ns3", false), 8750);
    assert_eq!(after_timeout("ns2", false), 5000);
    // ns-2: the mark had set ssthresh to 8 packets, and it stays.
    assert_eq!(after_timeout("ns2", true), 8000);
}

#[test]
fn linux_halves_whole_segments() {
    // Eleven and a half segments: ⌊11 / 2⌋ = 5. To the byte it would be 5750.
    for (name, half) in [("linux-5.1", 5000), ("ns2", 5750)] {
        let cc = || {
            let config = Config::profile(name).unwrap();
            let mut cc = Dctcp::new(&config, &params()).unwrap();
            cc.begin(&start(MSS, 11_500));
            cc
        };
        let mut lost = cc();
        lost.on_loss(&flight(0, 11));
        assert_eq!((lost.window(), lost.ssthresh()), (half, half), "{name}");
        let mut timed_out = cc();
        timed_out.on_timeout(&flight(0, 11), Timeout::First);
        assert_eq!(timed_out.ssthresh(), half, "{name}");
    }
    // Three segments: one, but never below two.
    let mut small = Dctcp::new(&Config::profile("linux-5.1").unwrap(), &params()).unwrap();
    small.begin(&start(MSS, 3 * MSS));
    small.on_loss(&flight(0, 3));
    assert_eq!(small.window(), 2 * MSS);
}

#[test]
fn counting_differs_on_duplicates() {
    // One duplicate with ECE, then nine ACKs without, up to the end of the first real window.
    let fraction = |counting| {
        let config =
            Config { counting, initial_alpha: Ratio::ZERO, gain: Ratio::ONE, ..Config::default() };
        let mut cc = Dctcp::new(&config, &params()).unwrap();
        cc.begin(&start(MSS, 10 * MSS));
        cc.on_ack(&ack(1, 10, false));
        let mut duplicate = ack(1, 10, true);
        duplicate.bytes = 0;
        duplicate.delivered = 500;
        duplicate.kind = AckKind::Duplicate;
        cc.on_ack(&duplicate);
        for i in 2..=11 {
            cc.on_ack(&ack(i, 20, false));
        }
        cc.alpha().unwrap()
    };
    let part = |marked, total| Ratio::new(marked, total).unwrap();
    assert_eq!(fraction(Counting::Bytes), Ratio::ZERO);
    assert_eq!(fraction(Counting::Segments), Ratio::ZERO);
    let close = |a: Ratio, b: Ratio| a.of(1 << 20).abs_diff(b.of(1 << 20)) <= 1;
    for counting in [
        Counting::BytesAndDuplicates,
        Counting::EdgeBytesAndDuplicates,
        Counting::EveryPacket,
        Counting::SegmentsAndDuplicates,
    ] {
        assert!(close(fraction(counting), part(1, 11)), "{counting:?}");
    }
    assert!(close(fraction(Counting::Delivered), part(1, 21)), "500 of 10 500 bytes");
}

#[test]
fn an_edge_gives_one_segment_to_the_state_before() {
    let config = Config {
        initial_alpha: Ratio::ZERO,
        gain: Ratio::ONE,
        ..Config::profile("freebsd-thesis").unwrap()
    };
    let mut cc = Dctcp::new(&config, &params()).unwrap();
    cc.begin(&start(MSS, 10 * MSS));
    cc.on_ack(&ack(1, 10, false));
    // ACKs of two segments each: the ECE on the second is an edge, of 2000 bytes 1000 count as
    // marked; on the third there is no edge, 2000; the fourth is an edge back, 1000 count.
    let two = |i, echo| Acked { bytes: 2 * MSS, ..ack(i, if i > 10 { 20 } else { 10 }, echo) };
    for (i, echo) in [(3, false), (5, true), (7, true), (9, false), (11, false)] {
        cc.on_ack(&two(i, echo));
    }
    // 4000 of 10 000 bytes: ⌊4000 · 1024 / 10 000⌋ = 409.
    assert_eq!(alpha(&cc), 409);
}

#[test]
fn idle_times_reset_alpha_where_the_profile_says_so() {
    let after_idle = |name| {
        let mut cc = cc(name);
        for i in 1..=11 {
            cc.on_ack(&ack(i, if i > 1 { 20 } else { 10 }, true));
        }
        let before = alpha(&cc);
        cc.on_idle(Restart::AtMostInitial, Seq(11 * MSS));
        (before, alpha(&cc), cc.window())
    };
    // Thesis: 64, then 64 − 4 + 64 = 124; reset to 0.
    assert_eq!(after_idle("freebsd-thesis"), (124, 0, 10_000));
    assert_eq!(after_idle("rfc8257"), (1024, 1024, 2500));
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = |field: &str, text: &str, name: &str| {
        let mut config = Config::profile(name).unwrap();
        config.set(field, text).unwrap();
        match Dctcp::new(&config, &params()) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(error("initial_alpha", "1.1", "rfc8257"), "initial_alpha");
    assert_eq!(error("gain", "0", "rfc8257"), "gain");
    assert_eq!(error("gain", "2", "rfc8257"), "gain");
    assert_eq!(error("gain", "1/10", "linux-4.9"), "gain");
    let mut config = Config::default();
    config.set("gain", "1/10").unwrap();
    assert!(Dctcp::new(&config, &params()).is_ok());
    assert!(Config::profile("solaris").is_none());
    for name in Config::PROFILES {
        assert!(Config::profile(name).is_some(), "{name}");
    }
}

/// RFC 8257, section 3.5: a loss is a loss, wherever the last mark was. Linux before 5.1 stays in
/// the state CWR, in which a loss does not cut, until more than the window of the mark is
/// acknowledged (`tcp_fastretrans_alert`).
#[test]
fn a_loss_of_the_first_byte_after_the_window_of_a_mark_cuts_but_in_old_linux() {
    let after = |name, una| {
        let mut cc = cc(name);
        assert_ne!(cc.on_ack(&ack(1, 10, true)), Reaction::None);
        let before = cc.window();
        cc.on_loss(&flight(una, 15));
        (before, cc.window())
    };
    // α = 1: half of ten segments, then half of the five or six in flight, or nothing.
    assert_eq!(after("rfc8257", 9), (5000, 3000));
    assert_eq!(after("rfc8257", 10), (5000, 2500));
    assert_eq!([9, 10].map(|una| after("linux-4.9", una)), [(5000, 5000); 2]);
}
