//! What this machine has for the directories of threads, and the directory of one that is worked on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use uwf_engine::{Env, ThreadId, thread};
use uwf_snapshot::{CaptureNotice, Options, Snapshot, Why, escaped};
use uwf_store::{Hash, Store};

use super::git::Checkout;
use super::private::{Private, place_in, prune};
use super::value::{Below, Branch, Files, Shared, Workspace};
use super::{HaltWish, WorkspaceError, private};
use crate::FleetError;
use crate::lease::Lease;

/// What a machine has for the directories that threads work in.
#[derive(Debug, Clone)]
pub struct Workspaces {
    /// Where directories of its own are made, for its owner alone. Not below `$UWF_HOME`, which no command of a model's sees.
    pub root: PathBuf,
    /// The shared file systems, by the name or the path that threads tell them by. A thread works in none but these.
    pub shared: BTreeMap<String, PathBuf>,
    /// Below these are the repositories that threads may name by a path. What is in a repository is trusted more than a shared
    /// directory is: nothing below a shared file system is one.
    pub repositories: Vec<PathBuf>,
    /// How long one command of git may take, and how long it is waited for another thread's use of the same repository.
    pub git_limit: Duration,
    /// How large a snapshot may be, and what no file may hold that is kept.
    pub options: Options,
    /// What git is told of the environment.
    pub env: Env,
    /// How many directories of threads that are not worked on stay for the next time.
    pub kept: usize,
}

/// So many paths that were left out are told.
const NAMED: usize = 20;

/// What is to be known of a step whose files are kept.
#[derive(Debug, Clone, Copy)]
pub struct MadeStep<'a> {
    /// The role that has played.
    pub role: &'a str,
    /// Where the thread stands after it.
    pub head: &'a Hash,
}

/// A thread's directory as a step has left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What is to be in the thread's row.
    pub workspace: Workspace,
    /// What is not in it though it is in the directory, and why: for people.
    pub left_out: Vec<String>,
}

/// The directory of a thread that is worked on here. One that is dropped is removed, if it is of this machine alone.
#[derive(Debug)]
pub struct Directory<'a> {
    spaces: &'a Workspaces,
    workspace: Workspace,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Shared(PathBuf),
    Own(Box<Own>),
}

#[derive(Debug)]
struct Own {
    private: Private,
    options: Options,
    /// What the files were when they were kept last.
    tree: Hash,
    /// Whether they still are: no step has been begun since.
    is_kept: bool,
    checkout: Option<Checkout>,
}

