//! Entry points of the fuzz targets on a stable toolchain: random bytes, and mutations of the
//! committed vectors.

use std::fs;
use std::path::Path;

use tidegate_testkit::fuzz;
use tidegate_testkit::mutate::{bytes, mutate};
use tidegate_units::Rng;

#[test]
fn the_vector_runners_answer_any_input() {
    let mut rng = Rng::new(1, 0);
    for _ in 0..2000 {
        fuzz::vectors(&bytes(&mut rng, 200));
    }
    for kind in ["mark", "sched", "buffer"] {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(kind);
        let entries = fs::read_dir(directory).expect("testdata is readable");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
        paths.sort();
        for path in paths {
            let original = fs::read(&path).expect("testdata is readable");
            for _ in 0..100 {
                let mut text = original.clone();
                mutate(&mut rng, &mut text);
                fuzz::vectors(&text);
            }
        }
    }
}

#[test]
fn the_live_switch_accepts_any_frames() {
    // An ECN-capable IPv4 packet in a frame, with the two bytes before it.
    let mut good = vec![0, 15, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 2, 0, 46];
    good.resize(62, 0);
    let mut rng = Rng::new(1, 0);
    for _ in 0..2_000 {
        let mut input = bytes(&mut rng, 300);
        for _ in 0..rng.next_u32() % 12 {
            let mut frame = good.clone();
            frame[0] = rng.next_u32().to_le_bytes()[0];
            if rng.next_u32().is_multiple_of(2) {
                mutate(&mut rng, &mut frame);
            }
            input.splice(0..0, frame);
        }
        fuzz::frames(&input).unwrap();
    }
}

#[test]
fn the_workload_readers_answer_any_input() {
    let tables = [
        "0 0\n10000 0.15\n20000 0.2\n30000000 1\n",
        "# size, cdf\n500, 0.5\n500, 0.75\n1e6, 1.0\n",
        "id,start_s,src,dst,bytes,service,path\n1,0.5,0,1,20,3,\n2,5e-05,1,0,1,2,7\n",
        "1,0,0,1,1000\nquery,18446744.07,4294967295,2,18446744073709551614\n",
        "0 0; 10000 0.15; 30000 1",
        "3KB..60KB",
        "0-7, 9",
    ];
    for seed in 0..3000 {
        let mut rng = Rng::new(seed, 3);
        let mut inputs = vec![bytes(&mut rng, 60)];
        for table in tables {
            let mut text = table.as_bytes().to_vec();
            mutate(&mut rng, &mut text);
            inputs.push(text);
        }
        for input in inputs {
            if let Err(problem) = fuzz::workload(&input) {
                panic!("seed {seed}: {problem}");
            }
        }
    }
}

#[test]
fn every_kind_of_port_keeps_its_invariants() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed, 1);
        if let Err(problem) = fuzz::port(&bytes(&mut rng, 600)) {
            panic!("seed {seed}: {problem}");
        }
    }
}

#[test]
fn connections_keep_their_invariants_under_random_events() {
    for seed in 0..2000 {
        let mut rng = Rng::new(seed, 2);
        if let Err(problem) = fuzz::transport(&bytes(&mut rng, 900)) {
            panic!("seed {seed}: {problem}");
        }
    }
}
