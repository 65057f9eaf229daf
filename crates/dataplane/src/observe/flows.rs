//! Flows at a port: the number of active flows, and the bytes that each has waiting.
//!
//! A flow is active from the arrival of a packet until one period after its last waiting packet has
//! left: it has had a packet in the port within the last period. With a period of zero it is active
//! while one of its packets waits, which is DiffECN's definition (section IV-B.1). The packet on
//! the wire does not wait.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tidegate_units::{FlowId, Span, Time};

use super::{Histogram, Window};

/// Observes the flows of a port that is initially empty. Flows have dense numbers.
#[derive(Clone, Debug)]
pub struct FlowObserver {
    window: Window,
    period: Span,
    /// By the flow's number.
    flows: Vec<AtPort>,
    /// Active flows, unordered.
    active: Vec<FlowId>,
    /// Times at which flows without waiting packets cease to be active, ascending. A flow that
    /// became active again since has another entry.
    ceasing: VecDeque<(Time, FlowId)>,
    /// Number of active flows, weighted with picoseconds.
    counts: Histogram,
    /// Time since which the number has not changed.
    since: Time,
}

#[derive(Clone, Copy, Debug)]
struct AtPort {
    /// Bytes waiting.
    bytes: u64,
    packets: u32,
    /// Its index among the active flows, if it is active.
    place: Option<u32>,
    /// Time of the last arrival or departure; `None` before the first.
    last: Option<Time>,
}

impl FlowObserver {
    /// Creates an observer in which flows are active for `period` after their last packet.
    pub fn new(window: Window, period: Span) -> Self {
        Self {
            window,
            period,
            flows: Vec::new(),
            active: Vec::new(),
            ceasing: VecDeque::new(),
            counts: Histogram::default(),
            since: Time::ZERO,
        }
    }

    /// Records an admitted packet of `len` bytes.
    #[inline]
    pub fn on_accepted(&mut self, at: Time, flow: FlowId, len: u32) {
        self.cease(at);
        let number = flow.0 as usize;
        if number >= self.flows.len() {
            self.flows.resize(number + 1, AtPort::NEW);
        }
        if self.flows[number].place.is_none() {
            self.last_until(at);
            self.flows[number].place = Some(self.active.len() as u32);
            self.active.push(flow);
        }
        let here = &mut self.flows[number];
        here.bytes += u64::from(len);
        here.packets += 1;
        here.last = Some(at);
    }

    /// Records the departure of an admitted packet, sent or dropped.
    #[inline]
    pub fn on_departure(&mut self, at: Time, flow: FlowId, len: u32) {
        let here = &mut self.flows[flow.0 as usize];
        here.bytes -= u64::from(len);
        here.packets -= 1;
        here.last = Some(at);
        if here.packets == 0 {
            self.ceasing.push_back((at + self.period, flow));
        }
        self.cease(at);
    }

    /// Number of flows active right before `now`, which must not be earlier than the last report.
    pub fn active(&self, now: Time) -> u32 {
        let gone = self.ceasing.iter().take_while(|(at, _)| *at < now);
        let gone = gone.filter(|&&(at, flow)| self.ceases(flow, at)).count();
        // Flows have numbers of 32 bits.
        (self.active.len() - gone) as u32
    }

    /// Bytes that each flow has waiting, unordered.
    pub fn waiting(&self) -> impl Iterator<Item = (FlowId, u64)> {
        let bytes = |&flow: &FlowId| (flow, self.bytes(flow));
        self.active.iter().map(bytes).filter(|&(_, bytes)| bytes > 0)
    }

    /// Waiting bytes of `flow`.
    pub fn bytes(&self, flow: FlowId) -> u64 {
        self.flows.get(flow.0 as usize).map_or(0, |here| here.bytes)
    }

    /// Time of the last arrival or departure of a packet of `flow`.
    pub fn last(&self, flow: FlowId) -> Option<Time> {
        self.flows.get(flow.0 as usize)?.last
    }

    /// Number of active flows until `now`, weighted with picoseconds.
    pub fn counts(&self, now: Time) -> Histogram {
        let mut end = self.clone();
        end.cease(now);
        end.last_until(now);
        end.counts
    }

    /// Ends the activity of flows that have been silent for a period by `now`.
    #[inline]
    fn cease(&mut self, now: Time) {
        while let Some(&(at, flow)) = self.ceasing.front()
            && at <= now
        {
            self.ceasing.pop_front();
            if self.ceases(flow, at) {
                self.last_until(at);
                let place = self.flows[flow.0 as usize].place.take();
                let place =
                    place.expect("a flow that ceases is in the list of active flows") as usize;
                self.active.swap_remove(place);
                if let Some(moved) = self.active.get(place) {
                    self.flows[moved.0 as usize].place = Some(place as u32);
                }
            }
        }
    }

    /// Whether an entry of `ceasing` is its flow's last.
    fn ceases(&self, flow: FlowId, at: Time) -> bool {
        let here = &self.flows[flow.0 as usize];
        let is_last = here.last.is_some_and(|last| last + self.period == at);
        here.packets == 0 && here.place.is_some() && is_last
    }

