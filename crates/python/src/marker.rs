//! Marking schemes written in Python.
//!
//! An exception ends the run: the scheme marks nothing from then on, and `run` raises the exception
//! with its traceback at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyString;
use tidegate_dataplane::Rule;
use tidegate_dataplane::mark::custom::{Decide, Make};
use tidegate_dataplane::mark::{Cx, MarkDecision, PortInfo as Info};
use tidegate_units::{ConfigError, QueueId, Span};

use crate::packet::{Packet, PortInfo};
use crate::quantity::unfit;

/// Factory of schemes: a class, or another callable that takes a port.
#[derive(Debug)]
pub(crate) struct Maker {
    factory: Py<PyAny>,
    /// Base class, whose methods never mark.
    base: Py<PyAny>,
    failure: Arc<Failure>,
}

/// First exception of a run's schemes.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    error: Mutex<Option<PyErr>>,
    /// Set with the exception: ends the run soon.
    pub(crate) interrupt: AtomicBool,
}

impl Failure {
    fn note(&self, error: PyErr) {
        let mut first = self.error.lock().expect("no thread panics while holding it");
        first.get_or_insert(error);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// Takes the exception, if any, and re-enables the schemes.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.interrupt.store(false, Ordering::Relaxed);
        let mut error = self.error.lock().expect("no thread panics while holding it");
        error.take()
    }
}

const ALLOWED: &str =
    "a class derived from tidegate.Marker, or a function of a port that returns one of its kind";

impl Maker {
    pub(crate) fn new(factory: &Bound<'_, PyAny>, failure: &Arc<Failure>) -> PyResult<Self> {
        if !factory.is_callable() {
            return Err(unfit("marker", factory, ALLOWED));
        }
        let base = factory.py().import("tidegate")?.getattr("Marker")?;
        Ok(Self {
            factory: factory.clone().unbind(),
            base: base.unbind(),
            failure: Arc::clone(failure),
        })
    }

    fn scheme(&self, py: Python<'_>, port: &Info<'_>) -> PyResult<Scheme> {
        let scheme = self.factory.bind(py).call1((PortInfo::new(port),))?;
        let base = self.base.bind(py);
        if !scheme.is_instance(base)? {
            return Err(unfit("marker", self.factory.bind(py), ALLOWED));
        }
        // Methods that the class does not override are not called.
        let own = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let is_own = !scheme.get_type().getattr(name)?.is(base.getattr(name)?);
            let method = is_own.then(|| scheme.getattr(name)).transpose()?;
            Ok(method.map(Bound::unbind))
        };
        Ok(Scheme {
            on_enqueue: own("on_enqueue")?,
            on_dequeue: own("on_dequeue")?,
            threshold: own("threshold")?,
            failure: Arc::clone(&self.failure),
        })
    }
}

impl Make for Maker {
    fn make(&self, port: &Info<'_>) -> Result<Box<dyn Decide>, ConfigError> {
        let made = Python::attach(|py| self.scheme(py, port));
        match made {
            Ok(scheme) => Ok(Box::new(scheme)),
            Err(error) => {
                self.failure.note(error);
                let allowed = "a scheme that can be made";
                Err(ConfigError::out_of_range("marker", "Python", allowed))
            }
        }
    }
}

/// Scheme of one port: the methods that its class overrides.
struct Scheme {
    on_enqueue: Option<Py<PyAny>>,
    on_dequeue: Option<Py<PyAny>>,
    threshold: Option<Py<PyAny>>,
    failure: Arc<Failure>,
}

impl Scheme {
    fn ask(
        &self,
        method: Option<&Py<PyAny>>,
        cx: &Cx,
        sojourn: Option<Span>,
        rule: Rule,
    ) -> MarkDecision {
        let Some(method) = method else {
            return MarkDecision::Pass;
        };
        if self.failure.interrupt.load(Ordering::Relaxed) {
            return MarkDecision::Pass;
        }
        let answer = Python::attach(|py| {
            let answer = method.bind(py).call1((Packet::new(cx, sojourn),))?;
            verdict(&answer, rule)
        });
        answer.unwrap_or_else(|error| {
            self.failure.note(error);
            MarkDecision::Pass
        })
    }
}

/// Decision from an answer: true, false, or the name of the rule that the mark counts for.
fn verdict(answer: &Bound<'_, PyAny>, rule: Rule) -> PyResult<MarkDecision> {
    let Ok(name) = answer.cast::<PyString>() else {
        return Ok(MarkDecision::mark_if(answer.is_truthy()?, rule));
    };
    let name = name.to_cow()?;
    let named = Rule::ALL.into_iter().find(|rule| rule.name() == name);
    let rule = named.ok_or_else(|| {
        let rules = Rule::ALL.map(Rule::name).join(", ");
        unfit("the answer", answer, &format!("true, false, or one of {rules}"))
    })?;
    Ok(MarkDecision::Mark(rule))
}

impl Decide for Scheme {
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.ask(self.on_enqueue.as_ref(), cx, None, Rule::QueueLength)
    }

    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        let method = self.on_dequeue.as_ref();
        self.ask(method, cx, Some(sojourn), Rule::Sojourn)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        let method = self.threshold.as_ref()?;
        let answer = Python::attach(|py| method.call1(py, (queue.0,))?.extract(py));
        answer.unwrap_or_else(|error| {
            self.failure.note(error);
            None
        })
    }
}
