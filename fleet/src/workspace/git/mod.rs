//! The branch of a thread: `uwf/<thread>`, with a commit for each step.
//!
//! Each repository has a mirror on this machine, bare, which is fetched into and pushed from; no agent sees it. A thread's
//! files are written from it as they are in the commit, byte by byte, and a step's commit is made of what a snapshot finds
//! has changed, so git never reads a directory that an agent has had its hands on.
//!
//! The branch is pushed before the head moves, and only from where this worker has seen it. A commit that the thread's row does
//! not name is one whose worker was killed between the two; the fence in its message tells whether it may be replaced.

mod command;
mod commit;
mod files;
mod group;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use uwf_engine::home::{make_private, remove_directory};
use uwf_snapshot::Snapshot;
use uwf_store::{Hash, Store};

use self::command::{Input, RECEIVE_PACK, Said, UPLOAD_PACK, command, run};
use super::error::disk;
use super::halt::Halting;
use super::hold::Hold;
use super::{Branch, Commit, HaltWish, MadeStep, WorkspaceError, Workspaces};
use crate::FleetError;
use crate::lease::Lease;

/// Below the root of this machine's directories.
const MIRRORS: &str = "mirrors";

/// So many commits are fetched of a history, where the server can do that.
const DEPTH: &str = "--depth=50";

/// How long it is waited before a push that did not get through is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// A thread's branch, as this worker has it.
#[derive(Debug)]
pub(super) struct Checkout {
    mirror: PathBuf,
    env: uwf_engine::Env,
    halting: Halting,
    branch: Branch,
    /// Where git is to look for the repository: a path is the one that was checked.
    remote: OsString,
    is_path: bool,
    lease: Lease,
    /// The commit of the thread's head.
    at: Commit,
    /// Where the repository's branch is; none where it has none.
    there: Option<Commit>,
}

impl Checkout {
    /// Fetches what the thread needs, and sees that the branch may be pushed.
    pub(super) fn open(
        spaces: &Workspaces,
        (branch, lease): (&Branch, &Lease),
        wish: Arc<HaltWish>,
    ) -> Result<Checkout, FleetError> {
        let path = branch.repository.path().map(|path| spaces.within_repositories(&path)).transpose()?;
        let is_path = path.is_some();
        let remote = path.map_or_else(|| branch.repository.as_str().into(), PathBuf::into_os_string);
        let mirrors = spaces.root.join(MIRRORS);
        make_private(&mirrors).map_err(disk("make the directory", &mirrors))?;
        let name = blake3::hash(branch.repository.as_str().as_bytes()).to_hex()[..32].to_owned();
        let mirror = mirrors.join(name + ".git");
        let placeholder = "0".repeat(40).parse().expect("it is 40 digits");
        let mut this = Checkout {
            mirror,
            env: spaces.env.clone(),
            halting: Halting::new(wish, spaces.git_limit),
            branch: branch.clone(),
            remote,
            is_path,
            lease: *lease,
            at: placeholder,
            there: None,
        };
        let _hold = this.hold()?;
        this.begin()?;
        Ok(this)
    }

    /// The mirror for this thread alone.
    fn hold(&self) -> Result<Hold, WorkspaceError> {
        let mirrors = self.mirror.parent().unwrap_or(&self.mirror);
        let name = self.mirror.file_stem().unwrap_or_default().to_string_lossy();
        Hold::wait(mirrors, &name, &self.halting)?.ok_or_else(|| WorkspaceError::Git {
            doing: "lock the mirror of",
            repository: self.branch.repository.clone(),
            why: format!("another thread has used it for {} seconds", self.halting.limit.as_secs()),
        })
    }

    fn run(
        &self,
        command: std::process::Command,
        input: Option<&mut Input<'_>>,
    ) -> Result<Said, WorkspaceError> {
        run(&self.halting, command, input)
    }

    fn begin(&mut self) -> Result<(), FleetError> {
        if !self.mirror.join("HEAD").is_file() {
            let mut init = command(&self.env, &self.mirror);
            init.args(["init", "--quiet", "--bare", "--template="]);
            self.expect("make a mirror of", self.run(init, None)?)?;
        }
        let refs = self.refs()?;
        let find = |name: &str| refs.iter().find(|(found, _)| found == name).map(|(_, id)| id.clone());
        self.there = find(&self.name());
        let base = self.branch.base.as_str();
        self.at = match (&self.branch.commit, base.parse::<Commit>()) {
            (Some(commit), _) => commit.clone(),
            (None, Ok(commit)) => commit,
            (None, Err(_)) => [
                base.to_owned(),
                format!("refs/heads/{base}"),
                format!("refs/tags/{base}^{{}}"),
                format!("refs/tags/{base}"),
            ]
            .iter()
            .find_map(|name| find(name))
            .ok_or_else(|| WorkspaceError::Invalid {
                field: "base".to_owned(),
                why: format!("is {base:?}, which {} does not have", self.branch.repository),
            })?,
        };
        if let Some(there) = self.there.clone().filter(|there| *there != self.at) {
            self.fetch(&there)?;
            self.check_ours(&there)?;
        }
        self.fetch(&self.at.clone())?;
        let (name, at) = (self.kept_as(), self.at.clone());
        let mut keep = self.git();
        keep.args(["update-ref", &name, at.as_str()]);
        self.expect("note a commit of", self.run(keep, None)?)?;
        let mut dry = self.push_of(&at);
        dry.arg("--dry-run").arg(&self.remote).arg(self.refspec(&at));
        Ok(self.expect("push to", self.run(dry, None)?)?)
    }

