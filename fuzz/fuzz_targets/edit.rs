//! Where an edit applies: whatever the texts, nothing but the replaced ranges changes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, String, String, bool)| {
    let (content, old, new, all) = input;
    uwf_tools::fuzzing::edit(&content, &old, &new, all);
});
