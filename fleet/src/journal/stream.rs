//! What of the journals of a step is at the remote, and what comes next.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::FileExt;
use std::path::Path;

use uwf_engine::journals::sink::KeepRequest;
use uwf_engine::journals::{self, JournalName, spool_dir};
use uwf_engine::thread::HEADS;
use uwf_store::{Hash, Store, open_regular};

use super::rows::{Piece, Place, append, append_below};
use super::{lines, malformed};
use crate::heads::{OwnVariable, RemoteHead};
use crate::queue::{Lease, made_progress};
use crate::{Connection, FleetError, nodes};

/// What has come to be known by now of the journals of a thread at the remote.
pub struct Stream<'a> {
    /// The store of this machine.
    pub store: &'a Store,
    /// `$UWF_HOME`: the journals are below it.
    pub home: &'a Path,
    /// What the writes name.
    pub lease: &'a Lease,
    /// Where the thread stands at the remote.
    pub head: Hash,
    /// The nodes that the remote has.
    pub known: &'a mut HashSet<Hash>,
    /// How much the remote has of each journal.
    pub kept: &'a mut BTreeMap<JournalName, u64>,
    /// Whether the thread has got on since it was claimed.
    pub has_progressed: bool,
}

impl Stream<'_> {
    /// Brings a journal to the remote up to where it is asked for.
    ///
    /// # Errors
    /// [`FleetError::LeaseLost`], the journal is none of this step or cannot be read, the remote has other lines, or the
    /// connection was lost: the same again goes on.
    pub fn keep(&mut self, connection: &mut Connection, request: &KeepRequest) -> Result<(), FleetError> {
        let KeepRequest { name, length } = request;
        let start = self.kept.get(name).copied().unwrap_or(0);
        if *length == start && start > 0 {
            return Ok(());
        }
        let path = journals::directory(self.home).join(name.to_string());
        let bytes = read(&path, start, *length).map_err(|why| malformed(name, why))?;
        let below = self.below(name)?;
        let mut roots = lines::named(&bytes, &spool_dir(&path), self.store)?;
        let named = roots.clone();
        roots.extend(below.iter().flat_map(RemoteHead::roots));
        if !roots.is_empty() {
            nodes::put(connection, self.store, (&roots, self.known))?;
        }
        let piece = Piece { name, start, bytes: &bytes, nodes: &named };
        match &below {
            Some(standing) => {
                let place = Place { lease: self.lease, head: &self.head };
                append_below(connection, &place, &piece, &standing.variables)?;
            }
            None => append(connection, (self.lease, &self.head), &piece)?,
        }
        self.kept.insert(name.clone(), *length);
        if !self.has_progressed && bytes.split(|byte| *byte == b'\n').any(is_turn) {
            let (client, team) = connection.parts();
            made_progress(client, team, self.lease)?;
            self.has_progressed = true;
        }
        Ok(())
    }

    /// How the thread stands with those that it has called, where this is the first that is heard of a journal of one of them.
    fn below(&self, name: &JournalName) -> Result<Option<RemoteHead>, FleetError> {
        if name.thread == self.lease.thread {
            let is_of_step = name.head == self.head;
            let elsewhere = || malformed(name, format!("the step goes on from {}", self.head));
            return is_of_step.then_some(None).ok_or_else(elsewhere);
        }
        if self.kept.contains_key(name) {
            return Ok(None);
        }
        let standing = RemoteHead::of(self.store, &self.lease.thread)?;
        let head = format!("{HEADS}{}", name.thread);
        let is_it = |variable: &OwnVariable| variable.name == head && variable.value == name.head;
        match standing.variables.iter().any(is_it) {
            true => Ok(Some(standing)),
            false => Err(malformed(name, "its thread is none that plays for this one")),
        }
    }
}

/// The lines of a journal from one place to another.
fn read(path: &Path, start: u64, length: u64) -> Result<Vec<u8>, String> {
    let size =
        length.checked_sub(start).ok_or_else(|| format!("{start} bytes of it are kept, not {length}"))?;
    let file = open_regular(path).map_err(|error| error.to_string())?;
    // Whoever asks has written so much.
    let there = file.metadata().map_err(|error| error.to_string())?.len();
    if there < length {
        return Err(format!("it has {there} bytes, not {length}"));
    }
    let mut bytes = vec![0; usize::try_from(size).map_err(|error| error.to_string())?];
    file.read_exact_at(&mut bytes, start).map_err(|error| error.to_string())?;
    match bytes.last() {
        Some(b'\n') => Ok(bytes),
        _ => Err(format!("no line of it ends at {length}")),
    }
}

/// Whether a line is a turn of a model: that is what has been paid for.
fn is_turn(line: &[u8]) -> bool {
    line.starts_with(b"{\"entry\":\"answered\"")
}
