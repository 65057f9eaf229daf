//! Workloads: the flows of a run, as data, before it starts.
//!
//! A [`Traffic`] is a list of sources. Each creates its flows from a random stream of its own, so
//! that adding a source at the end does not change the others. The flows are then merged by start
//! time.
//!
//! | source | description |
//! |---|---|
//! | [`poisson`] | background traffic at a load, of [sizes](Sizes) from a table; [`Published`] has the papers' |
//! | [`burst`] | incast: many hosts send to one at the same time |
//! | [`arrivals`] | flows with gaps from a table |
//! | [`long_lived`] | listed flows, endless or not, limited in rate or not |
//! | [`messages`] | messages with think times on one connection |
//! | [`List`] | an exact list from a CSV file |
//!
//! [`probe`] has pings, which are not flows, and [`Window`] determines the measured flows and the
//! end of a run.
//!
//! ```
//! use tidegate_sim::workload::{Source, Traffic};
//!
//! let mut background = Source::named("ecn-sharp").unwrap();
//! background.set("load", "0.6").unwrap();
//! let mut query = Source::named("burst").unwrap();
//! query.set("start", "100ms").unwrap();
//! query.set("fan_in", "100").unwrap();
//!
//! let traffic = Traffic { sources: vec![background, query], probes: vec![] };
//! let flows = traffic.flows(128, &|host| host.0 / 16, 1).unwrap();
//! assert!(flows.is_sorted_by_key(|flow| flow.start));
//! ```

mod draw;
mod exact;
mod hosts;
mod list;
mod load;
mod pattern;
pub mod probe;
mod published;
mod service;
mod shares;
mod size;
mod text;
mod window;

pub use hosts::Hosts;
pub use list::{Entry, List};
pub use load::{Counts, LoadOn, MeanSize, Period};
pub use pattern::Pattern;
pub use probe::Probe;
pub use published::Published;
pub use service::Assignment;
pub(crate) use shares::Shares;
pub use size::{Distribution, Gaps, Mean, Rounding, Sampler, Sizes, Table};
pub use text::{Fault, LineError};
pub use window::{Drain, Window};

use std::fmt::{self, Display, Formatter};

use tidegate_units::{ConfigError, NoSettings, Setting, catalogue};

use crate::flow::Flow;
use crate::network::HostId;
use crate::setup::ThinkTime;

/// Most flows of a source, and of all sources together: 4 GB of memory.
const MAX_FLOWS: u64 = 100_000_000;

/// Environment of a source: its network, and its random stream.
pub(crate) struct Env<'a> {
    hosts: u32,
    rack: &'a dyn Fn(HostId) -> u32,
    seed: u64,
    stream: u64,
}

/// Number of flows of a source, checked before they are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of flows; `None` if time ends them.
    pub flows: Option<u64>,
    /// The setting that it grows with.
    pub field: &'static str,
}

/// Flows of a source, in order of creation.
type Flows<'a> = Box<dyn ExactSizeIterator<Item = Flow> + 'a>;

/// Declares the modules of all sources and the enum of their settings. A module holds a `Config`
/// with the methods `flows` and `extent`. [`Published::NAMES`] are further names, for parameter
/// sets of `poisson`.
macro_rules! sources {
    ($($variant:ident($module:ident),)*) => {
        $(pub mod $module;)*

        catalogue! {
            /// A source of flows.
            pub enum Source {
                [
                    /// An exact list, which has no settings.
                    List(List): list::ABOUT, |_list| NoSettings;
                ]
                $($variant($module::Config),)*
            }
            else |name| Published::read(name).ok().map(|set| Self::Poisson(set.config()));
        }

        impl Source {
            fn flows(&self, env: &Env) -> Result<Flows<'_>, Cause> {
                Ok(match self {
                    Self::List(list) => {
                        list.check(env.hosts).map_err(Cause::Line)?;
                        Box::new(list.flows())
                    }
                    $(Self::$variant(config) => {
                        Box::new(config.flows(env).map_err(Cause::Setting)?.into_iter())
                    })*
                })
            }

            /// Number of flows in a network of `hosts`.
            pub fn extent(&self, hosts: u32) -> Extent {
                match self {
                    Self::List(list) => list.extent(),
                    $(Self::$variant(config) => config.extent(hosts),)*
                }
            }
        }
    };
}

sources! {
    Arrivals(arrivals),
    Burst(burst),
    LongLived(long_lived),
    Messages(messages),
    Poisson(poisson),
}

