//! Starts flows and pings when they are due, and records arrivals: one thread for all hosts, which
//! sleeps until an event is due or a socket is ready.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use mio::net::TcpListener;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use tidegate_units::{Span, Time};

use super::bed::{Bed, address};
use super::connections::{self, Connections};
use super::ping::Series;
use super::plan::{FlowResult, Opening, Plan};
use super::progress::Progress;
use super::{End, PLACE};
use crate::clock::Clock;
use crate::error::Error;
use crate::sys::{self, process};

/// Results of the traffic.
pub(super) struct Driven {
    pub(super) flows: Vec<FlowResult>,
    pub(super) progress: Option<Progress>,
    pub(super) pings: Vec<Vec<(Time, Span)>>,
    pub(super) ended_at: Time,
    pub(super) end: End,
}

/// Time before its flow at which a `ready` connection is opened: many round trips.
const AHEAD: Span = Span::from_ms(100);

/// Longest sleep, which delays the reaction to an interrupt.
const NAP: Span = Span::from_ms(50);

/// Sends a plan that starts at `start`. Moves this thread between namespaces.
pub(super) fn drive(
    bed: &Bed,
    plan: &Plan,
    clock: Clock,
    start: Time,
    is_interrupted: &mut dyn FnMut() -> bool,
) -> Result<Driven, Error> {
    process::sleep_exactly();
    let mut driver = Driver::new(bed, plan, clock, start)?;
    let mut events = Events::with_capacity(1_024);
    let end = loop {
        let now = driver.now();
        driver.act(now)?;
        if is_interrupted() {
            break End::Interrupted;
        }
        if let Some(end) = driver.end(now) {
            break end;
        }
        let until = driver.next(now);
        // Events that become due meanwhile are handled at once afterwards.
        let span = (until - driver.now()).min(NAP);
        if span > Span::ZERO {
            let waited = sys::wait_readable(&[driver.poll.as_raw_fd()], span);
            waited.map_err(failed("wait for traffic"))?;
        }
        let polled = driver.poll.poll(&mut events, Some(Duration::ZERO));
        match polled {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.map_err(failed("wait for traffic"))?,
        }
        for event in &events {
            driver.on_event(event.token());
        }
    };
    Ok(driver.finish(end))
}

fn failed(action: &str) -> impl FnOnce(std::io::Error) -> Error {
    Error::system(action, "CAP_SYS_ADMIN")
}

struct Driver<'a> {
    plan: &'a Plan,
    clock: Clock,
    start: Time,
    poll: Poll,
    listeners: Vec<TcpListener>,
    series: Vec<Series>,
    connections: Connections<'a>,
    results: Vec<FlowResult>,
    progress: Option<Progress>,
    /// The next flow to start, and the next to open a connection for.
    next_flow: usize,
    next_open: usize,
    /// Connections opened in advance, by flow.
    ready: Vec<Option<usize>>,
    /// Connections with a paced application.
    paced: Vec<usize>,
    finished: u32,
    broken: u32,
    progress_at: Time,
}

impl<'a> Driver<'a> {
    fn new(bed: &'a Bed, plan: &'a Plan, clock: Clock, start: Time) -> Result<Self, Error> {
        let poll = Poll::new().map_err(failed("poll"))?;
        let hosts = bed.hosts();
        let mut listeners = Vec::new();
        for (host, number) in hosts.iter().zip(0_u16..) {
            host.enter()?;
            let mut listener = connections::listen(number).map_err(failed("listen"))?;
            let token = Token(usize::from(number));
            let registered = poll.registry().register(&mut listener, token, Interest::READABLE);
            registered.map_err(failed("poll a listener"))?;
            listeners.push(listener);
            // The switch learns the location of the host.
            let next = address((number + 1) % hosts.len() as u16);
            if let Ok(socket) = UdpSocket::bind((address(number), 0)) {
                let _ = socket.send_to(b"hello", (next, 9));
            }
        }
        let mut series = Vec::new();
        for ping in &plan.pings {
            hosts[usize::from(ping.from)].enter()?;
            let made = Series::new(*ping).map_err(failed("open a socket for pings"))?;
            let token = Token(hosts.len() + series.len());
            let descriptor = made.descriptor();
            let registered =
                poll.registry().register(&mut SourceFd(&descriptor), token, Interest::READABLE);
            registered.map_err(failed("poll a socket for pings"))?;
            series.push(made);
        }
        let registry = poll.registry().try_clone().map_err(failed("poll"))?;
        let first_token = hosts.len() + series.len();
        Ok(Self {
            plan,
            clock,
            start,
            poll,
            listeners,
            connections: Connections::new(hosts, registry, first_token),
            results: vec![FlowResult::default(); plan.flows.len()],
            progress: plan.sampling.as_ref().map(Progress::new),
            next_flow: 0,
            next_open: 0,
            ready: vec![None; plan.flows.len()],
            paced: Vec::new(),
            series,
            finished: 0,
            broken: 0,
            progress_at: Time::ZERO,
        })
    }

    /// Time of the plan, zero before its start.
    fn now(&self) -> Time {
        Time::ZERO + (self.clock.now() - self.start)
    }

    fn has_begun(&self) -> bool {
        self.clock.now() >= self.start
    }

