//! What is written down again and again: queue lengths, thresholds, rates, windows.
//!
//! A sample of the moment `t` shows everything that happened before `t` and nothing that happens
//! at it.

use tidegate_units::{ConfigError, QueueId, Rate, Span, Time};

use super::{Window, statistics};
use crate::network::LinkId;

/// What to write down, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The time between two samples, the first of which is at the beginning of the window.
    pub interval: Span,
    /// When samples are taken, if not in the window of all that is observed.
    pub window: Option<Window>,
    /// The most samples. When there would be one more, every second one is forgotten and the
    /// interval doubles: a longer run has no more samples, but wider ones.
    pub limit: u32,
    /// Queues, by the link of their port.
    pub queues: Vec<(LinkId, QueueId)>,
    /// Links.
    pub links: Vec<LinkId>,
    /// Flows, by number.
    pub flows: Vec<u32>,
}

impl Default for Sampling {
    /// Every ten microseconds, at most 100,000 times; of the whole network only.
    fn default() -> Self {
        Self {
            interval: Span::from_us(10),
            window: None,
            limit: 100_000,
            queues: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
        }
    }
}

impl Sampling {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let (field, found, allowed) = if self.interval == Span::ZERO {
            ("observe.series.interval", "0s".to_owned(), "more than zero")
        } else if self.limit < 2 {
            ("observe.series.limit", self.limit.to_string(), "at least 2")
        } else if let Some(window) = self.window
            && window.from >= window.to
        {
            let found = format!("{} ps to {} ps", window.from.as_ps(), window.to.as_ps());
            ("observe.series.window", found, "an end after the beginning")
        } else {
            return Ok(());
        };
        Err(ConfigError::out_of_range(field, found, allowed))
    }
}

/// Samples in order of time. Every list below has one for each of [`times`](Self::times).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// When the first sample was due.
    pub from: Time,
    /// The time between two samples: the one that was asked for, times a power of two if the run
    /// was too long for it.
    pub interval: Span,
    /// Flows that have started and are not finished, in the whole network.
    pub active_flows: Vec<u32>,
    /// The queues, in the order in which they were chosen.
    pub queues: Vec<QueueSeries>,
    /// The links, in the order in which they were chosen.
    pub links: Vec<LinkSeries>,
    /// The flows, in the order in which they were chosen.
    pub flows: Vec<FlowSeries>,
    /// The ports whose flows are told apart, in the order in which they were chosen.
    pub port_flows: Vec<PortFlowsSeries>,
}

/// The samples of the flows at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFlowsSeries {
    /// The link of the port.
    pub link: LinkId,
    /// The samples.
    pub samples: Vec<PortFlowsSample>,
    /// Bytes that each of the chosen flows has waiting there, in the order of [`Series::flows`].
    pub waiting: Vec<Vec<u64>>,
}

/// The flows at a port at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortFlowsSample {
    /// Those that are active.
    pub active: u32,
    /// Connections that have sent something through the port and whose flow is not finished.
    pub connections: u32,
    /// Bytes of small flows that wait, without ACKs.
    pub small: u64,
    /// The same of those between.
    pub medium: u64,
    /// The same of large ones.
    pub large: u64,
}

/// The samples of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSeries {
    /// The link of its port.
    pub link: LinkId,
    /// Its number at the port.
    pub queue: QueueId,
    /// The samples.
    pub samples: Vec<QueueSample>,
}

/// A queue at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// Bytes that wait in it.
    pub bytes: u32,
    /// Packets that wait in it.
    pub packets: u32,
    /// Its marking threshold in bytes, if the scheme has one.
    pub threshold: Option<u32>,
    /// The rate at which the scheme thinks it is served, if it makes such an estimate.
    pub capacity: Option<Rate>,
    /// Flows that the scheme holds to be active at the port, if it counts them.
    pub flows: Option<u32>,
}

/// The samples of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSeries {
    /// The link.
    pub link: LinkId,
    /// Bytes since the beginning of the run, as packets count. A packet counts when its
    /// transmission begins.
    pub bytes: Vec<u64>,
}

/// The samples of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSeries {
    /// The flow's number.
    pub flow: u32,
    /// The samples.
    pub samples: Vec<FlowSample>,
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Bytes that the receiver has in order.
    pub received: u64,
    /// Packets that have arrived marked; of DCQCN, notifications that the sender got.
    pub marks: u32,
    /// What the sender does; `None` before the flow starts and after it is finished.
    pub sender: Option<SenderSample>,
}

/// A sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderSample {
    /// One that has a rate.
    Dcqcn {
        /// Its rate.
        rate: Rate,
        /// Its estimate of congestion, in units of 2^−32.
        alpha: u64,
    },
    /// One that has a window.
    Tcp {
        /// The congestion window in bytes.
        cwnd: u32,
        /// The slow start threshold in bytes.
        ssthresh: u32,
        /// The estimate of the marked fraction in units of 2^−32, if the window's rule keeps one.
        alpha: Option<u64>,
        /// The smoothed round-trip time, once there is one.
        rtt: Option<Span>,
        /// The deviation of round-trip times from it, which is zero until then.
        rtt_variation: Span,
        /// The retransmission timeout, with backoff.
        rto: Span,
    },
}

