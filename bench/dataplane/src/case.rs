//! Measurements by name, with their targets.

use tidegate_dataplane::mark::{self, AnyMarker, PortInfo};
use tidegate_dataplane::sched::{self, AnyScheduler, Scheduler};
use tidegate_dataplane::{Egress, PortConfig};
use tidegate_units::{QueueId, Rate};

use crate::work;

/// Queues of every port.
const QUEUES: u8 = 8;
/// Schedulers of the measured ports, with settings that give them their queues.
const SCHEDULERS: [(&str, &str, &str); 4] = [
    ("fifo", "queues", "8"),
    ("dwrr", "quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500"),
    ("sp-dwrr", "quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500"),
    ("wfq", "weights", "1, 1, 1, 1, 1, 1, 1, 1"),
];

/// Runs a form of the work with the scheme's own type.
macro_rules! concrete_decisions {
    ($form:ident, $marker:expr, $iterations:expr) => {
        match $marker {
            AnyMarker::Codel(codel) => work::$form::decisions(codel, $iterations),
            AnyMarker::EcnSharp(ecn_sharp) => work::$form::decisions(ecn_sharp, $iterations),
            AnyMarker::QueueRed(queue_red) => work::$form::decisions(queue_red, $iterations),
            AnyMarker::Tcn(tcn) => work::$form::decisions(tcn, $iterations),
            other => work::$form::decisions(other, $iterations),
        }
    };
}

/// Runs a form of the work with the types of scheme and scheduler.
macro_rules! concrete_pairs {
    ($form:ident, $marker:expr, $scheduler:expr, $iterations:expr) => {
        match ($marker, $scheduler) {
            (AnyMarker::Tcn(tcn), AnyScheduler::Dwrr(dwrr)) => {
                work::$form::pairs(tcn, dwrr, $iterations)
            }
            (AnyMarker::Tcn(tcn), AnyScheduler::Fifo(fifo)) => {
                work::$form::pairs(tcn, fifo, $iterations)
            }
            (marker, scheduler) => work::$form::pairs(marker, scheduler, $iterations),
        }
    };
}

/// Time at which the parts are chosen, and the way in which the work is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// At every hook: `AnyMarker`, `AnyScheduler`.
    Any,
    /// At compile time; the loop calls the work through a pointer.
    Called,
    /// At compile time; the work is compiled into the loop.
    Inlined,
    /// When the port is built: `dyn Egress`, one call for several packets.
    Served,
    /// When the port is built: `dyn Egress`, one call per packet.
    Virtual,
}

impl Form {
    /// Name of the form in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Called => "called",
            Self::Inlined => "inlined",
            Self::Served => "served",
            Self::Virtual => "virtual",
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
    /// Time at which the parts are chosen.
    pub form: Form,
}

impl Case {
    /// All cases, those with a target first. Schemes that do not work with a scheduler are left
    /// out.
    pub fn all() -> Vec<Self> {
        let schemes = || mark::Config::NAMES.iter().copied();
        let schedulers = || SCHEDULERS.map(|(name, _, _)| Some(name)).into_iter();
        let case = |form| move |scheme, scheduler| Self { scheme: Some(scheme), scheduler, form };
        let mut cases = Vec::new();
        for form in [Form::Inlined, Form::Called, Form::Served, Form::Virtual, Form::Any] {
            let case = case(form);
            cases.extend(schemes().map(|scheme| case(scheme, None)));
            let pairs = schemes()
                .flat_map(|scheme| schedulers().map(move |scheduler| case(scheme, scheduler)));
            cases.extend(pairs);
        }
        cases.retain(|case| case.is_possible());
        cases
    }

    /// The same loop with no work.
    #[must_use]
    pub const fn empty(self) -> Self {
        Self {
            scheme: None,
            scheduler: match self.scheduler {
                None => None,
                // The loop does not depend on the scheme.
                Some(_) => Some("fifo"),
            },
            form: match self.form {
                Form::Called => Form::Called,
                Form::Served => Form::Served,
                // A virtual call is part of the cost.
                Form::Any | Form::Inlined | Form::Virtual => Form::Inlined,
            },
        }
    }

