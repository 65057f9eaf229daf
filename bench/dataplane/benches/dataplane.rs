//! Times of a few decisions and pairs, with criterion's statistics: `cargo bench -p
//! bench-dataplane`.

use bench_dataplane::Case;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Iterations per sample. The loop around them is part of the time.
const ITERATIONS: u32 = 10_000;

fn dataplane(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dataplane");
    group.throughput(Throughput::Elements(u64::from(ITERATIONS)));
    for case in Case::all().into_iter().filter(|case| case.target().is_some()) {
        let scheme = case.scheme.unwrap_or("nothing");
        let name = match case.scheduler {
            None => format!("decision/{scheme}"),
            Some(scheduler) => format!("pair/{scheme}/{scheduler}"),
        };
        group.bench_function(name, |bencher| bencher.iter(|| case.run(ITERATIONS)));
    }
    group.finish();
}

criterion_group!(benches, dataplane);
criterion_main!(benches);
