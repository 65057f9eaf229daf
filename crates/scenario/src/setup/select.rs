//! Resolves names of ports, links and flows to numbers.

use std::fmt::Write;
use std::sync::Arc;

use tidegate_dataplane::sched::Scheduler;
use tidegate_sim::observe::{Convention, Observe, PortFlows, Sampling, Which, Window};
use tidegate_sim::setup::Ports;
use tidegate_sim::{LinkId, Setup};
use tidegate_units::{QueueId, Span, Time};

use crate::sections::declare::Selection;
use crate::sections::observe;
use crate::settings::limits::Limits;
use crate::settings::reader::Located;
use crate::setup::build::Built;
use crate::text::problem::{Location, Problem, Source, nearest};

/// Number of links that an error lists.
const LISTED: usize = 8;

impl Built {
    /// Links in a comma-separated text: names, patterns and numbers, as in `observe.links`. Errors
    /// call the text `source`.
    pub fn find_links(&self, source: &str, text: &str) -> Result<Vec<LinkId>, Problem> {
        let finder = Finder { setup: &self.setup, names: &self.ports };
        let source = Source::new(source, text);
        let mut found = Vec::new();
        let mut seen = vec![false; self.ports.len()];
        let mut begin = 0;
        for word in text.split(',') {
            let name = word.trim();
            let start = begin + word.len() - word.trim_start().len();
            begin += word.len() + 1;
            let loc = Location { source: Arc::clone(&source), span: start..start + name.len() };
            let links = finder.matches(name, &loc, Kind::Links);
            for link in links.map_err(|problem| self.with_links(name, problem))? {
                if !std::mem::replace(&mut seen[link.index()], true) {
                    found.push(link);
                }
            }
        }
        Ok(found)
    }

    /// Adds the existing links to a problem.
    fn with_links(&self, name: &str, problem: Problem) -> Problem {
        let mut help = problem.advice().unwrap_or_default().to_owned();
        if !name.contains('>') && name.parse::<u32>().is_err() {
            help.push_str("\n  in a shell the name needs quotes, because `>` redirects output");
        }
        let more = self.ports.len().saturating_sub(LISTED);
        let listed = self.ports[..self.ports.len() - more].join(", ");
        help += "\n  links: ";
        help += &listed;
        if more > 0 {
            _ = write!(help, " and {more} more");
        }
        problem.help(help)
    }
}

/// Observations of the setup.
pub(crate) fn observe(
    asked: &Located<observe::Observe>,
    setup: &Setup,
    names: &[String],
    convention: Convention,
    limits: &Limits,
) -> Result<Observe, Problem> {
    let finder = Finder { setup, names };
    let ports = finder.links(&asked.ports.0, Kind::Ports)?;
    let watched = match &ports {
        Which::All => names.len() as u64,
        Which::None => 0,
        Which::Only(links) => links.len() as u64,
    };
    let queues = watched.saturating_mul(finder.most_queues().into());
    if queues > limits.queues {
        let message = format!(
            "{queues} queues are more than the maximum of {} that can be observed",
            limits.queues
        );
        return Err(Problem::new(message)
            .at(asked.locs.of("ports"))
            .help("name some ports, such as \"leaf0>host*\""));
    }
    Ok(Observe {
        window: Window {
            from: Time::ZERO + asked.window.from,
            to: asked.window.to.map_or(Time::MAX, |to| Time::ZERO + to),
        },
        ports,
        links: finder.links(&asked.links.0, Kind::Links)?,
        flows: finder.flows(&asked.flows.0)?,
        port_flows: (asked.port_flows.0.as_ref())
            .map(|flows| port_flows(flows, &finder, convention))
            .transpose()?,
        series: (asked.series.0.as_ref())
            .map(|series| sampling(series, &finder, limits))
            .transpose()?,
        journal: None,
        host_waits: setup.nic.is_none(),
        storm: asked.storm,
    })
}

