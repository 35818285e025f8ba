//! Copies of git's configuration that commands change instead of the real files: what they may set is applied, the rest
//! is dropped. So a program that a command names does not stand in the real file, not for a moment, unless somebody else put
//! another file in its place meanwhile, as git does: then commands see that one, and it is watched like all others.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::dir::{Content, Dir};
use super::report::GitReport;
use super::repositories::FileKind;
use super::{put, read};

/// What may become of a file that commands changed.
pub(super) trait Rules {
    /// What a file of this text may become, and what is taken out of it, in words.
    fn allowed(&self, file: &Path, kind: FileKind, text: &[u8]) -> Option<(Content, Vec<String>)>;

    /// The path as it is told.
    fn shown(&self, path: &Path) -> String;
}

/// One file and its copy.
#[derive(Debug)]
struct Pair {
    real: PathBuf,
    copy: PathBuf,
    /// What the real file and the copy held when they were last the same.
    same: Content,
}

/// All copies of a run.
#[derive(Debug, Default)]
pub(super) struct ConfigCopies(Vec<Pair>);

impl ConfigCopies {
    /// Each file with its copy, which becomes what the file is now.
    pub(super) fn new(files: &[(PathBuf, PathBuf)]) -> ConfigCopies {
        let pair = |(real, copy): &(PathBuf, PathBuf)| {
            let same = read(real);
            refresh(copy, &same);
            Pair { real: real.clone(), copy: copy.clone(), same }
        };
        ConfigCopies(files.iter().map(pair).collect())
    }

    /// Applies to the real files what commands set in the copies, without what makes git run programs. A file that somebody
    /// else has changed meanwhile stays as it is.
    pub(super) fn apply_changes(&mut self, rules: &dyn Rules, report: &mut GitReport) {
        for pair in &mut self.0 {
            let (is, real) = (read(&pair.copy), read(&pair.real));
            let wanted = match &is {
                _ if is == pair.same => None,
                Content::File(text, _) => rules.allowed(&pair.real, FileKind::Config, text),
                Content::Missing => None,
                _ => {
                    report.record(&format!("what cannot be looked at in {}", rules.shown(&pair.real)), None);
                    None
                }
            };
            if let Some((content, undone)) = wanted {
                undone.iter().for_each(|what| report.record(what, None));
                pair.apply(&content, &real, report);
            }
            let now = read(&pair.real);
            if is != now {
                refresh(&pair.copy, &now);
            }
            pair.same = now;
        }
    }

    /// What people changed in the files since is what commands begin with.
    pub(super) fn renew(&mut self) {
        for pair in &mut self.0 {
            let real = read(&pair.real);
            if real != pair.same && read(&pair.copy) == pair.same {
                refresh(&pair.copy, &real);
                pair.same = real;
            }
        }
    }

    /// What is meant by a link to `target`: a copy that was itself copied, by its link.
    pub(super) fn meant_by(&self, target: &Path) -> Option<&Content> {
        self.0.iter().find(|pair| pair.copy == target).map(|pair| &pair.same)
    }
}

/// A copy becomes what its file is; of what is no file it stays what it was.
fn refresh(copy: &Path, content: &Content) {
    if let Content::File(..) = content {
        // A copy that is old is told as such when something of it is to be applied.
        let _ = put(copy, content);
    }
}

impl Pair {
    /// Into the file itself: in its place stands a link to the copy, for commands, and another file would take that place.
    fn write(&self, (text, mode): (&[u8], u32)) -> io::Result<()> {
        let dir = self.real.parent().and_then(Dir::open);
        let (dir, name) = dir.zip(self.real.file_name()).ok_or(io::ErrorKind::NotFound)?;
        let (mode, mut lock) = (Mode::from_raw_mode(mode), name.to_owned());
        lock.push(".lock");
        // Git's own lock: nobody else writes meanwhile, and whatever happens the whole text is in one of both.
        dir.write_new(&lock, text, mode)?;
        let written = dir.overwrite(name, text, mode);
        if written.is_ok() {
            dir.remove(&lock)?;
        }
        written
    }

    fn apply(&self, content: &Content, real: &Content, report: &mut GitReport) {
        if *real != self.same {
            let what = format!("what a command set in {}", self.real.display());
            return report.note(&format!("{what} was dropped: somebody else changed that file meanwhile"));
        }
        // The mode is the file's own.
        let (Content::File(text, _), Content::File(_, mode)) = (content, real) else { return };
        if let Err(error) = self.write((text, *mode)) {
            report.note(&format!("what a command set in {} was dropped: {error}", self.real.display()));
        }
    }
}
