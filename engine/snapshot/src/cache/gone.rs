//! Caches that nobody will read again, for whoever cleans up.
//!
//! Apart because who captures knows one workspace, and this one asks of every cache in a directory whose it is.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::format;

/// A file that is no cache and this young may be about to become one.
const YOUNG: Duration = Duration::from_secs(3600);

/// So many bytes tell the workspace of a cache, however long its path is.
const BEGINNING: u64 = 1 << 16;

/// Removes the caches in `dir` whose workspace is gone, and what no program of this version can read, and gives the bytes
/// of each; with `dry_run` they stay. `now` is in milliseconds since the epoch. What cannot be looked at, or be removed,
/// stays: it costs its place on the disk, and nothing else.
pub fn remove_gone_caches(dir: &Path, now: u64, dry_run: bool) -> Vec<u64> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let remove = |file: fs::DirEntry| {
        let (path, metadata) = (file.path(), file.metadata().ok()?);
        let is_needless = metadata.is_file() && is_gone(&path, &metadata, now).unwrap_or_default();
        (is_needless && (dry_run || fs::remove_file(&path).is_ok())).then_some(metadata.len())
    };
    files.filter_map(remove).collect()
}

fn is_gone(cache: &Path, metadata: &Metadata, now: u64) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(cache)?.take(BEGINNING).read_to_end(&mut beginning)?;
    match format::workspace(&beginning) {
        Some(workspace) => Ok(workspace.is_absolute() && !workspace.try_exists()?),
        None => {
            let now = UNIX_EPOCH + Duration::from_millis(now);
            Ok(now.duration_since(metadata.modified()?).is_ok_and(|age| age > YOUNG))
        }
    }
}
