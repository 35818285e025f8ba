//! The body of a reply on the wire of OpenAI's Responses, cut anywhere: a completion that can stand in a conversation, or a
//! fault with words, wherever the cuts are. A byte of 255 is where the network cuts, which no text can hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uwf_agent::fuzzing::Reader;

thread_local!(static READER: Reader = Reader::new("responses"));

fuzz_target!(|body: &[u8]| {
    let pieces: Vec<Vec<u8>> = body.split(|byte| *byte == 255).map(<[u8]>::to_vec).collect();
    READER.with(|reader| {
        reader.reply(&pieces.concat());
        reader.events(&pieces);
    });
});