    #[inline]
    fn last_until(&mut self, now: Time) {
        let span = self.window.overlap(self.since, now).as_ps();
        self.counts.add(self.active.len() as u64, span);
        self.since = self.since.max(now);
    }
}

impl AtPort {
    const NEW: Self = Self { bytes: 0, packets: 0, place: None, last: None };
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec;

    use tidegate_units::Rng;

    use super::*;

    const US: u64 = 1_000_000;

    fn of(observer: &FlowObserver, now: Time) -> Vec<(u64, u64)> {
        let counts = observer.counts(now);
        let buckets = counts.buckets().filter(|bucket| bucket.2 > 0);
        buckets.map(|(first, _, weight)| (first, weight / US)).collect()
    }

    /// Flow 5 waits from 1 to 4 µs and flow 0 from 2 to 3 µs; flow 0 returns at 6 µs and leaves at
    /// once.
    fn two_flows(period: Span) -> FlowObserver {
        let mut observer = FlowObserver::new(Window::default(), period);
        observer.on_accepted(Time::from_us(1), FlowId(5), 1_000);
        observer.on_accepted(Time::from_us(2), FlowId(0), 500);
        assert_eq!(observer.bytes(FlowId(0)), 500);
        observer.on_departure(Time::from_us(3), FlowId(0), 500);
        assert_eq!(observer.waiting().collect::<Vec<_>>(), [(FlowId(5), 1_000)]);
        observer.on_departure(Time::from_us(4), FlowId(5), 1_000);
        observer.on_accepted(Time::from_us(6), FlowId(0), 500);
        observer.on_departure(Time::from_us(6), FlowId(0), 500);
        observer
    }

    #[test]
    fn a_flow_is_active_while_a_packet_waits() {
        let observer = two_flows(Span::ZERO);
        assert_eq!(observer.active(Time::from_us(10)), 0);
        // No flow from 0 to 1 and from 4 to 10 µs.
        assert_eq!(of(&observer, Time::from_us(10)), [(0, 7), (1, 2), (2, 1)]);
        assert_eq!(observer.last(FlowId(5)), Some(Time::from_us(4)));
        assert_eq!((observer.last(FlowId(1)), observer.last(FlowId(9))), (None, None));
    }

    #[test]
    fn a_flow_is_active_for_a_period_after_its_last_packet() {
        let observer = two_flows(Span::from_us(2));
        // Flow 5 from 1 to 6, flow 0 from 2 to 5 and from 6 to 8 µs.
        for (us, active) in [(7, 1), (8, 1), (9, 0)] {
            assert_eq!(observer.active(Time::from_us(us)), active, "{us}");
        }
        assert_eq!(of(&observer, Time::from_us(10)), [(0, 3), (1, 4), (2, 3)]);
    }

    #[test]
    fn only_the_window_counts() {
        let window = Window { from: Time::from_us(2), to: Time::from_us(5) };
        let mut observer = FlowObserver::new(window, Span::ZERO);
        observer.on_accepted(Time::from_us(1), FlowId(0), 1);
        observer.on_departure(Time::from_us(3), FlowId(0), 1);
        assert_eq!(of(&observer, Time::from_us(9)), [(0, 2), (1, 1)]);
    }

    #[test]
    fn random_packets_agree_with_an_exhaustive_count() {
        for stream in 0..20 {
            let mut rng = Rng::new(7, stream);
            let period = Span::from_us(stream % 4);
            let mut observer = FlowObserver::new(Window::default(), period);
            let mut waiting: Vec<u32> = vec![];
            let mut left = BTreeMap::<u32, Time>::new();
            let mut weights = BTreeMap::<u64, u64>::new();
            for us in 0..500 {
                let now = Time::from_us(us);
                for _ in 0..rng.next_u32() % 3 {
                    let flow = rng.next_u32() % 8;
                    waiting.push(flow);
                    observer.on_accepted(now, FlowId(flow), 100 + flow);
                }
                while !waiting.is_empty() && rng.next_u32().is_multiple_of(2) {
                    let flow = waiting.swap_remove(rng.next_u32() as usize % waiting.len());
                    left.insert(flow, now);
                    observer.on_departure(now, FlowId(flow), 100 + flow);
                }
                let has = |flow: &u32| {
                    let recent = left.get(flow).is_some_and(|&at| now < at + period);
                    waiting.contains(flow) || recent
                };
                let active = (0..8).filter(has).count();
                *weights.entry(active as u64).or_default() += 1;
                let soon = now + Span::from_ps(1);
                assert_eq!(observer.active(soon) as usize, active, "stream {stream} at {us}");
                let bytes: u64 = observer.waiting().map(|(_, bytes)| bytes).sum();
                let expected: u32 = waiting.iter().map(|flow| 100 + flow).sum();
                assert_eq!(bytes, u64::from(expected));
            }
            let expected: Vec<_> = weights.into_iter().collect();
            assert_eq!(of(&observer, Time::from_us(500)), expected);
        }
    }
}
