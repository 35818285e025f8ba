//! Globs of paths: compiled as `glob`, `grep` and the writable paths of a role take them, and how long one may be.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::limits::thousands;

/// What a pattern may have.
const MAX_CHARS: usize = 4_096;
const MAX_BRACES: usize = 100;

/// What is no glob, or one that nobody writes by hand.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadGlob {
    #[error("{}", .0.kind())]
    Syntax(#[from] globset::Error),
    #[error("it is longer than {} characters", thousands(MAX_CHARS as u64))]
    Long,
    #[error("it has more than {MAX_BRACES} braces")]
    Braces,
}

/// Whether a glob can be compiled without danger: what is nested deep enough overflows the stack, and what is long enough
/// takes the memory of a program.
pub(crate) fn is_modest(pattern: &[u8]) -> Result<(), BadGlob> {
    if pattern.len() > MAX_CHARS {
        return Err(BadGlob::Long);
    }
    let braces = memchr::memchr_iter(b'{', pattern).count();
    if braces > MAX_BRACES { Err(BadGlob::Braces) } else { Ok(()) }
}

/// A glob of relative paths: `*` stops at `/`, and a pattern of a name alone matches at any depth.
pub(crate) fn compile(pattern: &str) -> Result<GlobSet, BadGlob> {
    is_modest(pattern.as_bytes())?;
    let pattern = pattern.trim_start_matches("./");
    let anywhere = if pattern.contains('/') { "" } else { "**/" };
    let glob = GlobBuilder::new(&format!("{anywhere}{pattern}"))
        .literal_separator(true)
        .backslash_escape(true)
        .build()?;
    // A set of one: a glob alone can only be compiled by what panics.
    Ok(GlobSetBuilder::new().add(glob).build()?)
}
