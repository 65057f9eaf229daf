//! `tidegate host watch`.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use tidegate_live::endpoint::{Endpoint, Pages};

use super::status::table;
use super::{Output, chosen, find};
use crate::args::{PINS, Watch};
use crate::error::Error;
use crate::event::{Event, Kind};
use crate::kernel::{self, Holder, Registered};
use crate::machine;
use crate::watch::View;

/// Lock of the only reader of samples.
const LOCK: &str = "/run/tidegate-host-watch.lock";

pub(super) fn watch(arguments: &Watch, output: Output) -> Result<(), Error> {
    for name in &arguments.names {
        find(name)?;
    }
    machine::check_privileges(machine::TO_FIND)?;
    let watched = watched(arguments)?;
    let _lock = lock()?;
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let handler = ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed));
    handler.map_err(Error::system("wait for Ctrl-C"))?;
    let endpoint = arguments.listen.map(listen).transpose()?;
    let maps: Vec<_> = watched.iter().map(Registered::events).collect::<Result<_, _>>()?;
    let watching = Watching {
        arguments,
        output,
        view: RefCell::default(),
        failure: RefCell::default(),
        has_begun: Cell::new(false),
    };
    let samples = watching.samples(&watched, &maps)?;
    // Earlier samples were left by others.
    watching.has_begun.set(true);
    let every = if arguments.steps { 1 } else { arguments.every.as_ns().max(2) };
    let observed = Observed::begin(&watched, every)?;
    let names: Vec<_> = watched.iter().map(|one| one.name.as_str()).collect();
    output.say(format!("watching {}; Ctrl-C ends it", names.join(", ")));
    let result = watching.run(&samples, endpoint.as_ref(), &is_over);
    drop(observed);
    result
}

/// Algorithms to watch.
fn watched(arguments: &Watch) -> Result<Vec<Registered>, Error> {
    let mut registered = kernel::registered(Path::new(PINS))?;
    // An unloaded algorithm gets no new connections.
    registered.retain(|one| one.holder != Holder::Connections);
    let all = || registered.iter().map(|one| one.name.clone()).collect();
    let names = chosen(&arguments.names, all);
    if names.is_empty() {
        return Err(Error::NothingLoaded);
    }
    let is_there = |name: &&String| registered.iter().any(|one| one.name == **name);
    if let Some(name) = names.iter().find(|name| !is_there(name)) {
        return Err(Error::NotLoaded(name.clone()));
    }
    registered.retain(|one| names.contains(&one.name));
    Ok(registered)
}

/// Refuses a second reader.
fn lock() -> Result<File, Error> {
    let file = File::create(LOCK).map_err(Error::system(format!("make {LOCK}")))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| Error::Watched)?;
    Ok(file)
}

fn listen(address: SocketAddr) -> Result<Endpoint, Error> {
    Endpoint::listen(address, &[]).map_err(Error::system(format!("serve {address}")))
}

/// Connections emit samples while this value lives.
struct Observed<'a>(&'a [Registered]);

impl<'a> Observed<'a> {
    fn begin(watched: &'a [Registered], every_ns: u64) -> Result<Self, Error> {
        let observed = Self(watched);
        for one in watched {
            one.observe_every(every_ns)?;
        }
        Ok(observed)
    }
}

impl Drop for Observed<'_> {
    fn drop(&mut self) {
        for one in self.0 {
            // An algorithm that is gone emits no samples.
            let _ = one.observe_every(0);
        }
    }
}

/// Page of the endpoint.
#[derive(Debug)]
struct Page {
    json: String,
    metrics: String,
}

impl Pages for Page {
    fn json(&self) -> String {
        self.json.clone()
    }

    fn metrics(&self) -> String {
        self.metrics.clone()
    }
}

/// A step as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    algorithm: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

struct Watching<'a> {
    arguments: &'a Watch,
    output: Output,
    view: RefCell<View>,
    failure: RefCell<Option<Error>>,
    /// Whether samples belong to this observer.
    has_begun: Cell<bool>,
}

impl Watching<'_> {
    /// Creates the source of samples.
    fn samples<'s>(
        &'s self,
        watched: &'s [Registered],
        maps: &'s [MapHandle],
    ) -> Result<RingBuffer<'s>, Error> {
        let mut builder = RingBufferBuilder::new();
        for (one, map) in watched.iter().zip(maps) {
            let added = builder.add(map, |bytes| self.take(&one.name, bytes));
            added.map_err(Error::system(format!("read the samples of {}", one.name)))?;
        }
        let samples = builder.build().map_err(Error::system("read samples"))?;
        samples.consume().map_err(Error::system("read samples"))?;
        Ok(samples)
    }

    /// Handles a sample; returns 0 to continue, as libbpf requires.
    fn take(&self, algorithm: &str, bytes: &[u8]) -> i32 {
        let Some(event) = Event::read(bytes).filter(|_| self.has_begun.get()) else {
            return 0;
        };
        if self.arguments.steps {
            let written = self.output.print_json(&Line { algorithm, event: &event });
            if let Err(error) = written {
                self.failure.replace(Some(error));
                return -1;
            }
        } else if event.kind != Kind::Begin {
            self.view.borrow_mut().take(algorithm, &event);
        }
        0
    }

    fn run(
        &self,
        samples: &RingBuffer<'_>,
        endpoint: Option<&Endpoint>,
        is_over: &AtomicBool,
    ) -> Result<(), Error> {
        let every = Duration::from_nanos(self.arguments.every.as_ns());
        let begun = now();
        let limit = self.arguments.limit.map(|limit| begun + Duration::from_nanos(limit.as_ns()));
        let mut next = begun + every;
        loop {
            // A signal may interrupt it, which ends the loop.
            let _ = samples.poll(Duration::from_millis(100));
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            if let Some(endpoint) = endpoint {
                endpoint.serve(|| self.page());
            }
            let now = now();
            let ends = is_over.load(Ordering::Relaxed) || limit.is_some_and(|limit| now >= limit);
            if !self.arguments.steps && (now >= next || ends) {
                self.show()?;
                next = now + every;
            }
            if ends {
                return Ok(());
            }
        }
    }

    fn page(&self) -> Page {
        let view = self.view.borrow();
        Page {
            json: serde_json::to_string(&view.rows().collect::<Vec<_>>()).unwrap_or_default(),
            metrics: view.metrics(),
        }
    }

    /// Shows all connections, and drops those that have ended.
    fn show(&self) -> Result<(), Error> {
        let mut view = self.view.borrow_mut();
        if self.output.json {
            for row in view.rows() {
                self.output.print_json(row)?;
            }
        } else {
            self.output.print(&screen(&view))?;
        }
        view.forget(self.arguments.every.as_ns());
        Ok(())
    }
}

/// The connections as a table; on a terminal it replaces the previous one.
fn screen(view: &View) -> String {
    let head = ["connection", "α", "cwnd", "RTT ms", "ECE", "CE", "cuts", "algorithm"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(view.rows().map(|row| {
        [
            format!("{} {}", row.connection.local, row.connection.peer),
            format!("{:.3}", row.alpha),
            row.cwnd.to_string(),
            format!("{:.3}", f64::from(row.srtt_us) / 1e3),
            row.ece.to_string(),
            row.ce.to_string(),
            row.cuts.to_string(),
            row.algorithm.clone(),
        ]
    }));
    let clear = if io::stdout().is_terminal() { "\u{1b}[H\u{1b}[2J" } else { "" };
    format!("{clear}{}", table(&rows))
}

#[expect(clippy::disallowed_methods, reason = "a program at the edge")]
fn now() -> Instant {
    Instant::now()
}
