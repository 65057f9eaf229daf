//! The lessons: scenario files that the playground begins with.

use serde::Serialize;

/// A lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lesson {
    /// The name of its file, and its link.
    pub id: &'static str,
    /// A few words for a list.
    pub short: &'static str,
    /// What is to be seen, and why.
    pub words: &'static str,
    /// The scenario.
    pub text: &'static str,
}

macro_rules! lessons {
    ($($id:literal: $short:literal, $words:literal;)+) => {
        /// All of them, in the order in which they are offered.
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
        "Two senders halve their windows at a mark. A threshold that is too low lets the queue run empty and the link idle; one \
         that is too high keeps a queue that every packet waits in. What fits is the rate times the round trip.";
    "tcn-dwrr": "TCN under a scheduler",
        "Two services share a port half and half, so each drains at half the speed: the threshold in bytes that fits the whole link \
         is twice too long. TCN marks packets that waited too long, whatever share their queue has.";
    "ecn-sharp": "A queue that stays",
        "Flows with short round trips fill the queue up to the threshold that those with long ones need, and it stays. ECN♯ sees that \
         packets have waited for a whole interval, and marks one now and then until the standing queue is gone.";
    "bcc-incast": "A shared pool in an incast",
        "Five busy ports hold most of a shared pool when 48 answers arrive at a sixth. Thresholds of single ports do not see the pool \
         fill, and packets are dropped; BCC marks at all ports before it is full.";
    "diff-ecn": "Whom DiffECN marks",
        "Short flows meet two long ones. A threshold marks whoever arrives at a long queue, also those who did not make it long; \
         DiffECN lets short flows pass first and marks only flows that hold more than their share.";
    "one-sided": "One-sided DCTCP",
        "Four of eight senders are changed to DCTCP, no receiver is. A standard receiver repeats a mark until it hears CWR: with it the \
         changed four take what the others give up; a DCTCP that never says CWR is cut again and again and starves.";
    "incast": "Incast collapse",
        "Thirty-one answers of 60 KB arrive at once. Without marks the buffer overflows, and the unlucky ones wait for timeouts of \
         milliseconds while the link idles; with marks all share the queue and nothing is lost.";
}
