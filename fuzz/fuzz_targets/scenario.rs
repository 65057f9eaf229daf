//! Any bytes are a scenario with overrides; the parser answers, and everything that it accepts
//! resolves and plans.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_scenario::fuzz;

fuzz_target!(|bytes: &[u8]| {
    if let Err(problem) = fuzz::scenario(bytes) {
        panic!("{problem}");
    }
});
