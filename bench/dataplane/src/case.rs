//! What is measured, by name, and what it may cost.

use tidegate_dataplane::mark::{self, AnyMarker, Site, Tcn};
use tidegate_dataplane::sched::{self, AnyScheduler, Dwrr, Fifo, Scheduler};
use tidegate_units::Rate;

use crate::work;

/// Queues of every port.
const QUEUES: u8 = 8;
/// The schedulers that ports are measured with, and the settings that give them their queues.
const SCHEDULERS: [(&str, &str, &str); 3] = [
    ("fifo", "queues", "8"),
    (
        "dwrr",
        "quanta",
        "1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500",
    ),
    ("wfq", "weights", "1, 1, 1, 1, 1, 1, 1, 1"),
];

/// Whether the parts were chosen when the program was compiled or when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `AnyMarker`, `AnyScheduler`.
    Any,
    /// Their own types.
    Concrete,
}

impl Form {
    /// The form's name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Concrete => "concrete",
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The scheme, or `None` for the empty call.
    pub scheme: Option<&'static str>,
    /// The scheduler, or `None` for a decision alone.
    pub scheduler: Option<&'static str>,
    /// How the parts were chosen.
    pub form: Form,
}

impl Case {
    /// Every case, the ones with a target first. Those of a scheme that does not work with a
    /// scheduler are left out.
    pub fn all() -> Vec<Self> {
        let schemes = || mark::Config::NAMES.iter().copied();
        let schedulers = || SCHEDULERS.map(|(name, _, _)| Some(name)).into_iter();
        let case = |form| {
            move |scheme, scheduler| Self {
                scheme: Some(scheme),
                scheduler,
                form,
            }
        };
        let mut cases = Vec::new();
        for form in [Form::Concrete, Form::Any] {
            let case = case(form);
            cases.extend(schemes().map(|scheme| case(scheme, None)));
            let pairs = schemes()
                .flat_map(|scheme| schedulers().map(move |scheduler| case(scheme, scheduler)));
            cases.extend(pairs);
        }
        cases.retain(|case| case.is_possible());
        cases
    }

    /// The empty call of the same kind.
    #[must_use]
    pub const fn empty(self) -> Self {
        Self {
            scheme: None,
            form: Form::Any,
            ..self
        }
    }

    /// The most instructions it may take, if that was agreed.
    pub fn target(self) -> Option<u32> {
        match (self.scheme?, self.scheduler, self.form) {
            ("tcn" | "queue-red", None, Form::Concrete) => Some(25),
            ("codel" | "ecn-sharp", None, Form::Concrete) => Some(80),
            ("tcn", Some("fifo"), Form::Concrete) => Some(120),
            ("tcn", Some("dwrr"), Form::Concrete) => Some(180),
            _ => None,
        }
    }

    /// Does the work `iterations` times.
    pub fn run(self, iterations: u32) {
        let Some(scheme) = self.scheme else {
            match self.scheduler {
                None => work::no_decisions(iterations),
                Some(_) => work::no_pairs(QUEUES, iterations),
            }
            return;
        };
        let scheduler = self.scheduler.map(scheduler);
        let marker = marker(scheme, scheduler.as_ref()).expect("only possible cases are run");
        match (self.form, scheduler) {
            (Form::Any, None) => work::decisions(marker, iterations),
            (Form::Any, Some(scheduler)) => work::pairs(marker, scheduler, iterations),
            (Form::Concrete, None) => concrete_decisions(marker, iterations),
            (Form::Concrete, Some(scheduler)) => concrete_pairs(marker, scheduler, iterations),
        }
    }

    fn is_possible(self) -> bool {
        let (Some(scheme), scheduler) = (self.scheme, self.scheduler.map(scheduler)) else {
            return true;
        };
        // Types of their own are measured only where there is a target for them.
        let is_wanted = self.form == Form::Any || self.target().is_some();
        is_wanted && marker(scheme, scheduler.as_ref()).is_some()
    }
}

fn concrete_decisions(marker: AnyMarker, iterations: u32) {
    match marker {
        AnyMarker::Codel(codel) => work::decisions(codel, iterations),
        AnyMarker::EcnSharp(ecn_sharp) => work::decisions(ecn_sharp, iterations),
        AnyMarker::QueueRed(queue_red) => work::decisions(queue_red, iterations),
        AnyMarker::Tcn(tcn) => work::decisions(tcn, iterations),
        other => work::decisions(other, iterations),
    }
}

fn concrete_pairs(marker: AnyMarker, scheduler: AnyScheduler, iterations: u32) {
    let tcn: Tcn = match marker {
        AnyMarker::Tcn(tcn) => tcn,
        other => return work::pairs(other, scheduler, iterations),
    };
    match scheduler {
        AnyScheduler::Dwrr(dwrr) => work::pairs::<Tcn, Dwrr>(tcn, dwrr, iterations),
        AnyScheduler::Fifo(fifo) => work::pairs::<Tcn, Fifo>(tcn, fifo, iterations),
        other => work::pairs(tcn, other, iterations),
    }
}

fn scheduler(name: &str) -> AnyScheduler {
    let (_, field, text) = SCHEDULERS
        .into_iter()
        .find(|(known, _, _)| *known == name)
        .expect("cases name listed schedulers");
    let mut config = sched::Config::named(name).expect("the list holds known schedulers");
    config
        .set(field, text)
        .expect("the list holds known fields");
    config.build().expect("the list holds valid settings")
}

/// The scheme with its defaults, or `None` if it does not work there. A decision alone is made
/// where all schemes work: under round robin.
fn marker(scheme: &str, scheduler: Option<&AnyScheduler>) -> Option<AnyMarker> {
    let rounds = self::scheduler("dwrr");
    let scheduler = scheduler.unwrap_or(&rounds);
    let config = mark::Config::named(scheme)?;
    let site = Site {
        rate: Rate::from_gbps(10),
        queues: QUEUES,
        round: &|queue| scheduler.round(queue),
        scheduler: "dwrr",
        seed: 1,
        place: 0,
    };
    config.build(&site).ok()
}