fn port_flows(
    flows: &Located<observe::PortFlows>,
    finder: &Finder<'_>,
    convention: Convention,
) -> Result<PortFlows, Problem> {
    if flows.ideal == Some(Span::ZERO) {
        let problem = Problem::new("`ideal` is zero").at(flows.locs.of("ideal"));
        return Err(problem.help("set a time above zero, such as a round trip, or `none`"));
    }
    let ports = finder.links(&flows.ports.0, Kind::Ports)?;
    if ports == Which::None {
        return Err(Problem::new("`port_flows` names no port")
            .at(&flows.locs.whole)
            .help("add some, such as ports = \"leaf0>host*\""));
    }
    Ok(PortFlows { ports, period: flows.period, ideal: flows.ideal, convention })
}

fn sampling(
    series: &Located<observe::Series>,
    finder: &Finder<'_>,
    limits: &Limits,
) -> Result<Sampling, Problem> {
    if series.interval == Span::ZERO {
        let problem = Problem::new("`interval` is zero").at(series.locs.of("interval"));
        return Err(problem.help("set a time above zero, such as 10us"));
    }
    if series.limit < 2 {
        let problem = Problem::new(format!("`limit` is {}", series.limit));
        return Err(problem.at(series.locs.of("limit")).help("at least 2 samples"));
    }
    let queues = finder.queues(&series.queues.0)?;
    let links = match finder.links(&series.links.0, Kind::Links)? {
        Which::All => (0..finder.names.len() as u32).map(LinkId).collect(),
        Which::None => Vec::new(),
        Which::Only(links) => links,
    };
    let flows = match finder.flows(&series.flows.0)? {
        Which::All => (0..finder.setup.flows.len() as u32).collect(),
        Which::None => Vec::new(),
        Which::Only(flows) => flows,
    };
    let traces = 1 + queues.len() as u64 + links.len() as u64 + flows.len() as u64;
    let samples = traces.saturating_mul(series.limit.into());
    if samples > limits.samples {
        let message = format!(
            "{traces} series of {} samples are more than the maximum of {} samples",
            series.limit, limits.samples
        );
        return Err(Problem::new(message)
            .at(&series.locs.whole)
            .help("sample fewer queues, links or flows, or lower `limit`"));
    }
    Ok(Sampling {
        interval: series.interval,
        window: None,
        limit: series.limit,
        queues,
        links,
        flows,
    })
}

/// Requested kind of link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Links,
    /// Excludes links of ideal hosts unless nothing else matches.
    Ports,
}

fn queues(ports: &Ports) -> u8 {
    let scheduler = ports.scheduling.build();
    scheduler.map_or(1, |scheduler| scheduler.queues())
}

struct Finder<'a> {
    setup: &'a Setup,
    names: &'a [String],
}

