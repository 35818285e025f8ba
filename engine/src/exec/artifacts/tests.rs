use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, mkfifoat, openat};
use serde_json::json;
use uwf_store::Collect;

use super::*;
use crate::exec::{
    Engine, ExecOptions, StepAgent, StepAgentError, StepReport, Unobserved, answer, hold, step_once,
};
use crate::fixture::{FLOW, Place};
use crate::spawn::protocol::{AdapterOutput, AgentRequest};
use crate::thread::{self, ThreadId, artifacts, artifacts_of};

/// A place where the role `writer` is to leave these, and a thread that it begins.
fn place_with(artifacts: &str) -> (Place, ThreadId) {
    let place = Place::in_memory();
    let text = FLOW
        .replacen("    goal: You write.\n", &format!("    goal: You write.\n    artifacts: {artifacts}\n"), 1)
        .replacen("dir: { type: string }", "dir: { type: string }\n        x: {}\n        y: {}", 1)
        .replacen("'Check it.'", "'Check {{#artifacts}}{{name}}={{path}},{{size}}; {{/artifacts}}it.'", 1);
    fs::write(place.project().join(".workflows/flow.yaml"), text).unwrap();
    let thread = place.flow_thread();
    (place, thread)
}

/// One step in which the role gives this output.
fn exec(place: &Place, thread: &ThreadId, output: &Value) -> Result<StepReport, ExecError> {
    let store = place.store();
    let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
        Ok(answer(&store, request, cwd, output)?)
    };
    let agent: &dyn StepAgent = &agent;
    place.with_engine(|engine| {
        let engine = Engine { agent: Some(agent), ..*engine };
        step_once(&engine, &hold(&engine, thread)?, &ExecOptions::default(), &mut Unobserved)
    })
}

fn output(more: &Value) -> Value {
    let mut output = json!({"$status": "checked"});
    output.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    output
}

/// The names of what is kept, and what they hold.
fn kept(place: &Place, report: &StepReport) -> Vec<(String, Option<String>, Option<u64>)> {
    let store = place.store();
    let step = thread::step_node(&store, &report.head).unwrap();
    let told = |artifact: Artifact| (artifact.name, artifact.path, artifact.size);
    artifacts_of(&store, &step).unwrap().into_iter().map(told).collect()
}

fn write(place: &Place, path: &str, text: impl AsRef<[u8]>) {
    let path = place.project().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A file's path and length.
fn file(path: &str, size: u64) -> (String, Option<String>, Option<u64>) {
    (path.to_owned(), Some(path.to_owned()), Some(size))
}

#[test]
fn files_and_nodes_that_the_output_names_are_kept_in_order() {
    let (place, thread) = place_with("[/y, /x]");
    let store = place.store();
    write(&place, "report.md", "# Found\n");
    write(&place, "figures/a.bin", [0xff, 0, 1]);
    let text = store.put_text("a text").unwrap();
    let node =
        store.put(&crate::builtin::ERROR_OUTPUT, &json!({"$status": "error", "error": "e", "phase": "p"}));
    let more = json!({"x": "./report.md", "y": ["figures//a.bin", text, node.unwrap(), null, "report.md"]});
    let report = exec(&place, &thread, &output(&more)).unwrap();
    let node = |name: &str, size: Option<u64>| (name.to_owned(), None, size);
    assert_eq!(
        kept(&place, &report),
        [file("figures/a.bin", 3), node("y/1", Some(6)), node("y/2", None), file("report.md", 8)]
    );
    let step = thread::step_node(&store, &report.head).unwrap();
    assert_eq!(step.type_(), crate::builtin::UWF_STEP);
    let content = StepContent::read(&store, &step.links.content.unwrap()).unwrap();
    assert_eq!(store.get(&content.refs[3].content).unwrap().payload, "# Found\n");
    let mut bytes = Vec::new();
    store.blob(&content.refs[0].content).unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, [0xff, 0, 1]);
    // What comes next can tell of them.
    let head = thread::head(&store, &thread).unwrap();
    let workflow = crate::workflow::get(&store, &head.start(&store).unwrap().workflow).unwrap();
    let route = thread::next(&store, &workflow, &head, None).unwrap();
    assert_eq!(
        route.prompt,
        "Check figures/a.bin=figures/a.bin,3; y/1=,6; y/2=,; report.md=report.md,8; it."
    );
}

