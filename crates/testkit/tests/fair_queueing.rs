//! The distance of WFQ from the fluid server, checked against proved bounds.
//!
//! A queue of weight `w` whose packets have up to `L` bytes has packets worth up to `m = L / w`.
//! Let `W` be the sum of all weights, `M` the sum of all `m`, and `S` the bytes sent from a queue.
//! Times are in bytes of the link.
//!
//! Queues `i` and `j`, both backlogged from the start. When a packet of `i` is picked, its stamp is
//! at most the stamp at the head of `j`. Stamps count the service since the queue's start, which is
//! the virtual time at which it became active, so `S_i/w_i − S_j/w_j ≤ m_j + start_j − start_i`.
//! With the self clock both starts are 0. With the authors' clock they are up to `M − m_j` apart.
//! The fluid server gives `i` the share `w_i/W` of all bytes sent, and summing over all `j` bounds
//! the lag behind it: `w_i (1 − w_i/W)` times `m_i` for the self clock, times `M` for the authors'.
//!
//! Queue `i`, active since time `a` amid any traffic. Its first stamp is counted from `V`. Stamps
//! of `j` that are picked while `i` waits end at or before the stamp at the head of `i`. They are
//! counted from `V − m_j` on with the self clock, and from `V − M − m_j` on with the authors',
//! because waiting stamps cover everything from the smallest to `V` (see `wfq.rs`). So `S_j/w_j ≤
//! S_i/w_i + m_i + m_j`, plus `M` for the authors'. Summed over all `j`, with one packet on the
//! wire at `a`, this bounds the lag of `i` behind the rate `w_i/W`, which the fluid server never
//! falls below. (The fluid server may give more when other queues are idle. The lag of WFQ behind
//! that is not bounded here.)
//!
//! Under pauses, packets leave in the order of a slow model of each group, queue by queue.

use std::collections::VecDeque;

use tidegate_dataplane::sched::wfq::{Clock, Config};
use tidegate_dataplane::sched::{self, Build, Gate, QueueSet, Scheduler, Wfq};
use tidegate_testkit::oracle::Gps;
use tidegate_units::{QueueId, Rng, Time};

/// The tolerance of the oracle, and the rounding of stamps: 2^−20 bytes per packet and weight.
const TOLERANCE: f64 = 1.0;
const WEIGHTS: [u32; 6] = [1, 1, 2, 3, 5, 8];
const LONGEST: [u32; 6] = [1500, 9000, 1500, 64, 3000, 1500];

/// The queues of one scheduler, without a port.
struct Link {
    wfq: Wfq,
    packets: Vec<VecDeque<u32>>,
}

impl Link {
    fn new(clock: Clock) -> Self {
        let config = Config { weights: WEIGHTS.to_vec(), clock, ..Config::default() };
        Self {
            wfq: config.build().expect("the weights are in range"),
            packets: vec![VecDeque::new(); WEIGHTS.len()],
        }
    }

    fn arrive(&mut self, queue: usize, len: u32) {
        let packets = &mut self.packets[queue];
        packets.push_back(len);
        if packets.len() == 1 {
            let queue = QueueId(u8::try_from(queue).expect("there are fewer than 256 queues"));
            self.wfq.on_active(queue, len, Time::ZERO, |_| {});
        }
    }

    /// Queue and length of the next packet, if there is one.
    fn send(&mut self) -> Option<(usize, u32)> {
        if self.packets.iter().all(VecDeque::is_empty) {
            return None;
        }
        let queue = self.wfq.pick(Time::ZERO, |_| {}).queue;
        let packets = &mut self.packets[queue.index()];
        let len = packets.pop_front().expect("a picked queue holds a packet");
        let next = packets.front().copied();
        self.wfq.on_departed(queue, len, next, Time::ZERO, |_| {});
        Some((queue.index(), len))
    }
}

fn length(rng: &mut Rng, queue: usize) -> u32 {
    LONGEST[queue] - rng.next_u32() % (LONGEST[queue] / 2)
}

fn weight(queue: usize) -> f64 {
    f64::from(WEIGHTS[queue])
}

