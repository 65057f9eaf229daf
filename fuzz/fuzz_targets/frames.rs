//! Any bytes are frames for the live switch, which forwards them or gives the reason why not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_testkit::fuzz;

fuzz_target!(|bytes: &[u8]| {
    if let Err(problem) = fuzz::frames(bytes) {
        panic!("{problem}");
    }
});
