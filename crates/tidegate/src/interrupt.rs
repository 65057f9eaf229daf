//! Ctrl-C and panics while runs go on.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::{self, Output};

/// Set by Ctrl-C: ends all runs soon.
pub(crate) static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// Handles Ctrl-C and panics of runs, once per process.
pub(crate) fn watch(output: Output) {
    listen(output);
    watch_panics();
}

/// Whether the user has asked to stop.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPT.load(Ordering::Relaxed)
}

/// Handles Ctrl-C: the first one ends the runs soon, the second one exits.
pub(crate) fn listen(output: Output) {
    let set = ctrlc::set_handler(move || {
        if INTERRUPT.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        output.say("stopping; finished runs are kept (press Ctrl-C again to exit immediately)");
    });
    if let Err(error) = set {
        output.warn(&format!("cannot catch Ctrl-C, which will lose unfinished runs: {error}"));
    }
}

/// Reports where a run panicked. The error of the run, which names it, has the panic's message.
fn watch_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let is_run = |name: &str| name.starts_with(tidegate_study::sweep::THREADS);
        match panic.location() {
            Some(place) if thread.name().is_some_and(is_run) => {
                output::say(&format!("a run panicked at {place}"));
            }
            _ => usual(panic),
        }
    }));
}
