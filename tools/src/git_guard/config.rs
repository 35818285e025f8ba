//! Git's configuration files as text: what is set where, and how to take back what makes git run programs.
//!
//! Pure. Read byte by byte as git's own `config.c` does: sections, subsections, quotes, escapes, continued lines. Where
//! this reader is stricter than git, the caller puts the whole file back: never the other way round.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::sequencer;
use crate::words::Words;

/// One variable of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigEntry {
    /// In lower case.
    section: String,
    subsection: Option<String>,
    /// In lower case.
    name: String,
    /// `None` for a bare name, which means true.
    value: Option<Vec<u8>>,
    /// Its bytes in the file: the whole line, where it has one for itself.
    range: Range<usize>,
}

impl ConfigEntry {
    /// `section.subsection.name`, as git shows it.
    pub(crate) fn key(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }

    /// The section it stands in, in lower case.
    pub(crate) fn section(&self) -> &str {
        &self.section
    }

    /// The entry with a header of its own, as git reads it.
    pub(crate) fn written(&self) -> String {
        let escape = |value: &String| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let value = self.value.as_ref().map(|value| escape(&String::from_utf8_lossy(value).into_owned()));
        let value = value.map(|value| format!(" = \"{value}\"")).unwrap_or_default();
        format!("{}{}{value}\n", self.header(), self.name)
    }

    /// The file that this entry includes.
    pub(crate) fn included(&self) -> Option<String> {
        let includes = ["include", "includeif"].contains(&self.section.as_str()) && self.name == "path";
        self.value.as_ref().filter(|_| includes).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// Whether git runs a program that the value names, or reads more configuration because of it.
    pub(crate) fn runs_programs(&self) -> bool {
        const SECTIONS: Words = Words(
            "alias browser credential difftool filter guitool hook include includeif instaweb man mergetool pager \
             protocol sendemail trailer web",
        );
        /// `core.worktree` is no program, but git would write tracked files there: a .bashrc into a home. A `tool` of diff
        /// or merge is a script below git's own, whose name may lead elsewhere. Lines of the instruction format become
        /// steps of a rebase.
        const NAMES: Words = Words(
            "core.attributesfile core.fsmonitor core.gitproxy core.hookspath core.worktree diff.external \
             diff.guitool diff.tool help.browser imap.tunnel init.templatedir interactive.difffilter lfs.args \
             lfs.clean lfs.path lfs.smudge lfs.standalonetransferagent merge.guitool merge.tool \
             rebase.instructionformat remote.receivepack remote.uploadpack remote.vcs",
        );
        /// How such names end, whatever the section: gpg.program, core.sshCommand, merge.x.driver, core.editor …
        const ENDS: Words = Words("askpass cmd command driver editor hook pager prog program textconv");
        let is_command = || self.value.as_ref().is_some_and(|value| value.starts_with(b"!"));
        SECTIONS.contains(&self.section)
            || NAMES.contains(format!("{}.{}", self.section, self.name))
            || ENDS.iter().any(|end| self.name.ends_with(end))
            || (self.section == "submodule" && is_command())
            || self.is_strategy()
    }

    /// In `sequencer/opts`: the program that a cherry-pick goes on with, but for git's own.
    fn is_strategy(&self) -> bool {
        let is_own = || self.value.as_ref().is_some_and(|value| sequencer::is_own_strategy(value));
        self.section == "options" && self.name == "strategy" && !is_own()
    }

    fn header(&self) -> String {
        let escaped = |text: &String| text.replace('\\', "\\\\").replace('"', "\\\"");
        match &self.subsection {
            Some(subsection) => format!("[{} \"{}\"]\n\t", self.section, escaped(subsection)),
            None => format!("[{}]\n\t", self.section),
        }
    }
}

/// A file with what was taken back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undone {
    pub(crate) text: Vec<u8>,
    /// The variables, each once, in the order of their names.
    pub(crate) keys: Vec<String>,
}

/// What `after` must become so that git runs the programs that `before` names and no others; `None` when it is so.
/// Everything else that is set in `after` stands. Text that cannot be read gives way to `before` as a whole.
pub(crate) fn undo(before: &[u8], after: &[u8]) -> Option<Undone> {
    if before == after {
        return None;
    }
    let was = parse(before).unwrap_or_default();
    let Some(is) = parse(after) else {
        return Some(Undone { text: before.to_owned(), keys: vec!["what git cannot read".to_owned()] });
    };
    let (programs_before, programs_after) = (programs(&was), programs(&is));
    let all = programs_before.keys().chain(programs_after.keys());
    let changed = |key: &&String| programs_before.get(*key) != programs_after.get(*key);
    let keys: BTreeSet<String> = all.filter(changed).cloned().collect();
    if keys.is_empty() {
        return None;
    }
    let is_changed = |entry: &&ConfigEntry| entry.runs_programs() && keys.contains(&entry.key());
    let mut text = without(after, is.iter().filter(is_changed));
    was.iter().filter(is_changed).for_each(|entry| append(&mut text, entry, before));
    // Nothing else had changed, or the result is not what was meant: the very bytes of before.
    let is = parse(&text).unwrap_or_default();
    if programs(&is) != programs_before || others(&is) == others(&was) {
        text = before.to_owned();
    }
    Some(Undone { text, keys: keys.into_iter().collect() })
}

/// `text` less some of its variables, in order.
fn without<'a>(text: &[u8], entries: impl Iterator<Item = &'a ConfigEntry>) -> Vec<u8> {
    let mut left = Vec::with_capacity(text.len());
    let mut kept = 0;
    for entry in entries {
        left.extend_from_slice(&text[kept..entry.range.start]);
        kept = entry.range.end;
    }
    left.extend_from_slice(&text[kept..]);
    left
}