    /// Handles due events.
    fn act(&mut self, now: Time) -> Result<(), Error> {
        let flows = &self.plan.flows;
        if self.plan.opening == Opening::Ready {
            while let Some(flow) = flows.get(self.next_open)
                && flow.start <= now + AHEAD
            {
                let opened = self.connections.open(flow).map_err(failed(PLACE))?;
                self.ready[self.next_open] = Some(opened);
                self.next_open += 1;
            }
        }
        if !self.has_begun() {
            return Ok(());
        }
        while let Some(&flow) = flows.get(self.next_flow)
            && flow.start <= now
        {
            let number = self.next_flow;
            self.next_flow += 1;
            let place = match (self.plan.opening, self.ready[number]) {
                (_, Some(place)) => place,
                (Opening::Persistent, None) => match self.connections.take_idle(&flow) {
                    Some(place) => place,
                    None => self.connections.open(&flow).map_err(failed(PLACE))?,
                },
                _ => self.connections.open(&flow).map_err(failed(PLACE))?,
            };
            let now = self.now();
            self.results[number].started_at = Some(now);
            if flow.rate.is_some() {
                self.paced.push(place);
            }
            if self.connections.start(place, number, flow, now).is_err() {
                self.lose(place);
            }
        }
        for index in 0..self.paced.len() {
            let place = self.paced[index];
            let is_due = |due: Time| due <= now;
            if self.connections.next_portion(place).is_some_and(is_due)
                && self.connections.write(place, now).is_err()
            {
                self.lose(place);
            }
        }
        for series in &mut self.series {
            while series.next().is_some_and(|due| due <= now) {
                series.send();
            }
        }
        Ok(())
    }

    /// Time of the next due event.
    fn next(&self, now: Time) -> Time {
        if !self.has_begun() {
            return now + (self.start - self.clock.now()).min(NAP);
        }
        let flows = &self.plan.flows;
        let start = flows.get(self.next_flow).map(|flow| flow.start);
        let open = match self.plan.opening {
            Opening::Ready => flows.get(self.next_open).map(|flow| flow.start - AHEAD),
            Opening::Handshake | Opening::Persistent => None,
        };
        let pings = self.series.iter().filter_map(Series::next);
        let portions = self.paced.iter();
        let portions = portions.filter_map(|&place| self.connections.next_portion(place));
        let others = [start, open, self.plan.stop.at];
        let all = others.into_iter().flatten().chain(pings).chain(portions);
        all.min().unwrap_or(now + NAP)
    }

    fn on_event(&mut self, token: Token) {
        let hosts = self.listeners.len();
        if let Some(listener) = self.listeners.get(token.0) {
            return self.connections.accept(listener);
        }
        if let Some(series) = self.series.get_mut(token.0 - hosts) {
            return series.receive(self.clock, self.start);
        }
        match self.connections.of_token(token) {
            Some((place, connections::End::Sender)) => {
                let now = self.now();
                if self.connections.write(place, now).is_err() {
                    self.lose(place);
                }
            }
            Some((place, connections::End::Receiver)) => self.read_all(place),
            None => {}
        }
    }

    fn read_all(&mut self, place: usize) {
        while let Some(arrived) = self.connections.read(place) {
            let now = self.now();
            self.progress_at = now;
            let window = self.plan.window;
            let result = &mut self.results[arrived.number];
            if window.from <= now && now < window.to {
                result.received_in_window += arrived.bytes;
            }
            if let Some(progress) = &mut self.progress {
                progress.add(arrived.number, arrived.bytes, now);
            }
            if let Some(retransmissions) = arrived.finished {
                result.received_at = Some(now);
                result.retransmissions = retransmissions;
                self.finished += 1;
                self.paced.retain(|&paced| paced != place);
                match self.plan.opening {
                    Opening::Persistent => self.connections.keep(place),
                    Opening::Handshake | Opening::Ready => self.connections.close(place),
                }
            }
        }
    }

    /// Records that the connection of a flow broke: the flow does not finish.
    #[cold]
    fn lose(&mut self, place: usize) {
        self.connections.close(place);
        self.paced.retain(|&paced| paced != place);
        self.broken += 1;
    }

    /// Reason why the run ends now, if it does.
    fn end(&self, now: Time) -> Option<End> {
        let stop = &self.plan.stop;
        if stop.finished.is_some_and(|finished| self.finished >= finished) {
            return Some(End::Finished);
        }
        if stop.at.is_some_and(|at| now >= at) {
            return Some(End::TimeUp);
        }
        let endless = self.plan.flows.iter().filter(|flow| flow.bytes.is_none());
        let finite = self.plan.flows.len() - endless.count();
        let over = (self.finished + self.broken) as usize;
        if finite > 0 && over >= finite {
            return Some(End::Finished);
        }
        let last = self.next_flow.checked_sub(1).map(|last| &self.plan.flows[last]);
        let since = last.map_or(self.progress_at, |last| self.progress_at.max(last.start));
        let waits = self.next_flow > over;
        (waits && now - since > stop.stalled).then_some(End::Stalled)
    }

    fn finish(mut self, end: End) -> Driven {
        let now = self.now();
        for (number, retransmissions) in self.connections.unfinished() {
            self.results[number].retransmissions = retransmissions;
        }
        Driven {
            flows: self.results,
            progress: self.progress.map(|progress| progress.finish(now)),
            pings: self.series.into_iter().map(|series| series.answers).collect(),
            ended_at: now,
            end,
        }
    }
}
