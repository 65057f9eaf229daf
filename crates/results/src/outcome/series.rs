//! Quantities sampled at a fixed interval, one trace each.

use crate::record::{Quantity, Series, Trace};
use tidegate_sim::observe::series::{
    self, FlowSample, FlowSeries, LinkSeries, PortFlowsSample, PortFlowsSeries, QueueSample,
    QueueSeries, SenderSample,
};
use tidegate_units::{Rate, Span};

use super::{name, real};
use tidegate_scenario::Built;

/// The samples of a run, without quantities that the scheme or transport does not have.
pub(super) fn series(seen: &series::Series, built: &Built) -> Series {
    let active = seen.active_flows.iter().map(|&flows| f64::from(flows));
    let mut traces = vec![Trace {
        of: "network".to_owned(),
        quantity: Quantity::ActiveFlows,
        values: active.collect(),
    }];
    for queue in &seen.queues {
        add_queue(&mut traces, queue, built);
    }
    for link in &seen.links {
        traces.push(link_rate(link, seen.interval, built));
    }
    let is_marked = |flow: &FlowSeries| flow.samples.iter().any(|sample| sample.marks > 0);
    let has_marks = seen.flows.iter().any(is_marked);
    for flow in &seen.flows {
        add_flow(&mut traces, flow, seen.interval);
        // If any flow has marks, flows without marks get a trace too.
        if has_marks {
            let marks = flow.marks().map(|marks| Some(marks.into()));
            let marks = std::iter::once(None).chain(marks);
            add(&mut traces, &flow_name(flow), Quantity::Marks, marks);
        }
    }
    for port in &seen.port_flows {
        add_port_flows(&mut traces, port, &seen.flows, built);
    }
    Series { from_ps: seen.from.as_ps(), interval_ps: seen.interval.as_ps(), traces }
}

/// Adds a trace if it has a value.
fn add(
    traces: &mut Vec<Trace>,
    of: &str,
    quantity: Quantity,
    values: impl Iterator<Item = Option<f64>>,
) {
    let values = values.map(|value| value.unwrap_or(f64::NAN));
    let values = values.collect::<Vec<_>>();
    if values.iter().any(|value| !value.is_nan()) {
        traces.push(Trace { of: of.to_owned(), quantity, values });
    }
}

fn add_queue(traces: &mut Vec<Trace>, queue: &QueueSeries, built: &Built) {
    let of = format!("{} q{}", name(queue.link, built), queue.queue.0);
    let mut trace = |quantity, value: fn(&QueueSample) -> Option<f64>| {
        add(traces, &of, quantity, queue.samples.iter().map(value));
    };
    trace(Quantity::QueueBytes, |sample| Some(sample.bytes.into()));
    trace(Quantity::QueuePackets, |sample| Some(sample.packets.into()));
    trace(Quantity::Threshold, |sample| sample.threshold.map(f64::from));
    trace(Quantity::Capacity, |sample| sample.capacity.map(|rate| real(rate.as_bps())));
}

/// Active flows at a port, and the bytes that each class and each chosen flow has waiting there.
fn add_port_flows(
    traces: &mut Vec<Trace>,
    port: &PortFlowsSeries,
    flows: &[FlowSeries],
    built: &Built,
) {
    let of = name(port.link, built);
    let mut trace = |part: &str, quantity, value: fn(&PortFlowsSample) -> f64| {
        let values = port.samples.iter().map(|sample| Some(value(sample)));
        add(traces, &format!("{of}{part}"), quantity, values);
    };
    trace("", Quantity::ActiveFlows, |sample| sample.active.into());
    trace("", Quantity::Connections, |sample| sample.connections.into());
    trace(" small", Quantity::QueueBytes, |sample| real(sample.small));
    trace(" medium", Quantity::QueueBytes, |sample| real(sample.medium));
    trace(" large", Quantity::QueueBytes, |sample| real(sample.large));
    for (flow, waiting) in flows.iter().zip(&port.waiting) {
        let of = format!("{of} {}", flow_name(flow));
        let values = waiting.iter().map(|&bytes| Some(real(bytes)));
        add(traces, &of, Quantity::QueueBytes, values);
    }
}

/// The rate since the last sample; the first sample has no predecessor.
fn link_rate(link: &LinkSeries, interval: Span, built: &Built) -> Trace {
    Trace {
        of: name(link.link, built),
        quantity: Quantity::Rate,
        values: since_last(link.bytes.len(), link.rates(interval)),
    }
}

fn since_last(samples: usize, rates: impl Iterator<Item = Option<Rate>>) -> Vec<f64> {
    let rates = rates.map(|rate| rate.map_or(0.0, |rate| real(rate.as_bps())));
    std::iter::once(f64::NAN).chain(rates).take(samples).collect()
}

fn flow_name(flow: &FlowSeries) -> String {
    format!("flow {}", flow.flow)
}

fn add_flow(traces: &mut Vec<Trace>, flow: &FlowSeries, interval: Span) {
    let of = flow_name(flow);
    if flow.samples.len() > 1 {
        traces.push(Trace {
            of: of.clone(),
            quantity: Quantity::Goodput,
            values: since_last(flow.samples.len(), flow.goodputs(interval)),
        });
    }
    let mut trace = |quantity, value: fn(&SenderSample) -> Option<f64>| {
        let values = flow.samples.iter();
        let values = values.map(|sample: &FlowSample| sample.sender.as_ref().and_then(value));
        add(traces, &of, quantity, values);
    };
    trace(Quantity::Alpha, |sender| sender.alpha().map(of_q32));
    trace(Quantity::Rate, |sender| match sender {
        SenderSample::Other(sample) => sample.rate.map(|rate| real(rate.as_bps())),
        SenderSample::Tcp { .. } => None,
    });
    trace(Quantity::Rto, |sender| Some(seconds(tcp(sender)?.rto)));
    trace(Quantity::Rtt, |sender| tcp(sender)?.rtt.map(seconds));
    trace(Quantity::RttVariation, |sender| {
        let tcp = tcp(sender)?;
        tcp.rtt.map(|_| seconds(tcp.rtt_variation))
    });
    // An infinite slow start threshold is not drawn.
    trace(Quantity::Ssthresh, |sender| {
        let tcp = tcp(sender)?;
        (tcp.ssthresh < NO_THRESHOLD).then(|| f64::from(tcp.ssthresh))
    });
    trace(Quantity::Window, |sender| sender.window().map(f64::from));
}

/// A TCP sender at one moment.
struct Tcp {
    ssthresh: u32,
    rtt: Option<Span>,
    rtt_variation: Span,
    rto: Span,
}

/// A slow start threshold from here on is infinite: no window reaches it.
const NO_THRESHOLD: u32 = 1 << 30;

fn tcp(sender: &SenderSample) -> Option<Tcp> {
    match *sender {
        SenderSample::Other(_) => None,
        SenderSample::Tcp { ssthresh, rtt, rtt_variation, rto, .. } => {
            Some(Tcp { ssthresh, rtt, rtt_variation, rto })
        }
    }
}

fn seconds(span: Span) -> f64 {
    real(span.as_ps()) / 1e12
}

/// A number in units of 2^−32.
fn of_q32(number: u64) -> f64 {
    real(number) / real(1_u64 << 32)
}
