//! Flows at random: Poisson arrivals at a load, between random pairs, of random sizes.
//!
//! Independent Poisson processes, one for each sender or pair as in the papers' programs, add up to
//! one Poisson process whose flows draw their pair. That single process is generated here, so that
//! the cost does not depend on the number of pairs. Times, pairs, services and sizes have streams
//! of their own: another load stretches the times and changes nothing else.

use tidegate_units::{ConfigError, Rate, Ratio, Rng, Setting, Span, Time, settings};

use super::exact::quotient;
use super::load::{Counts, Demand, LoadOn, MeanSize, Period};
use super::pattern::{Pairs, Pattern};
use super::service::{Assignment, Services};
use super::size::{Mean, Rounding, Sampler, Sizes, Table};
use super::{Env, Extent, Hosts, MAX_FLOWS};
use crate::flow::Flow;
use crate::network::HostId;

settings! {
    /// Parameters of Poisson arrivals.
    #[named("poisson", "background traffic at a load", "workloads.md#Definition of load#Sizes",
        "load = 0.6\nflows = 1000\n")]
    pub struct Config {
        /// Load, above 0: a fraction of the speed of `link`, 0.6 for 60 %. Arrivals need an end at
        /// any load: `flows` or `until`.
        pub load: Ratio = Ratio::new(3, 5).expect("5 is not 0"),
        /// Speed of the links that the load refers to.
        pub link: Rate = Rate::from_gbps(10),
        /// Links that the load refers to; `none` means the receiver's link if there is one
        /// receiver, otherwise the senders' links.
        pub load_on: Option<LoadOn> = None,
        /// Bytes that count towards the load.
        pub counts: Counts = Counts::Payload,
        /// Mean size in the formula.
        pub mean: MeanSize = MeanSize::Linear,
        /// Precision of the mean gap.
        pub period: Period = Period::Exact,
        /// Speed of a rack's hosts divided by the speed of its links to the core, for a load on
        /// uplinks.
        pub oversubscription: Ratio = Ratio::ONE,
        /// Pairs between which flows go.
        pub pattern: Pattern = Pattern::AllToAll,
        /// Sending hosts.
        pub from: Hosts = Hosts::All,
        /// Receiving hosts.
        pub to: Hosts = Hosts::All,
        /// Sizes of flows. With several tables, a service uses the one at its number modulo their
        /// count.
        pub sizes: Vec<Sizes> = vec![Sizes::Published(Table::WebSearch)],
        /// Rounding of sizes; `none` means whole packets for a table of packets and whole bytes for
        /// a table of bytes.
        pub rounding: Option<Rounding> = None,
        /// Payload of a full packet, for tables of packets and for headers.
        pub mss: u32 = 1460,
        /// Assignment of a service to a flow.
        pub assignment: Assignment = Assignment::Fixed,
        /// Number of services.
        pub services: u16 = 1,
        /// Number of the first service.
        pub first_service: u8 = 0,
        /// Weights of the services, if they are drawn by weight.
        pub service_weights: Vec<u32> = Vec::new(),
        /// Group that their results belong to.
        pub group: u8 = 0,
        /// Start of arrivals; the first flow starts a gap later.
        pub start: Span = Span::ZERO,
        /// End of arrivals: no flow starts at this time or later.
        pub until: Option<Span> = None,
        /// Number of flows. This or `until` must be given; the first to be reached ends the
        /// arrivals.
        pub flows: Option<u64> = None,
    }
}

/// Load from which on a percentage was meant.
const NO_LOAD: Ratio = Ratio::whole(10);

/// Random streams of a source.
struct Streams {
    gaps: Rng,
    pairs: Rng,
    services: Rng,
    sizes: Rng,
}

impl Streams {
    fn new(env: &Env) -> Self {
        let seed = Rng::new(env.seed, env.stream).next_u64();
        Self {
            gaps: Rng::new(seed, 0),
            pairs: Rng::new(seed, 1),
            services: Rng::new(seed, 2),
            sizes: Rng::new(seed, 3),
        }
    }
}

/// Sizes of one service.
struct Class {
    sampler: usize,
    /// Fraction of its flows that are kept, in units of 2^−32.
    kept: u64,
}