    fn git(&self) -> std::process::Command {
        command(&self.env, &self.mirror)
    }

    /// The thread's branch in the repository.
    fn name(&self) -> String {
        format!("refs/heads/uwf/{}", self.lease.thread)
    }

    /// What keeps the commit of its head in the mirror.
    fn kept_as(&self) -> String {
        format!("refs/uwf/{}", self.lease.thread)
    }

    fn refspec(&self, commit: &Commit) -> String {
        format!("{commit}:{}", self.name())
    }

    fn failed(&self, doing: &'static str, said: &Said) -> WorkspaceError {
        WorkspaceError::Git { doing, repository: self.branch.repository.clone(), why: said.why.clone() }
    }

    fn expect(&self, doing: &'static str, said: Said) -> Result<(), WorkspaceError> {
        if said.is_success { Ok(()) } else { Err(self.failed(doing, &said)) }
    }

    /// Where the branches of the repository are that have to do with the thread.
    fn refs(&self) -> Result<Vec<(String, Commit)>, WorkspaceError> {
        let mut list = self.git();
        let base = self.branch.base.as_str();
        list.arg("ls-remote").args(self.is_path.then_some(UPLOAD_PACK));
        list.arg(&self.remote).args([&self.name(), "HEAD"]);
        list.args([
            format!("refs/heads/{base}"),
            format!("refs/tags/{base}"),
            format!("refs/tags/{base}^{{}}"),
        ]);
        let said = self.run(list, None)?;
        if !said.is_success {
            return Err(self.failed("reach", &said));
        }
        let line = |line: &str| {
            let (id, name) = line.split_once('\t')?;
            Some((name.to_owned(), id.parse().ok()?))
        };
        Ok(said.text().lines().filter_map(line).collect())
    }

    /// Sees to it that the mirror has a commit with all its files.
    fn fetch(&self, commit: &Commit) -> Result<(), WorkspaceError> {
        let has = || {
            let mut has = self.git();
            has.args(["rev-parse", "--quiet", "--verify", &format!("{commit}^{{tree}}")]);
            self.run(has, None).is_ok_and(|said| said.is_success)
        };
        if has() {
            return Ok(());
        }
        let mut last = None;
        let whole =
            ["+refs/heads/*:refs/fetched/*".to_owned(), "+refs/tags/*:refs/fetched-tags/*".to_owned()];
        // A server may refuse to give a commit by its id: then all branches are fetched.
        for wanted in [(Some(DEPTH), vec![commit.to_string()]), (None, whole.to_vec())] {
            let mut fetch = self.git();
            fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
            fetch.args(self.is_path.then_some(UPLOAD_PACK));
            fetch.args(wanted.0).arg(&self.remote).args(wanted.1);
            let said = self.run(fetch, None)?;
            if has() {
                return Ok(());
            }
            last = Some(said);
        }
        let mut said = last.expect("it was tried");
        if said.is_success {
            said.why = format!("it does not have the commit {commit} any more");
        }
        Err(self.failed("fetch from", &said))
    }

    /// Whether a commit that the row does not name was made for this thread by a worker whose lease is over. One that somebody
    /// has amended, or moved elsewhere, has the lines of the worker's still, and another committer.
    fn check_ours(&self, commit: &Commit) -> Result<(), FleetError> {
        let mut show = self.git();
        show.args(["cat-file", "commit", commit.as_str()]);
        let said = self.run(show, None)?;
        self.expect(
            "read a commit of",
            Said { is_success: said.is_success, out: vec![], why: said.why.clone() },
        )?;
        let text = said.text();
        let trailer = |name: &str| text.lines().rev().find_map(|line| line.strip_prefix(name));
        let is_of_thread = trailer(commit::THREAD) == Some(self.lease.thread.as_str());
        let is_ours = is_of_thread && commit::is_by_worker(&text);
        match trailer(commit::FENCE).and_then(|fence| fence.parse::<i64>().ok()).filter(|_| is_ours) {
            Some(fence) if fence > self.lease.fence => Err(self.lease.lost()),
            Some(_) => Ok(()),
            None => Err(WorkspaceError::Foreign {
                branch: format!("uwf/{}", self.lease.thread),
                repository: self.branch.repository.clone(),
                there: commit.clone(),
                ours: self.at.clone(),
            }
            .into()),
        }
    }

    /// Writes the files of the thread's head into an empty directory.
    pub(super) fn write(&self, dir: &Path) -> Result<(), WorkspaceError> {
        files::write(&self.halting, (self.git(), self.git()), &self.at, dir)
            .and_then(|said| said.map_or(Ok(()), |said| Err(self.failed("read the files of", &said))))
    }

