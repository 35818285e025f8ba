//! Homes in odd places: what is private stays so wherever it lies and by whatever other path it is reached.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use super::field::{Answer, Call, Field, SECRET, Who, by_everybody, command, has, skipped};

/// Reads, then writes, each of these places.
fn calls(places: &[String]) -> Vec<Call> {
    let read = places.iter().map(|place| command(&format!("read {place}"), &format!("grep -rs . {place}")));
    let write = places
        .iter()
        .map(|place| command(&format!("write {place}"), &format!("test -e {place} && echo evil >> {place}")));
    read.chain(write).collect()
}

#[track_caller]
fn assert_held(answers: &BTreeMap<String, Answer>) {
    for (name, answer) in answers {
        assert!(!answer.succeeded() && !answer.text.contains(SECRET), "{name}: {}", answer.text);
    }
}

/// `.env` and a directory are links to places that commands would see otherwise.
fn links(field: &Field, home: &Path) {
    fs::create_dir_all(home).unwrap();
    fs::write(home.join("notes"), SECRET).unwrap();
    fs::write(field.seen().join("env"), format!("# {SECRET}\n")).unwrap();
    fs::create_dir(field.seen().join("kept")).unwrap();
    fs::write(field.seen().join("kept/notes"), SECRET).unwrap();
    symlink(field.seen().join("env"), home.join(".env")).unwrap();
    symlink(field.seen().join("kept"), home.join("kept")).unwrap();
}

#[test]
fn the_agent_s_home_is_closed_wherever_it_is() {
    by_everybody(|who| {
        for at in ["{seen}/agent", "{dir}/agent", "{dir}/outside/dir/agent"] {
            let field = Field::new(who);
            let home = field.fill(at);
            links(&field, Path::new(&home));
            fs::set_permissions(field.seen(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
            let field = field.launched_by(vec!["env".to_owned(), format!("UWF_HOME={home}")]);
            field.outside();
            let places = ["notes", ".env", "kept/notes"].map(|name| format!("{home}/{name}")).into_iter();
            let targets = ["env", "kept/notes"].map(|name| field.fill(&format!("{{seen}}/{name}")));
            let places: Vec<String> = places.chain(targets).collect();
            field.attempt(&calls(&places), &[]).ok();
            let answers = super::field::answers(&Path::new(&home).join("sessions"));
            assert_eq!(answers.len(), 2 * places.len());
            assert_held(&answers);
            assert_eq!(crate::site::find(&field.seen().join("kept"), b"evil"), None);
        }
    });
}

/// In mounts of its own, which end with the run.
#[test]
fn a_home_that_is_mounted_twice_is_closed_twice() {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let field = Field::new(Who::Me);
    let again = field.seen().join("again");
    fs::create_dir(&again).unwrap();
    let mount = format!("mount --bind {} {} && exec \"$@\"", field.site.home().display(), again.display());
    let launcher = ["unshare", "-m", "sh", "-c", &mount, "sh"].map(str::to_owned);
    let field = field.launched_by(launcher.into());
    if !is_root || !has("unshare") || !field.agent().arg("--version").status().unwrap().success() {
        return skipped("a home that is mounted twice", "unshare and mount, as root");
    }
    let names = [".ssh/id", ".netrc", ".uwf/notes", ".ocas/notes", ".bashrc"];
    let places: Vec<String> = names.iter().map(|name| format!("{}/{name}", again.display())).collect();
    let answers = field.run(&calls(&places), &[]);
    assert_held(&answers.texts);
    assert_eq!(fs::read_to_string(field.site.home().join(".bashrc")).unwrap(), "untouched\n");
}