impl Config {
    /// Number of flows in a network of `hosts`.
    pub(super) fn extent(&self, _: u32) -> Extent {
        Extent { flows: self.flows, field: "flows" }
    }

    /// The flows, in order of start.
    pub(super) fn flows(&self, env: &Env) -> Result<Vec<Flow>, ConfigError> {
        self.check_end()?;
        let pairs = Pairs::new(self.pattern, &self.from, &self.to, env)?;
        let range = (self.first_service, self.services);
        let services = Services::new(self.assignment, range, &self.service_weights, env.hosts)?;
        let (samplers, means) = self.samplers()?;
        let (classes, mean) = classes(&services, &means, &services.shares(&pairs));
        let gap = self.demand(&pairs).gap(mean, &pairs, env)?;

        let most = self.flows.unwrap_or(u64::MAX);
        if let Some(until) = self.until
            && u128::from(most).min(gap.expected_in(until - self.start)) > u128::from(MAX_FLOWS)
        {
            let allowed = format!("an end before {MAX_FLOWS} flows are expected");
            return Err(ConfigError::out_of_range("until", until, allowed));
        }
        let until = Time::ZERO + self.until.unwrap_or(Span::MAX);
        let mut streams = Streams::new(env);
        let mut now = Time::ZERO + self.start;
        let mut flows = Vec::new();
        while (flows.len() as u64) < most {
            now += gap.draw(&mut streams.gaps);
            if now >= until {
                break;
            }
            let (src, dst, service) = draw_pair(&pairs, &services, &classes, &mut streams);
            let sampler = &samplers[classes[usize::from(service)].sampler];
            flows.push(Flow {
                start: now,
                // A flow without bytes would never end.
                bytes: sampler.draw(&mut streams.sizes).max(1),
                src,
                dst,
                rate: None,
                service: services.number(service),
                group: self.group,
            });
        }
        if let (Some(count), None) = (self.flows, self.until)
            && count > flows.len() as u64
        {
            let allowed = format!("at most {}, which start within 213 days", flows.len());
            return Err(ConfigError::out_of_range("flows", count, allowed));
        }
        Ok(flows)
    }

    fn check_end(&self) -> Result<(), ConfigError> {
        if self.load.numerator() == 0 {
            let allowed = "above 0, such as 0.6";
            return Err(ConfigError::out_of_range("load", self.load, allowed));
        }
        if self.load >= NO_LOAD {
            let allowed =
                "below 10, because it is a fraction of the link's speed: 60 % is 0.6 or \"60%\"";
            return Err(ConfigError::out_of_range("load", self.load, allowed));
        }
        if self.flows.is_none() && self.until.is_none() {
            if self.load > Ratio::ONE {
                let allowed = "at most 1 without an end: set `flows` or `until`";
                return Err(ConfigError::out_of_range("load", self.load, allowed));
            }
            let allowed = "a number of flows, or a time in `until`";
            return Err(ConfigError::out_of_range("flows", "none", allowed));
        }
        if let Some(until) = self.until
            && until <= self.start
        {
            let allowed = format!("later than `start`, {}", self.start);
            return Err(ConfigError::out_of_range("until", until, allowed));
        }
        match self.flows {
            Some(0) => {
                let allowed = "at least 1; omit a source that sends nothing";
                Err(ConfigError::out_of_range("flows", 0, allowed))
            }
            Some(flows) if flows > MAX_FLOWS => {
                let allowed = format!("at most {MAX_FLOWS}");
                Err(ConfigError::out_of_range("flows", flows, allowed))
            }
            _ => Ok(()),
        }
    }

    fn demand(&self, pairs: &Pairs) -> Demand {
        let natural = match pairs.receivers() {
            1 => LoadOn::Receivers,
            _ => LoadOn::Senders,
        };
        Demand {
            load: self.load,
            on: self.load_on.unwrap_or(natural),
            counts: self.counts,
            period: self.period,
            link: self.link,
            oversubscription: self.oversubscription,
            mss: self.mss,
        }
    }

