//! What is shown of a command's output, and what is said of the rest.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, Vec<(bool, Vec<u8>)>)| {
    let (budget, chunks) = input;
    uwf_tools::fuzzing::truncation(usize::from(budget), &chunks);
});