impl SenderSample {
    /// The estimate of congestion, in units of 2^−32.
    pub const fn alpha(&self) -> Option<u64> {
        match *self {
            Self::Dcqcn { alpha, .. } => Some(alpha),
            Self::Tcp { alpha, .. } => alpha,
        }
    }
}

impl LinkSeries {
    /// The rate in each of the intervals between two samples; `None` where nothing was sent.
    pub fn rates(&self, interval: Span) -> impl Iterator<Item = Option<Rate>> {
        let pairs = self.bytes.windows(2);
        pairs.map(move |pair| Rate::from_bytes_over(pair[1] - pair[0], interval))
    }
}

impl FlowSeries {
    /// The marks in each of the intervals between two samples.
    pub fn marks(&self) -> impl Iterator<Item = u32> {
        let pairs = self.samples.windows(2);
        pairs.map(|pair| pair[1].marks.saturating_sub(pair[0].marks))
    }

    /// The goodput in each of the intervals between two samples; `None` where nothing arrived.
    pub fn goodputs(&self, interval: Span) -> impl Iterator<Item = Option<Rate>> {
        let pairs = self.samples.windows(2);
        pairs.map(move |pair| Rate::from_bytes_over(pair[1].received - pair[0].received, interval))
    }
}

impl Series {
    pub(super) fn new(sampling: &Sampling, ports: &[LinkId], from: Time) -> Self {
        let queue =
            |&(link, queue): &(LinkId, QueueId)| QueueSeries { link, queue, samples: Vec::new() };
        let link = |&link: &LinkId| LinkSeries { link, bytes: Vec::new() };
        let flow = |&flow: &u32| FlowSeries { flow, samples: Vec::new() };
        Self {
            from,
            interval: sampling.interval,
            active_flows: Vec::new(),
            queues: sampling.queues.iter().map(queue).collect(),
            links: sampling.links.iter().map(link).collect(),
            flows: sampling.flows.iter().map(flow).collect(),
            port_flows: ports
                .iter()
                .map(|&link| PortFlowsSeries {
                    link,
                    samples: Vec::new(),
                    waiting: vec![Vec::new(); sampling.flows.len()],
                })
                .collect(),
        }
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.active_flows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.active_flows.is_empty()
    }

    /// When each sample was taken.
    pub fn times(&self) -> impl Iterator<Item = Time> {
        (0..self.len() as u64).map(|number| self.time(number))
    }

    /// Jain's index over the goodputs of the chosen flows in each interval between two samples.
    /// Only flows count that are active at both ends of it; `None` where there is none or nothing
    /// arrived.
    pub fn fairness(&self) -> Vec<Option<f64>> {
        let gained = |flow: &FlowSeries, number: usize| {
            let (before, after) = (flow.samples[number], flow.samples[number + 1]);
            let lives = before.sender.is_some() && after.sender.is_some();
            lives.then(|| after.received - before.received)
        };
        let intervals = 0..self.len().saturating_sub(1);
        let index = |number| {
            let flows = self.flows.iter();
            statistics::jain(flows.filter_map(|flow| gained(flow, number)))
        };
        intervals.map(index).collect()
    }

    /// When the sample with this number is due.
    pub(super) fn time(&self, number: u64) -> Time {
        self.from + self.interval * number
    }

    /// Forgets every second sample: those that remain are twice as far apart.
    pub(super) fn thin_out(&mut self) {
        self.interval = self.interval * 2;
        every_second(&mut self.active_flows);
        for queue in &mut self.queues {
            every_second(&mut queue.samples);
        }
        for link in &mut self.links {
            every_second(&mut link.bytes);
        }
        for flow in &mut self.flows {
            every_second(&mut flow.samples);
        }
        for port in &mut self.port_flows {
            every_second(&mut port.samples);
            port.waiting.iter_mut().for_each(every_second);
        }
    }

    /// Forgets the samples after `last`.
    pub(super) fn cut(&mut self, last: Time) {
        let count = self.times().take_while(|&at| at <= last).count();
        self.active_flows.truncate(count);
        for queue in &mut self.queues {
            queue.samples.truncate(count);
        }
        for link in &mut self.links {
            link.bytes.truncate(count);
        }
        for flow in &mut self.flows {
            flow.samples.truncate(count);
        }
        for port in &mut self.port_flows {
            port.samples.truncate(count);
            port.waiting.iter_mut().for_each(|it| it.truncate(count));
        }
    }
}

/// Keeps the first, the third, and so on.
fn every_second<T>(samples: &mut Vec<T>) {
    let mut is_odd = true;
    samples.retain(|_| {
        is_odd = !is_odd;
        !is_odd
    });
}
