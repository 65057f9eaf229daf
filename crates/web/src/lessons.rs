//! Lessons: scenario files built into the playground.

use serde::Serialize;

/// A lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lesson {
    /// Name of its file and of its link.
    pub id: &'static str,
    /// Short title for a list.
    pub short: &'static str,
    /// Explanation of the effect that the lesson shows.
    pub words: &'static str,
    /// Scenario as TOML.
    pub text: &'static str,
}

macro_rules! lessons {
    ($($id:literal: $short:literal, $words:literal;)+) => {
        /// All lessons, in the order of the page.
        pub const LESSONS: &[Lesson] = &[$(Lesson {
            id: $id,
            short: $short,
            words: $words,
            text: include_str!(concat!("../presets/", $id, ".toml")),
        }),+];
    };
}

lessons! {
    "threshold": "Too low, too high",
        "Two senders halve their windows at every mark. If the threshold is too low, the queue runs empty and the link idles. If it is \
         too high, every packet waits in a standing queue. The right threshold is the link rate times the round trip.";
    "tcn-dwrr": "TCN under a scheduler",
        "Two services share a port half and half, so each queue drains at half the link rate. The threshold in bytes that fits the \
         whole link is then twice too long. TCN marks by sojourn time, so its threshold does not depend on a queue's share.";
    "ecn-sharp": "A standing queue",
        "Flows with short round trips fill the queue up to the threshold that flows with long round trips need, and the queue never \
         drains. ECN♯ detects that packets have waited for a whole interval, and marks one now and then until the standing queue is gone.";
    "bcc-incast": "A shared pool in an incast",
        "Five busy ports hold most of a shared pool when 48 responses arrive at a sixth. Per-port thresholds do not see the pool fill \
         up, so packets are dropped. BCC marks at all ports before the pool is full.";
    "diff-ecn": "Which flows DiffECN marks",
        "Short flows meet two long ones. A plain threshold marks every packet that arrives at a long queue, including short flows that \
         did not build it. DiffECN serves short flows first and marks only flows that hold more than their share.";
    "one-sided": "One-sided DCTCP",
        "Four of eight senders move to DCTCP; no receiver does. A standard receiver echoes a mark until it sees CWR. With CWR, the four \
         DCTCP senders take the throughput that the others give up. A DCTCP sender without CWR cuts its window again and again and starves.";
    "incast": "Incast collapse",
        "Thirty-one responses of 60 KB arrive at once. Without marks the buffer overflows, and flows that lost packets wait milliseconds \
         for a timeout while the link idles. With marks all flows share the queue and nothing is lost.";
}
