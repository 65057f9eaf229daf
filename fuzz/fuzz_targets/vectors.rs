//! Any bytes are a file of vectors; the runners answer and never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_testkit::fuzz;

fuzz_target!(|bytes: &[u8]| fuzz::vectors(bytes));
