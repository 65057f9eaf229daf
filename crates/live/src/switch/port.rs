//! A port of the switch: the dataplane's port, the wire's pace, and the burst that is handed to the
//! device.

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::mark::{AnyMarker, PortInfo};
use tidegate_dataplane::observe::{ObservedQueue, PortObserver, Window};
use tidegate_dataplane::sched::{AnyScheduler, Scheduler};
use tidegate_dataplane::{
    Action, Departure, DropReason, Pkt, Port, PortConfig, QueueStats, Rule, mark,
};
use tidegate_units::{ConfigError, Ecn, PktId, PortId, QueueId, Rate, Span, Time};

use crate::config::{Config, PortSettings};
use crate::counters::{Amount, Loss, Pace, PortCounters, QueueCounters, Times};
use crate::device::{BURST, Device, SendError};
use crate::frame;
use crate::pacer::Pacer;
use crate::store::{FrameId, Store};
use crate::switch::stall::{Patience, Stall};
use crate::switch::storm::Storm;

/// A port with its state.
#[derive(Debug)]
pub(super) struct SwitchPort {
    port: Port<AnyMarker, AnyScheduler>,
    pacer: Pacer,
    staged: Staged,
    stall: Stall,
    pub(super) storm: Storm,
    pub(super) looping: Looping,
    lateness: Times,
    /// Sojourn times by queue.
    sojourns: Box<[Times]>,
    pub(super) tally: Tally,
    pub(super) is_up: bool,
    observer: Option<Box<PortObserver>>,
    interface: String,
    rate: Rate,
    scheduler: &'static str,
    seed: u64,
    id: PortId,
}

/// Observations of a port.
#[derive(Clone, Debug)]
pub struct ObservedPort {
    /// Length of the observed time.
    pub span: Span,
    /// Observations by queue.
    pub queues: Vec<ObservedQueue>,
}

impl ObservedPort {
    /// Packets sent onto the wire.
    pub fn packets(&self) -> u64 {
        self.queues.iter().map(ObservedQueue::sent).sum()
    }

    /// Bytes sent, as counted in queues.
    pub fn bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.sent_bytes).sum()
    }
}

/// State of a loop at a port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looping {
    /// Time until which a loop is assumed, if a probe came back here or was sent here.
    pub(super) until: Option<Time>,
    /// Time until which the port is blocked, if it is.
    pub(super) blocked_until: Option<Time>,
}

impl Looping {
    /// Ends a loop that is assumed to be gone.
    pub(super) fn expire(&mut self, now: Time) {
        for until in [&mut self.until, &mut self.blocked_until] {
            *until = until.filter(|&until| now < until);
        }
    }
}

/// Events that the dataplane's port does not count.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) received: Amount,
    pub(super) sent: Amount,
    pub(super) marked: u64,
    pub(super) flooded: u64,
    pub(super) filtered: u64,
    pub(super) probes: u64,
    pub(super) loops: u64,
    /// Frames whose missing checksum was computed, and frames forwarded without one.
    pub(super) finished: u64,
    pub(super) unchecked: u64,
    losses: [u64; Loss::ALL.len()],
}

/// Frames that have left the port and that the device has not yet accepted.
#[derive(Debug)]
struct Staged {
    frames: [Outgoing; BURST],
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Outgoing {
    id: FrameId,
    is_marked: bool,
}

impl SwitchPort {
    pub(super) fn new(
        config: &Config,
        settings: &PortSettings,
        id: PortId,
    ) -> Result<Self, ConfigError> {
        let options = &config.options;
        let port_config = PortConfig {
            id,
            rate: settings.rate,
            non_ect: options.non_ect,
            seed: options.seed,
            stream: u64::from(id.0),
            can_pause: false,
        };
        let port = Port::build(&port_config, &config.marking, &config.scheduling)?;
        Ok(Self {
            pacer: Pacer::new(settings.rate, options.catch_up),
            staged: Staged {
                frames: [Outgoing { id: FrameId(0), is_marked: false }; BURST],
                len: 0,
            },
            stall: Stall::new(),
            storm: Storm::new(options),
            looping: Looping::default(),
            lateness: Times::new(),
            sojourns: (0..port.queues()).map(|_| Times::new()).collect(),
            port,
            tally: Tally::default(),
            is_up: true,
            observer: None,
            interface: settings.interface.clone(),
            rate: settings.rate,
            scheduler: config.scheduling.name(),
            seed: options.seed,
            id,
        })
    }

    pub(super) fn queues(&self) -> u8 {
        self.port.queues()
    }