impl Source {
    /// Also ends a source limited by time after this number of flows.
    pub fn end_after(&mut self, flows: u64) {
        if let Self::Poisson(config) = self
            && config.until.is_some()
        {
            config.flows = config.flows.or(Some(flows));
        }
    }

    /// Think times within each of its flows, if any.
    pub fn think_times(&self) -> Option<ThinkTime> {
        match self {
            Self::Messages(config) => Some(config.think_times()),
            _ => None,
        }
    }

    /// Expected distribution over hosts and switches of the bytes of a source that draws its pairs;
    /// `None` for a source with given pairs.
    pub(crate) fn shares(&self, hosts: u32, rack: &dyn Fn(HostId) -> u32) -> Option<Shares> {
        let Self::Poisson(config) = self else {
            return None;
        };
        let env = Env { hosts, rack, seed: 0, stream: 0 };
        let pairs = pattern::Pairs::new(config.pattern, &config.from, &config.to, &env);
        Some(pairs.ok()?.even_shares(&env))
    }
}

/// Traffic of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Sources of flows.
    pub sources: Vec<Source>,
    /// Series of pings.
    pub probes: Vec<probe::Config>,
}

/// A flow with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The flow.
    pub flow: Flow,
    /// Index of the source in [`Traffic::sources`].
    pub source: u32,
    /// Index among the flows of the source: for a list, of the [`Entry`]. Results in the order of a
    /// file are sorted by it.
    pub index: u32,
}

impl Traffic {
    /// The flows in order of start. Ties are in order of their sources, and within a source in
    /// order of creation. `rack` gives the rack of a host.
    pub fn flows(
        &self,
        hosts: u32,
        rack: &dyn Fn(HostId) -> u32,
        seed: u64,
    ) -> Result<Vec<Flow>, Error> {
        let planned = self.plan(hosts, rack, seed)?;
        Ok(planned.into_iter().map(|planned| planned.flow).collect())
    }

    /// The flows as [`flows`](Self::flows) returns them, each with its source.
    pub fn plan(
        &self,
        hosts: u32,
        rack: &dyn Fn(HostId) -> u32,
        seed: u64,
    ) -> Result<Vec<Planned>, Error> {
        let mut all = Vec::new();
        for (source, number) in self.sources.iter().zip(0..) {
            let env = Env { hosts, rack, seed, stream: FIRST_STREAM + u64::from(number) };
            let error = |cause| Error { source: source.name(), number, cause };
            let flows = source.flows(&env).map_err(error)?;
            if (all.len() + flows.len()) as u64 > MAX_FLOWS {
                return Err(error(Cause::TooMany));
            }
            let planned = |(flow, index)| Planned { flow, source: number, index };
            all.extend(flows.zip(0..).map(planned));
        }
        // Stable, so that flows with the same start keep their order. Sorting takes memory.
        if !all.is_sorted_by_key(|planned| planned.flow.start) {
            all.sort_by_key(|planned| planned.flow.start);
        }
        Ok(all)
    }

    /// The probes, in the order of their settings.
    pub fn probes(&self, hosts: u32) -> Result<Vec<Probe>, Error> {
        let env = Env { hosts, rack: &|_| 0, seed: 0, stream: 0 };
        let mut all = Vec::new();
        for (config, number) in self.probes.iter().zip(0..) {
            let probes = config.probes(&env).map_err(|error| Error {
                source: "probe",
                number,
                cause: Cause::Setting(error),
            })?;
            all.extend(probes);
        }
        Ok(all)
    }
}

/// First random stream that belongs to a source. Ports count theirs from zero.
const FIRST_STREAM: u64 = 1 << 40;

/// Error: a source cannot create its flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name of the source's kind.
    pub source: &'static str,
    /// Index among the sources, or among the probes, counted from 0.
    pub number: u32,
    /// The cause.
    pub cause: Cause,
}

/// Cause of a source's error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A line of a list.
    Line(LineError),
    /// A setting.
    Setting(ConfigError),
    /// Together with earlier sources it would create more flows than a run can have.
    TooMany,
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "source {} ({}): ", self.number, self.source)?;
        match &self.cause {
            Cause::Line(error) => Display::fmt(error, f),
            Cause::Setting(error) => Display::fmt(error, f),
            Cause::TooMany => write!(f, "more than {MAX_FLOWS} flows in all sources together"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests;
