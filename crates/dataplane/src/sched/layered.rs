//! Two levels: strict priority between groups of queues, another scheduler inside each group.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 5: some strict
//! queues, and below them all others under DWRR or WFQ. That is `strict = p` here, and DiffECN's
//! port, one high-priority queue over DRR, is `strict = 1`. TCN's kernel module lets several
//! queues share each priority and schedules them by DWRR or WFQ: that is `groups`.
//!
//! Queues are numbered from the most important on: the strict ones, then group by group. The lower
//! levels are served only while all above them are empty, and their state does not change while
//! others are served.
//!
//! Several queues that share a priority first come, first served are a group under PIFO, ranked by
//! LSTF with no slack.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tidegate_units::{ConfigError, Field, Form, QueueId, Settings, Time, settings};

use super::queue_set::QueueSet;
use super::{Build, Divide, Pick, Round, Scheduler, Turn};
use crate::{MAX_QUEUES, Pkt, Slot};

settings! {
    /// Which queues stand above which.
    pub struct Levels {
        /// Number of strict-priority queues, which stand above all groups. One in TCN (section 6)
        /// and DiffECN.
        pub strict: u8 = 1,
        /// Number of queues in each group, the most important group first. Empty: one group.
        pub groups: Vec<u8> = Vec::new(),
    }
}

/// Parameters of a scheduler with two levels: those of the levels, and those of the scheduler
/// inside the groups, whose list of quanta or weights goes through all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config<C> {
    /// Which queues stand above which.
    pub levels: Levels,
    /// The scheduler inside the groups.
    pub inner: C,
}

impl<C: Settings> Config<C> {
    const COUNT: usize = Levels::FIELDS.len() + C::FIELDS.len();
    /// All fields, and then empty places: the length of an array cannot depend on `C`.
    const PADDED: [Field; 16] = {
        let empty = Field {
            name: "",
            doc: "",
            form: Form::Bool,
        };
        let mut all = [empty; 16];
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
                Err(error) if unknown(&error) => Err(ConfigError::UnknownField {
                    field: field.to_string(),
                    known: Self::FIELDS,
                }),
                other => other,
            },
            other => other,
        }
    }

    fn value(&self, field: &str) -> Option<String> {
        self.levels.value(field).or_else(|| self.inner.value(field))
    }
}

impl<C: Divide> Build for Config<C> {
    type Scheduler = Layered<C::Scheduler>;

    fn build(&self) -> Result<Self::Scheduler, ConfigError> {
        Layered::new(self)
    }
}

/// Strict priority between groups of queues that are scheduled by `S` inside.
#[derive(Clone, Debug)]
pub struct Layered<S> {
    groups: Box<[Group<S>]>,
    /// The levels that hold packets.
    busy: QueueSet,
    strict: u8,
    queues: u8,
}

#[derive(Clone, Debug)]
struct Group<S> {
    scheduler: S,
    /// The number of its first queue.
    first: u8,
    /// How many of its queues hold packets, or, where packets wait by rank, how many packets.
    waiting: u32,
}

impl<S: Scheduler> Layered<S> {
    /// Two levels with these parameters.
    pub fn new<C: Divide<Scheduler = S>>(config: &Config<C>) -> Result<Self, ConfigError> {
        let Levels { strict, groups } = &config.levels;
        let inside = config.inner.queues();
        let most = usize::from(MAX_QUEUES);
        if usize::from(*strict) + inside > most {
            let allowed = alloc::format!("at most {most} queues with those of the groups");
            return Err(ConfigError::out_of_range("strict", strict, allowed));
        }
        // The inner scheduler says what is wrong with its own parameters.
        config.inner.build()?;
        let sum: usize = groups.iter().copied().map(usize::from).sum();
        if !groups.is_empty() && (groups.contains(&0) || sum != inside) {
            return Err(ConfigError::out_of_range(
                "groups",
                config.levels.value("groups").unwrap_or_default(),
                alloc::format!("1 or more queues each, {inside} in all"),
            ));
        }
        let sizes = match groups.as_slice() {
            // At most 128, as all queues are.
            [] => &[inside as u8],
            groups => groups,
        };
        let mut first = *strict;
        let mut build = |&size: &u8| {
            let start = usize::from(first - strict);
            let group = Group {
                scheduler: config
                    .inner
                    .part(start..start + usize::from(size))
                    .build()?,
                first,
                waiting: 0,
            };
            first += size;
            Ok(group)
        };
        let groups: Result<_, _> = sizes.iter().map(&mut build).collect();
        Ok(Self {
            groups: groups?,
            busy: QueueSet::default(),
            strict: *strict,
            queues: first,
        })
    }

