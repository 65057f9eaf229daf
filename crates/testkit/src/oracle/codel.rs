//! CoDel in real numbers: the control law with a true square root and exact time, as a slow and
//! obvious reference for the fixed-point version.

/// One queue under CoDel. All times are in ticks, as real numbers.
#[derive(Debug)]
pub struct Codel {
    target: f64,
    interval: f64,
    mtu: u32,
    first_above: Option<f64>,
    marking: bool,
    count: f64,
    first_count: f64,
    mark_next: f64,
}

impl Codel {
    /// An idle queue.
    pub fn new(target: f64, interval: f64, mtu: u32) -> Self {
        Self {
            target,
            interval,
            mtu,
            first_above: None,
            marking: false,
            count: 0.0,
            first_count: 0.0,
            mark_next: 0.0,
        }
    }

    /// Whether the departing packet is marked.
    pub fn dequeue(&mut self, now: f64, sojourn: f64, backlog: u32) -> bool {
        let bad = self.is_bad(now, sojourn, backlog);
        if !bad {
            self.marking = false;
            return false;
        }
        if !self.marking {
            self.marking = true;
            let marks = self.count - self.first_count;
            let recent = now - self.mark_next < 16.0 * self.interval;
            self.count = if marks > 1.0 && recent { marks } else { 1.0 };
            self.first_count = self.count;
            self.mark_next = now + self.interval / self.count.sqrt();
            return true;
        }
        if now < self.mark_next {
            return false;
        }
        self.count += 1.0;
        self.mark_next += self.interval / self.count.sqrt();
        true
    }

    /// Whether all packets have waited too long for longer than an interval.
    fn is_bad(&mut self, now: f64, sojourn: f64, backlog: u32) -> bool {
        if sojourn < self.target || backlog <= self.mtu {
            self.first_above = None;
            return false;
        }
        now > *self.first_above.get_or_insert(now + self.interval)
    }
}
