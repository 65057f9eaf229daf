//! Subjects of the suite: congestion controls, echo rules, and stacks.

use tidegate_transport::cc::{self, dctcp};
use tidegate_transport::config::Echo;
use tidegate_transport::{Config, Endpoint, Profile};
use tidegate_units::{Setting, Settings};

use crate::script::{Case, Side, Start};
use crate::wire::Origin;

/// The columns of the page: every subject of one side.
pub(crate) fn subjects(side: Side) -> Vec<String> {
    let mut names: Vec<String> = match side {
        Side::Sender => {
            let rules = cc::Config::NAMES.iter().filter(|name| **name != "dctcp");
            let profiles = dctcp::Config::PROFILES;
            let profiles = profiles.iter().map(|profile| format!("dctcp/{profile}"));
            profiles.chain(rules.map(|name| (*name).to_owned())).collect()
        }
        Side::Receiver => Echo::NAMES.iter().map(|name| (*name).to_owned()).collect(),
        Side::Stack => Profile::NAMES.iter().map(|name| (*name).to_owned()).collect(),
    };
    names.sort();
    names
}

/// Whether `pattern` names `subject`: the same word, or its beginning before a final `*`.
pub(crate) fn is_match(pattern: &str, subject: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => subject.starts_with(beginning),
        None => pattern == subject,
    }
}

/// The endpoint that a case describes, with the part of `subject` that is under test.
pub(crate) fn endpoint(case: &Case, subject: &str, origin: Origin) -> Result<Endpoint, String> {
    let mut config = Config::default();
    let mut cc = cc(&case.window)?;
    match case.side {
        Side::Sender => cc = self::cc(subject)?,
        Side::Receiver => {
            config.echo = Echo::read(subject).map_err(|error| error.to_string())?;
        }
        Side::Stack => {
            config =
                Config::profile(subject).ok_or_else(|| format!("there is no stack `{subject}`"))?;
        }
    }
    for (field, text) in &case.config {
        config.set(field, text).map_err(|error| format!("config: {error}"))?;
    }
    for (pattern, fields) in &case.tune {
        if is_match(pattern, subject) {
            for (field, text) in fields {
                cc.set(field, text).map_err(|error| format!("tune, for {subject}: {error}"))?;
            }
        }
    }
    let made = match case.start {
        Start::Connect => Endpoint::connect(&config, &cc, origin.own),
        Start::Established => Endpoint::established(&config, &cc, origin.own, origin.peer),
        Start::Listen => Endpoint::listen(&config, &cc, origin.own),
    };
    made.map_err(|error| format!("config, for {subject}: {error}"))
}

/// A congestion control by its name, or a DCTCP by its profile.
fn cc(name: &str) -> Result<cc::Config, String> {
    let cc = match name.strip_prefix("dctcp/") {
        Some(profile) => dctcp::Config::profile(profile).map(cc::Config::Dctcp),
        None => cc::Config::named(name),
    };
    cc.ok_or_else(|| format!("there is no congestion control `{name}`"))
}
