//! Evaluations that are taken to another home: all that is told of them is the same there, and no file changes anything that
//! is not what it should be.

use std::io::Write;

use super::*;

/// A finished evaluation `n` in a home, and the file that it was exported to.
fn exported() -> (Site, String) {
    let site = Site::new();
    double(&site);
    eval(&site, &["run", "double", "--offline", "--count", "3", "--seed", "6", "--name", "n"]).ok();
    // What was judged before is kept with it.
    eval(&site, &["judge", "n", "--all"]).ok();
    let file = site.workspace().join("n.jsonl").display().to_string();
    eval(&site, &["export", "n", "-o", &file]).ok();
    (site, file)
}

/// What is told of an evaluation, without what it is called and where its tasks are.
fn report(site: &Site, name: &str) -> Value {
    let mut report = eval(site, &["report", name, "--format", "json"]).ok().json();
    let fields = report.as_object_mut().unwrap();
    fields.remove("name");
    fields.remove("config");
    report
}

#[test]
fn an_evaluation_is_the_same_in_another_home() {
    let (here, file) = exported();
    let there = Site::new();
    let told = eval(&there, &["import", &file]).ok().json();
    assert_eq!(
        (told["name"].as_str(), told["cases"].as_u64(), told["threads"].as_u64()),
        (Some("n"), Some(3), Some(3))
    );
    there.verify();
    assert_eq!(report(&there, "n"), report(&here, "n"));
    let cases = |site: &Site| eval(site, &["show", "n"]).ok().json()["cases"].clone();
    assert_eq!(cases(&there), cases(&here));
    assert_eq!(eval(&there, &["list"]).ok().json()[0]["status"], "done");
    let thread = cases(&there)[0]["thread"].as_str().unwrap().to_owned();
    assert_eq!(
        there.uwf(&["thread", "read", &thread]).ok().out,
        here.uwf(&["thread", "read", &thread]).ok().out
    );
    // By another name it is another one, of the same threads; the two do not differ.
    let again = eval(&there, &["import", &file, "--as", "other"]).ok().json();
    assert_eq!((again["name"].as_str(), again["threads"].as_u64()), (Some("other"), Some(0)));
    for name in ["n", "other"] {
        let case = format!("{name}/double/1");
        assert_eq!(eval(&there, &["show", &case]).ok().json()["evaluation"], name);
        let told = eval(&there, &["show", &case, "--format", "text"]).ok().out;
        assert!(told.starts_with(&format!("double/1 of {name}: ")), "{told}");
    }
    let differ = eval(&there, &["diff", "n", "other"]).ok().json();
    assert_eq!(
        (differ["score"]["delta"]["mean"].as_f64(), differ["differs"].as_array().unwrap().len()),
        (Some(0.0), 0)
    );
    // What it names is kept by a collection, workspaces included.
    there.uwf(&["cas", "gc"]).ok();
    there.verify();
    assert_eq!(report(&there, "n"), report(&here, "n"));
    // It is judged again by a task that is named, and by no other.
    eval(&there, &["judge", "n", "--all"]).fails(1, &["was imported, without its tasks", "--task DIR"]);
    let task = here.workspace().join("double").display().to_string();
    let judged = eval(&there, &["judge", "n", "--all", "--task", &task]).ok();
    assert_eq!(judged.err.matches("double/").count(), 3, "{}", judged.err);
    assert_eq!(report(&there, "n")["score"], report(&here, "n")["score"]);
    eval(&there, &["init", "triple"]).ok();
    eval(&there, &["judge", "n", "--task", "triple"])
        .fails(1, &["evaluation n has no task triple", "there is: double"]);
    let not_here = ["was imported: its cases are not run here", "--name NAME"];
    eval(&there, &["run", "--resume", "n"]).fails(1, &not_here);
    eval(&there, &["run", &task, "--offline", "--count", "3", "--name", "n"]).fails(1, &not_here);
    // It can be handed on.
    eval(&there, &["export", "n", "-o", "again.jsonl"]).ok();
    let third = Site::new();
    let again = there.workspace().join("again.jsonl").display().to_string();
    eval(&third, &["import", &again]).ok();
    assert_eq!(report(&third, "n"), report(&there, "n"));
    third.verify();
    there.verify();
    fs::remove_dir_all(there.workspace()).unwrap();
    fs::remove_dir_all(third.workspace()).unwrap();
}

