//! Any sequence of changes, undone and done again.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::diff::diff;
use crate::fixture::{Fixture, listing};

/// Something that a command does to a workspace; what cannot be done is left.
#[derive(Debug, Clone)]
enum Act {
    Write(u8, u8, usize),
    Remove(u8),
    Rename(u8, u8),
    Mode(u8, u32),
    Symlink(u8, u8),
    Directory(u8),
}

fn act() -> impl Strategy<Value = Act> {
    let length = prop_oneof![8 => 0..200usize, 1 => (1usize << 20) - 2..(2 << 20) + 2];
    let mode = prop_oneof![Just(0o644), Just(0o755), Just(0o600), Just(0o500), Just(0o711), Just(0o777)];
    prop_oneof![
        4 => (any::<u8>(), any::<u8>(), length).prop_map(|(path, byte, length)| Act::Write(path, byte, length)),
        2 => any::<u8>().prop_map(Act::Remove),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| Act::Rename(from, to)),
        2 => (any::<u8>(), mode).prop_map(|(path, mode)| Act::Mode(path, mode)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(path, target)| Act::Symlink(path, target)),
        1 => any::<u8>().prop_map(Act::Directory),
    ]
}

/// Few paths, so that they meet: files and directories of the same names at several depths.
fn path(number: u8) -> PathBuf {
    let names = ["a", "b", "c\\\u{e4}"];
    let depth = usize::from(number >> 6).max(1);
    (0..depth).map(|level| names[usize::from(number >> (2 * level)) % 3]).collect()
}

fn perform(f: &Fixture, act: &Act) {
    let at = |number: u8| f.dir().join(path(number));
    let above = |number: u8| fs::create_dir_all(at(number).parent().unwrap());
    let remove = |number: u8| match fs::symlink_metadata(at(number)) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(at(number)),
        _ => fs::remove_file(at(number)),
    };
    let _may_fail = match act {
        Act::Write(number, byte, length) => {
            let _ = above(*number);
            let mut content = vec![*byte; *length];
            // Some are text, some are not; some pieces are alike.
            content.iter_mut().step_by(7).for_each(|byte| *byte = byte.wrapping_add(b'a'));
            fs::write(at(*number), content)
        }
        Act::Remove(number) => remove(*number),
        Act::Rename(from, to) => {
            let _ = above(*to);
            fs::rename(at(*from), at(*to))
        }
        Act::Mode(number, mode) => match fs::symlink_metadata(at(*number)) {
            Ok(found) if !found.is_symlink() => {
                fs::set_permissions(at(*number), Permissions::from_mode(*mode))
            }
            _ => Ok(()),
        },
        Act::Symlink(number, target) => {
            let _ = remove(*number);
            let _ = above(*number);
            symlink(path(*target), at(*number))
        }
        Act::Directory(number) => fs::create_dir_all(at(*number)),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn undo_and_redo_restore_byte_for_byte(steps in prop::collection::vec(prop::collection::vec(act(), 1..6), 1..6)) {
        let mut f = Fixture::new();
        let mut states = vec![(f.tree(), listing(&f.dir()))];
        for acts in &steps {
            acts.iter().for_each(|act| perform(&f, act));
            let snapshot = f.capture();
            prop_assert_eq!(&snapshot.notices, &[]);
            states.push((snapshot.tree, listing(&f.dir())));
        }
        let pairs: Vec<_> = states.windows(2).collect();
        let back = pairs.iter().rev().map(|pair| (&pair[1], &pair[0]));
        let forth = pairs.iter().map(|pair| (&pair[0], &pair[1]));
        for (from, to) in back.chain(forth) {
            let changes = diff(&f.store, &from.0, &to.0).unwrap();
            let restored = restore(&f.store, &changes, &f.dir(), false).unwrap();
            prop_assert_eq!(&restored.conflicts, &[]);
            prop_assert_eq!(&restored.kept, &Vec::<PathBuf>::new());
            prop_assert_eq!(restored.already, 0);
            prop_assert_eq!(&listing(&f.dir()), &to.1);
            prop_assert_eq!(f.tree(), to.0);
            let again = restore(&f.store, &changes, &f.dir(), false).unwrap();
            prop_assert_eq!((again.restored, again.conflicts), (0, vec![]));
        }
        let (first, last) = (&states[0], &states[states.len() - 1]);
        let changes = diff(&f.store, &last.0, &first.0).unwrap();
        restore(&f.store, &changes, &f.dir(), false).unwrap();
        prop_assert_eq!(&listing(&f.dir()), &first.1);
        let out = f.place.path().join("out");
        fs::create_dir(&out).unwrap();
        checkout(&f.store, &last.0, &out).unwrap();
        prop_assert_eq!(&listing(&out), &last.1);
    }
}