/// The value `m` of a queue.
fn worth(queue: usize) -> f64 {
    f64::from(LONGEST[queue]) / weight(queue)
}

fn sum(of: impl Fn(usize) -> f64) -> f64 {
    (0..WEIGHTS.len()).map(of).sum()
}

/// Largest lag of each queue behind the fluid server, with all queues backlogged from the start.
fn lags(clock: Clock, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed, 0);
    let (mut link, mut gps) = (Link::new(clock), Gps::new(&WEIGHTS));
    for (queue, weight) in WEIGHTS.into_iter().enumerate() {
        let mut bytes = 0;
        while bytes < 200_000 * weight {
            let len = length(&mut rng, queue);
            bytes += len;
            link.arrive(queue, len);
            gps.arrive(queue, len);
        }
    }
    let mut sent = vec![0.0; WEIGHTS.len()];
    let mut lags = vec![0.0_f64; WEIGHTS.len()];
    // Ends before any queue can be empty.
    while sent.iter().enumerate().all(|(queue, &sent)| sent < 150_000.0 * weight(queue)) {
        let (queue, len) = link.send().expect("all queues are backlogged");
        sent[queue] += f64::from(len);
        gps.run(f64::from(len));
        for queue in 0..WEIGHTS.len() {
            lags[queue] = lags[queue].max(gps.served(queue) - sent[queue]);
        }
    }
    lags
}

#[test]
fn backlogged_queues_are_never_further_behind_the_fluid_server_than_proved() {
    let all = sum(weight);
    let mut beyond = 0;
    for seed in 0..10 {
        for (clock, factor) in [(Clock::Scfq, None), (Clock::Authors, Some(sum(worth)))] {
            for (queue, lag) in lags(clock, seed).into_iter().enumerate() {
                let bound = |factor: f64| weight(queue) * (1.0 - weight(queue) / all) * factor;
                let proved = bound(factor.unwrap_or(worth(queue))) + TOLERANCE;
                assert!(lag <= proved, "{clock:?}, seed {seed}, queue {queue}: {lag} > {proved}");
                beyond += u32::from(lag > bound(worth(queue)) + TOLERANCE);
            }
        }
    }
    assert!(beyond > 0, "the authors' clock needs its weaker bound");
}

/// Runs on-off traffic. After each packet, calls `check` for each queue that was backlogged until
/// it was picked, with the queue, the time since it became active, and its bytes since.
fn on_and_off(clock: Clock, seed: u64, mut check: impl FnMut(usize, u64, u64)) {
    let mut rng = Rng::new(seed, 1);
    let mut link = Link::new(clock);
    let queues = WEIGHTS.len();
    let (mut now, mut next_arrival) = (0_u64, 0_u64);
    let (mut queue, mut left) = (0, 0);
    let mut since = vec![(0_u64, 0_u64); queues];
    for _ in 0..10_000 {
        while next_arrival <= now {
            // Bursts to one queue after another, at the link's rate on average.
            if left == 0 {
                (queue, left) = (rng.next_u32() as usize % queues, 1 + rng.next_u32() % 12);
            }
            left -= 1;
            if link.packets[queue].is_empty() {
                since[queue] = (next_arrival, 0);
            }
            let len = length(&mut rng, queue);
            link.arrive(queue, len);
            next_arrival += u64::from(rng.next_u32() % (2 * len));
        }
        let backlogged: Vec<bool> = link.packets.iter().map(|queue| !queue.is_empty()).collect();
        let Some((picked, len)) = link.send() else {
            now = next_arrival;
            continue;
        };
        now += u64::from(len);
        since[picked].1 += u64::from(len);
        for queue in (0..queues).filter(|&queue| backlogged[queue]) {
            check(queue, now - since[queue].0, since[queue].1);
        }
    }
}

