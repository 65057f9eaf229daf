//! Shows on a terminal how far a sweep is, and writes the folder's log.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: it tells people how long things take"
)]

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use tidegate_lab::scenario::Experiment;
use tidegate_lab::sweep::{Ending, Progress};
use tidegate_report::Folder;
use tidegate_sim::run::Status;

use crate::output::Output;

/// A run counts as this many steps of the whole.
const STEPS: u64 = 1_000;

/// How often the bars move.
const TICK: Duration = Duration::from_millis(100);

/// What is shown of a sweep.
pub(crate) struct Bars<'a> {
    folder: &'a Folder,
    output: Output,
    shown: Option<MultiProgress>,
    whole: ProgressBar,
    runs: usize,
    done: AtomicUsize,
    running: Mutex<BTreeMap<String, Running>>,
}

/// A run that goes on.
struct Running {
    bar: ProgressBar,
    begun: Instant,
    shown: Instant,
    flows: u64,
    /// The part of the whole that it has done.
    steps: u64,
}

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    end: &'a str,
    wall_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_hops: Option<u64>,
}

impl<'a> Bars<'a> {
    /// Bars for so many runs, on a terminal; elsewhere none.
    pub(crate) fn new(folder: &'a Folder, runs: usize, output: Output) -> Self {
        let is_shown = std::io::stderr().is_terminal() && !output.quiet;
        let bars = is_shown.then(MultiProgress::new);
        let whole = match &bars {
            None => ProgressBar::hidden(),
            Some(bars) => bars.add(ProgressBar::new(runs as u64 * STEPS)),
        };
        whole.set_style(style(
            "{bar:30} {percent:>3} %  {msg}  {elapsed} gone, {eta} to go",
        ));
        whole.enable_steady_tick(TICK);
        whole.set_message(format!("0 of {runs} runs"));
        Self {
            folder,
            output,
            shown: bars,
            whole,
            runs,
            done: AtomicUsize::new(0),
            running: Mutex::default(),
        }
    }

    /// Takes the bars away.
    pub(crate) fn clear(&self) {
        self.whole.finish_and_clear();
        if let Some(bars) = &self.shown {
            // A terminal that is gone has no bars left.
            let _ = bars.clear();
        }
    }

    fn with_running<T>(&self, work: impl FnOnce(&mut BTreeMap<String, Running>) -> T) -> T {
        work(
            &mut self
                .running
                .lock()
                .expect("nobody panics while showing progress"),
        )
    }

    fn log(&self, line: &Line<'_>) {
        if let Err(error) = self.folder.log(line) {
            self.warn(&error.to_string());
        }
    }

    /// A warning above the bars.
    fn warn(&self, text: &str) {
        match &self.shown {
            None => self.output.warn(text),
            Some(bars) => bars.suspend(|| self.output.warn(text)),
        }
    }
}

impl Progress for Bars<'_> {
    fn started(&self, experiment: &Experiment, flows: usize) {
        let bar = match &self.shown {
            None => ProgressBar::hidden(),
            Some(bars) => bars.add(ProgressBar::new(flows as u64)),
        };
        bar.set_style(style("  {bar:28} {pos}/{len} flows  {prefix}  {msg}"));
        bar.set_prefix(format!("{}, seed {}", experiment.label, experiment.seed));
        let now = Instant::now();
        let running = Running {
            bar,
            begun: now,
            shown: now,
            flows: flows as u64,
            steps: 0,
        };
        self.with_running(|runs| runs.insert(experiment.id.clone(), running));
    }

    fn advanced(&self, experiment: &Experiment, status: Status) {
        let now = Instant::now();
        self.with_running(|runs| {
            let Some(run) = runs.get_mut(&experiment.id) else {
                return;
            };
            if now - run.shown < TICK {
                return;
            }
            run.shown = now;
            let finished = u64::from(status.finished);
            let steps = (finished * STEPS / run.flows.max(1)).min(STEPS);
            self.whole.inc(steps.saturating_sub(run.steps));
            run.steps = run.steps.max(steps);
            run.bar.set_position(finished);
            run.bar.set_message(speed(status, now - run.begun));
        });
    }

    fn ended(&self, experiment: &Experiment, ending: Ending<'_>) {
        let run = self.with_running(|runs| runs.remove(&experiment.id));
        let (wall_s, steps) = match run {
            // It failed before it began.
            None => (0.0, 0),
            Some(run) => {
                run.bar.finish_and_clear();
                (run.begun.elapsed().as_secs_f64(), run.steps)
            }
        };
        let line = |end, why, packet_hops| Line {
            run: &experiment.id,
            end,
            // To the microsecond.
            wall_s: (wall_s * 1e6).round() / 1e6,
            why,
            packet_hops,
        };
        match ending {
            Ending::Failed(failure) => {
                self.warn(&format!("run {} left nothing: {failure}", experiment.id));
                self.log(&line("failed", Some(failure.to_string()), None));
            }
            Ending::Finished(record) => {
                self.log(&line("finished", None, Some(record.counters.packet_hops)));
            }
            Ending::Interrupted => self.log(&line("interrupted", None, None)),
        }
        self.whole.inc(STEPS - steps);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.whole
            .set_message(format!("{done} of {} runs", self.runs));
    }
}

/// The simulated time, and how much of it passes in a second.
fn speed(status: Status, wall: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let simulated = status.now.as_ps() as f64 / 1e9;
    let speed = simulated / wall.as_secs_f64().max(1e-3);
    format!("{simulated:.1} ms, {speed:.2} ms/s")
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is right");
    style.progress_chars("█▉▊▋▌▍▎▏ ")
}
