//! Path resolution: whatever the path and the symlinks, what is opened is beneath the root.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, Vec<(String, String)>)| {
    let (path, links) = input;
    uwf_tools::fuzzing::path(&path, &links);
});
