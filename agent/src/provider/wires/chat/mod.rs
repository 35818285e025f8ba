//! OpenAI-compatible chat completions: `write` writes a request, `chunk` and `assemble` read what comes back.

pub(in crate::provider) mod assemble;
mod chunk;
pub(in crate::provider) mod failed_generation;
mod native;
pub(crate) mod reply;
pub(crate) mod serve;
mod tool_call_assembler;
pub(in crate::provider) mod write;
