//! Two levels: strict priority between groups of queues, another scheduler inside each group.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 5: some strict
//! queues, and below them all others under DWRR or WFQ. That is `strict = p` here. DiffECN's port,
//! one high-priority queue over DRR, is `strict = 1`. TCN's kernel module lets several queues share
//! each priority and schedules them by DWRR or WFQ: that is `groups`.
//!
//! Queues are numbered from the highest priority down: the strict ones, then group by group. A
//! level is served only while all levels above it are empty, and its state does not change while
//! others are served.
//!
//! Several queues that share a priority first come, first served are a group under PIFO, ranked by
//! LSTF with zero slack.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tidegate_units::{About, ConfigError, Field, Form, Named, QueueId, Settings, Time, settings};

use super::discipline::{Discipline, Divide, Divided, GroupView, Members};
use super::queue_set::QueueSet;
use super::{Build, Pick, Round, Scheduler, Turn, dwrr, pass_through, pifo, wfq, wrr};
use crate::{MAX_QUEUES, Pkt, Slot};

settings! {
    /// Priorities of queues and groups.
    pub struct Levels {
        /// Number of strict-priority queues, which come before all groups. One in TCN (section 6)
        /// and DiffECN.
        pub strict: u8 = 1,
        /// Number of queues in each group, the highest-priority group first. Empty: one group.
        pub groups: Vec<u8> = Vec::new(),
    }
}

/// Parameters of a scheduler with two levels: the levels, and the scheduler inside the groups,
/// whose list of quanta or weights covers all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config<C> {
    /// Priorities of queues and groups.
    pub levels: Levels,
    /// The scheduler inside the groups.
    pub inner: C,
}

impl<C: Settings> Config<C> {
    const COUNT: usize = Levels::FIELDS.len() + C::FIELDS.len();
    /// All fields, then empty entries: the length of an array cannot depend on `C`.
    const PADDED: [Field; 16] = {
        let mut all = [Field::new("", "", Form::Bool); 16];
        let mut i = 0;
        while i < Self::COUNT {
            all[i] = match i.checked_sub(Levels::FIELDS.len()) {
                None => Levels::FIELDS[i],
                Some(i) => C::FIELDS[i],
            };
            i += 1;
        }
        all
    };
}

impl<C: Settings> Settings for Config<C> {
    const FIELDS: &'static [Field] = Self::PADDED.split_at(Self::COUNT).0;

    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError> {
        let unknown = |error: &_| matches!(error, ConfigError::UnknownField { .. });
        match self.levels.set(field, text) {
            Err(error) if unknown(&error) => match self.inner.set(field, text) {
                Err(error) if unknown(&error) => {
                    Err(ConfigError::UnknownField { field: field.to_string(), known: Self::FIELDS })
                }
                other => other,
            },
            other => other,
        }
    }

    fn value(&self, field: &str) -> Option<String> {
        self.levels.value(field).or_else(|| self.inner.value(field))
    }
}

/// Description of a scheduler with two levels: its name, and the section of the page about the
/// inner scheduler.
const fn two_levels(name: &'static str, page: &'static str) -> About {
    let summary = "serves strict queues, then groups by the inner scheduler";
    About::new(name, summary, page)
}

impl Named for Config<dwrr::Config> {
    const ABOUT: About = two_levels("sp-dwrr", "schedulers.md#Two levels#DWRR");
}

impl Named for Config<pifo::Config> {
    const ABOUT: About = two_levels("sp-pifo", "schedulers.md#Two levels#PIFO");
}

impl Named for Config<wfq::Config> {
    const ABOUT: About = two_levels("sp-wfq", "schedulers.md#Two levels#WFQ");
}

impl Named for Config<wrr::Config> {
    const ABOUT: About = two_levels("sp-wrr", "schedulers.md#Two levels#WRR");
}

impl<C: Divide> Build for Config<C> {
    type Scheduler = Layered<C::Discipline>;

    fn build(&self) -> Result<Self::Scheduler, ConfigError> {
        Layered::new(self)
    }
}

/// Strict priority between groups of queues that `D` schedules inside.
#[derive(Clone, Debug)]
pub struct Layered<D: Discipline> {
    /// State by queue. Strict queues have an entry too, so that queue numbers are indices.
    queues: Box<[D::Queue]>,
    /// Queues that hold packets, and the first queues of groups whose packets wait by rank.
    busy: QueueSet,
    /// Boxed to keep the enum of all schedulers small.
    rules: Box<Rules<D>>,
}

#[derive(Clone, Debug)]
struct Rules<D> {
    /// The first queue of each group. Queues below them are strict.
    starts: QueueSet,
    inside: D,
}

impl<D: Discipline> Layered<D> {
    /// Builds two levels with these parameters.
    pub fn new<C: Divide<Discipline = D>>(config: &Config<C>) -> Result<Self, ConfigError> {
        let Levels { strict, groups } = &config.levels;
        let count = config.inner.queues();
        let most = usize::from(MAX_QUEUES);
        if usize::from(*strict) + count > most {
            let allowed = alloc::format!("at most {most} queues together with the groups'");
            return Err(ConfigError::out_of_range("strict", strict, allowed));
        }
        // The inner scheduler reports errors in its own parameters.
        let (inside, states): Divided<D> = config.inner.divide()?;
        let sum: usize = groups.iter().copied().map(usize::from).sum();
        if !groups.is_empty() && (groups.contains(&0) || sum != count) {
            return Err(ConfigError::out_of_range(
                "groups",
                config.levels.value("groups").unwrap_or_default(),
                alloc::format!("1 or more queues each, {count} in all"),
            ));
        }
        let sizes = match groups.as_slice() {
            // At most 128, as all queues are.
            [] => &[count as u8],
            groups => groups,
        };
        let strict_states = states.iter().take(1).cycle().take(usize::from(*strict));
        let mut queues: Box<[_]> = strict_states.chain(&*states).cloned().collect();
        let mut starts = QueueSet::default();
        let mut first = *strict;
        for &size in sizes {
            let members = Members { first, end: first + size, active: QueueSet::default() };
            inside.store(&mut queues, &members, inside.new_group(&members));
            starts.insert(QueueId(first));
            first += size;
        }
        Ok(Self { queues, busy: QueueSet::default(), rules: Box::new(Rules { starts, inside }) })
    }

