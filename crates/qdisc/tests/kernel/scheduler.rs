//! The scheduler in the kernel serves the queues that the library's would.

use std::collections::VecDeque;

use tidegate_dataplane::sched::{Config, Scheduler};
use tidegate_qdisc::kernel::replay::{Call, Replay, Step};
use tidegate_qdisc::setup;
use tidegate_units::{QueueId, Rng, Time};

const STEPS: u32 = 100_000;

pub(crate) fn the_scheduler_serves_the_library_s_queues() {
    for (name, settings) in [
        ("fifo", &[][..]),
        ("sp", &[("queues", "5")]),
        ("dwrr", &[("quanta", "1500, 1500, 1500, 1500")]),
        ("dwrr", &[("quanta", "100, 18000, 1, 3000")]),
        ("sp-dwrr", &[("strict", "1"), ("quanta", "1500, 3000, 700")]),
    ] {
        let mut config = Config::named(name).unwrap();
        for (field, value) in settings {
            config.set(field, value).unwrap();
        }
        serve(&config);
    }
}

/// Serves random packets with both.
fn serve(config: &Config) {
    let mut library = config.build().unwrap();
    let kernel = Replay::new(&setup::encode_scheduler(config).unwrap()).unwrap();
    let mut queues = vec![VecDeque::new(); usize::from(library.queues())];
    let mut rng = Rng::new(5, 0);
    let mut served = 0;
    let call = |call, queue: usize, len| {
        let queue = u32::try_from(queue).unwrap();
        kernel.step(&Step { call, queue, len, ..Step::default() }).unwrap().answer
    };
    for step in 0..STEPS {
        let grows = step / 100 % 2 == 0;
        if rng.next_u32() % 100 < if grows { 55 } else { 45 } {
            let queue = rng.next_u32() as usize % queues.len();
            let len = [64, 700, 1500, 9000][rng.next_u32() as usize % 4];
            queues[queue].push_back(len);
            if queues[queue].len() == 1 {
                library.on_active(QueueId(queue as u8), len, Time::ZERO, |_| {});
                call(Call::Active, queue, len);
            }
        } else if queues.iter().any(|queue| !queue.is_empty()) {
            let picked = library.pick(Time::ZERO, |_| {}).queue;
            let answer = call(Call::Pick, 0, 0);
            assert_eq!(answer, u32::from(picked.0), "{config:?}, step {step}");
            let queue = &mut queues[picked.index()];
            let len = queue.pop_front().unwrap();
            let next = queue.front().copied();
            library.on_departed(picked, len, next, Time::ZERO, |_| {});
            call(Call::Departed, picked.index(), next.unwrap_or(0));
            served += 1;
        }
    }
    assert!(served > STEPS / 3, "{served}");
}
