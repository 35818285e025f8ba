//! OpenAI-compatible chat completions: `write` writes a request, `chunk` and `assemble` read what comes back.

pub(in crate::provider) mod assemble;
mod calls;
mod chunk;
pub(in crate::provider) mod generation;
mod native;
pub(crate) mod reply;
pub(crate) mod serve;
pub(in crate::provider) mod write;
