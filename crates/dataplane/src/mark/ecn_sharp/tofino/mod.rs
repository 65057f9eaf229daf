//! ECN♯'s persistent part as computed by a Tofino chip (section 4).
//!
//! The chip compares 32-bit numbers only, lets a packet access each register once, and cannot
//! divide. So the clock is emulated (Algorithm 2), Algorithm 1 becomes a pipeline of stages with
//! one register each, and `pst_interval / count` comes from a table (Algorithm 3, [`Divider`]).
//!
//! All times are in ticks of 1024 ns, and all sums and comparisons are plain 32-bit operations. The
//! clock wraps every 2^32 ticks = 4398 s; the paper's 4295 s equate a tick with a microsecond.
//! Around a wrap a queue may be marked early, or not until its next packet below the target. A
//! first time above the target of tick zero reads as none.
//!
//! Differs from the paper: the table is scaled so that it is right for every interval. Equation (3)
//! as printed holds for intervals from 509 to 1016 ticks only.

use alloc::boxed::Box;

use tidegate_units::{ConfigError, QueueId, Span, Time};

/// Whole ticks of 1024 ns, rounded down.
#[inline]
pub(super) const fn ticks(ps: u64) -> u64 {
    ps / 1_024_000
}

/// A stateful register of the chip.
#[derive(Clone, Debug, Default)]
struct Register<T> {
    value: T,
    #[cfg(test)]
    accesses: u32,
}

/// Permission of one packet to access a register once: to read it, decide, and write it.
#[must_use]
struct Access<'a, T>(&'a mut Register<T>);

impl<T> Register<T> {
    /// Grants a packet its access.
    #[inline]
    fn open(&mut self) -> Access<'_, T> {
        Access(self)
    }
}

impl<T> Access<'_, T> {
    /// Performs the access and uses up the permission.
    #[inline]
    fn update<R>(self, action: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(test)]
        {
            self.0.accesses += 1;
        }
        action(&mut self.0.value)
    }
}

/// The stages and registers of one port.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    interval: u32,
    divider: Divider,
    clock_low: Register<u32>,
    clock_high: Register<u32>,
    queues: Box<[QueueRegisters]>,
}

#[derive(Clone, Debug, Default)]
struct QueueRegisters {
    /// Time at which the sojourn time rose to the target, or zero if it is below.
    first_above: Register<u32>,
    marking_state: Register<bool>,
    /// A 64-bit register of two halves.
    schedule: Register<Schedule>,
}

#[derive(Clone, Debug, Default)]
struct Schedule {
    count: u32,
    next: u32,
}

/// Selection of the last stage's action by the conditions computed so far.
enum Action {
    /// The queue became persistent.
    Enter,
    /// The queue is not persistent.
    Read,
    /// The queue stays persistent.
    Stay,
}

impl Pipeline {
    /// The pipeline of a port with this many queues.
    pub(super) fn new(interval: Span, queues: u8) -> Result<Self, ConfigError> {
        let divider = u32::try_from(ticks(interval.as_ps())).ok().and_then(Divider::new);
        let Some(divider) = divider else {
            let allowed = "1.024us to 4398s, the range of the chip's clock";
            return Err(ConfigError::out_of_range("pst_interval", interval, allowed));
        };
        Ok(Self {
            interval: divider.interval,
            divider,
            clock_low: Register::default(),
            clock_high: Register::default(),
            queues: alloc::vec![QueueRegisters::default(); usize::from(queues)].into(),
        })
    }

    /// Passes one packet through all stages and returns whether to mark it.
    #[inline]
    pub(super) fn mark(&mut self, queue: QueueId, now: Time, is_below: bool) -> bool {
        let Some(registers) = self.queues.get_mut(queue.index()) else {
            return false;
        };
        let interval = self.interval;
        let now = clock(self.clock_low.open(), self.clock_high.open(), now);

        let detected = registers.first_above.open().update(|first_above| {
            if is_below {
                *first_above = 0;
                false
            } else if *first_above == 0 {
                *first_above = now;
                false
            } else {
                now > first_above.wrapping_add(interval)
            }
        });
        // The queue is now in the marking state if and only if it was detected as persistent.
        let was_marking = (registers.marking_state.open())
            .update(|marking_state| core::mem::replace(marking_state, detected));
        let action = match (detected, was_marking) {
            (true, false) => Action::Enter,
            (true, true) => Action::Stay,
            (false, _) => Action::Read,
        };
        registers.schedule.open().update(|schedule| match action {
            Action::Enter => {
                schedule.count = 1;
                schedule.next = now.wrapping_add(interval);
                true
            }
            Action::Stay if now > schedule.next => {
                schedule.count = schedule.count.saturating_add(1);
                let distance = self.divider.divide(schedule.count);
                schedule.next = schedule.next.wrapping_add(distance);
                true
            }
            Action::Read | Action::Stay => false,
        })
    }
}