#[test]
fn a_glob_keeps_what_it_matches() {
    for (globs, expected) in [
        ("['a.md']", &["a.md"][..]),
        ("['*.md']", &["a.md", "b.md", "link.md"]),
        ("['{a,b}.md']", &["a.md", "b.md"]),
        ("['out/*.png']", &["out/1.png", "out/2.png"]),
        ("['out/**']", &["out/1.png", "out/2.png", "out/deep/3.png", "out/deep/x.txt"]),
        ("['**/*.png']", &["out/1.png", "out/2.png", "out/deep/3.png"]),
        ("['out/**/[0-9].png']", &["out/1.png", "out/2.png", "out/deep/3.png"]),
        ("['*/deep/*']", &["out/deep/3.png", "out/deep/x.txt"]),
        ("['to-out/1.png']", &["to-out/1.png"]),
        ("['.git/config']", &[".git/config"]),
        ("['none.md?', '*.pdf?', 'a.md/x?', 'none/**?']", &[]),
        ("['*.md', 'a.md']", &["a.md", "b.md", "link.md"]),
    ] {
        let (place, thread) = place_with(globs);
        for path in
            ["a.md", "b.md", "out/1.png", "out/2.png", "out/deep/3.png", "out/deep/x.txt", ".git/config"]
        {
            write(&place, path, "x");
        }
        symlink("a.md", place.project().join("link.md")).unwrap();
        symlink("out", place.project().join("to-out")).unwrap();
        symlink("out", place.project().join("dir.md")).unwrap();
        let report = exec(&place, &thread, &output(&json!({}))).unwrap();
        let names: Vec<String> = kept(&place, &report).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, expected, "{globs}");
        let step = thread::step_node(&place.store(), &report.head).unwrap();
        assert_eq!(step.links.content.is_some(), !expected.is_empty());
    }
}

#[test]
fn what_the_output_does_not_name_is_not_looked_for() {
    for more in [json!({}), json!({"x": null}), json!({"x": []}), json!({"x": [null]})] {
        let (place, thread) = place_with("[/x]");
        let report = exec(&place, &thread, &output(&more)).unwrap();
        assert_eq!(kept(&place, &report), []);
    }
    // Nor of a role that asks, or failed.
    for asked in [json!({"$status": "$SUSPEND", "reason": "Which?"}), json!({"$status": "waits", "x": null})]
    {
        let (place, thread) = place_with("[/x]");
        exec(&place, &thread, &asked).unwrap();
    }
    let (place, thread) = place_with("[none.md]");
    exec(&place, &thread, &json!({"$status": "$SUSPEND", "reason": "Which?"})).unwrap();
}

/// What is told when the role `writer` is to leave these and gives this; `DIR` is the directory of the step.
fn told(artifacts: &str, more: &Value, prepare: impl FnOnce(&Path)) -> String {
    let (place, thread) = place_with(artifacts);
    let before = thread::head(&place.store(), &thread).unwrap().hash;
    prepare(&place.project());
    let error = exec(&place, &thread, &output(more)).unwrap_err();
    assert!(matches!(error, ExecError::Artifact(_)), "{error}");
    let dir = place.project().display().to_string();
    assert_eq!(thread::head(&place.store(), &thread).unwrap().hash, before);
    let source =
        std::error::Error::source(&error).map(|source| format!("\n    {source}")).unwrap_or_default();
    format!("{error}{source}\n    hint: {}\n", error.hint().unwrap()).replace(&dir, "DIR")
}

#[test]
fn what_cannot_be_kept_is_told_with_its_role_its_place_and_what_to_do() {
    let nothing = |_: &Path| {};
    let named = |name: &str| json!({"x": name});
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    let link = |to: &str| {
        let to = to.replace("OUT", outside.path().to_str().unwrap());
        move |dir: &Path| symlink(&to, dir.join("link")).unwrap()
    };
    let mut all = String::new();
    for (artifacts, more, prepare) in [
        ("[/x]", named("none.md"), Box::new(nothing) as Box<dyn FnOnce(&Path)>),
        ("[/x]", json!({"x": ["none.md"]}), Box::new(nothing)),
        ("[/x]", named("a/none.md"), Box::new(|dir| fs::write(dir.join("a"), "").unwrap())),
        ("[/x]", named(""), Box::new(nothing)),
        ("[/x]", named("a\0b"), Box::new(nothing)),
        ("[/x]", json!({"x": 5}), Box::new(nothing)),
        ("[/x]", json!({"x": {"path": "a"}}), Box::new(nothing)),
        ("[/x]", json!({"x": [["a"]]}), Box::new(nothing)),
        ("[/x]", named("/etc/passwd"), Box::new(nothing)),
        ("[/x]", named("../secret"), Box::new(nothing)),
        ("[/x]", named("a/../b"), Box::new(nothing)),
        ("[/x]", named("link"), Box::new(link("OUT/secret"))),
        ("[/x]", named("link/secret"), Box::new(link("OUT"))),
        ("[/x]", named("link"), Box::new(link("../x"))),
        ("[/x]", named("link"), Box::new(link("none"))),
        ("[/x]", named("link"), Box::new(link("link"))),
        ("[/x]", named("link"), Box::new(link("/proc/self/environ"))),
        ("['li*']", json!({}), Box::new(link("OUT/secret"))),
        ("[/x]", named("out"), Box::new(|dir| fs::create_dir(dir.join("out")).unwrap())),
        ("[/x]", named("out/"), Box::new(|dir| fs::create_dir(dir.join("out")).unwrap())),
        ("[/x]", named("."), Box::new(nothing)),
        ("[out]", json!({}), Box::new(|dir| fs::create_dir(dir.join("out")).unwrap())),
        ("[/x]", named("pipe"), Box::new(|dir| mkfifoat(CWD, dir.join("pipe"), Mode::RUSR).unwrap())),
        ("['p*']", json!({}), Box::new(|dir| drop(UnixListener::bind(dir.join("port")).unwrap()))),
        ("[/x]", named("0123456789ABC"), Box::new(nothing)),
        ("['*.pdf']", json!({}), Box::new(nothing)),
        ("['out/**']", json!({}), Box::new(|dir| fs::create_dir(dir.join("out")).unwrap())),
        ("[/x]", named("big"), Box::new(|dir| sparse(&dir.join("big"), MAX_ARTIFACT_BYTES + 1))),
        (
            "[/x, b]",
            named("a"),
            Box::new(|dir| ["a", "b"].iter().for_each(|name| sparse(&dir.join(name), 200 << 20))),
        ),
    ] {
        let text = told(artifacts, &more, prepare);
        all += &format!("# {artifacts} {more}\n{text}");
    }
    insta::assert_snapshot!(all);
}

