//! `uwf thread artifacts`: what is kept of the steps of a thread, listed, and written where somebody wants it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use uwf_engine::thread::{self, ThreadArtifact, ThreadId};
use uwf_engine::view::{ArtifactRow, ArtifactWritten};
use uwf_store::atomic_file::AtomicFile;
use uwf_store::{Hash, Store, suggest};

use crate::names::StepArgument;
use crate::shell::{CliError, OK, Session, render};
use crate::uwf::args::{Artifacts, ArtifactsCommand, GetArtifact};

/// How many bytes are copied at once.
const CHUNK: usize = 1 << 16;

pub(super) fn run(session: &mut Session<'_>, command: &Artifacts) -> Result<u8, CliError> {
    match (&command.command, &command.thread) {
        (Some(ArtifactsCommand::Get(what)), _) => get(session, what),
        (None, thread) => {
            let (thread, place) = (thread.clone().unwrap_or_default(), command.place.clone());
            match command.name.clone() {
                Some(name) => get(session, &GetArtifact { thread, name, place }),
                None => list(session, &thread),
            }
        }
    }
}

fn list(session: &mut Session<'_>, thread: &str) -> Result<u8, CliError> {
    let (thread, store) = (session.thread_id(thread)?, session.store()?);
    let rows: Vec<ArtifactRow> = kept(&store, &thread)?.into_iter().map(ArtifactRow::from).collect();
    session.ui.result(&rows, || {
        let cells: Vec<_> = rows.iter().map(cells).collect();
        render::table(["#", "STEP", "ROLE", "NAME", "SIZE", "CONTENT"], &cells)
    })?;
    if rows.is_empty() {
        session.ui.note("no artifacts: a role's `artifacts` in the workflow say what is kept of its steps");
    }
    Ok(OK)
}

fn cells(row: &ArtifactRow) -> [String; 6] {
    let ArtifactRow { number, step, role, artifact } = row;
    let size = artifact.size.map(render::bytes).unwrap_or_default();
    let (name, content) = (render::name(&artifact.name), artifact.content.to_string());
    [number.to_string(), step.to_string(), role.clone(), name, size, content]
}

fn kept(store: &Store, thread: &ThreadId) -> Result<Vec<ThreadArtifact>, CliError> {
    let head = thread::entry(store, thread)?.head;
    Ok(thread::artifacts(store, &head).map_err(|error| error.headless(thread))?)
}

fn get(session: &mut Session<'_>, what: &GetArtifact) -> Result<u8, CliError> {
    let thread = session.thread_id(&what.thread)?;
    let step = what.place.step.as_deref().map(|step| step_of(session, &thread, step)).transpose()?;
    let store = session.store()?;
    let step = step.map(|step| step.find(&store)).transpose()?;
    let found = find(&store, &thread, &what.name, step)?;
    let mut content = opened(&store, &found.artifact.content)?;
    let Some(file) = what.place.output.as_deref().filter(|file| file.as_os_str() != "-") else {
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = content.read(&mut buffer).map_err(|error| unread(&found, error))?;
            if read == 0 {
                return Ok(OK);
            }
            session.ui.print_bytes(&buffer[..read])?;
        }
    };
    let size = write(&session.cwd.join(file), what.place.force, &mut *content)
        .map_err(|fault| fault.told(&found, file))?;
    let written = ArtifactWritten {
        thread,
        step: found.step,
        name: found.artifact.name,
        content: found.artifact.content,
        size,
        file: file.display().to_string(),
    };
    session.ui.result(&written, || {
        format!("{}: {} in {}\n", render::name(&written.name), render::bytes(written.size), written.file)
    })
}

/// A step as it is named where its thread is known: also by its number, its role, or as the last one.
fn step_of(session: &Session<'_>, thread: &ThreadId, step: &str) -> Result<StepArgument, CliError> {
    let is_number = step.parse::<i64>().is_ok() && step.parse::<Hash>().is_err();
    let named = session.step_argument(&format!("{thread}:{step}"));
    if is_number || step == "last" {
        return named;
    }
    session.step_argument(step).or_else(|error| named.map_err(|_| error))
}

