//! The benchmarks on any machine: properties that hold at any speed.

use std::sync::atomic::AtomicBool;

use tidegate_live::bench;
use tidegate_units::Span;

pub(crate) fn a_shaped_wire_never_exceeds_its_rate_in_any_second() {
    let measured = bench::steady(Span::from_secs(4), &AtomicBool::new(false)).unwrap();
    assert!(!measured.seconds.is_empty());
    let configured = measured.configured_bits_per_second;
    for second in &measured.seconds {
        // A second may make up for a few milliseconds lost by the previous one.
        assert!(second.bits_per_second <= configured + configured / 50, "{second:?}");
    }
    let port = &measured.port;
    assert!(port.sent.packets > 0 && port.marked > 0, "{port:?}");
}

pub(crate) fn under_everything_at_once_every_frame_is_accounted_for() {
    let span = Span::from_secs(8);
    let minutes = bench::soak(span, &AtomicBool::new(false), |_| ()).unwrap();
    assert_eq!(minutes.len(), 1);
    let minute = &minutes[0];
    assert!(minute.is_whole(), "{minute:?}");
    assert!(minute.forwarded > 0 && minute.offered > 0, "{minute:?}");
}