    /// Samplers of the `sizes`, and the means that the formula uses for them.
    fn samplers(&self) -> Result<(Vec<Sampler>, Vec<Mean>), ConfigError> {
        if self.sizes.is_empty() {
            let allowed = "at least one, such as web-search";
            return Err(ConfigError::out_of_range("sizes", "", allowed));
        }
        let each = |sizes: &Sizes| {
            let sampler = sizes.distribution().sampler(self.rounding, self.mss)?;
            let mean = match self.mean {
                MeanSize::Linear => sampler.linear_mean(),
                MeanSize::Sampled => sampler.mean(),
                MeanSize::Script => {
                    let known = match sizes {
                        Sizes::Published(table) => table.script_mean(),
                        Sizes::Own(_) | Sizes::Uniform(..) => None,
                    };
                    let allowed = format!(
                        "linear or sampled with {}; the packet tables have a mean in TCN's script",
                        sizes.write()
                    );
                    let refused = || ConfigError::out_of_range("mean", self.mean.write(), allowed);
                    Mean::whole(known.ok_or_else(refused)?)
                }
            };
            Ok((sampler, mean))
        };
        self.sizes.iter().map(each).collect()
    }
}

/// Sizes of the services, and the mean size over all flows. `shares` are the fractions of the
/// services among the pairs.
fn classes(services: &Services, means: &[Mean], shares: &[u64]) -> (Vec<Class>, Mean) {
    let sampler = |service: u16| usize::from(services.number(service)) % means.len();
    let mean = |service: u16| means[sampler(service)];
    let all = || (0..services.count()).zip(shares);
    if services.assignment() != Assignment::Pair {
        let class = |service| Class { sampler: sampler(service), kept: 1 << 32 };
        let average = all()
            .map(|(service, &share)| quotient(mean(service).units(), &[share], &[1 << 32]))
            .map(|part| part.unwrap_or(u128::MAX))
            .fold(0, u128::saturating_add);
        let whole: u64 = shares.iter().sum();
        // The shares were rounded down, so that their sum may be slightly below the whole.
        let average = quotient(average, &[1 << 32], &[whole]).unwrap_or(u128::MAX);
        let classes = (0..services.count()).map(class).collect();
        return (classes, Mean::from_units(average));
    }
    // Each pair has the same bytes, so its number of flows is inversely proportional to their mean
    // size. A pair drawn uniformly is therefore kept with the probability smallest mean / its mean;
    // the sum of these, weighted by share, is the number of flows relative to the smallest mean.
    // Means are in units of 2^−32 bytes; at most 2^82, because a size is at most 2^50.
    let fixed = |service| {
        let units = quotient(mean(service).units(), &[1 << 32], &[Mean::PER_BYTE]);
        units.unwrap_or(u128::MAX).clamp(1, 1 << 82)
    };
    // The mean of a service that no pair has does not matter. A service that some pair has is
    // always kept, so that a pair is found quickly.
    let used = all().filter(|&(_, &share)| share > 0);
    let smallest = used.map(|(service, _)| fixed(service)).min().unwrap_or(1);
    let class = |service| Class {
        sampler: sampler(service),
        kept: ((smallest << 32) / fixed(service)) as u64,
    };
    let classes: Vec<Class> = (0..services.count()).map(class).collect();
    let (mut kept, mut whole) = (0_u128, 0_u128);
    for (class, &share) in classes.iter().zip(shares) {
        kept += u128::from(class.kept) * u128::from(share);
        whole += u128::from(share) << 32;
    }
    // The mean over all flows is smallest / (kept / whole). Both are below 2^66.
    let kept_part = ((kept << 32) / whole.max(1)) as u64;
    let units = quotient(smallest, &[Mean::PER_BYTE], &[kept_part.max(1)]);
    (classes, Mean::from_units(units.unwrap_or(u128::MAX)))
}

#[inline]
fn draw_pair(
    pairs: &Pairs,
    services: &Services,
    classes: &[Class],
    streams: &mut Streams,
) -> (HostId, HostId, u16) {
    loop {
        let (src, dst) = pairs.draw(&mut streams.pairs);
        let service = services.draw(src, dst, &mut streams.services);
        let kept = classes[usize::from(service)].kept;
        // The stream of pairs is not used if there is nothing to decide.
        if kept >= 1 << 32 || u64::from(streams.pairs.next_u32()) < kept {
            return (src, dst, service);
        }
    }
}

#[cfg(test)]
mod tests;