/// Puts a variable of another text, under a header of its own, at the end of this one.
fn append(text: &mut Vec<u8>, entry: &ConfigEntry, of: &[u8]) {
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(entry.header().as_bytes());
    text.extend_from_slice(of[entry.range.clone()].trim_ascii());
    text.push(b'\n');
}

/// What makes git run programs: the values of each variable, in order.
fn programs(entries: &[ConfigEntry]) -> BTreeMap<String, Vec<Setting<'_>>> {
    let mut programs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.runs_programs()) {
        let spelling = (entry.section.as_str(), entry.subsection.as_deref(), entry.name.as_str());
        programs.entry(entry.key()).or_default().push((spelling, entry.value.as_deref()));
    }
    programs
}

/// A spelling and a value.
type Setting<'a> = (Spelling<'a>, Option<&'a [u8]>);

/// Section, subsection and name: of two variables that are shown alike, one may have a dot where the other has a part.
type Spelling<'a> = (&'a str, Option<&'a str>, &'a str);

/// Whether both files make git run the same programs.
pub(crate) fn run_the_same(one: &[u8], other: &[u8]) -> bool {
    undo(one, other).is_none()
}

/// All that git runs no program for, in order.
fn others(entries: &[ConfigEntry]) -> Vec<(String, Option<&[u8]>)> {
    let others = entries.iter().filter(|entry| !entry.runs_programs());
    others.map(|entry| (entry.key(), entry.value.as_deref())).collect()
}

/// The variables of a file, in order; `None` when it is not what git writes.
pub(crate) fn parse(text: &[u8]) -> Option<Vec<ConfigEntry>> {
    let at = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut reader = Reader { text, at };
    let (mut section, mut subsection) = (String::new(), None);
    let mut entries = Vec::new();
    loop {
        reader.skip_while(|byte| byte.is_ascii_whitespace());
        match reader.peek() {
            None => return Some(entries),
            Some(b'#' | b';') => reader.skip_while(|byte| byte != b'\n'),
            Some(b'[') => (section, subsection) = reader.header()?,
            Some(byte) if byte.is_ascii_alphabetic() => {
                let begin = reader.at;
                let (name, value) = reader.variable()?;
                let range = line_of(text, begin..reader.at);
                entries.push(ConfigEntry {
                    section: section.clone(),
                    subsection: subsection.clone(),
                    name,
                    value,
                    range,
                });
            }
            Some(_) => return None,
        }
    }
}

/// The whole of the line where nothing but white space is before the variable; else without its line end, which
/// belongs to what is before.
fn line_of(text: &[u8], range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let alone = text[start..range.start].iter().all(u8::is_ascii_whitespace);
    let end = if text[..range.end].ends_with(b"\n") && !alone { range.end - 1 } else { range.end };
    if alone { start..end } else { range.start..end }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The next byte, CR LF as one; the end counts as a line end.
    fn next(&mut self) -> u8 {
        let byte = self.peek().unwrap_or(b'\n');
        self.at = (self.at + 1).min(self.text.len());
        if byte == b'\r' && self.peek() == Some(b'\n') {
            return self.next();
        }
        byte
    }

    fn skip_while(&mut self, skip: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&skip) {
            self.at += 1;
        }
    }

    /// `[section]`, `[section "subsection"]`, or the old `[section.subsection]`.
    fn header(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let mut name = String::new();
        loop {
            match self.next() {
                b']' => break,
                b' ' | b'\t' => {
                    let quoted = self.subsection()?;
                    // `[a.b "c"]` is the subsection `b.c` of `a`.
                    return Some(match name.split_once('.') {
                        Some((section, more)) => (section.to_owned(), Some(format!("{more}.{quoted}"))),
                        None => (name, Some(quoted)),
                    });
                }
                byte if byte.is_ascii_alphanumeric() || b"-.".contains(&byte) => {
                    name.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => return None,
            }
        }
        let old = name.split_once('.').map(|(section, sub)| (section.to_owned(), Some(sub.to_owned())));
        Some(old.unwrap_or((name, None)))
    }

    fn subsection(&mut self) -> Option<String> {
        self.skip_while(|byte| byte == b' ' || byte == b'\t');
        let mut name = Vec::new();
        if self.next() != b'"' {
            return None;
        }
        loop {
            let byte = match self.next() {
                b'"' => break,
                b'\\' => self.next(),
                byte => byte,
            };
            if byte == b'\n' {
                return None;
            }
            name.push(byte);
        }
        (self.next() == b']').then(|| String::from_utf8_lossy(&name).into_owned())
    }

    /// `name`, or `name = value`, to the end of its last line.
    fn variable(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let begin = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let name = String::from_utf8_lossy(&self.text[begin..self.at]).to_ascii_lowercase();
        self.skip_while(|byte| byte == b' ' || byte == b'\t');
        match self.next() {
            b'\n' => Some((name, None)),
            b'=' => Some((name, Some(self.value()?))),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut kept) = (Vec::new(), 0);
        let (mut quoted, mut comment) = (false, false);
        loop {
            let byte = match self.next() {
                b'\n' if quoted => return None,
                b'\n' => break,
                _ if comment => continue,
                b'#' | b';' if !quoted => {
                    comment = true;
                    continue;
                }
                b'"' => {
                    quoted = !quoted;
                    continue;
                }
                b'\\' => match self.next() {
                    b'\n' => continue,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'b' => 8,
                    byte @ (b'\\' | b'"') => byte,
                    _ => return None,
                },
                byte if byte.is_ascii_whitespace() && !quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                byte => byte,
            };
            value.push(byte);
            kept = value.len();
        }
        value.truncate(kept);
        Some(value)
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
