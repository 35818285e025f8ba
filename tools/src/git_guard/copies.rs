//! Copies of git's configuration that commands change instead of the real files: what they may set is taken over, the rest
//! is dropped. So a program that a command names never stands in the real file, not for a moment.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::dir::{Content, Dir};
use super::places::Kind;
use super::report::Report;
use super::start::Start;
use super::{put, read};

/// One file and its copy.
#[derive(Debug)]
struct Pair {
    real: PathBuf,
    copy: PathBuf,
    /// What both held when they were last the same.
    same: Content,
}

/// All copies of a run.
#[derive(Debug, Default)]
pub(super) struct Copies(Vec<Pair>);

impl Copies {
    /// Each file with its copy, which becomes what the file is now.
    pub(super) fn new(files: &[(PathBuf, PathBuf)]) -> Copies {
        let pair = |(real, copy): &(PathBuf, PathBuf)| {
            let same = read(real);
            // Where that fails, the copy is what it was when it was made.
            let _ = put(copy, &same);
            Pair { real: real.clone(), copy: copy.clone(), same }
        };
        Copies(files.iter().map(pair).collect())
    }

    /// Takes over what commands set in the copies, without what makes git run programs. A file that somebody else has
    /// changed meanwhile stays as it is.
    pub(super) fn take_over(&mut self, start: &Start, report: &mut Report) {
        for pair in &mut self.0 {
            let (is, real) = (read(&pair.copy), read(&pair.real));
            let wanted = match &is {
                _ if is == pair.same => None,
                Content::File(text, _) => start.allowed(&pair.real, Kind::Config, text),
                Content::Missing => None,
                _ => {
                    report.tell(&format!("what cannot be looked at in {}", start.shown(&pair.real)), None);
                    None
                }
            };
            if let Some((content, undone)) = wanted {
                undone.iter().for_each(|what| report.tell(what, None));
                pair.take_over(&content, &real, report);
            }
            let now = read(&pair.real);
            if is != now {
                let _ = put(&pair.copy, &now);
            }
            pair.same = now;
        }
    }

    /// What is meant by a link to `target`: a copy that was itself copied, by its link.
    pub(super) fn meant_by(&self, target: &Path) -> Option<&Content> {
        self.0.iter().find(|pair| pair.copy == target).map(|pair| &pair.same)
    }
}

impl Pair {
    /// Into the file itself: in its place stands a link to the copy, for commands, and another file would take that place.
    fn write(&self, (text, mode): (&[u8], u32)) -> io::Result<()> {
        let dir = self.real.parent().and_then(Dir::open);
        let (dir, name) = dir.zip(self.real.file_name()).ok_or(io::ErrorKind::NotFound)?;
        dir.overwrite(name, text, Mode::from_raw_mode(mode))
    }

    fn take_over(&self, content: &Content, real: &Content, report: &mut Report) {
        if *real != self.same {
            let what = format!("what a command set in {}", self.real.display());
            return report.told(&format!("{what} was dropped: somebody else changed that file meanwhile"));
        }
        // The mode is the file's own.
        let (Content::File(text, _), Content::File(_, mode)) = (content, real) else { return };
        if let Err(error) = self.write((text, *mode)) {
            report.told(&format!("what a command set in {} was dropped: {error}", self.real.display()));
        }
    }
}
