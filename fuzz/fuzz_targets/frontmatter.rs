//! The text of an answer: valid against its role's schema, or refused with words.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| uwf_agent::fuzzing::frontmatter(text));