impl Workspaces {
    /// Makes the directory of a claimed thread: as it was at the thread's head, or as a snapshot `latest` of a step that was
    /// interrupted has it. Whatever that needs of nodes must be in the store. `wish` ends commands of git, here and while files
    /// are kept.
    ///
    /// # Errors
    /// [`WorkspaceError::NotHere`] where another machine may have it; else it cannot be made.
    pub fn open(
        &self,
        store: &Store,
        (lease, workspace): (&Lease, &Workspace),
        latest: Option<&Hash>,
        wish: Arc<HaltWish>,
    ) -> Result<Directory<'_>, FleetError> {
        let kind = match workspace {
            Workspace::Shared(shared) => Kind::Shared(self.shared(store, &lease.thread, shared)?),
            Workspace::Snapshot(files) => Kind::Own(Box::new(self.files(store, lease, files, latest)?)),
            Workspace::Git(branch) => {
                Kind::Own(Box::new(self.branch(store, (lease, branch), latest, wish)?))
            }
        };
        Ok(Directory { spaces: self, workspace: workspace.clone(), kind })
    }

    fn files(
        &self,
        store: &Store,
        lease: &Lease,
        files: &Files,
        latest: Option<&Hash>,
    ) -> Result<Own, WorkspaceError> {
        let options =
            Options { ignored: files.ignored, leave_out: files.leave_out.clone(), ..self.options.clone() };
        uwf_snapshot::check(&options)?;
        let mut private = Private::open(&self.root, lease)?;
        let tree = *latest.unwrap_or(&files.tree);
        private.fill(store, &tree, &options)?;
        Ok(Own { private, options, tree: files.tree, is_kept: latest.is_none(), checkout: None })
    }

    fn branch(
        &self,
        store: &Store,
        (lease, branch): (&Lease, &Branch),
        latest: Option<&Hash>,
        wish: Arc<HaltWish>,
    ) -> Result<Own, FleetError> {
        let mut private = Private::open(&self.root, lease)?;
        let checkout = Checkout::open(self, (branch, lease), wish)?;
        private.make(&mut |dir| checkout.write(dir))?;
        let options = Options { ignored: false, ..self.options.clone() };
        let tree = private.capture(store, &options)?.tree;
        if let Some(latest) = latest {
            private.become_like(store, &tree, latest)?;
        }
        checkout.give_history(&private.files())?;
        Ok(Own { private, options, tree, is_kept: false, checkout: Some(checkout) })
    }

    /// The directory of a shared file system, if this machine has it and may let a thread work in it.
    fn shared(&self, store: &Store, thread: &ThreadId, shared: &Shared) -> Result<PathBuf, FleetError> {
        let Shared { root, dir } = shared;
        let Some(root) = root else {
            let start = thread::head(store, thread)?.start(store)?;
            return Ok(self.within_shared(Path::new(&start.cwd))?);
        };
        match self.shared.get(root) {
            Some(path) => Ok(below(path, dir)?),
            None if Path::new(root).is_absolute() => Ok(below(&self.within_shared(Path::new(root))?, dir)?),
            None => Err(WorkspaceError::NotHere {
                what: format!("this worker knows no shared root {root:?}"),
                hint: format!("`uwf worker --shared-root {root}=DIR` says where it is on this machine"),
            }
            .into()),
        }
    }

    /// A path that is in one of the shared roots.
    fn within_shared(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let whole = path.canonicalize().map_err(|_| missing(path))?;
        match is_below(&whole, self.shared.values()) {
            true => Ok(whole),
            false => Err(WorkspaceError::NotHere {
                what: format!("{} is in no directory that this worker lets threads work in", path.display()),
                hint: "`uwf worker --shared-root DIR` lets them work in one".to_owned(),
            }),
        }
    }

    /// Where a repository that is a path really is, if threads may name it and none can write there but through git.
    pub(super) fn within_repositories(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let whole = path.canonicalize().map_err(|_| missing(path))?;
        if is_below(&whole, self.shared.values()) {
            return Err(WorkspaceError::NotHere {
                what: format!(
                    "{} is in a shared root, where threads can change its settings",
                    path.display()
                ),
                hint:
                    "move it to a directory that no thread works in, and name that with `--repository-root`"
                        .to_owned(),
            });
        }
        match is_below(&whole, self.repositories.iter()) {
            true => Ok(whole),
            false => Err(WorkspaceError::NotHere {
                what: format!("{} is in no directory whose repositories this worker uses", path.display()),
                hint: "`uwf worker --repository-root DIR` allows those in a directory".to_owned(),
            }),
        }
    }
}

/// Whether a path that has no symlinks is in one of these directories.
fn is_below<'a>(whole: &Path, roots: impl Iterator<Item = &'a PathBuf>) -> bool {
    roots.filter_map(|root| root.canonicalize().ok()).any(|root| whole.starts_with(root))
}

fn missing(path: &Path) -> WorkspaceError {
    WorkspaceError::NotHere {
        what: format!("there is no directory {} on this machine", path.display()),
        hint: "mount it here, or leave the thread to a worker that has it".to_owned(),
    }
}

/// A directory below another one, which no symlink leaves.
fn below(root: &Path, dir: &Below) -> Result<PathBuf, WorkspaceError> {
    let path = root.join(dir.path());
    let whole = |path: &Path| path.canonicalize().ok().filter(|path| path.is_dir());
    let (Some(root), Some(found)) = (whole(root), whole(&path)) else { return Err(missing(&path)) };
    match found.starts_with(root) {
        true => Ok(found),
        false => Err(WorkspaceError::Invalid {
            field: "dir".to_owned(),
            why: format!("leads out of its root: {} is elsewhere", path.display()),
        }),
    }
}

