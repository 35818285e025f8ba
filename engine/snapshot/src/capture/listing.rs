//! What a directory lists, sorted by name.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

/// A name in a directory, and what the listing says is there; not every file system says it.
pub(super) struct ListedName {
    pub(super) bytes: Box<[u8]>,
    pub(super) kind: FileType,
}

/// What a directory lists, but for itself and the one above.
pub(super) fn names(handle: &OwnedFd) -> Result<Vec<ListedName>, Errno> {
    let (mut names, mut buffer) = (Vec::new(), [MaybeUninit::uninit(); 1 << 15]);
    let mut listing = RawDir::new(handle, &mut buffer);
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes != b"." && bytes != b".." {
            names.push(ListedName { bytes: bytes.into(), kind: entry.file_type() });
        }
    }
    names.sort_unstable_by(|one: &ListedName, other| one.bytes.cmp(&other.bytes));
    Ok(names)
}
