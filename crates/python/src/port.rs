//! A port of the dataplane for experiments: packets in and out at chosen times.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::mark::custom::Custom;
use tidegate_dataplane::mark::{AnyMarker, Marker};
use tidegate_dataplane::sched::AnyScheduler;
use tidegate_dataplane::{
    DropReason, NonEct, Pkt, PortConfig, PortStats, Rule, buffer, mark, sched,
};
use tidegate_units::{Bytes, Ecn, FlowId, PktId, QueueId, Rate, Setting, Span, Time};

use crate::error::error;
use crate::marker::{Failure, Maker};
use crate::packet::{Departure, Enqueued};
use crate::quantity::{bytes, codepoint, part, rate, span};

/// Switch port: `Port(scheme, scheduler, buffer, rate)`.
///
/// Offer and take packets at times of your choice. The port decides on drops, marks and the order,
/// with the same code as the simulator and the live switch.
#[pyclass(module = "tidegate")]
pub(crate) struct Port {
    /// Never contended: it makes the port usable from several threads.
    inner: Mutex<Inner>,
    buffer: AnyBuffer,
    rate: Rate,
    now: Time,
    offered: u32,
    failure: Arc<Failure>,
}

/// Port with a scheme of the library or of Python.
enum Inner {
    Named(Box<tidegate_dataplane::Port<AnyMarker, AnyScheduler>>),
    Own(Box<tidegate_dataplane::Port<Custom, AnyScheduler>>),
}

/// Calls a port of either kind.
macro_rules! with_port {
    ($inner:expr, $port:ident => $call:expr) => {
        match $inner {
            Inner::Named($port) => $call,
            Inner::Own($port) => $call,
        }
    };
}

impl Port {
    fn inner(&mut self) -> &mut Inner {
        let inner = self.inner.get_mut();
        inner.expect("no thread panics while holding it")
    }

    fn stats(&mut self) -> PortStats {
        with_port!(self.inner(), port => port.stats().clone())
    }

    /// Time of the next call, which must not precede the last call's.
    fn at(&mut self, time: &Bound<'_, PyAny>) -> PyResult<Time> {
        let time = Time::from_ps(span("time", time)?.as_ps());
        if time < self.now {
            let span = |time: Time| Span::from_ps(time.as_ps());
            return Err(error(format!("time goes back: {} after {}", span(time), span(self.now))));
        }
        self.now = time;
        Ok(time)
    }

