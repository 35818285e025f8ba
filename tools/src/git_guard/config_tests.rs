//! Tests of `config`.

use proptest::prelude::*;

use super::*;
use crate::scratch::git;

fn list(text: &str) -> Option<Vec<String>> {
    let entries = parse(text.as_bytes())?;
    Some(
        entries
            .iter()
            .map(|entry| match &entry.value {
                Some(value) => format!("{}\n{}", entry.key(), String::from_utf8_lossy(value)),
                None => entry.key(),
            })
            .collect(),
    )
}

/// What the real git reads; `None` when it refuses the file.
fn git_list(text: &str) -> Option<Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    std::fs::write(&file, text).unwrap();
    let output = git().args(["config", "--no-includes", "-z", "--list", "-f"]).arg(file).output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| list.split_terminator('\0').map(str::to_owned).collect())
}

const HARD: &[&str] = &[
    "\u{FEFF}[core]\n\tpager = less ; comment\n\teditor = \"vi -c '# no' \" # yes\n",
    "[core] pager = a\\\n b\n[Core]PAGER\n[a.B \"c.D\"] x=1\n[a.B]y = \"q\\\"\\\\\\t\" z  \n",
    "[alias \"sub \\\" sec\\\\\"]\r\n\tx = y\r\n\r\n[filter \"lfs\"]\r\nclean=1",
    "# only a comment\n;[core]\n",
    "[core]\n\tpager = trailing\\",
    "[core]\n pager = a   b c   \n editor=\n",
];

#[test]
fn read_as_git_reads_it() {
    for text in HARD {
        assert_eq!(list(text), git_list(text), "{text:?}");
    }
    // Until 2.45 git made a space of it.
    assert_eq!(list("[core]\n pager = a\t b\n"), Some(vec!["core.pager\na\t b".to_owned()]));
    for text in [
        "[core",
        "[co re]\nx=1\n",
        "[a \"b]\nx=1",
        "x y\n",
        "[a]\nx = \"open\n",
        "[a]\n1x = 1\n",
        "[a]\nx = \\q\n",
    ] {
        assert_eq!(list(text), None, "{text:?}");
        assert_eq!(git_list(text), None, "{text:?}");
    }
}

fn undone(before: &str, after: &str) -> (String, Vec<String>) {
    let Undone { text, keys } = undo(before.as_bytes(), after.as_bytes()).unwrap();
    (String::from_utf8(text).unwrap(), keys)
}

