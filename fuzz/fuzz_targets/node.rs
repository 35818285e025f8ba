//! Node files: whatever the bytes, they are no node or the one that their hash says.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| uwf_store::fuzzing::node(bytes));