#[test]
fn a_queue_never_falls_further_behind_its_rate_than_proved() {
    let all = sum(weight);
    let longest = f64::from(LONGEST.into_iter().max().unwrap_or(0));
    let mut checks = 0_u64;
    for seed in 0..10 {
        for (clock, extra) in [(Clock::Scfq, 0.0), (Clock::Authors, sum(worth))] {
            on_and_off(clock, seed, |queue, time, sent| {
                let others = sum(|other| {
                    let difference = worth(queue) + worth(other) + extra;
                    if other == queue { 0.0 } else { weight(other) * difference }
                });
                let rate = weight(queue) / all;
                #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
                let lag = rate * time as f64 - sent as f64;
                let proved = rate * (longest + others) + TOLERANCE;
                assert!(lag <= proved, "{clock:?}, seed {seed}, queue {queue}: {lag} > {proved}");
                checks += 1;
            });
        }
    }
    assert!(checks > 400_000, "{checks}");
}

/// Checks the oracle against its authors' theorem: a packet server that orders by the fluid
/// server's finish times is never behind it by more than the longest packet.
#[test]
fn packets_in_order_of_fluid_finish_times_are_at_most_one_packet_behind() {
    let longest = f64::from(LONGEST.into_iter().max().unwrap_or(0));
    for seed in 0..10 {
        let mut rng = Rng::new(seed, 2);
        let mut gps = Gps::new(&WEIGHTS);
        let mut waiting: Vec<VecDeque<(f64, u32)>> = vec![VecDeque::new(); WEIGHTS.len()];
        let mut sent = vec![0.0; WEIGHTS.len()];
        for _ in 0..5_000 {
            for _ in 0..rng.next_u32() % 3 {
                let queue = rng.next_u32() as usize % WEIGHTS.len();
                let len = length(&mut rng, queue);
                let finish = gps.arrive(queue, len);
                waiting[queue].push_back((finish, len));
            }
            let heads = waiting.iter().enumerate();
            let first = heads
                .filter_map(|(queue, packets)| Some((packets.front()?.0, queue)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, queue)) = first else { continue };
            let (_, len) = waiting[queue].pop_front().expect("a waiting queue has a head");
            gps.run(f64::from(len));
            sent[queue] += f64::from(len);
            for (queue, sent) in sent.iter().enumerate() {
                assert!(gps.served(queue) - sent <= longest + TOLERANCE, "seed {seed}");
            }
        }
    }
}

/// A group of queues by the definition: each eligible head has a stamp, and the virtual time of the
/// group is kept through pauses. Stamps are exact: all lengths are multiples of all weights.
struct Group {
    clock: Clock,
    virtual_time: u32,
    /// By queue: its weight, its packets, and the stamp of the head unless it is paused.
    queues: Vec<(u32, VecDeque<u32>, Option<u32>)>,
    paused: Vec<bool>,
}

impl Group {
    fn new(clock: Clock, weights: &[u32]) -> Self {
        let queue = |&weight| (weight, VecDeque::new(), None);
        Self {
            clock,
            virtual_time: 0,
            queues: weights.iter().map(queue).collect(),
            paused: vec![false; weights.len()],
        }
    }

    /// Stamps the head of a queue, counted from `from`.
    fn stamp(&mut self, queue: usize, from: u32) {
        let (weight, packets, stamp) = &mut self.queues[queue];
        *stamp = packets.front().map(|len| from + len / *weight);
        if self.clock == Clock::Authors {
            self.virtual_time = self.virtual_time.max(stamp.unwrap_or(0));
        }
    }

    fn arrive(&mut self, queue: usize, len: u32) {
        self.queues[queue].1.push_back(len);
        if self.queues[queue].1.len() == 1 && !self.paused[queue] {
            self.stamp(queue, self.virtual_time);
        }
    }

    fn set_paused(&mut self, queue: usize, is_paused: bool) {
        if self.paused[queue] != is_paused {
            self.paused[queue] = is_paused;
            self.queues[queue].2 = None;
            if !is_paused {
                self.stamp(queue, self.virtual_time);
            }
        }
    }

    /// Queue and length of the next packet, if one may leave.
    fn send(&mut self) -> Option<(usize, u32)> {
        let heads = (0..).zip(&self.queues);
        let (stamp, queue) =
            heads.filter_map(|(queue, (_, _, stamp))| Some(((*stamp)?, queue))).min()?;
        if self.clock == Clock::Scfq {
            self.virtual_time = stamp;
        }
        let len = self.queues[queue].1.pop_front()?;
        self.stamp(queue, stamp);
        Some((queue, len))
    }
}