    /// The group of `queue`, or `None` for a strict one and one that there is not.
    #[inline]
    fn group(&self, queue: QueueId) -> Option<&Group<S>> {
        if queue.0 >= self.queues {
            return None;
        }
        let group = self.level(queue).checked_sub(self.strict)?;
        self.groups.get(usize::from(group))
    }

    /// The level of `queue`: its number for a strict one, else `strict` plus its group's.
    #[inline]
    fn level(&self, queue: QueueId) -> u8 {
        if queue.0 < self.strict {
            return queue.0;
        }
        let later = self.groups.iter().skip(1);
        // Groups and levels are at most 128.
        self.strict + later.take_while(|group| group.first <= queue.0).count() as u8
    }

    #[inline]
    fn group_mut(&mut self, level: u8) -> Option<&mut Group<S>> {
        let group = level.checked_sub(self.strict)?;
        self.groups.get_mut(usize::from(group))
    }
}

impl<S> Group<S> {
    /// The number of `queue` inside the group.
    #[inline]
    const fn inside(&self, queue: QueueId) -> QueueId {
        QueueId(queue.0 - self.first)
    }

    /// The number at the port of what is `queue` inside the group.
    #[inline]
    const fn outside(&self, queue: QueueId) -> QueueId {
        QueueId(queue.0 + self.first)
    }
}

/// Tells of turns inside a group by the numbers of the port.
#[inline]
fn outside(first: u8, mut turn: impl FnMut(&Turn)) -> impl FnMut(&Turn) {
    move |inside| {
        turn(&Turn {
            queue: QueueId(inside.queue.0 + first),
            ..*inside
        });
    }
}

impl<S: Scheduler> Scheduler for Layered<S> {
    #[inline]
    fn queues(&self) -> u8 {
        self.queues
    }

    #[inline]
    fn is_ranked(&self, queue: QueueId) -> bool {
        self.group(queue)
            .is_some_and(|group| group.scheduler.is_ranked(group.inside(queue)))
    }

    #[inline]
    fn on_ranked(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        let level = self.level(queue);
        self.busy.insert(QueueId(level));
        if let Some(group) = self.group_mut(level) {
            group.waiting += 1;
            let queue = group.inside(queue);
            group.scheduler.on_ranked(queue, slot, pkt, now);
        }
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        let level = self.level(queue);
        self.busy.insert(QueueId(level));
        if let Some(group) = self.group_mut(level) {
            group.waiting += 1;
            let queue = group.inside(queue);
            let turn = outside(group.first, turn);
            group.scheduler.on_active(queue, len, now, turn);
        }
    }

    #[inline]
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        let level = self.busy.first().expect("a packet waits");
        match self.group_mut(level.0) {
            None => Pick::head(level),
            Some(group) => {
                let pick = group.scheduler.pick(now, outside(group.first, turn));
                Pick {
                    queue: group.outside(pick.queue),
                    ..pick
                }
            }
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
        let level = self.level(queue);
        let mut left = 0;
        if let Some(group) = self.group_mut(level) {
            // A ranked packet has none behind it in a list.
            group.waiting -= u32::from(next.is_none());
            left = group.waiting;
            let queue = group.inside(queue);
            let turn = outside(group.first, turn);
            group.scheduler.on_departed(queue, len, next, now, turn);
        }
        if next.is_none() && left == 0 {
            self.busy.remove(QueueId(level));
        }
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        let group = self.group(queue)?;
        let round = group.scheduler.round(group.inside(queue))?;
        Some(Round {
            group: self.level(queue) - self.strict,
            ..round
        })
    }
}

#[cfg(test)]
mod tests;
