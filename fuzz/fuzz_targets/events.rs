//! The body of a reply, cut anywhere: from bytes to events to a completion, the cuts change nothing. A byte of 255 is
//! where the network cuts, which no text can hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uwf_agent::fuzzing::Reader;

thread_local!(static READER: Reader = Reader::new("chat"));

fuzz_target!(|body: &[u8]| {
    let pieces: Vec<Vec<u8>> = body.split(|byte| *byte == 255).map(<[u8]>::to_vec).collect();
    READER.with(|reader| reader.events(&pieces));
});