/// Random traffic and pauses of one group, and of groups of three, two and one queues: each packet
/// is the one that the model of its group sends.
#[test]
fn queues_that_are_paused_and_resumed_leave_as_in_the_model() {
    type Settings = &'static [(&'static str, &'static str)];
    const WEIGHTS: [u32; 6] = [1, 2, 3, 1, 5, 2];
    let scheduler = |name: &str, settings: Settings, clock: Clock| {
        let mut config = sched::Config::named(name).expect("the scheduler is known");
        let clock = if clock == Clock::Scfq { "scfq" } else { "authors" };
        for (field, text) in settings.iter().chain(&[("weights", "1,2,3,1,5,2"), ("clock", clock)])
        {
            config.set(field, text).expect("the setting is valid");
        }
        Gate::new(config.build().expect("the settings fit together"))
    };
    let forms: [(&str, Settings, &[usize]); 3] = [
        ("wfq", &[], &[6]),
        ("sp-wfq", &[("strict", "0")], &[6]),
        ("sp-wfq", &[("strict", "0"), ("groups", "3, 2, 1")], &[3, 2, 1]),
    ];
    let mut resumes = 0;
    for (name, settings, sizes) in forms {
        for (clock, seed) in [Clock::Scfq, Clock::Authors]
            .into_iter()
            .flat_map(|clock| (0..20).map(move |seed| (clock, seed)))
        {
            let mut gate = scheduler(name, settings, clock);
            let mut rest = WEIGHTS.as_slice();
            let mut groups = Vec::new();
            for &size in sizes {
                let weights = rest.split_off(..size).expect("the sizes add up to all queues");
                groups.push(Group::new(clock, weights));
            }
            // Group and place in it, by queue.
            let places = (0..)
                .zip(sizes)
                .flat_map(|(group, &size)| (0..size).map(move |place| (group, place)));
            let places: Vec<(usize, usize)> = places.collect();
            let mut rng = Rng::new(seed, 3);
            for step in 0..5_000 {
                match rng.next_u32() % 16 {
                    0 => {
                        let mut paused = QueueSet::default();
                        for (queue, &(group, place)) in (0..).map(QueueId).zip(&places) {
                            let is_paused = rng.next_u32().is_multiple_of(3);
                            if is_paused {
                                paused.insert(queue);
                            }
                            resumes += u32::from(!is_paused && groups[group].paused[place]);
                            groups[group].set_paused(place, is_paused);
                        }
                        gate.pause(paused, Time::ZERO, |_| {});
                    }
                    1..8 => {
                        let queue = rng.next_u32() as usize % places.len();
                        let (group, place) = places[queue];
                        let len = 30 * (1 + rng.next_u32() % 50);
                        let is_first = groups[group].queues[place].1.is_empty();
                        groups[group].arrive(place, len);
                        if is_first {
                            let queue = QueueId(u8::try_from(queue).expect("there are six"));
                            gate.on_active(queue, len, Time::ZERO, |_| {});
                        }
                    }
                    _ => {
                        let sent = (0..)
                            .zip(&mut groups)
                            .find_map(|(group, it): (usize, _)| Some((group, it.send()?)));
                        assert_eq!(
                            gate.is_blocked(),
                            sent.is_none(),
                            "{name}, seed {seed}, step {step}"
                        );
                        let Some((group, (place, len))) = sent else { continue };
                        let queue = gate.pick(Time::ZERO, |_| {}).queue;
                        assert_eq!(
                            places[queue.index()],
                            (group, place),
                            "{name}, {clock:?}, seed {seed}, step {step}"
                        );
                        let next = groups[group].queues[place].1.front().copied();
                        gate.on_departed(queue, len, next, Time::ZERO, |_| {});
                    }
                }
            }
        }
    }
    assert!(resumes > 40_000, "{resumes}");
}