    /// Group of `queue`, or `None` for a strict one.
    #[inline]
    fn members(&self, queue: QueueId) -> Option<Members> {
        let starts = self.rules.starts;
        let first = first_of_group(starts, queue)?.0;
        let next = match starts.only() {
            Some(_) => None,
            None => starts.above(queue).first(),
        };
        let end = next.map_or(self.queues(), |next| next.0);
        Some(Members { first, end, active: self.busy.within(first, end) })
    }

    /// Runs an action on a group and returns its result.
    #[inline]
    fn work<R>(
        &mut self,
        members: Members,
        work: impl FnOnce(&mut D, &mut GroupView<'_, D>, &mut QueueSet) -> R,
    ) -> R {
        let Rules { inside, .. } = &mut *self.rules;
        let mut part = GroupView {
            group: inside.load(&self.queues, &members),
            queues: &mut self.queues,
            members,
        };
        let result = work(inside, &mut part, &mut self.busy);
        let active = self.busy.within(members.first, members.end);
        let members = Members { active, ..members };
        inside.store(part.queues, &members, part.group);
        result
    }
}

/// First queue of the group of `queue`, given the first queues of all groups; `None` for a strict
/// one.
#[inline]
fn first_of_group(starts: QueueSet, queue: QueueId) -> Option<QueueId> {
    match starts.only() {
        Some(only) => (queue >= only).then_some(only),
        None => starts.within(0, queue.0 + 1).last(),
    }
}

impl<D: Discipline> Scheduler for Layered<D> {
    const RANKS_PACKETS: bool = D::RANKED;

    #[inline]
    fn queues(&self) -> u8 {
        // At most 128, as checked by `new`.
        self.queues.len() as u8
    }

    #[inline]
    fn is_ranked(&self, queue: QueueId) -> bool {
        D::RANKED && queue.0 < self.queues() && self.members(queue).is_some()
    }

    #[inline]
    fn on_ranked(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        if let Some(members) = self.members(queue) {
            self.work(members, |inside, part, busy| {
                inside.on_ranked(part, queue, slot, pkt, now);
                busy.insert(QueueId(members.first));
            });
        }
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        match self.members(queue) {
            None => self.busy.insert(queue),
            Some(members) => self.work(members, |inside, part, busy| {
                inside.on_active(part, queue, len, now, turn);
                busy.insert(queue);
            }),
        }
    }

    #[inline]
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        let first = self.busy.first().expect("`pick` is called only while a packet waits");
        match self.members(first) {
            None => Pick::head(first),
            Some(members) => self.work(members, |inside, part, _| inside.pick(part, now, turn)),
        }
    }

    #[inline]
    fn on_departed(
        &mut self,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        match self.members(queue) {
            None if next.is_none() => self.busy.remove(queue),
            None => {}
            Some(members) => self.work(members, |inside, part, busy| {
                inside.on_departed(part, queue, len, next, now, turn);
                if D::RANKED && !inside.has_ranked(&members) {
                    busy.remove(QueueId(members.first));
                } else if !D::RANKED && next.is_none() {
                    busy.remove(queue);
                }
            }),
        }
    }

    fn withdraw(&mut self, queue: QueueId, heads: &[u32], now: Time, turn: impl FnMut(&Turn)) {
        match self.members(queue) {
            None => self.busy.remove(queue),
            Some(members) => self.work(members, |inside, part, busy| {
                inside.withdraw(part, queue, heads, now, turn);
                if !D::RANKED {
                    busy.remove(queue);
                } else if !inside.has_any_ranked(&members) {
                    busy.remove(QueueId(members.first));
                }
            }),
        }
    }

    fn restore(&mut self, queue: QueueId) {
        if let Some(members) = self.members(queue) {
            self.rules.inside.restore(queue);
            self.busy.insert(QueueId(members.first));
        }
    }

    fn on_ranked_aside(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        if let Some(members) = self.members(queue) {
            self.work(members, |inside, part, _| {
                inside.on_ranked_aside(part, queue, slot, pkt, now);
            });
        }
    }

    #[inline]
    fn on_pass(&mut self, queue: QueueId, len: u32, now: Time, mut turn: impl FnMut(&Turn)) {
        // A strict queue keeps no state.
        let Some(first) = first_of_group(self.rules.starts, queue) else {
            return;
        };
        let inside = &mut self.rules.inside;
        if !inside.on_pass(&mut self.queues, first, queue, len, now, |next| turn(next)) {
            pass_through(self, queue, len, now, turn);
        }
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        let quantum = D::quantum(self.queues.get(queue.index())?)?;
        let Members { first, .. } = self.members(queue)?;
        Some(Round { group: self.rules.starts.within(0, first).len(), quantum })
    }

    fn first(&self) -> Option<QueueId> {
        // Queue 0 is strict, or a group of its own.
        let is_alone = self.members(QueueId(0)).is_none_or(|group| group.end == 1);
        (is_alone && self.rules.inside.keeps_order()).then_some(QueueId(0))
    }
}

#[cfg(test)]
mod tests;
