//! Any bytes are a table of sizes or a list of flows; the readers answer, and everything that they
//! accept works.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_testkit::fuzz;

fuzz_target!(|bytes: &[u8]| {
    if let Err(problem) = fuzz::workload(bytes) {
        panic!("{problem}");
    }
});
