//! Removing many files in an order that matters, as fast as the disk allows.
//!
//! Apart because of what makes it slow: giving back the space of a file, which some file systems do at once, one disk
//! request a file (ext4 mounted with `discard` and no journal: milliseconds). The space of a file that is open is given
//! back when it is closed. So the names go one after the other, as they must, and the files are closed side by side.

use std::fs::{self, File};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Builder};

use super::{Disk, remove};
use crate::error::StoreError;
use crate::hash::Hash;

/// How many files are closed at once; each thread only waits for the disk.
const CLOSERS: usize = 64;
/// Files that wait for one of them. All together must stay well below the limit of open files, 1024.
const WAITING: usize = 4;

impl Disk {
    /// Removes the files of these nodes, in this order, and gives their bytes; one that is gone already is no error.
    pub(super) fn remove_in_order(&self, order: &[Hash]) -> Result<u64, StoreError> {
        thread::scope(|scope| {
            let closers: Vec<SyncSender<File>> = (0..CLOSERS.min(order.len()))
                .map_while(|_| {
                    let (sender, files) = sync_channel::<File>(WAITING);
                    // Where the system has no more threads, those there are have more to do.
                    let closer = Builder::new().spawn_scoped(scope, move || files.into_iter().for_each(drop));
                    closer.is_ok().then_some(sender)
                })
                .collect();
            let mut bytes = 0;
            for (at, hash) in order.iter().enumerate() {
                let path = self.path(hash);
                let file = File::open(&path).ok();
                bytes += size(&path, file.as_ref());
                remove(&path)?;
                // Nobody closes it but us if there is no thread, or it is gone.
                if let (Some(file), Some(closer)) = (file, closers.get(at % closers.len().max(1))) {
                    closer.send(file).ok();
                }
            }
            Ok(bytes)
        })
    }
}

/// A file that cannot be opened still has a size.
fn size(path: &Path, file: Option<&File>) -> u64 {
    let metadata = file.map_or_else(|| fs::metadata(path), File::metadata);
    metadata.map_or(0, |metadata| metadata.len())
}
