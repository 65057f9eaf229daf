//! Any bytes are a choice of parts and operations on a port; no invariant may be violated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_testkit::fuzz;

fuzz_target!(|bytes: &[u8]| {
    if let Err(violation) = fuzz::port(bytes) {
        panic!("{violation}");
    }
});