    /// Commits what a step has changed and pushes it. Gives where the branch is then.
    pub(super) fn keep(
        &mut self,
        store: &Store,
        (before, after): (&Hash, &Snapshot),
        step: &MadeStep<'_>,
    ) -> Result<Commit, FleetError> {
        self.halting.keeps();
        let _hold = self.hold()?;
        let changes = commit::changes(store, before, after, &self.submodules()?)?;
        if changes.is_empty() && self.there.as_ref() == Some(&self.at) {
            return Ok(self.at.clone());
        }
        let made = match changes.is_empty() {
            true => self.at.clone(),
            false => self.commit(store, &changes, step)?,
        };
        self.push(&made)?;
        self.at = made.clone();
        self.there = Some(made.clone());
        Ok(made)
    }

    /// Directories of the commit that are other repositories.
    fn submodules(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut list = self.git();
        list.args(["ls-tree", "-r", "-z", "--full-tree", self.at.as_str()]);
        let said = self.run(list, None)?;
        if !said.is_success {
            return Err(self.failed("read the files of", &said));
        }
        Ok(files::listed(&said.out)
            .filter(|file| file.mode == files::SUBMODULE)
            .map(|file| file.path)
            .collect())
    }

    fn commit(
        &self,
        store: &Store,
        changes: &[commit::Change],
        step: &MadeStep<'_>,
    ) -> Result<Commit, WorkspaceError> {
        let kept_as = self.kept_as();
        let head = commit::Head {
            name: &kept_as,
            from: &self.at,
            message: commit::message(&self.lease, step),
            seconds: store.now() / 1000,
        };
        let mut import = self.git();
        import.args(["fast-import", "--quiet", "--done", "--force"]);
        let said = self.run(import, Some(&mut |out| commit::write(store, &head, changes, out)))?;
        self.expect("commit to the mirror of", said)?;
        let mut parse = self.git();
        parse.args(["rev-parse", "--verify", &kept_as]);
        let said = self.run(parse, None)?;
        said.text().parse().map_err(|_| self.failed("read a commit of", &said))
    }

    fn push_of(&self, _commit: &Commit) -> std::process::Command {
        let mut push = self.git();
        let there = self.there.as_ref().map_or("", Commit::as_str);
        push.args(["push", "--quiet", "--no-verify"]);
        push.args(self.is_path.then_some(RECEIVE_PACK));
        push.arg(format!("--force-with-lease={}:{there}", self.name()));
        push
    }

    /// Moves the branch from where it was seen last, and from nowhere else.
    fn push(&mut self, commit: &Commit) -> Result<(), FleetError> {
        let mut pauses = PAUSES.iter();
        loop {
            let mut push = self.push_of(commit);
            push.arg(&self.remote).arg(self.refspec(commit));
            let said = self.run(push, None)?;
            if said.is_success {
                return Ok(());
            }
            let there = match self.refs() {
                Ok(refs) => refs.into_iter().find(|(name, _)| *name == self.name()).map(|(_, id)| id),
                Err(error) => match pauses.next() {
                    Some(pause) => {
                        self.halting.pause(*pause)?;
                        continue;
                    }
                    None => return Err(error.into()),
                },
            };
            match there {
                // The answer was lost, not the push.
                Some(there) if there == *commit => return Ok(()),
                there if there == self.there => {
                    let (repository, why) = (self.branch.repository.clone(), said.why);
                    return Err(WorkspaceError::Refused { repository, why }.into());
                }
                Some(there) => {
                    self.fetch(&there)?;
                    self.check_ours(&there)?;
                    self.there = Some(there);
                }
                None => self.there = None,
            }
        }
    }

    /// Gives the agent a repository of its own in the directory, with the history of the branch. What it does there stays there.
    pub(super) fn give_history(&self, files: &Path) -> Result<(), WorkspaceError> {
        let place = files.parent().unwrap_or(files);
        let unfinished = place.join("history");
        remove_directory(&unfinished).map_err(disk("remove", &unfinished))?;
        let branch = format!("uwf/{}", self.lease.thread);
        let mirror = format!("file://{}", self.mirror.display());
        let fetched = format!("{}:refs/heads/{branch}", self.kept_as());
        let head = format!("refs/heads/{branch}");
        let commands: [&[&str]; 5] = [
            &["init", "--quiet", "--bare", "--template="],
            &["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", DEPTH, &mirror, &fetched],
            &["symbolic-ref", "HEAD", &head],
            &["read-tree", self.at.as_str()],
            &["config", "core.bare", "false"],
        ];
        for args in commands {
            let mut git = command(&self.env, &unfinished);
            git.args(args);
            self.expect("give an agent the history of", self.run(git, None)?)?;
        }
        let git = files.join(".git");
        remove_directory(&git).map_err(disk("remove", &git))?;
        std::fs::rename(&unfinished, &git).map_err(disk("make the directory", &git))
    }
}