#[test]
fn only_what_runs_programs_is_taken_back() {
    let before = "[core]\n\tbare = false\n[merge \"x\"]\n\tdriver = a\n\tdriver = b\n\tname = n\n";
    let after =
        "[core] pager = evil\n\tbare = true\n[merge \"x\"]\n\tdriver = b\n\tname = m\n[alias]\n\tst = !rm\n";
    let (text, keys) = undone(before, after);
    assert_eq!(keys, ["alias.st", "core.pager", "merge.x.driver"]);
    insta::assert_snapshot!(text, @"
    [core] 
    	bare = true
    [merge \"x\"]
    	name = m
    [alias]
    [merge \"x\"]
    	driver = a
    [merge \"x\"]
    	driver = b
    ");
    assert!(undo(before.as_bytes(), text.as_bytes()).is_none());
    assert!(undo(b"[a]\nx=1\n", b"[a]\nx=2\n[submodule \"s\"]\nupdate = merge\n").is_none());
}

/// It takes no longer than to read them, however many there are.
#[test]
fn a_flood_of_variables_is_taken_back_at_once() {
    let mut flood = String::from("[user]\n\tname = me\n[alias]\n");
    (0..200_000).for_each(|n| flood.push_str(&format!("a{n} = !evil\n")));
    let (text, keys) = undone("[alias]\n\ta7 = mine\n", &flood);
    assert_eq!((text.matches("evil").count(), keys.len()), (0, 200_000));
    assert!(text.contains("name = me") && text.contains("a7 = mine"), "{text}");
}

#[test]
fn what_runs_programs_is_known_in_every_spelling() {
    for line in [
        "[core]\nhooksPath=x",
        "[CORE]\nFSMonitor=x",
        "[core]\nsshCommand=x",
        "[core]\nalternateRefsCommand=x",
        "[filter \"a\"]\nclean=x",
        "[filter.a]\nsmudge=x",
        "[filter.a \"b\"]\nprocess=x",
        "[include]\npath=x",
        "[includeIf \"gitdir:x\"]\npath=x",
        "[credential \"u\"]\nhelper=x",
        "[diff \"d\"]\ntextconv=x",
        "[diff \"d\"]\ncommand=x",
        "[diff]\nexternal=x",
        "[merge \"m\"]\ndriver=x",
        "[gpg]\nprogram=x",
        "[gpg \"ssh\"]\nprogram=x",
        "[gpg \"ssh\"]\ndefaultKeyCommand=x",
        "[core]\neditor=x",
        "[sequence]\neditor=x",
        "[submodule \"s\"]\nupdate=!x",
        "[remote \"o\"]\nuploadpack=x",
        "[uploadpack]\npackObjectsHook=x",
        "[protocol \"ext\"]\nallow=always",
        "[alias]\nx=y",
        "[trailer \"t\"]\ncmd=x",
        "[tar \"t\"]\ncommand=x",
        "[merge]\ntool=../x",
        "[diff]\nguitool=../x",
        "[rebase]\ninstructionFormat=%s%nexec x",
        "[options]\nstrategy=./x",
    ] {
        assert!(undo(b"", line.as_bytes()).is_some(), "{line}");
    }
    for line in [
        "[user]\nname=x",
        "[remote \"o\"]\nurl=x",
        "[branch \"b\"]\nmerge=x",
        "[core]\nautocrlf=x",
        "[pull]\nrebase=x",
        "[options]\nstrategy=ort\nstrategy-option=theirs",
    ] {
        assert!(undo(b"", line.as_bytes()).is_none(), "{line}");
    }
}

const SAFE: &[&str] =
    &["[user]\n\tname = a\n", "[remote \"o\"]\n\turl = u\n", "[core] bare = true\n", "# comment\n", "\n"];
const PROGRAMS: &[&str] = &[
    "[core]\n\tpager = p ; why\n",
    "[core] editor = \"e \\\\ x\"\n",
    "[alias]\n\ta = !x \\\n y\n",
    "[filter \"f\\\"\"]\nclean\n",
];

fn file() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = SAFE.iter().chain(PROGRAMS).copied().collect();
    prop::collection::vec(prop::sample::select(lines), 0..8).prop_map(|lines| lines.concat())
}

proptest! {
    /// Whatever was set before and after: what runs programs is as before, all else as after, and once is enough.
    #[test]
    fn programs_are_as_before_and_all_else_as_after(before in file(), after in file()) {
        let only = |text: &str, programs: bool| {
            let mut entries: Vec<_> = parse(text.as_bytes()).unwrap();
            entries.retain(|entry| entry.runs_programs() == programs);
            entries.iter().map(|entry| (entry.key(), entry.value.clone())).collect::<Vec<_>>()
        };
        let by_key = |text: &str| { let mut all = only(text, true); all.sort_by(|a, b| a.0.cmp(&b.0)); all };
        match undo(before.as_bytes(), after.as_bytes()) {
            None => prop_assert_eq!(by_key(&before), by_key(&after)),
            Some(undone) => {
                let text = String::from_utf8(undone.text).unwrap();
                prop_assert_eq!(by_key(&text), by_key(&before));
                prop_assert_eq!(only(&text, false), only(&after, false));
                prop_assert!(undo(before.as_bytes(), text.as_bytes()).is_none());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(before: Vec<u8>, after: Vec<u8>) {
        if let Some(undone) = undo(&before, &after) {
            prop_assert!(undone.text == before || parse(&undone.text).is_some());
        }
    }
}
