//! Patches, held against the program that takes them.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::diff::diff;
use crate::fixture::{Fixture, listing};
use crate::restore::checkout;

/// The patch of what is done to a workspace, and what it says in short.
fn patched(f: &mut Fixture, act: impl FnOnce(&Fixture)) -> String {
    let before = f.tree();
    act(f);
    let after = f.tree();
    let mut out = Vec::new();
    patch(&f.store, &diff(&f.store, &before, &after).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Git with nothing of a person's.
fn git(dir: &Path, arguments: &[&OsStr]) -> std::process::Output {
    let mut git = Command::new("git");
    git.current_dir(dir).args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", dir);
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap());
    git.output().unwrap()
}

/// Has git make the second tree from the first, and gives what it made and what it should be.
fn applied(f: &Fixture, a: &uwf_store::Hash, b: &uwf_store::Hash) -> (Shown, Shown) {
    let [from, to] = ["from", "to"].map(|name| f.place.path().join(name));
    for (dir, tree) in [(&from, a), (&to, b)] {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir(dir).unwrap();
        checkout(&f.store, tree, dir).unwrap();
    }
    let mut out = Vec::new();
    let changes = diff(&f.store, a, b).unwrap();
    patch(&f.store, &changes, &mut out).unwrap();
    let file = f.place.path().join("patch");
    fs::write(&file, &out).unwrap();
    if !out.is_empty() {
        let output = git(&from, &["apply".as_ref(), "--whitespace=nowarn".as_ref(), file.as_ref()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&out));
    }
    (as_git_sees(&from), as_git_sees(&to))
}

type Shown = std::collections::BTreeMap<PathBuf, Vec<u8>>;

/// Files and symlinks, and of permissions whether the owner may run it.
fn as_git_sees(dir: &Path) -> Shown {
    let all = listing(dir).into_iter().filter(|(_, shown)| !shown.starts_with(b"directory"));
    all.map(|(path, shown)| match shown.strip_prefix(b"file ") {
        Some(rest) => {
            (path, [if (rest[0] - b'0') & 1 == 1 { "run " } else { "file " }.as_bytes(), &rest[4..]].concat())
        }
        None => (path, shown),
    })
    .collect()
}

/// What git says of the same.
const EXPECTED: &str = r#"diff --git a/bin b/bin
new file mode 100644
index 0000000000000000000000000000000000000000..c86626638e0bc8cf47ca49bb1525b40e9737ee64
GIT binary patch
literal 3
Kcmd;P*#iXM00`Lt

literal 0
HcmV?d00001

diff --git a/empty b/empty
new file mode 100644
index 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
diff --git a/gone b/gone
deleted file mode 100644
index b023018cabc396e7692c70bbf5784a93d3f738ab..0000000000000000000000000000000000000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/link b/link
new file mode 120000
index 0000000000000000000000000000000000000000..f3a34851d44d6b97c90fbb99dd3d18c261b9a237
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+text
\ No newline at end of file
diff --git a/mode b/mode
old mode 100644
new mode 100755
diff --git a/old name "b/n\303\244w"
similarity index 100%
rename from old name
rename to "n\303\244w"
diff --git a/text b/text
index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402..b91cfb28f42aa3bd8bcd5db4ac2ec6ef4c7f3a3b 100644
--- a/text
+++ b/text
@@ -1,3 +1,3 @@
 one
-two
-three
+2
+three
\ No newline at end of file
"#;

#[test]
fn a_patch_reads_as_git_writes_it() {
    let mut f = Fixture::new();
    f.write("text", "one\ntwo\nthree\n");
    f.write("mode", "x");
    f.write("gone", "bye\n");
    f.write("old name", "moved\n");
    let patch = patched(&mut f, |f| {
        f.write("text", "one\n2\nthree");
        fs::set_permissions(f.path("mode"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(f.path("gone")).unwrap();
        fs::rename(f.path("old name"), f.path("n\u{e4}w")).unwrap();
        f.write("bin", [0, 1, 2]);
        f.write("empty", "");
        symlink("text", f.path("link")).unwrap();
    });
    // What is compressed is the compressor's affair, and the names of contents are checked by git below.
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("index ") && !line.starts_with("Kc"));
        lines.filter(|line| !line.starts_with("Hc")).map(str::to_owned).collect()
    };
    assert_eq!(plain(&patch), plain(EXPECTED));
    for name in ["e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "f3a34851d44d6b97c90fbb99dd3d18c261b9a237"] {
        assert!(patch.contains(name), "{patch}");
    }
}

#[test]
fn names_and_numbers_are_told() {
    let mut f = Fixture::new();
    f.write("a", "1\n2\n3\n");
    f.write("m/old", "moved\n");
    f.write("type", "line\n");
    let before = f.tree();
    f.write("a", "1\n2\nthree\nfour\n");
    f.write("d/\u{e9}", [0; 10]);
    fs::rename(f.path("m/old"), f.path("new")).unwrap();
    fs::remove_file(f.path("type")).unwrap();
    symlink("a", f.path("type")).unwrap();
    fs::set_permissions(f.path("m"), Permissions::from_mode(0o700)).unwrap();
    let after = f.tree();
    let changes = diff(&f.store, &before, &after).unwrap();
    let mut names = Vec::new();
    name_only(&changes, &mut names).unwrap();
    assert_eq!(String::from_utf8(names).unwrap(), "a\n\"d/\\303\\251\"\nnew\ntype\n");
    let mut shown = Vec::new();
    write_stat(&stat(&f.store, &changes).unwrap(), 40, &mut shown).unwrap();
    let expected = [
        " a             |   3 ++-",
        " \"d/\\303\\251\"  | Bin 0 -> 10 bytes",
        " m/old => new  |   0",
        " type          |   2 +-",
        " 4 files changed, 3 insertions(+), 2 deletions(-)",
    ];
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.lines().map(squeezed).collect::<Vec<_>>(), expected.map(squeezed));
    let long =
        FileStat { path: "x".into(), renamed_from: None, insertions: 1000, deletions: 1, binary: None };
    let mut bar = Vec::new();
    write_stat(&[long], 10, &mut bar).unwrap();
    let expected = " x | 1001 +++++++++-\n 1 file changed, 1000 insertions(+), 1 deletion(-)\n";
    assert_eq!(String::from_utf8(bar).unwrap(), expected);
}