    /// Offers a frame to the port. Returns whether it was admitted.
    // Not inlined, because it contains every scheme under every scheduler.
    #[inline(never)]
    pub(super) fn enqueue(
        &mut self,
        id: PktId,
        pkt: Pkt,
        queue: QueueId,
        arrival: Time,
        buffer: &mut AnyBuffer,
    ) -> bool {
        let was_empty = self.port.packets() == 0;
        let taken = self.port.enqueue(id, pkt, queue, arrival, buffer);
        if was_empty && taken.is_ok() {
            self.pacer.on_first(arrival);
        }
        if let Some(observer) = &mut self.observer {
            let stats = self.port.stats();
            match &taken {
                Ok(accepted) => observer.on_accepted(arrival, accepted.queue, pkt.len, stats),
                Err(reason) => observer.on_refused(arrival, self.port.last_drop(), *reason),
            }
        }
        taken.is_ok()
    }

    /// Starts observing the queues.
    pub(super) fn observe(&mut self, window: Window) {
        let observer = PortObserver::new(window, self.port.queues(), self.port.stats());
        self.observer = Some(Box::new(observer));
    }

    /// Observations until `now`.
    pub(super) fn observed(&self, now: Time) -> Option<ObservedPort> {
        let observer = self.observer.as_ref()?;
        Some(ObservedPort {
            span: observer.window().overlap(Time::ZERO, now),
            queues: observer.observed(now).collect(),
        })
    }

    /// Sends due frames, at most a burst. Returns the number of frames gone, sent or lost.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        device: &mut impl Device,
        buffer: &mut AnyBuffer,
        store: &mut Store,
    ) -> usize {
        // Frames that the device did not accept go first, and until then no other leaves the port.
        if self.staged.len == 0 {
            self.stage(now, buffer, store);
        }
        if self.staged.len == 0 || now < self.stall.again() {
            return 0;
        }
        self.flush(now, device, store)
    }

    /// Sends a frame of the switch's own, at once or not at all.
    pub(super) fn send_probe(&mut self, probe: &[u8], device: &mut impl Device) {
        // Waiting frames come first; the next probe may find the device free.
        if self.staged.len == 0 && device.send(&[probe]) == Ok(1) {
            self.tally.sent.add(probe.len());
            self.tally.probes += 1;
            self.stall.on_sent(probe.len());
        }
    }

    /// Takes due packets out of the port, at most a burst.
    // Not inlined, like `enqueue`.
    #[inline(never)]
    fn stage(&mut self, now: Time, buffer: &mut AnyBuffer, store: &mut Store) {
        while self.staged.len < BURST
            && self.pacer.due() <= now
            && let Some(departure) = self.port.dequeue(now, buffer)
        {
            let Departure { sojourn, id, len, queue, ecn, action, .. } = departure;
            if let Some(observer) = &mut self.observer {
                observer.on_departure(now, &departure);
                observer.note_marks(now, queue, self.port.stats());
            }
            let id = FrameId(id.0);
            if let Action::Drop(_) = action {
                store.remove(id);
                continue;
            }
            let mut is_marked = false;
            if ecn == Ecn::Ce
                && let Some(ip) = store.ip(id)
                && ip.ecn() != Ecn::Ce
            {
                frame::set_ce(store.bytes_mut(id), ip);
                is_marked = true;
            }
            self.sojourns[queue.index()].add(sojourn);
            self.lateness.add(self.pacer.take(now, len));
            self.staged.frames[self.staged.len] = Outgoing { id, is_marked };
            self.staged.len += 1;
        }
    }

    /// Gives the staged frames to the device, as many as it accepts.
    #[inline]
    fn flush(&mut self, now: Time, device: &mut impl Device, store: &mut Store) -> usize {
        let staged = &self.staged.frames[..self.staged.len];
        let mut frames: [&[u8]; BURST] = [&[]; BURST];
        for (bytes, frame) in frames.iter_mut().zip(staged) {
            *bytes = store.bytes(frame.id);
        }
        let (gone, loss) = match device.send(&frames[..staged.len()]) {
            Ok(0) => match self.stall.on_wait(now) {
                Patience::Wait => (0, None),
                Patience::GiveUp => (staged.len(), Some(Loss::Stalled)),
            },
            Ok(taken) => (taken, None),
            Err(SendError::LinkDown) => {
                self.stall.on_lost();
                (staged.len(), Some(Loss::LinkDown))
            }
            Err(SendError::NoBuffer) => match self.stall.on_no_buffer(now, frames[0].len()) {
                Patience::Wait => (0, None),
                Patience::GiveUp => (1, Some(Loss::NoBuffer)),
            },
            Err(SendError::Refused) => {
                self.stall.on_lost();
                (1, Some(Loss::Refused))
            }
        };
        match loss {
            None => {
                for (frame, bytes) in staged[..gone].iter().zip(&frames) {
                    self.tally.sent.add(bytes.len());
                    self.tally.marked += u64::from(frame.is_marked);
                    self.stall.on_sent(bytes.len());
                }
            }
            Some(loss) => self.tally.losses[loss as usize] += gone as u64,
        }
        for frame in &staged[..gone] {
            store.remove(frame.id);
        }
        self.staged.frames.copy_within(gone..self.staged.len, 0);
        self.staged.len -= gone;
        gone
    }

