//! Quantities sampled at a fixed interval: queue lengths, thresholds, rates, windows.
//!
//! A sample at time `t` includes every event before `t` and no event at `t`.

use tidegate_transport::protocol;
use tidegate_units::{ConfigError, QueueId, Rate, Span, Time};

use super::{Window, statistics};
use crate::network::LinkId;

/// Sampled quantities and interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Time between two samples; the first is at the start of the window.
    pub interval: Span,
    /// Window of the samples, if it differs from the window of all observations.
    pub window: Option<Window>,
    /// Most samples. When there would be more, every second sample is dropped and the interval
    /// doubles: a longer run does not have more samples, but wider intervals.
    pub limit: u32,
    /// Queues, by the link of their port.
    pub queues: Vec<(LinkId, QueueId)>,
    /// Links.
    pub links: Vec<LinkId>,
    /// Flows, by number.
    pub flows: Vec<u32>,
}

impl Default for Sampling {
    /// Every ten microseconds, at most 100,000 samples; of the whole network only.
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

/// Samples in order of time. Every list below has one entry for each of [`times`](Self::times).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Time at which the first sample was due.
    pub from: Time,
    /// Time between two samples: the requested interval, times a power of two if the run was too
    /// long for it.
    pub interval: Span,
    /// Number of flows in the whole network that have started and not finished.
    pub active_flows: Vec<u32>,
    /// Queues, in the order of selection.
    pub queues: Vec<QueueSeries>,
    /// Links, in the order of selection.
    pub links: Vec<LinkSeries>,
    /// Flows, in the order of selection.
    pub flows: Vec<FlowSeries>,
    /// Ports whose flows are distinguished, in the order of selection.
    pub port_flows: Vec<PortFlowsSeries>,
}

/// Samples of the flows at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFlowsSeries {
    /// Link of the port.
    pub link: LinkId,
    /// The samples.
    pub samples: Vec<PortFlowsSample>,
    /// Bytes that each of the selected flows has waiting at the port, in the order of
    /// [`Series::flows`].
    pub waiting: Vec<Vec<u64>>,
}

/// The flows at a port at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortFlowsSample {
    /// Number of active flows.
    pub active: u32,
    /// Connections that have sent through the port and whose flow is not finished.
    pub connections: u32,
    /// Waiting bytes of small flows, without ACKs.
    pub small: u64,
    /// Waiting bytes of medium flows, without ACKs.
    pub medium: u64,
    /// Waiting bytes of large flows, without ACKs.
    pub large: u64,
}

/// Samples of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSeries {
    /// Link of its port.
    pub link: LinkId,
    /// Number of the queue at the port.
    pub queue: QueueId,
    /// The samples.
    pub samples: Vec<QueueSample>,
}

/// A queue at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// Waiting bytes.
    pub bytes: u32,
    /// Waiting packets.
    pub packets: u32,
    /// Marking threshold in bytes, if the scheme has one.
    pub threshold: Option<u32>,
    /// Service rate estimated by the scheme, if it makes such an estimate.
    pub capacity: Option<Rate>,
    /// Number of active flows at the port, if the scheme counts them.
    pub flows: Option<u32>,
}

/// Samples of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSeries {
    /// The link.
    pub link: LinkId,
    /// Bytes since the start of the run, including the accounted overhead. A packet counts when its
    /// transmission begins.
    pub bytes: Vec<u64>,
}

/// Samples of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSeries {
    /// Number of the flow.
    pub flow: u32,
    /// The samples.
    pub samples: Vec<FlowSample>,
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Bytes that the receiver has in order.
    pub received: u64,
    /// Packets that have arrived marked; with DCQCN, congestion notifications that the sender
    /// received.
    pub marks: u32,
    /// State of the sender; `None` before the flow starts and after it is finished.
    pub sender: Option<SenderSample>,
}

/// A sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderSample {
    /// A sender of a transport other than TCP.
    Other(protocol::Sample),
    /// A TCP sender.
    Tcp {
        /// Congestion window in bytes.
        cwnd: u32,
        /// Slow start threshold in bytes.
        ssthresh: u32,
        /// Estimate of the marked fraction in units of 2^−32, if the congestion control keeps one.
        alpha: Option<u64>,
        /// Smoothed round-trip time, after the first sample.
        rtt: Option<Span>,
        /// Round-trip time variation, zero before the first sample.
        rtt_variation: Span,
        /// Retransmission timeout, with backoff.
        rto: Span,
    },
}

impl SenderSample {
    /// Window in bytes.
    pub const fn window(&self) -> Option<u32> {
        match *self {
            Self::Other(protocol::Sample { window, .. }) => window,
            Self::Tcp { cwnd, .. } => Some(cwnd),
        }
    }

    /// Estimate of congestion, in units of 2^−32.
    pub const fn alpha(&self) -> Option<u64> {
        match *self {
            Self::Other(protocol::Sample { alpha, .. }) | Self::Tcp { alpha, .. } => alpha,
        }
    }
}

impl LinkSeries {
    /// Rate in each interval between two samples; `None` if nothing was sent.
    pub fn rates(&self, interval: Span) -> impl Iterator<Item = Option<Rate>> {
        let pairs = self.bytes.windows(2);
        pairs.map(move |pair| Rate::from_bytes_over(pair[1] - pair[0], interval))
    }
}

impl FlowSeries {
    /// Marks in each interval between two samples.
    pub fn marks(&self) -> impl Iterator<Item = u32> {
        let pairs = self.samples.windows(2);
        pairs.map(|pair| pair[1].marks.saturating_sub(pair[0].marks))
    }

    /// Goodput in each interval between two samples; `None` if nothing arrived.
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

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.active_flows.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.active_flows.is_empty()
    }

    /// Time of each sample.
    pub fn times(&self) -> impl Iterator<Item = Time> {
        (0..self.len() as u64).map(|number| self.time(number))
    }

    /// Jain's index over the goodputs of the selected flows in each interval between two samples.
    /// Only flows that are active at both ends count; `None` if there is none or nothing arrived.
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

    /// Time at which the sample with this number is due.
    pub(super) fn time(&self, number: u64) -> Time {
        self.from + self.interval * number
    }

    /// Drops every second sample and doubles the interval.
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

    /// Drops the samples after `last`.
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

/// Keeps the first sample, the third, and so on.
fn every_second<T>(samples: &mut Vec<T>) {
    let mut is_odd = true;
    samples.retain(|_| {
        is_odd = !is_odd;
        !is_odd
    });
}