/// Algorithm 2: ticks in 32 bits from the low 32 bits of a nanosecond clock. The upper ten bits
/// count how often packets have seen the lower 22 wrap, so 4.295 s without a packet are lost.
#[inline]
fn clock(low: Access<'_, u32>, high: Access<'_, u32>, now: Time) -> u32 {
    // The chip sees 32 bits of nanoseconds.
    let ticks = (now.as_ns() as u32) >> 10;
    let wrapped = low.update(|low| ticks < core::mem::replace(low, ticks));
    let high = high.update(|high| {
        if wrapped {
            *high = (*high + 1) % (1 << 10);
        }
        *high
    });
    (high << 22) + ticks
}

/// Algorithm 3: divides an interval by a count with the chip's math unit, a table of 16 eight-bit
/// numbers and a shift.
///
/// The leading four bits of the count select an entry, which is shifted by the count's magnitude.
/// The quotient is never too small before the shift rounds it down, and less than a seventh too
/// large: at most an eighth for the bits left out, the rest for entries rounded up.
///
/// ```
/// use tidegate_dataplane::mark::ecn_sharp::tofino::Divider;
///
/// let divider = Divider::new(1000).unwrap();
/// assert_eq!([1, 2, 3, 17].map(|count| divider.divide(count)), [1000, 500, 336, 62]);
/// ```
#[derive(Clone, Debug)]
pub struct Divider {
    interval: u32,
    table: [u8; 16],
    /// The scale plus [`BIAS`].
    shift: u32,
}

/// The scale of an interval of one tick is −6, the smallest.
const BIAS: u32 = 6;

/// The largest entry times eight: the scaled interval must not exceed it, so that entries stay
/// below 2^7.
const FULL: u64 = 8 * 127;

impl Divider {
    /// A divider for this interval, or `None` if it is zero.
    pub fn new(interval: u32) -> Option<Self> {
        if interval == 0 {
            return None;
        }
        let interval_wide = u64::from(interval);
        // ⌈log2(interval / 1016)⌉, as a shift to the right if positive, to the left if negative.
        let right = (0..32).find(|shift| interval_wide <= FULL << shift)?;
        let left = (0..10).rfind(|shift| interval_wide << shift <= FULL).unwrap_or(0);
        let mut table = [0; 16];
        for (entry, index) in table.iter_mut().zip(0_u64..).skip(8) {
            // At most 127.
            *entry = (interval_wide << left).div_ceil(index << right) as u8;
        }
        Some(Self { interval, table, shift: BIAS + 3 + right - left })
    }

    /// About interval / count, rounded down after the shift; saturates. Zero for a count of zero.
    #[inline]
    pub fn divide(&self, count: u32) -> u32 {
        let Some(magnitude) = count.checked_ilog2() else {
            return 0;
        };
        let index = if count >= 16 {
            count >> (magnitude - 3)
        } else {
            // Counts of eight and more have their leading bit in place.
            count << 3_u32.saturating_sub(magnitude)
        };
        let entry = u64::from(self.table[index as usize & 15]);
        // The bias keeps both shifts positive.
        let quotient = (entry << self.shift) >> (magnitude + BIAS);
        u32::try_from(quotient).unwrap_or(u32::MAX)
    }

    /// The table, as it is loaded into the math unit.
    pub const fn table(&self) -> &[u8; 16] {
        &self.table
    }

    /// The scale, as it is loaded into the math unit: an entry counts 2^scale for a count of one.
    pub const fn scale(&self) -> i32 {
        self.shift.cast_signed() - BIAS.cast_signed()
    }
}

#[cfg(test)]
mod tests;
