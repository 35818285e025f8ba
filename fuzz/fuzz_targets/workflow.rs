//! Workflow files: whatever the text, it is a workflow or every problem has a place.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| uwf_workflow::fuzzing::workflow(text));