impl Finder<'_> {
    fn leaves_host(&self, link: LinkId) -> bool {
        let network = &self.setup.network;
        network.is_host(network.link(link).from)
    }

    fn queues_of(&self, link: LinkId) -> u8 {
        match &self.setup.nic {
            _ if !self.leaves_host(link) => queues(&self.setup.switch),
            Some(nic) => queues(nic),
            None => 1,
        }
    }

    fn most_queues(&self) -> u8 {
        let of_hosts = self.setup.nic.as_ref().map_or(0, queues);
        of_hosts.max(queues(&self.setup.switch))
    }

    fn links(&self, asked: &Selection, kind: Kind) -> Result<Which<LinkId>, Problem> {
        match asked.as_slice() {
            [] => return Ok(Which::None),
            [(word, _)] if word == "none" => return Ok(Which::None),
            [(word, _)] if word == "all" => return Ok(Which::All),
            _ => {}
        }
        let mut found = Vec::new();
        let mut seen = vec![false; self.names.len()];
        for (name, loc) in asked {
            for link in self.matches(name, loc, kind)? {
                if !std::mem::replace(&mut seen[link.index()], true) {
                    found.push(link);
                }
            }
        }
        Ok(Which::Only(found))
    }

    /// Links that match a name, a pattern or a number.
    fn matches(&self, name: &str, loc: &Location, kind: Kind) -> Result<Vec<LinkId>, Problem> {
        let all = || (0..self.names.len() as u32).map(LinkId);
        let has_ideal_hosts = self.setup.has_ideal_hosts();
        let fits =
            |&link: &LinkId| kind == Kind::Links || !has_ideal_hosts || !self.leaves_host(link);
        if name == "all" {
            return Ok(all().filter(fits).collect());
        }
        if name == "switches" {
            return Ok(all().filter(|&link| !self.leaves_host(link)).collect());
        }
        let named: Vec<LinkId> = match name.parse::<u32>() {
            Ok(number) => all().filter(|link| link.0 == number).collect(),
            Err(_) => all().filter(|link| is_like(&self.names[link.index()], name)).collect(),
        };
        if named.is_empty() {
            let problem =
                Problem::new(format!("there is no link `{name}` in this network")).at(loc);
            let close = nearest(name, self.names.iter().map(String::as_str));
            let last = self.names.len().saturating_sub(1);
            return Err(match (name.parse::<u32>(), close) {
                (Ok(_), _) => problem.help(format!("links 0 to {last}")),
                (Err(_), Some(close)) => problem.help(format!("did you mean `{close}`?")),
                (Err(_), None) => problem.help(format!(
                    "join two neighbours with `>`, such as `{}`; `*` matches anything",
                    self.names.first().map_or("", String::as_str)
                )),
            });
        }
        let (usual, of_ideal_hosts): (Vec<_>, Vec<_>) = named.into_iter().partition(fits);
        Ok(if usual.is_empty() { of_ideal_hosts } else { usual })
    }

    /// Queues of ports such as `leaf0>host3`, or one queue, as in `leaf0>host3:1`.
    fn queues(&self, asked: &Selection) -> Result<Vec<(LinkId, QueueId)>, Problem> {
        let mut found = Vec::new();
        for (name, loc) in asked {
            if name == "none" {
                continue;
            }
            let (port, queue) = match name.rsplit_once(':') {
                Some((port, queue)) => (port, Some(queue)),
                None => (name.as_str(), None),
            };
            for link in self.matches(port.trim(), loc, Kind::Ports)? {
                let count = self.queues_of(link);
                let chosen = match queue.map(|queue| queue.trim().parse::<u8>()) {
                    None => 0..count,
                    Some(Ok(queue)) if queue < count => queue..queue + 1,
                    Some(_) => {
                        let message = format!("`{name}`: the port has no such queue");
                        return Err(Problem::new(message)
                            .at(loc)
                            .help(format!("queues 0 to {}", count.saturating_sub(1))));
                    }
                };
                found.extend(chosen.map(|queue| (link, QueueId(queue))));
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn flows(&self, asked: &Selection) -> Result<Which<u32>, Problem> {
        match asked.as_slice() {
            [] => return Ok(Which::None),
            [(word, _)] if word == "none" => return Ok(Which::None),
            [(word, _)] if word == "all" => return Ok(Which::All),
            _ => {}
        }
        let count = self.setup.flows.len() as u64;
        let mut found: Vec<u32> = Vec::new();
        for (name, loc) in asked {
            let (first, last) = name.split_once('-').unwrap_or((name, name));
            let number = |text: &str| text.trim().parse::<u32>().ok();
            let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
            match range {
                Some((first, last)) if u64::from(last) < count => found.extend(first..=last),
                _ => {
                    let help = match count {
                        0 => "the run has no flows".to_owned(),
                        _ => format!("numbers or ranges from 0 to {}, `all` or `none`", count - 1),
                    };
                    let message = format!("there is no flow `{name}`");
                    return Err(Problem::new(message).at(loc).help(help));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Which::Only(found))
    }
}

/// Whether a name matches a pattern, in which `*` matches any number of characters.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_in_a_pattern_matches_any_text() {
        for (name, pattern, fits) in [
            ("leaf0>host3", "leaf0>host3", true),
            ("leaf0>host3", "leaf0>host", false),
            ("leaf0>host3", "*", true),
            ("leaf0>host3", "leaf*>host*", true),
            ("leaf0>host3", "*>host3", true),
            ("leaf0>host3", "spine*", false),
            ("leaf0>host33", "leaf0>*3", true),
            ("leaf0>host3", "leaf0>host3*3", false),
            ("leaf0>host3", "", false),
        ] {
            assert_eq!(is_like(name, pattern), fits, "{name} {pattern}");
        }
    }
}
