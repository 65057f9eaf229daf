//! Waits for work on another thread, while Python stays free and Ctrl-C works.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Interval of checks for Ctrl-C and of progress reports.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` on its own thread and calls `tick` periodically. If `tick` or Ctrl-C raises an
/// exception, `stop` is called once, and the exception is raised after the work has ended.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    stop: impl Fn() + Send + Sync,
) -> PyResult<T> {
    py.detach(|| {
        thread::scope(|scope| {
            // Dropped with the thread, also if it panics.
            let (alive, ended) = channel::<()>();
            let worker = thread::Builder::new().name("tidegate".to_owned()).spawn_scoped(
                scope,
                move || {
                    let _alive = alive;
                    work()
                },
            )?;
            let mut raised = None;
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_some() {
                    continue;
                }
                let looked = Python::attach(|py| {
                    py.check_signals()?;
                    tick(py)
                });
                if let Err(error) = looked {
                    stop();
                    raised = Some(error);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            match raised {
                Some(error) => Err(error),
                None => Ok(result),
            }
        })
    })
}

/// Runs `work` on its own thread. If Ctrl-C raises an exception, it is raised at once: the work
/// goes on alone, and its result is dropped.
pub(crate) fn wait_or_leave<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let (sender, done) = channel();
        let worker = thread::Builder::new().name("tidegate".to_owned());
        let worker = worker.spawn(move || _ = sender.send(work()))?;
        loop {
            match done.recv_timeout(TICK) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {
                    let heard = |py: Python<'_>| py.check_signals();
                    Python::attach(heard)?;
                }
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => unreachable!("it sends before it ends"),
                },
            }
        }
    })
}
