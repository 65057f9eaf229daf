//! Any bytes are two ends of a connection and operations on them; no invariant may be violated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_testkit::fuzz;

fuzz_target!(|bytes: &[u8]| {
    if let Err(violation) = fuzz::transport(bytes) {
        panic!("{violation}");
    }
});