/// A file of zeros that takes no room.
fn sparse(path: &Path, size: u64) {
    fs::File::create(path).unwrap().set_len(size).unwrap();
}

#[test]
fn a_file_that_may_not_be_read_is_told_with_the_reason() {
    let prepare = |dir: &Path| {
        fs::write(dir.join("a"), "x").unwrap();
        fs::set_permissions(dir.join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    };
    // Who may read everything is told nothing.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let text = told("[a]", &json!({}), prepare);
    assert!(text.contains("cannot be read; the head has not moved\n    Permission denied"), "{text}");
    // Of a glob, the directory that stands in its way.
    let text = told("['**/*.yaml?']", &json!({}), |dir| {
        fs::create_dir_all(dir.join("deep/closed")).unwrap();
        fs::set_permissions(dir.join("deep/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    });
    assert!(text.contains("cannot be looked for in DIR/deep/closed; the head has not moved"), "{text}");
}

#[test]
fn what_uwf_keeps_itself_is_never_an_artifact() {
    let (place, thread) = place_with("[/x, '**/.env?']");
    // The homes are beside the project: work above all of them.
    let homes = place.homes();
    fs::create_dir_all(&homes.uwf).unwrap();
    fs::write(homes.uwf.join(".env"), "KEY=k").unwrap();
    let store = place.store();
    let exec = |name: &str| {
        let output = output(&json!({"x": name}));
        let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
            Ok(answer(&store, request, cwd, &output)?)
        };
        let options = ExecOptions { cwd: Some(place.path().to_owned()), ..ExecOptions::default() };
        place.with_engine(|engine| {
            let engine = Engine { agent: Some(&agent), ..*engine };
            step_once(&engine, &hold(&engine, &thread)?, &options, &mut Unobserved)
        })
    };
    symlink("uwf/.env", place.path().join("innocent")).unwrap();
    for name in ["uwf/.env", "innocent"] {
        let error = exec(name).unwrap_err().to_string();
        assert!(error.contains("is one of the files that uwf itself keeps"), "{error}");
    }
    fs::write(place.path().join("own"), "x").unwrap();
    let report = exec("own").unwrap();
    assert_eq!(kept(&place, &report), [file("own", 1)]);
}

#[test]
fn a_step_that_works_where_uwf_keeps_its_files_leaves_none_of_them() {
    for (below, artifacts) in
        [("uwf", "[/x]"), ("uwf", "['*.yaml']"), ("uwf/logs", "[/x]"), ("ocas/nodes", "['*.yaml']")]
    {
        let (place, thread) = place_with(artifacts);
        let dir = place.path().join(below);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("config.yaml"), "key: k").unwrap();
        let (store, output) = (place.store(), output(&json!({"x": "config.yaml"})));
        let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
            Ok(answer(&store, request, cwd, &output)?)
        };
        let options = ExecOptions { cwd: Some(dir), ..ExecOptions::default() };
        let error = place.with_engine(|engine| {
            let engine = Engine { agent: Some(&agent), ..*engine };
            step_once(&engine, &hold(&engine, &thread).unwrap(), &options, &mut Unobserved).unwrap_err()
        });
        let error = error.to_string();
        assert!(error.contains("`config.yaml` of role `writer`"), "{below} {artifacts}: {error}");
        assert!(error.contains("is one of the files that uwf itself keeps"), "{error}");
    }
}

#[test]
fn what_is_too_deep_to_be_opened_is_passed_over() {
    let globs = "['**/*.csv', '**/a.csv', '**/none.csv?', '**/x/*.csv?', '**/*/none/*.csv?']";
    let (place, thread) = place_with(globs);
    write(&place, "a.csv", "x");
    let mut at = rustix::fs::open(place.project(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let name = "d".repeat(250);
    for _ in 0..20 {
        mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let report = exec(&place, &thread, &output(&json!({}))).unwrap();
    assert_eq!(kept(&place, &report), [file("a.csv", 1)]);
}

#[test]
fn more_than_a_step_can_have_is_refused() {
    let (place, thread) = place_with("['many/*']");
    for at in 0..MAX_ARTIFACTS {
        write(&place, &format!("many/{at}"), "x");
    }
    assert_eq!(kept(&place, &exec(&place, &thread, &output(&json!({}))).unwrap()).len(), MAX_ARTIFACTS);
    let (place, thread) = place_with("['many/*']");
    for at in 0..=MAX_ARTIFACTS {
        write(&place, &format!("many/{at}"), "x");
    }
    let error = exec(&place, &thread, &output(&json!({}))).unwrap_err().to_string();
    assert!(error.contains("`many/*` of role `writer` is one too many: a step has at most 1000"), "{error}");
}

#[test]
fn two_things_of_one_name_are_refused() {
    let (place, thread) = place_with("[/x, x]");
    write(&place, "x", "x");
    let text = place.store().put_text("a text").unwrap();
    let error = exec(&place, &thread, &output(&json!({"x": text}))).unwrap_err().to_string();
    assert!(error.contains("is called `x`, as another artifact of the step is"), "{error}");
}

#[test]
fn a_name_does_not_end_the_line_it_is_told_on() {
    let text = told("[/x]", &json!({"x": "a\nerror: b\u{1b}"}), |_| ());
    assert!(
        text.starts_with("the artifact `a\\nerror: b\\u{1b}` of role `writer`, named by `/x`, does not"),
        "{text}"
    );
}

#[test]
fn the_same_command_goes_on_once_the_file_is_there() {
    let (place, thread) = place_with("[/x]");
    let given = output(&json!({"x": "late.md"}));
    exec(&place, &thread, &given).unwrap_err();
    write(&place, "late.md", "late");
    let report = exec(&place, &thread, &given).unwrap();
    assert_eq!(kept(&place, &report), [file("late.md", 4)]);
    assert_eq!(thread::chain(&place.store(), &report.head).unwrap().steps.len(), 1);
}

#[test]
fn what_is_kept_outlives_the_file_a_collection_and_a_journey() {
    let (place, thread) = place_with("[big.bin, notes.md]");
    let big: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    write(&place, "big.bin", &big);
    write(&place, "notes.md", "notes");
    exec(&place, &thread, &output(&json!({}))).unwrap();
    fs::remove_file(place.project().join("big.bin")).unwrap();
    let store = place.store();
    store.gc(&Collect::default()).unwrap();
    let mut file = Vec::new();
    crate::export::export(&store, &thread, &mut file).unwrap();
    let other = Place::in_memory();
    crate::export::import(&other.store(), &other.homes().uwf, &mut file.as_slice()).unwrap();
    for store in [store, other.store()] {
        let head = thread::head(&store, &thread).unwrap().hash;
        let found = artifacts(&store, &head).unwrap();
        assert_eq!(
            found.iter().map(|found| (found.number, found.role.as_str())).collect::<Vec<_>>(),
            [(1, "writer"), (1, "writer")]
        );
        let mut bytes = Vec::new();
        store.blob(&found[0].artifact.content).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes == big);
    }
}

#[test]
fn a_step_that_is_poked_has_its_own() {
    let (place, thread) = place_with("[a.md]");
    write(&place, "a.md", "first");
    let store = place.store();
    let again = json!({"$status": "again"});
    let first = exec(&place, &thread, &again).unwrap();
    write(&place, "a.md", "second one");
    let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
        Ok(answer(&store, request, cwd, &again)?)
    };
    let poked = place.with_engine(|engine| {
        let engine = Engine { agent: Some(&agent), ..*engine };
        let lock = hold(&engine, &thread).unwrap();
        crate::exec::poke_once(&engine, &lock, "Again.", &ExecOptions::default(), &mut Unobserved).unwrap()
    });
    assert_eq!((kept(&place, &first), kept(&place, &poked)), (vec![file("a.md", 5)], vec![file("a.md", 10)]));
    let found = artifacts(&store, &poked.head).unwrap();
    assert_eq!(found.len(), 1, "the step before is in the store, and no more in the thread");
}
