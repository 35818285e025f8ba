//! Any sequence of steps, undone from the last to the first and done again, byte for byte.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::command_line::CommandLine;
use super::workspace::{Workspace, detail};

/// Something that a tool or a command does to a workspace; what cannot be done is left.
#[derive(Debug, Clone)]
enum Act {
    Write(u8, Vec<u8>),
    Large(u8, usize),
    Remove(u8),
    Rename(u8, u8),
    Mode(u8, u32),
    Symlink(u8, u8),
    Directory(u8),
}

fn act() -> impl Strategy<Value = Act> {
    let text = prop::collection::vec(prop_oneof![Just(b'\n'), b'a'..b'e'], 0..60);
    let binary = prop::collection::vec(any::<u8>(), 0..60);
    let content = prop_oneof![3 => text, 1 => binary];
    let mode = prop_oneof![Just(0o644), Just(0o755), Just(0o600), Just(0o711), Just(0o777)];
    prop_oneof![
        6 => (any::<u8>(), content).prop_map(|(path, content)| Act::Write(path, content)),
        1 => (any::<u8>(), (1usize << 20) + 1..(1 << 20) + 99).prop_map(|(path, length)| Act::Large(path, length)),
        2 => any::<u8>().prop_map(Act::Remove),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| Act::Rename(from, to)),
        2 => (any::<u8>(), mode).prop_map(|(path, mode)| Act::Mode(path, mode)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(path, target)| Act::Symlink(path, target)),
        1 => any::<u8>().prop_map(Act::Directory),
    ]
}

/// Few paths, so that they meet; names that are no UTF-8, have a backslash, a blank or a new line.
fn path(number: u8) -> PathBuf {
    let names: [&[u8]; 4] = [b"a", b"b \\xff", b"\xff\xfe", "ä\n".as_bytes()];
    let depth = usize::from(number >> 6).clamp(1, 2);
    (0..depth)
        .map(|level| OsString::from_vec(names[usize::from(number >> (2 * level)) % 4].to_vec()))
        .collect()
}

fn perform(dir: &Path, act: &Act) -> io::Result<()> {
    let at = |number: u8| dir.join(path(number));
    let above = |number: u8| fs::create_dir_all(at(number).parent().unwrap());
    let remove = |number: u8| match fs::symlink_metadata(at(number)) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(at(number)),
        _ => fs::remove_file(at(number)),
    };
    let is_link = |number: u8| fs::symlink_metadata(at(number)).is_ok_and(|found| found.is_symlink());
    match act {
        Act::Write(number, _) | Act::Large(number, _) if is_link(*number) => Ok(()),
        Act::Write(number, content) => above(*number).and_then(|()| fs::write(at(*number), content)),
        Act::Large(number, length) => {
            let content: Vec<u8> = (0..*length).map(|at| (at % 251) as u8).collect();
            above(*number).and_then(|()| fs::write(at(*number), content))
        }
        Act::Remove(number) => remove(*number),
        Act::Rename(from, to) => above(*to).and_then(|()| fs::rename(at(*from), at(*to))),
        Act::Mode(number, _) if is_link(*number) => Ok(()),
        Act::Mode(number, mode) => fs::set_permissions(at(*number), Permissions::from_mode(*mode)),
        Act::Symlink(number, target) => {
            remove(*number).ok();
            above(*number).and_then(|()| symlink(path(*target), at(*number)))
        }
        Act::Directory(number) => fs::create_dir_all(at(*number)),
    }
}

/// Everything in a directory: what it is, its permissions and its content.
pub(super) fn listing(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = match metadata.file_type() {
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_vec(),
                kind if kind.is_dir() => Vec::new(),
                _ => fs::read(&path).unwrap(),
            };
            if metadata.is_dir() {
                open.push(path.clone());
            }
            let relative = path.strip_prefix(dir).unwrap().to_owned();
            all.insert(relative, (metadata.permissions().mode(), content));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn undo_and_redo_bring_back_every_byte(steps in prop::collection::vec(prop::collection::vec(act(), 1..7), 1..5)) {
        let mut at = Workspace::new();
        let thread = at.place.flow_thread();
        let mut states = vec![listing(&at.dir())];
        let mut last = at.now();
        for acts in &steps {
            for act in acts {
                perform(&at.dir(), act).ok();
            }
            let now = at.now();
            // A step that changed nothing is none to be undone.
            if now.tree != last.tree {
                at.step(&thread, &detail(&[], Vec::new(), [last, now]));
                states.push(listing(&at.dir()));
                last = now;
            }
        }
        for (number, before) in states.iter().enumerate().rev().skip(1) {
            let ran = at.place.uwf(&["undo", &format!("{thread}:{}", number + 1)]);
            prop_assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{:?}", ran);
            prop_assert_eq!(&listing(&at.dir()), before);
        }
        for after in states.iter().skip(1) {
            let ran = at.place.uwf(&["redo", thread.as_str()]);
            prop_assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{:?}", ran);
            prop_assert_eq!(&listing(&at.dir()), after);
        }
        prop_assert_eq!(at.place.uwf(&["redo", thread.as_str()]).exit, 1);
    }
}
