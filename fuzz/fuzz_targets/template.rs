//! Edge prompts: whatever the template and the answer, there is a text or a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, String)| {
    let (template, data) = input;
    uwf_workflow::fuzzing::template(&template, &data);
});
