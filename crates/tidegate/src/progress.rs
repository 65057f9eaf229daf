//! Says how far runs are, with bars on a terminal and lines elsewhere, and writes the folder's log.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: it shows people how long things take"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use tidegate_report::Folder;
use tidegate_scenario::Experiment;
use tidegate_sim::run::Status;
use tidegate_study::sweep::{Ending, Progress};

use crate::output::{Output, is_on_terminal};
use crate::status;

/// A run counts as this many steps of the whole.
pub(crate) const STEPS: u64 = 1_000;

/// How often the bars move.
const TICK: Duration = Duration::from_millis(100);

/// How often a line is written where there is no terminal for bars.
const PAUSE: Duration = Duration::from_secs(5);

/// How far all runs of a command are, whatever folders they belong to.
pub(crate) struct ProgressBoard {
    output: Output,
    /// On a terminal.
    shown: Option<MultiProgress>,
    whole: ProgressBar,
    /// Elsewhere, when the last line was written; `None` if nothing is to be said.
    last_line: Option<Mutex<Instant>>,
    begun: Instant,
    runs: usize,
    done: AtomicUsize,
    steps: AtomicU64,
    /// Where a shard says how far it is.
    status: Option<status::Status>,
}

impl ProgressBoard {
    /// For so many runs: bars on a terminal, elsewhere a line every few seconds.
    pub(crate) fn new(runs: usize, output: Output) -> Self {
        let is_terminal = is_on_terminal();
        let bars = (is_terminal && !output.quiet).then(MultiProgress::new);
        let whole = match &bars {
            None => ProgressBar::hidden(),
            Some(bars) => bars.add(ProgressBar::new(runs as u64 * STEPS)),
        };
        let bar = if output.width < 80 { 10 } else { 30 };
        whole.set_style(style(&format!(
            "{{bar:{bar}}} {{percent:>3}} %  {{msg}}  {{elapsed}} elapsed, {{eta}} left"
        )));
        whole.enable_steady_tick(TICK);
        whole.set_message(format!("0 of {runs} runs"));
        let begun = Instant::now();
        Self {
            output,
            shown: bars,
            whole,
            last_line: (!is_terminal && !output.quiet).then(|| Mutex::new(begun)),
            begun,
            runs,
            done: AtomicUsize::new(0),
            steps: AtomicU64::new(0),
            status: None,
        }
    }

    /// The same, which also keeps a file for whoever follows a shard of so many runs.
    pub(crate) fn told(mut self, path: Option<&Path>, all: usize) -> Self {
        self.status = path.map(|path| {
            let before = all.saturating_sub(self.runs);
            status::Status::new(path, all, before)
        });
        self.tell();
        self
    }

    /// Shows what others run: so many runs are done, and so much of all.
    pub(crate) fn show(&self, done: usize, steps: u64, note: &str) {
        self.done.store(done, Ordering::Relaxed);
        self.steps.store(steps, Ordering::Relaxed);
        self.whole.set_position(steps);
        self.whole.set_message(format!("{done} of {} runs, {note}", self.runs));
        self.say();
    }

    fn tell(&self) {
        if let Some(status) = &self.status {
            let done = self.done.load(Ordering::Relaxed);
            status.write(done, self.steps.load(Ordering::Relaxed));
        }
    }

    /// Does something that writes to the terminal, with the bars out of its way.
    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.shown {
            None => work(),
            Some(bars) => bars.suspend(work),
        }
    }

    /// A bar for a run.
    fn add(&self, flows: u64) -> ProgressBar {
        match &self.shown {
            None => ProgressBar::hidden(),
            Some(bars) => bars.add(ProgressBar::new(flows)),
        }
    }

    fn advance(&self, steps: u64) {
        self.whole.inc(steps);
        self.steps.fetch_add(steps, Ordering::Relaxed);
        self.say();
        self.tell();
    }

    fn end_run(&self, steps: u64) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.whole.set_message(format!("{done} of {} runs", self.runs));
        self.advance(steps);
    }

    /// A line, if it is time for one and not all is done.
    fn say(&self) {
        let Some(last_line) = &self.last_line else {
            return;
        };
        let mut last_line = last_line.lock().expect("nobody panics while writing a line");
        let done = self.done.load(Ordering::Relaxed);
        if last_line.elapsed() >= PAUSE && done < self.runs {
            *last_line = Instant::now();
            let steps = self.steps.load(Ordering::Relaxed);
            self.output.say(&line(done, self.runs, steps, self.begun.elapsed()));
        }
    }
}

impl Drop for ProgressBoard {
    /// Takes the bars away.
    fn drop(&mut self) {
        self.whole.finish_and_clear();
        if let Some(bars) = &self.shown {
            // A terminal that is gone has no bars left.
            let _ = bars.clear();
        }
    }
}

/// How far the runs are, for a log.
fn line(done: usize, runs: usize, steps: u64, gone: Duration) -> String {
    let all = runs as u64 * STEPS;
    let percent = steps.saturating_mul(100) / all.max(1);
    let mut line =
        format!("progress: {done} of {runs} runs, {percent} %, {:#} elapsed", HumanDuration(gone));
    if steps > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let left = gone.mul_f64(all.saturating_sub(steps) as f64 / steps as f64);
        _ = write!(line, ", about {:#} left", HumanDuration(left));
    }
    line
}

/// What is shown of a sweep.
pub(crate) struct Bars<'a> {
    folder: &'a Folder,
    board: &'a ProgressBoard,
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
    /// For the runs of a folder.
    pub(crate) fn new(folder: &'a Folder, board: &'a ProgressBoard) -> Self {
        Self { folder, board, running: Mutex::default() }
    }

    fn with_running<T>(&self, work: impl FnOnce(&mut BTreeMap<String, Running>) -> T) -> T {
        work(&mut self.running.lock().expect("nobody panics while showing progress"))
    }

    fn log(&self, line: &Line<'_>) {
        if let Err(error) = self.folder.log(line) {
            self.warn(&error.to_string());
        }
    }

    /// A warning above the bars.
    fn warn(&self, text: &str) {
        self.board.suspend(|| self.board.output.warn(text));
    }
}

impl Progress for Bars<'_> {
    fn started(&self, experiment: &Experiment, flows: usize) {
        let bar = self.board.add(flows as u64);
        bar.set_style(style("  {bar:28} {pos}/{len} flows  {prefix}  {msg}"));
        bar.set_prefix(format!("{}, seed {}", experiment.label, experiment.seed));
        let now = Instant::now();
        let running = Running { bar, begun: now, shown: now, flows: flows as u64, steps: 0 };
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
            self.board.advance(steps.saturating_sub(run.steps));
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
                self.warn(&format!("run {} failed: {failure}", experiment.id));
                self.log(&line("failed", Some(failure.to_string()), None));
            }
            Ending::Finished(record) => {
                self.log(&line("finished", None, Some(record.counters.packet_hops)));
            }
            Ending::Interrupted => {
                // It is not done.
                self.log(&line("interrupted", None, None));
                return;
            }
        }
        self.board.end_run(STEPS - steps);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_done_and_what_is_left() {
        let gone = Duration::from_secs(30);
        let expected = "progress: 1 of 4 runs, 37 %, 30s elapsed, about 50s left";
        assert_eq!(line(1, 4, 1_500, gone), expected);
        let expected = "progress: 0 of 4 runs, 0 %, 30s elapsed";
        assert_eq!(line(0, 4, 0, gone), expected);
    }
}