impl Directory<'_> {
    /// Where the thread works; a role that is asked again works where it did before, `last`, if that is below.
    ///
    /// # Errors
    /// The thread is to work in a directory that the repository does not have.
    pub fn cwd(&self, thread: &ThreadId, last: Option<&Path>) -> Result<PathBuf, WorkspaceError> {
        let own = match &self.kind {
            Kind::Shared(path) => return Ok(path.clone()),
            Kind::Own(own) => own,
        };
        let files = own.private.files();
        let base = match &self.workspace {
            Workspace::Git(branch) => below(&files, &branch.dir).map_err(|_| WorkspaceError::Invalid {
                field: "dir".to_owned(),
                why: format!("is {:?}, which the repository does not have", branch.dir.path()),
            })?,
            _ => files.clone(),
        };
        let last = last.and_then(|last| place_in(last, thread)).map(|place| files.join(place));
        let is_within = |path: &PathBuf| {
            path.canonicalize().is_ok_and(|path| {
                path.is_dir() && files.canonicalize().is_ok_and(|files| path.starts_with(files))
            })
        };
        Ok(last.filter(is_within).unwrap_or(base))
    }

    /// A step begins: what is in the directory is not what was kept, until that is done again.
    pub fn touch(&mut self) {
        if let Kind::Own(own) = &mut self.kind {
            own.is_kept = false;
        }
    }

    /// Keeps the files as a step has left them: as nodes of the store, or as a commit that is pushed. None where nothing is to
    /// be kept.
    ///
    /// # Errors
    /// They cannot be kept: too large, unreadable, the repository refuses them; or [`FleetError::LeaseLost`].
    pub fn keep(&mut self, store: &Store, step: &MadeStep<'_>) -> Result<Option<Kept>, FleetError> {
        let Kind::Own(own) = &mut self.kind else { return Ok(None) };
        let snapshot = own.private.capture(store, &own.options)?;
        match (&mut self.workspace, &mut own.checkout) {
            (Workspace::Snapshot(files), _) => files.tree = snapshot.tree,
            (Workspace::Git(branch), Some(checkout)) => {
                let commit = checkout.keep(store, (&own.tree, &snapshot), step)?;
                branch.commit = Some(commit);
                checkout.give_history(&own.private.files())?;
            }
            _ => {}
        }
        own.tree = snapshot.tree;
        own.is_kept = true;
        Ok(Some(Kept { workspace: self.workspace.clone(), left_out: left_out(&snapshot) }))
    }

    /// The worker is done with the thread, which has ended or goes on elsewhere, or here another time.
    pub fn leave(self, has_ended: bool) {
        let Directory { spaces, kind, .. } = self;
        if let Kind::Own(own) = kind {
            let Own { private, tree, is_kept, checkout, .. } = *own;
            if is_kept && !has_ended && checkout.is_none() && spaces.kept > 0 {
                private.rest(&tree);
            } else {
                drop(private);
            }
            private::prune(&spaces.root, spaces.kept);
        }
    }
}

impl Workspaces {
    /// Removes what killed processes have left, and more than are to stay.
    pub fn prune(&self) {
        prune(&self.root, self.kept);
    }
}

/// What a snapshot lacks, for people: never a text that may hold a key.
fn left_out(snapshot: &Snapshot) -> Vec<String> {
    use std::os::unix::ffi::OsStrExt;
    let told = |notice: &CaptureNotice| match notice.why {
        Why::Secret => "a file is left out: it holds a secret".to_owned(),
        _ => format!("{}: {}", escaped(notice.path.as_os_str().as_bytes()), notice.why),
    };
    let mut all: Vec<String> = snapshot.notices.iter().take(NAMED).map(told).collect();
    let more = snapshot.notices.len().saturating_sub(NAMED);
    all.extend((more > 0).then(|| format!("and {more} more")));
    all
}

/// Puts the files of a directory into a store, as the workspace of a thread that is begun. [`Workspace::roots`] of it are to be
/// pushed with the thread.
///
/// # Errors
/// The directory cannot be captured.
pub fn snapshot_of(
    store: &Store,
    dir: &Path,
    options: &Options,
) -> Result<(Workspace, Snapshot), WorkspaceError> {
    let snapshot = uwf_snapshot::capture(dir, options, &mut uwf_snapshot::CaptureCache::in_memory(), store)?;
    let (ignored, leave_out) = (options.ignored, options.leave_out.clone());
    Ok((Workspace::Snapshot(Files { tree: snapshot.tree, ignored, leave_out }), snapshot))
}