#[test]
fn nothing_that_names_a_program_an_endpoint_or_a_script_is_taken_over() {
    let here = Site::new();
    double(&here);
    let mock =
        here.write("mock.yaml", &fs::read_to_string(here.workspace().join("double/mock.yaml")).unwrap());
    let judge = here.write("judge.yaml", "turns: [{ content: none }]\n");
    let args =
        ["run", "double", "--mock", &mock, "--judge-mock", &judge, "--sandbox", "best-effort", "--name", "n"];
    eval(&here, &args).ok();
    let file = here.write("n.jsonl", &eval(&here, &["export", "n"]).ok().out);
    let there = Site::new();
    let told = eval(&there, &["import", &file]).ok();
    assert_eq!(
        told.json()["leftOut"],
        serde_json::json!(["judgeMock", "mock", "mockSeed", "sandbox"]),
        "{}",
        told.err
    );
    assert!(told.err.contains("warning: not taken over: judgeMock, mock"), "{}", told.err);
    let config = eval(&there, &["show", "n"]).ok().json()["config"].clone();
    for name in ["options", "judgeMock", "sandbox"] {
        assert!(config.get(name).is_none(), "{name}: {config}");
    }
    // No later evaluation takes its threads for its own.
    let task = here.workspace().join("double").display().to_string();
    let ran =
        eval(&there, &["run", &task, "--mock", &mock, "--sandbox", "best-effort", "--name", "m"]).ok().json();
    assert_eq!(ran["cached"].as_u64(), Some(0), "{ran}");
}

/// Every node and every name of a store.
fn all(site: &Site) -> (String, String) {
    let names = site.uwf(&["var", "list", "--format", "json"]).out;
    (names, site.uwf(&["cas", "stats", "--format", "json"]).out)
}

