//! Progress of runs: bars on a terminal, lines elsewhere.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: it shows people how long things take"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};
use tidegate_scenario::Experiment;
use tidegate_sim::run::Status;
use tidegate_study::engine::Observer;
use tidegate_study::status::{STEPS, Status as StatusFile};
use tidegate_study::sweep::{Ending, Progress};

use crate::output::Output;

/// Interval between updates of a bar.
const TICK: Duration = Duration::from_millis(100);

/// Interval between progress lines where bars cannot be shown.
const PAUSE: Duration = Duration::from_secs(5);

/// Progress of all runs of a command, in any number of folders.
pub(crate) struct ProgressBoard {
    output: Output,
    /// Bars, on a terminal.
    shown: Option<MultiProgress>,
    whole: ProgressBar,
    /// Time of the last progress line; `None` if none are printed.
    last_line: Option<Mutex<Instant>>,
    begun: Instant,
    runs: usize,
    done: AtomicUsize,
    steps: AtomicU64,
    /// Status file of a shard.
    status: Option<StatusFile>,
}

impl ProgressBoard {
    /// A board for so many runs.
    pub(crate) fn new(runs: usize, output: Output) -> Self {
        let is_terminal = io::stderr().is_terminal();
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

    /// Also writes the status file of a shard with so many runs.
    pub(crate) fn with_status(mut self, path: Option<&Path>, all: usize) -> Self {
        self.status = path.map(|path| {
            let before = all.saturating_sub(self.runs);
            StatusFile::new(path, all, before)
        });
        self.write_status();
        self
    }

    fn write_status(&self) {
        if let Some(status) = &self.status {
            let done = self.done.load(Ordering::Relaxed);
            status.write(done, self.steps.load(Ordering::Relaxed));
        }
    }

    /// Hides the bars while `work` writes to the terminal.
    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.shown {
            None => work(),
            Some(bars) => bars.suspend(work),
        }
    }

    /// Adds the bar of a run.
    fn add(&self, flows: u64) -> ProgressBar {
        match &self.shown {
            None => ProgressBar::hidden(),
            Some(bars) => bars.add(ProgressBar::new(flows)),
        }
    }

    fn advance(&self, steps: u64) {
        self.whole.inc(steps);
        self.steps.fetch_add(steps, Ordering::Relaxed);
        self.say_line();
        self.write_status();
    }

    fn end_run(&self, steps: u64) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.whole.set_message(format!("{done} of {} runs", self.runs));
        self.advance(steps);
    }

    /// Prints a line, if it is time for one and runs are left.
    fn say_line(&self) {
        let Some(last_line) = &self.last_line else {
            return;
        };
        let mut last_line = last_line.lock().expect("no thread panics while writing a line");
        let done = self.done.load(Ordering::Relaxed);
        if last_line.elapsed() >= PAUSE && done < self.runs {
            *last_line = Instant::now();
            let steps = self.steps.load(Ordering::Relaxed);
            self.output.say(&line(done, self.runs, steps, self.begun.elapsed()));
        }
    }
}

/// Runs elsewhere.
impl Observer for ProgressBoard {
    fn show(&self, done: usize, steps: u64, tasks: &str) {
        self.done.store(done, Ordering::Relaxed);
        self.steps.store(steps, Ordering::Relaxed);
        self.whole.set_position(steps);
        self.whole.set_message(format!("{done} of {} runs, {tasks}", self.runs));
        self.say_line();
    }

    fn say(&self, text: &str) {
        self.suspend(|| self.output.say(text));
    }

    fn warn(&self, text: &str) {
        self.suspend(|| self.output.warn(text));
    }
}

impl Drop for ProgressBoard {
    /// Removes the bars.
    fn drop(&mut self) {
        self.whole.finish_and_clear();
        if let Some(bars) = &self.shown {
            // The terminal may be gone.
            let _ = bars.clear();
        }
    }
}

/// Progress line.
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

/// Bars of the runs of a study.
pub(crate) struct Bars<'a> {
    board: &'a ProgressBoard,
    running: Mutex<BTreeMap<String, Running>>,
}

/// Run that is going on.
struct Running {
    bar: ProgressBar,
    begun: Instant,
    shown: Instant,
    flows: u64,
    /// Its finished steps.
    steps: u64,
}

impl<'a> Bars<'a> {
    /// Bars on a board.
    pub(crate) fn new(board: &'a ProgressBoard) -> Self {
        Self { board, running: Mutex::default() }
    }

    fn with_running<T>(&self, work: impl FnOnce(&mut BTreeMap<String, Running>) -> T) -> T {
        work(&mut self.running.lock().expect("no thread panics while showing progress"))
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
        // A run that failed before it began has no bar.
        let steps = run.map_or(0, |run| {
            run.bar.finish_and_clear();
            run.steps
        });
        match ending {
            Ending::Failed(failure) => {
                self.warn(&format!("run {} failed: {failure}", experiment.id));
            }
            Ending::Finished(_) => {}
            Ending::Interrupted => return,
        }
        self.board.end_run(STEPS - steps);
    }

    /// Prints a warning above the bars.
    fn warn(&self, text: &str) {
        self.board.warn(text);
    }
}

/// Simulated time, and how much of it a second simulates.
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
    fn line_shows_finished_share_and_remaining_time() {
        let gone = Duration::from_secs(30);
        let expected = "progress: 1 of 4 runs, 37 %, 30s elapsed, about 50s left";
        assert_eq!(line(1, 4, 1_500, gone), expected);
        let expected = "progress: 0 of 4 runs, 0 %, 30s elapsed";
        assert_eq!(line(0, 4, 0, gone), expected);
    }
}
