//! Influence of the machine on a measurement: processor time that a hypervisor gave to others.

use std::fs;

/// Total processor time since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    all: u64,
    stolen: u64,
}

impl ProcessorTime {
    /// Reads the current time; zero if it cannot be read.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/stat");
        text.map_or_else(|_| Self::default(), |text| Self::read(&text))
    }

    /// Reads text in the form of `/proc/stat`: user, nice, system, idle, waiting, two kinds of
    /// interrupts, stolen.
    fn read(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let words = line.split_ascii_whitespace().skip(1).take(8);
        let times: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        Self { all: times.iter().sum(), stolen: times.get(7).copied().unwrap_or(0) }
    }

    /// Steal time since `before`, in thousandths.
    pub fn stolen_since(self, before: Self) -> u32 {
        let all = self.all.saturating_sub(before.all).max(1);
        let stolen = self.stolen.saturating_sub(before.stolen).min(all);
        // At most a thousand.
        (stolen * 1_000 / all) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_part_of_all_time() {
        let before = ProcessorTime::read("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 2 3\n");
        let after = ProcessorTime::read("cpu  60 0 10 90 0 0 0 40 5 5\n");
        assert_eq!((before.all, before.stolen), (100, 10));
        assert_eq!(after.stolen_since(before), 300);
        assert_eq!(before.stolen_since(after), 0);
        assert_eq!(ProcessorTime::read(""), ProcessorTime::default());
    }
}