    /// Exception of a scheme in Python, if any.
    fn check(&self) -> PyResult<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Buffer by its size, by its name, or with settings.
fn buffer_of(value: &Bound<'_, PyAny>) -> PyResult<buffer::Config> {
    let size = match value.cast::<PyString>() {
        Ok(text) => text.to_cow()?.parse::<Bytes>().ok(),
        Err(_) => value.extract::<u64>().ok().map(Bytes),
    };
    let Some(size) = size else {
        return part("buffer", value);
    };
    let mut config = buffer::Config::named("per-port").expect("there is a buffer of this name");
    let set = config.set("limit", &size.to_string());
    set.map_err(|problem| error(format!("buffer: {problem}")))?;
    Ok(config)
}

#[pymethods]
impl Port {
    #[new]
    #[pyo3(
        signature = (scheme = None, scheduler = None, buffer = None, rate = None, *, non_ect = "pass", seed = 1),
        text_signature = "(scheme='tcn', scheduler='fifo', buffer='300KB', rate='10Gbps', *, non_ect='pass', seed=1)"
    )]
    fn new<'py>(
        py: Python<'py>,
        scheme: Option<Bound<'py, PyAny>>,
        scheduler: Option<Bound<'py, PyAny>>,
        buffer: Option<Bound<'py, PyAny>>,
        rate: Option<Bound<'py, PyAny>>,
        non_ect: &str,
        seed: u64,
    ) -> PyResult<Self> {
        let or = |given: Option<Bound<'py, PyAny>>, usual: &str| {
            given.unwrap_or_else(|| PyString::new(py, usual).into_any())
        };
        let scheme = or(scheme, "tcn");
        let config = PortConfig {
            rate: self::rate("rate", &or(rate, "10Gbps"))?,
            non_ect: NonEct::read(non_ect)
                .map_err(|problem| error(format!("non_ect: {problem}")))?,
            seed,
            ..PortConfig::default()
        };
        let scheduling: sched::Config = part("scheduler", &or(scheduler, "fifo"))?;
        let failure = Arc::new(Failure::default());
        let is_named = scheme.is_instance_of::<PyString>() || scheme.is_instance_of::<PyDict>();
        let made = if is_named {
            let marking: mark::Config = part("scheme", &scheme)?;
            let port = tidegate_dataplane::Port::build(&config, &marking, &scheduling);
            port.map(|port| Inner::Named(Box::new(port)))
        } else {
            let maker = Maker::new(&scheme, &failure)?;
            let port = tidegate_dataplane::Port::build_custom(&config, &maker, &scheduling);
            port.map(|port| Inner::Own(Box::new(port)))
        };
        if let Some(raised) = failure.take() {
            return Err(raised);
        }
        let inner = made.map_err(error)?;
        let queues = with_port!(&inner, port => port.queues());
        let buffer = buffer_of(&or(buffer, "300KB"))?.build(1, queues).map_err(error)?;
        Ok(Self {
            inner: Mutex::new(inner),
            buffer,
            rate: config.rate,
            now: Time::ZERO,
            offered: 0,
            failure,
        })
    }

    /// Offers a packet. Returns the outcome: `accepted`, `queue`, `ecn`, `marked`, and the `reason`
    /// of a drop.
    #[pyo3(
        signature = (time, size = None, queue = 0, flow = 0, ecn = None),
        text_signature = "($self, time, size=1500, queue=0, flow=0, ecn='ect0')"
    )]
    fn enqueue(
        &mut self,
        time: &Bound<'_, PyAny>,
        size: Option<&Bound<'_, PyAny>>,
        queue: u8,
        flow: u32,
        ecn: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Enqueued> {
        let pkt = Pkt {
            len: size.map_or(Ok(1500), |size| bytes("size", size))?,
            flow: FlowId(flow),
            ecn: ecn.map_or(Ok(Ecn::Ect0), codepoint)?,
            ..Pkt::default()
        };
        let now = self.at(time)?;
        let id = self.offered;
        self.offered = id.wrapping_add(1);
        let inner = self.inner.get_mut();
        let inner = inner.expect("no thread panics while holding it");
        let (buffer, queue) = (&mut self.buffer, QueueId(queue));
        let answer = with_port!(inner, port => port.enqueue(PktId(id), pkt, queue, now, buffer));
        self.check()?;
        Ok(Enqueued::new(id, pkt.ecn, answer))
    }

    /// Takes the next packet, or None if none waits. The caller decides when the wire is free; see
    /// `transmission_time`.
    fn dequeue(&mut self, time: &Bound<'_, PyAny>) -> PyResult<Option<Departure>> {
        let now = self.at(time)?;
        let inner = self.inner.get_mut();
        let inner = inner.expect("no thread panics while holding it");
        let buffer = &mut self.buffer;
        let departure = with_port!(inner, port => port.dequeue(now, buffer));
        self.check()?;
        Ok(departure.map(Departure::from))
    }

    /// Transmission time of a packet of this size, in seconds.
    fn transmission_time(&self, size: &Bound<'_, PyAny>) -> PyResult<f64> {
        let time = self.rate.time_for(bytes("size", size)?);
        Ok(crate::quantity::seconds(time.as_ps()))
    }

    /// Bytes in all queues.
    #[getter]
    fn bytes(&mut self) -> u32 {
        with_port!(self.inner(), port => port.bytes())
    }

    /// Packets in all queues.
    #[getter]
    fn packets(&mut self) -> u32 {
        with_port!(self.inner(), port => port.packets())
    }

    /// Number of queues.
    #[getter]
    fn queues(&mut self) -> u8 {
        with_port!(self.inner(), port => port.queues())
    }

    /// Bytes in one queue, or None if there is no such queue.
    #[pyo3(signature = (queue = 0))]
    fn queue_bytes(&mut self, queue: u8) -> Option<u32> {
        let stats = with_port!(self.inner(), port => port.queue_stats(QueueId(queue)));
        stats.map(|stats| stats.held_bytes)
    }

    /// Current marking threshold of a queue in bytes, if the scheme has one.
    #[pyo3(signature = (queue = 0))]
    fn threshold(&mut self, queue: u8) -> PyResult<Option<u32>> {
        let threshold = with_port!(self.inner(), port => port.marker().threshold(QueueId(queue)));
        self.check()?;
        Ok(threshold)
    }

    /// Number of marked packets, by rule.
    #[getter]
    fn marks(&mut self) -> BTreeMap<&'static str, u64> {
        let stats = self.stats();
        let rules = Rule::ALL.map(|rule| (rule.name(), stats.marks(rule)));
        rules.into_iter().filter(|&(_, count)| count > 0).collect()
    }

    /// Number of dropped packets, by reason.
    #[getter]
    fn drops(&mut self) -> BTreeMap<&'static str, u64> {
        let stats = self.stats();
        let reasons = DropReason::ALL.map(|reason| (reason.name(), stats.drops(reason)));
        reasons.into_iter().filter(|&(_, count)| count > 0).collect()
    }

    fn __repr__(&mut self) -> String {
        let (packets, bytes) = (self.packets(), self.bytes());
        let rate = self.rate;
        format!("<Port at {rate}: {packets} packets of {bytes} bytes wait>")
    }
}