    /// Most instructions allowed, if there is a target.
    pub fn target(self) -> Option<u32> {
        match (self.scheme?, self.scheduler, self.form) {
            ("tcn" | "queue-red", None, Form::Inlined | Form::Called) => Some(25),
            ("codel" | "ecn-sharp", None, Form::Inlined | Form::Called) => Some(80),
            ("tcn", Some("fifo"), Form::Inlined | Form::Called) => Some(120),
            ("tcn", Some("dwrr"), Form::Inlined | Form::Called) => Some(180),
            ("tcn" | "queue-red", Some("fifo"), Form::Served | Form::Virtual) => Some(150),
            ("tcn" | "queue-red", Some("dwrr"), Form::Served | Form::Virtual) => Some(210),
            _ => None,
        }
    }

    /// Runs the work `iterations` times.
    pub fn run(self, iterations: u32) {
        let Some(scheme) = self.scheme else {
            match (self.scheduler, self.form) {
                (None, Form::Called) => work::called::no_decisions(iterations),
                (None, _) => work::no_decisions(iterations),
                (Some(_), Form::Called) => work::called::no_pairs(QUEUES, iterations),
                (Some(_), Form::Served) => work::no_served_pairs(QUEUES, iterations),
                (Some(_), _) => work::no_pairs(QUEUES, iterations),
            }
            return;
        };
        match (self.form, self.scheduler) {
            (Form::Served, Some(scheduler)) => {
                work::served_pairs(egress(scheme, scheduler), iterations);
                return;
            }
            (Form::Virtual, Some(scheduler)) => {
                work::virtual_pairs(egress(scheme, scheduler), iterations);
                return;
            }
            _ => {}
        }
        let scheduler = self.scheduler.map(scheduler);
        let marker = marker(scheme, scheduler.as_ref()).expect("only possible cases are run");
        let is_called = self.form == Form::Called;
        match scheduler {
            None if self.form == Form::Any => work::decisions(marker, iterations),
            None if is_called => concrete_decisions!(called, marker, iterations),
            None => concrete_decisions!(inlined, marker, iterations),
            Some(scheduler) if self.form == Form::Any => work::pairs(marker, scheduler, iterations),
            Some(scheduler) if is_called => concrete_pairs!(called, marker, scheduler, iterations),
            Some(scheduler) => concrete_pairs!(inlined, marker, scheduler, iterations),
        }
    }

    fn is_possible(self) -> bool {
        let (Some(scheme), scheduler) = (self.scheme, self.scheduler.map(scheduler)) else {
            return true;
        };
        // Other forms are measured only if they have a target.
        let is_wanted = self.form == Form::Any || self.target().is_some();
        is_wanted && marker(scheme, scheduler.as_ref()).is_some()
    }
}

fn scheduler(name: &str) -> AnyScheduler {
    let config = scheduler_config(name);
    config.build().expect("the list holds valid settings")
}

fn scheduler_config(name: &str) -> sched::Config {
    let (_, field, text) = SCHEDULERS
        .into_iter()
        .find(|(known, _, _)| *known == name)
        .expect("cases name listed schedulers");
    let mut config = sched::Config::named(name).expect("the list holds known schedulers");
    config.set(field, text).expect("the list holds known fields");
    config
}

fn egress(scheme: &str, scheduler: &str) -> Box<dyn Egress> {
    let marking = mark::Config::named(scheme).expect("cases name known schemes");
    let config = PortConfig::default();
    tidegate_ports::build(&config, &marking, &scheduler_config(scheduler))
        .expect("only possible cases are run")
}

/// The scheme with its defaults, or `None` if it does not work there. A decision alone is measured
/// at a port where all schemes work: it has rounds for every queue and serves queue 0 first.
fn marker(scheme: &str, scheduler: Option<&AnyScheduler>) -> Option<AnyMarker> {
    let first = scheduler.map_or(Some(QueueId(0)), Scheduler::first);
    let rounds = self::scheduler("dwrr");
    let scheduler = scheduler.unwrap_or(&rounds);
    let config = mark::Config::named(scheme)?;
    let port = PortInfo {
        rate: Rate::from_gbps(10),
        queues: QUEUES,
        round: &|queue| scheduler.round(queue),
        first,
        scheduler: "dwrr",
        seed: 1,
        stream: 0,
    };
    config.build(&port).ok()
}