    /// Time at which the next packet is due, or `None` if none waits.
    #[inline]
    pub(super) fn next_departure(&self) -> Option<Time> {
        let due = match self.staged.len {
            0 => self.pacer.due(),
            _ => self.stall.again(),
        };
        self.holds_packets().then_some(due)
    }

    /// Whether a packet waits.
    #[inline]
    pub(super) fn holds_packets(&self) -> bool {
        self.port.packets() > 0 || self.staged.len > 0
    }

    #[cold]
    pub(super) fn lose(&mut self, loss: Loss) {
        self.tally.losses[loss as usize] += 1;
    }

    /// Builds a scheme for this port.
    pub(super) fn marker_of(&self, marking: &mark::Config) -> Result<AnyMarker, ConfigError> {
        marking.build(&PortInfo {
            rate: self.rate,
            queues: self.port.queues(),
            round: &|queue| self.port.scheduler().round(queue),
            first: self.port.scheduler().first(),
            scheduler: self.scheduler,
            seed: self.seed,
            stream: u64::from(self.id.0),
        })
    }

    pub(super) fn set_marker(&mut self, marker: AnyMarker) {
        *self.port.marker_mut() = marker;
    }

    pub(super) fn swap_marker(&mut self, marker: &mut AnyMarker) {
        std::mem::swap(self.port.marker_mut(), marker);
    }

    pub(super) fn take_pace(&mut self) -> Pace {
        Pace {
            sent: self.tally.sent.packets,
            lost: self.pacer.lost(),
            lateness: self.lateness.take(),
        }
    }

    pub(super) fn counters(&self, device: &impl Device) -> PortCounters {
        let stats = self.port.stats();
        let losses = Loss::ALL.map(|loss| (loss.name(), self.tally.losses[loss as usize]));
        let drops = DropReason::ALL.map(|reason| (reason.name(), stats.drops(reason)));
        let marks = Rule::ALL.map(|rule| (rule.name(), stats.marks(rule)));
        let occurred = |&(_, count): &(_, u64)| count > 0;
        let queue = |(queue, times): (u8, &Times)| {
            let stats = self.port.queue_stats(QueueId(queue)).unwrap_or_default();
            let QueueStats {
                enqueued_packets,
                enqueued_bytes,
                dequeued_packets,
                dequeued_bytes,
                held_packets,
                held_bytes,
            } = stats;
            QueueCounters {
                enqueued: amount(enqueued_packets, enqueued_bytes),
                dequeued: amount(dequeued_packets, dequeued_bytes),
                held: amount(held_packets.into(), held_bytes.into()),
                sojourn: times.quantiles(),
            }
        };
        PortCounters {
            interface: self.interface.clone(),
            is_up: self.is_up,
            is_blocked: self.looping.blocked_until.is_some(),
            is_looping: self.looping.until.is_some(),
            stalled_ns: self.stall.span().as_ns(),
            stations: 0, // Which the table of stations knows.
            received: self.tally.received,
            sent: self.tally.sent,
            probes: self.tally.probes,
            loops: self.tally.loops,
            marked: self.tally.marked,
            marks: marks.into_iter().filter(occurred).collect(),
            flooded: self.tally.flooded,
            filtered: self.tally.filtered,
            drops: losses.into_iter().chain(drops).filter(occurred).collect(),
            missed: device.missed(),
            unfinished: device.unfinished(),
            finished: self.tally.finished,
            held: u64::from(self.port.packets()) + self.staged.len as u64,
            lost_ns: self.pacer.lost().as_ns(),
            lateness: self.lateness.quantiles(),
            queues: (0..).zip(&self.sojourns).map(queue).collect(),
        }
    }
}

const fn amount(packets: u64, bytes: u64) -> Amount {
    Amount { packets, bytes }
}