#[test]
fn a_file_that_is_wrong_anywhere_changes_nothing() {
    let (here, file) = exported();
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let thread =
        here.start(&here.workspace().join("double/workflow.yaml").display().to_string(), "A thread.");
    let foreign = here.uwf(&["thread", "export", &thread]).ok().out;
    let there = Site::new();
    let before = all(&there);
    let head = lines.iter().position(|line| line.contains("\"variable\":\"@uwf/thread/")).unwrap();
    let last = lines.len() - 1;
    let run = lines.iter().position(|line| line.contains("\"variable\":\"@uwf/eval/double/")).unwrap();
    let score = lines
        .iter()
        .position(|line| line.contains("\"evaluation\":\"n\"") && line.contains("\"repeat\""))
        .unwrap();
    let with = |at: usize, from: &str, to: &str| {
        let line = lines[at].replacen(from, to, 1);
        assert_ne!(line, lines[at], "{from}");
        joined(&[&lines[..at], &[line.as_str()], &lines[at + 1..]].concat())
    };
    let cases = [
        ("empty", String::new(), "this is no evaluation that was exported: it is empty"),
        ("no JSON", "name: x\n".to_owned(), "its first line is no JSON"),
        ("foreign", foreign, "its format is \"uwf-thread\""),
        ("version", with(0, "\"version\":1", "\"version\":2"), "version 2 of the format"),
        ("truncated", joined(&lines[..last]), "the file is not whole"),
        ("cut in a line", text[..text.len() - 20].to_owned(), "is damaged"),
        ("cut in the middle", text[..text.len() / 2].to_owned(), "is damaged"),
        ("one too many", joined(&[&lines[..], &lines[last..]].concat()), "it is one too many"),
        ("another score", with(score, "\"overall\":", "\"overall\":0.5,\"x\":"), "hashes to"),
        (
            "out of it",
            with(0, "\"evaluation\":\"n\"", "\"evaluation\":\"../n\""),
            "an evaluation cannot be called `../n`",
        ),
        ("another record", with(0, "\"record\":\"", "\"record\":\"0"), "its first line is not"),
        ("theft", with(run, "@uwf/eval/double/", "@uwf/registry/double/"), "it sets @uwf/registry/double/"),
        ("another task", with(run, "@uwf/eval/double/", "@uwf/eval/triple/"), "it sets @uwf/eval/triple/"),
        ("a path", with(run, "@uwf/eval/double/", "@uwf/eval/double/../"), "it sets @uwf/eval/double/../"),
        ("a thread's name", with(run, "@uwf/eval/double/", "@uwf/thread/"), "it sets @uwf/thread/"),
        ("no such node", with(run, "\"value\":\"", "\"value\":\"0000000000001\",\"x\":\""), "is damaged"),
        ("an odd status", with(head, "\"status\":\"", "\"status\":\"frozen-"), "the status `frozen-"),
    ];
    for (name, text, expected) in &cases {
        let file = there.write("bad.jsonl", text);
        let said = eval(&there, &["import", &file]).fails(1, &["cannot import "]);
        assert!(said.err.contains(expected), "{name}: {}", said.err);
        assert_eq!(all(&there), before, "{name}");
    }
    there.verify();
}

#[test]
fn an_import_replaces_nothing() {
    let (here, file) = exported();
    let text = fs::read_to_string(&file).unwrap();
    let there = Site::new();
    let before = all(&there);
    eval(&there, &["import", &file, "--as", "a/b"]).fails(1, &["an evaluation cannot be called `a/b`"]);
    eval(&there, &["import", "none.jsonl"]).fails(1, &["cannot read none.jsonl"]);
    assert_eq!(all(&there), before);
    eval(&there, &["import", &file]).ok();
    let after = all(&there);
    eval(&there, &["import", &file]).fails(1, &["there is an evaluation n already", "--as NAME"]);
    assert_eq!(all(&there), after);
    // A thread that has gone on here is not put back.
    let head = text.lines().find(|line| line.contains("\"variable\":\"@uwf/thread/")).unwrap();
    let moved: Value = serde_json::from_str(head).unwrap();
    let (name, value) = (moved["variable"].as_str().unwrap(), moved["value"].as_str().unwrap());
    let start =
        there.uwf(&["cas", "get", value]).ok().json()["payload"]["start"].as_str().unwrap().to_owned();
    let set = there.uwf(&["var", "set", name, &start]);
    if set.code == 0 {
        eval(&there, &["import", &file, "--as", "m"]).fails(1, &["is here already, at"]);
    }
    there.verify();
    eval(&here, &["export", "none"]).fails(1, &["there is no evaluation none"]);
    fs::remove_dir_all(there.workspace()).unwrap();
}

#[test]
fn what_is_not_finished_stays_and_what_is_gone_is_told() {
    let (site, _) = exported();
    let shown = eval(&site, &["show", "n"]).ok().json();
    let thread = shown["cases"][0]["thread"].as_str().unwrap();
    site.uwf(&["thread", "rm", thread]).ok();
    let text = eval(&site, &["export", "n"]).ok();
    assert!(text.err.contains(&format!("since they are gone: thread {thread}\n")), "{}", text.err);
    let mut child =
        command(&site, &["export", "n"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some());
    let mut import = command(&site, &["import", "-", "--as", "piped"]);
    let mut import =
        import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(text.out.as_bytes()).unwrap();
    Said::of(import.wait_with_output().unwrap()).ok();
    site.verify();
}
