//! The bench: one endpoint under test, its peer and the network played by a script.

use std::fmt::{self, Display, Formatter};

use tidegate_transport::{Endpoint, Segment};
use tidegate_units::{Ratio, Time};

use crate::script::{Action, Amount, Case, Expect, Sends, Step};
use crate::subject;
use crate::wire::{Origin, Peer, Wire};

/// More segments than this without an answer, or timers without a pause, are a runaway.
const RUNAWAY: usize = 10_000;

/// The first thing that went otherwise than a script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deviation {
    /// Counted from 1.
    pub(crate) step: usize,
    pub(crate) what: String,
}

impl Display for Deviation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)
    }
}

/// Plays a case against a subject. The outer error is the script's fault.
pub(crate) fn play(
    case: &Case,
    subject: &str,
    origin: Origin,
) -> Result<Result<(), Deviation>, String> {
    let endpoint = subject::endpoint(case, subject, origin)?;
    let mut bench = Bench {
        before: (endpoint.cwnd(), endpoint.ssthresh()),
        endpoint,
        origin,
        peer: Peer::default(),
        now: Time::ZERO,
        left: Vec::new(),
    };
    for (index, step) in case.steps.iter().enumerate() {
        if step.at.is_some_and(|at| at < bench.now) {
            return Err(format!("step {}: time goes back", index + 1));
        }
        if let Err(what) = bench.play(step) {
            let step = index + 1;
            return Ok(Err(Deviation { step, what }));
        }
    }
    let last = case.steps.len();
    Ok(bench.nothing_left().map_err(|what| Deviation { step: last, what }))
}

struct Bench {
    endpoint: Endpoint,
    origin: Origin,
    peer: Peer,
    now: Time,
    /// Segments that left and were not yet asked for, with their times.
    left: Vec<(Time, Segment)>,
    /// Window and threshold at the end of the step before.
    before: (u32, u32),
}

impl Bench {
    fn play(&mut self, step: &Step) -> Result<(), String> {
        self.advance(step.at.unwrap_or(self.now))?;
        if !step.actions.is_empty() {
            self.nothing_left()?;
        }
        for action in &step.actions {
            match action {
                Action::Abort => self.endpoint.abort(self.now),
                Action::Arrive(line) => {
                    let segment = line.arriving(self.origin, &mut self.peer);
                    self.endpoint.on_segment(&segment, self.now);
                }
                Action::Close => self.endpoint.close(self.now),
                Action::Read(bytes) => {
                    self.endpoint.read(*bytes, self.now);
                }
                Action::Write(bytes) => self.endpoint.write(*bytes, self.now),
            }
            self.collect()?;
        }
        match &step.sends {
            None => {}
            Some(Sends::Any) => self.left.clear(),
            Some(Sends::Exactly(lines)) => self.compare(lines)?,
        }
        self.expect(&step.expect)?;
        self.before = (self.endpoint.cwnd(), self.endpoint.ssthresh());
        Ok(())
    }

    /// Lets time pass up to `at`; timers that run out on the way do so at their time.
    fn advance(&mut self, at: Time) -> Result<(), String> {
        self.collect()?;
        for _ in 0..RUNAWAY {
            let Some(due) = self.endpoint.poll_timeout().filter(|&due| due <= at) else {
                self.now = at;
                return Ok(());
            };
            self.now = self.now.max(due);
            self.endpoint.on_timeout(self.now);
            self.collect()?;
        }
        Err(format!("timers run out {RUNAWAY} times before {at}"))
    }

    fn collect(&mut self) -> Result<(), String> {
        while let Some(segment) = self.endpoint.poll_segment(self.now) {
            self.left.push((self.now, segment));
            if self.left.len() > RUNAWAY {
                return Err(format!("more than {RUNAWAY} segments leave"));
            }
        }
        Ok(())
    }

    fn nothing_left(&self) -> Result<(), String> {
        if self.left.is_empty() {
            return Ok(());
        }
        Err(format!("unexpected {}", self.seen()))
    }

    fn compare(&mut self, lines: &[Wire]) -> Result<(), String> {
        for (index, line) in lines.iter().enumerate() {
            let Some((at, segment)) = self.left.get(index) else {
                return Err(format!("expected `{line}`, seen {}", self.seen()));
            };
            if *at != self.now {
                return Err(format!("expected `{line}` at {}, seen {}", self.now, self.seen()));
            }
            if let Some(what) = line.mismatch(segment, self.origin) {
                return Err(format!("{what}: expected `{line}` among {}", self.seen()));
            }
        }
        self.left.drain(..lines.len());
        self.nothing_left()
    }

    fn expect(&self, expect: &Expect) -> Result<(), String> {
        let endpoint = &self.endpoint;
        let (cwnd, ssthresh) = self.before;
        let amounts = [
            ("cwnd", &expect.cwnd, endpoint.cwnd(), cwnd),
            ("ssthresh", &expect.ssthresh, endpoint.ssthresh(), ssthresh),
        ];
        let within = expect.within.unwrap_or(0);
        for (key, amount, now, before) in amounts {
            let wrong = |amount: &&Amount| !amount.is(now, before, within);
            if let Some(amount) = amount.as_ref().filter(wrong) {
                return Err(format!("{key} is {now} after {before}, expected {amount}"));
            }
        }
        same("in_flight", expect.in_flight, endpoint.in_flight())?;
        same("acked", expect.acked, endpoint.acked())?;
        same("received", expect.received, endpoint.received())?;
        same("ecn", expect.ecn, endpoint.is_ecn())?;
        let state = format!("{:?}", endpoint.state());
        same("state", expect.state.as_deref(), state.as_str())?;
        if let Some(text) = &expect.alpha {
            let within = expect.alpha_within.as_deref().unwrap_or("1/1000000000");
            let ratio = |text: &str| text.parse::<Ratio>().map_or(f64::NAN, value);
            let seen = endpoint.alpha().map_or(f64::NAN, value);
            // Not a number if the subject keeps no α, which is then never near.
            let near = (seen - ratio(text)).abs() <= ratio(within);
            if !near {
                return Err(format!("alpha is {seen:.6}, expected {text} within {within}"));
            }
        }
        Ok(())
    }

    /// Segments that left and were not asked for, in words.
    fn seen(&self) -> String {
        if self.left.is_empty() {
            return "nothing".to_owned();
        }
        let lines: Vec<String> = self
            .left
            .iter()
            .take(3)
            .map(|(at, segment)| format!("[{at}: {}]", Wire::of(segment, self.origin)))
            .collect();
        let more = if self.left.len() > lines.len() { " …" } else { "" };
        format!("{}{more}", lines.join(" "))
    }
}

fn value(ratio: Ratio) -> f64 {
    f64::from(ratio.numerator()) / f64::from(ratio.denominator())
}

fn same<T: Copy + PartialEq + Display>(
    key: &str,
    expected: Option<T>,
    seen: T,
) -> Result<(), String> {
    match expected {
        Some(expected) if expected != seen => Err(format!("{key} is {seen}, expected {expected}")),
        Some(_) | None => Ok(()),
    }
}