/// Two long texts that have nothing in common take no time worth naming.
#[test]
fn long_texts_are_compared_in_bounded_time() {
    let [old, new] = ["old", "new"]
        .map(|word| (0..200_000).map(|n| format!("{word} {}\n", n * 7919 % 100_003)).collect::<String>());
    let begun = std::time::Instant::now();
    let (insertions, deletions) = LineDiff::of(old.as_bytes(), new.as_bytes()).count();
    assert_eq!((insertions, deletions), (200_000, 200_000));
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn a_patch_that_nobody_reads_is_an_error() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut f = Fixture::new();
    let before = f.tree();
    f.write("x", "x");
    let after = f.tree();
    let changes = diff(&f.store, &before, &after).unwrap();
    assert!(matches!(patch(&f.store, &changes, &mut Closed), Err(SnapshotError::Output(_))));
}

/// What is under a name in a random tree.
#[derive(Debug, Clone)]
enum Thing {
    Nothing,
    Text(Vec<u8>, bool),
    Binary(u8, usize),
    Symlink(u8),
    Directory(Vec<Thing>),
}

const NAMES: [&str; 5] = ["plain", "with space", "qu\"ote\\", "\u{e4}\u{1F600}", "tab\tnewline\n"];

fn thing() -> impl Strategy<Value = Thing> {
    let line = prop_oneof![
        Just("a\n"),
        Just("b\n"),
        Just("\n"),
        Just("c\r\n"),
        Just("- d\n"),
        Just("\u{e9} \t\n"),
        Just("e")
    ];
    let text = prop::collection::vec(line, 0..30).prop_map(|lines| lines.concat().into_bytes());
    let leaf = prop_oneof![
        2 => Just(Thing::Nothing),
        4 => (text, any::<bool>()).prop_map(|(text, run)| Thing::Text(text, run)),
        1 => (any::<u8>(), 1..500usize).prop_map(|(byte, length)| Thing::Binary(byte, length)),
        1 => any::<u8>().prop_map(Thing::Symlink),
    ];
    leaf.prop_recursive(2, 12, 5, |inner| prop::collection::vec(inner, 1..5).prop_map(Thing::Directory))
}

fn build(dir: &Path, things: &[Thing]) {
    for (name, thing) in NAMES.iter().zip(things) {
        let path = dir.join(name);
        match thing {
            Thing::Nothing => {}
            Thing::Text(text, run) => {
                fs::write(&path, text).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(if *run { 0o755 } else { 0o644 })).unwrap();
            }
            Thing::Binary(byte, length) => {
                let content: Vec<u8> = (0..*length).map(|n| byte.wrapping_mul(n as u8)).chain([0]).collect();
                fs::write(&path, content).unwrap();
            }
            // To nowhere: git looks through a symlink that a directory shall replace.
            Thing::Symlink(target) => symlink(format!("no where/{target}"), &path).unwrap(),
            Thing::Directory(things) => {
                fs::create_dir(&path).unwrap();
                build(&path, things);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn git_makes_the_one_tree_from_the_other(
        a in prop::collection::vec(thing(), 0..5),
        b in prop::collection::vec(thing(), 0..5),
    ) {
        let mut f = Fixture::new();
        let [a, b] = [a, b].map(|things| {
            fs::remove_dir_all(f.dir()).unwrap();
            fs::create_dir(f.dir()).unwrap();
            build(&f.dir(), &things);
            f.tree()
        });
        let (made, wanted) = applied(&f, &a, &b);
        prop_assert_eq!(made, wanted);
    }
}