/// The newest artifact of that name, of that step if one is meant.
fn find(
    store: &Store,
    thread: &ThreadId,
    name: &str,
    step: Option<Hash>,
) -> Result<ThreadArtifact, CliError> {
    let mut there = kept(store, thread)?;
    there.retain(|found| step.is_none_or(|step| found.step == step));
    let at = there.iter().rposition(|found| found.artifact.name == name);
    if let Some(at) = at {
        return Ok(there.swap_remove(at));
    }
    let of = step.map(|step| format!("step {step} of thread {thread}"));
    let of = of.unwrap_or_else(|| format!("thread {thread}"));
    let mut known: Vec<&str> = there.iter().map(|found| found.artifact.name.as_str()).collect();
    known.dedup();
    let hint = match (suggest::one(name, &known), known.is_empty()) {
        (Some(meant), _) => {
            format!("did you mean `{}`? `uwf thread artifacts {thread}` lists them all", render::name(&meant))
        }
        (None, false) => format!("`uwf thread artifacts {thread}` lists them"),
        (None, true) => "it has none: a role's `artifacts` in the workflow say what is kept".to_owned(),
    };
    Err(CliError::user(format!("{of} has no artifact `{}`", render::name(name))).with_hint(hint))
}

/// The bytes of a content, or the JSON of a node that is none.
fn opened<'s>(store: &'s Store, hash: &Hash) -> Result<Box<dyn Read + 's>, CliError> {
    let node = store.get(hash)?;
    match store.blob(hash) {
        Ok(content) => Ok(Box::new(content)),
        Err(uwf_store::StoreError::NotContent { .. }) => {
            Ok(Box::new(io::Cursor::new(format!("{}\n", node.payload).into_bytes())))
        }
        Err(error) => Err(error.into()),
    }
}

/// What kept an artifact from being written.
enum WriteFault {
    /// The content.
    Unread(io::Error),
    /// The file.
    Unwritten(io::Error),
    /// There is one already.
    Exists,
}

impl WriteFault {
    fn told(self, found: &ThreadArtifact, file: &Path) -> CliError {
        match self {
            WriteFault::Unread(error) => unread(found, error),
            WriteFault::Unwritten(error) => CliError::said(format!("cannot write {}", file.display()), error)
                .with_hint("name a file in a directory that you may write to"),
            WriteFault::Exists => CliError::user(format!("{} is there already", file.display()))
                .with_hint("name another file; --force replaces this one"),
        }
    }
}

fn unread(found: &ThreadArtifact, error: io::Error) -> CliError {
    let what = format!(
        "cannot read {}, the artifact `{}`",
        found.artifact.content,
        render::name(&found.artifact.name)
    );
    CliError::said(what, error).with_hint("`uwf cas verify` tells what is damaged in the store")
}

/// Copies a content into a file, whole or not at all; a pipe or a device is written into. Gives its length.
fn write(path: &Path, force: bool, content: &mut dyn Read) -> Result<u64, WriteFault> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(WriteFault::Unwritten(io::ErrorKind::IsADirectory.into())),
        Ok(there) if !there.is_file() => {
            let mut file = File::options().write(true).open(path).map_err(WriteFault::Unwritten)?;
            copy(content, &mut file)
        }
        Ok(_) if !force => Err(WriteFault::Exists),
        _ => {
            let mut file = AtomicFile::create(path, 0o666).map_err(WriteFault::Unwritten)?;
            let size = copy(content, &mut file)?;
            let placed = if force { file.persist_whole() } else { file.persist_new() };
            placed.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => WriteFault::Exists,
                _ => WriteFault::Unwritten(error),
            })?;
            Ok(size)
        }
    }
}

fn copy(content: &mut dyn Read, file: &mut dyn Write) -> Result<u64, WriteFault> {
    let (mut buffer, mut size) = (vec![0; CHUNK], 0);
    loop {
        let read = content.read(&mut buffer).map_err(WriteFault::Unread)?;
        if read == 0 {
            file.flush().map_err(WriteFault::Unwritten)?;
            return Ok(size);
        }
        file.write_all(&buffer[..read]).map_err(WriteFault::Unwritten)?;
        size += read as u64;
    }
}
