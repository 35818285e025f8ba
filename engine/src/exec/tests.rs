use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::builtin;
use serde_json::json;

use super::*;
use crate::fixture::{Place, Told, reply};
use crate::spawn::protocol::CallForm;
use crate::thread::{failed_attempts, head, record_failure};

/// One step of `thread` by that agent, as the library does it.
fn exec(place: &Place, thread: &ThreadId, agent: &str) -> Result<StepReport, ExecError> {
    place.with_engine(|engine| {
        step_once(engine, &hold(engine, thread)?, &options(agent), &mut Told::default())
    })
}

fn resume(place: &Place, thread: &ThreadId, agent: &str, text: &str) -> Result<StepReport, ExecError> {
    place.with_engine(|engine| {
        resume_once(engine, &hold(engine, thread)?, Some(text), &options(agent), &mut Told::default())
    })
}

fn options(agent: &str) -> ExecOptions {
    let command = Config::default().named_agent(&format!("{agent} own"), Path::new("/")).unwrap();
    ExecOptions { agent: Some(command), ..ExecOptions::default() }
}

fn head_of(place: &Place, thread: &ThreadId) -> (Hash, &'static str) {
    let head = head(&place.store(), thread).unwrap();
    (head.hash, head.status.as_str())
}

#[test]
fn a_step_is_asked_for_checked_and_becomes_the_head() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let report = exec(&place, &thread, &place.agent(&[reply(&step, "writer", None)])).unwrap();
    assert_eq!(
        (report.head, report.status, report.current_role.as_deref()),
        (step, Status::Idle, Some("checker"))
    );
    assert_eq!(head_of(&place, &thread), (step, "idle"));
    let project = place.project().canonicalize().unwrap();
    let call = format!("{}|own --thread {thread} --role writer --prompt Write it.", project.display());
    assert_eq!(place.calls(), [call]);
    assert_eq!(fs::read_dir(place.homes().uwf.join("running")).unwrap().count(), 0);
}

#[test]
fn an_agent_of_the_older_form_has_the_prompt_in_its_environment() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let script = place.script(&format!("echo \"$UWF_EDGE_PROMPT\" > \"$D/prompt\"; echo {step}\n"));
    let mut options = options(&script);
    options.agent.as_mut().unwrap().form = CallForm::Positional;
    let report = place.with_engine(|engine| {
        step_once(engine, &hold(engine, &thread).unwrap(), &options, &mut Told::default())
    });
    assert_eq!(report.unwrap().head, step);
    assert!(place.calls()[0].ends_with(&format!("|own {thread} writer")), "{:?}", place.calls());
    let prompt = Path::new(script.strip_prefix("sh ").unwrap()).with_file_name("prompt");
    assert_eq!(fs::read_to_string(prompt).unwrap(), "Write it.\n");
}

#[test]
fn a_step_that_leads_to_the_end_ends_the_thread_and_links_the_failed_attempts() {
    let place = Place::new();
    let thread = place.flow_thread();
    let failed = place.step(&thread, None, "writer", &json!({"$status": "error", "error": "x"}));
    record_failure(&place.store(), &thread, "writer", &failed).unwrap();
    let step = place.step(&thread, None, "writer", &json!({"$status": "done"}));
    let report = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    assert_eq!(report.status, Status::Ended { completed_at: crate::fixture::clock() });
    assert_eq!(head_of(&place, &thread), (report.head, "end"));
    // The agent linked nothing, so its step is stored again.
    let linked = thread::step_node(&place.store(), &report.head).unwrap();
    assert_eq!(linked.previous_attempts, Some(vec![failed]));
    let said = thread::step_node(&place.store(), &step).unwrap();
    assert_eq!(StepNode { previous_attempts: None, ..linked }, said);
    assert_eq!(failed_attempts(&place.store(), &thread, "writer").unwrap(), []);
    let error = exec(&place, &thread, "unused").unwrap_err();
    assert_eq!(error.to_string(), format!("thread {thread} is not active: its status is end"));
    assert!(error.hint().unwrap().contains("resume"));
}

#[test]
fn a_role_that_asks_and_an_edge_that_asks_suspend() {
    for output in [json!({"$status": "$SUSPEND", "reason": "What now?"}), json!({"$status": "waits"})] {
        let place = Place::new();
        let thread = place.flow_thread();
        let step = place.step(&thread, None, "writer", &output);
        let report = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
        let expected = Status::Suspended { role: "writer".into(), message: "What now?".into() };
        assert_eq!((report.head, &report.status), (step, &expected));
        // Another exec tells the same and starts nothing.
        let told = exec(&place, &thread, "/no/such/agent").unwrap();
        assert_eq!((told.status, told.played.is_none(), place.calls().len()), (expected, true, 1));

        let next = place.step(&thread, Some(step), "writer", &json!({"$status": "checked"}));
        let report = resume(&place, &thread, &place.agent(&[next.to_string()]), "Go on.").unwrap();
        assert_eq!((report.head, report.status), (next, Status::Idle));
        // The prompt has three lines, so the log has, too.
        assert_eq!(place.calls()[1..].join("\n").split("--prompt ").nth(1), Some("What now?\n\nGo on."));
    }
}

#[test]
fn an_ended_thread_is_resumed_only_by_success() {
    let place = Place::new();
    let thread = place.flow_thread();
    let first = place.step(&thread, None, "writer", &json!({"$status": "done"}));
    exec(&place, &thread, &place.agent(&[first.to_string()])).unwrap();
    let failed = place.step(&thread, Some(first), "writer", &json!({"$status": "error", "error": "no"}));
    let report =
        resume(&place, &thread, &place.agent(&[reply(&failed, "writer", Some("no"))]), "More.").unwrap();
    assert_eq!((report.failure.as_deref(), head_of(&place, &thread)), (Some("no"), (first, "end")));
    let next = place.step(&thread, Some(first), "writer", &json!({"$status": "checked"}));
    let report = resume(&place, &thread, &place.agent(&[next.to_string()]), "More.").unwrap();
    assert_eq!(head_of(&place, &thread), (report.head, "idle"));
    let step = thread::step_node(&place.store(), &report.head).unwrap();
    assert_eq!((step.prev, step.previous_attempts), (Some(first), Some(vec![failed])));
    assert!(place.calls().join("\n").contains("--prompt Write it anew.\n\nMore."));
    let error = resume(&place, &thread, "unused", "More.").unwrap_err();
    assert_eq!(error.to_string(), format!("thread {thread} cannot be resumed: its status is idle"));
}

#[test]
fn a_failed_step_leaves_the_head_where_it_was() {
    let place = Place::new();
    let thread = place.flow_thread();
    let before = head_of(&place, &thread);
    let failed = place.step(&thread, None, "writer", &json!({"$status": "error", "error": "no fence"}));
    for (answer, message) in
        [(reply(&failed, "writer", Some("told")), "told"), (failed.to_string(), "no fence")]
    {
        let report = exec(&place, &thread, &place.agent(&[answer])).unwrap();
        assert_eq!(report.failure.as_deref(), Some(message));
        assert_eq!((report.head, report.current_role.as_deref()), (before.0, Some("writer")));
        assert_eq!(report.played.unwrap().hash, failed);
        assert_eq!(head_of(&place, &thread), before);
    }
}

#[test]
fn a_reply_that_is_not_true_is_refused() {
    let place = Place::new();
    let thread = place.flow_thread();
    let other = place.flow_thread();
    let store = place.store();
    let before = head_of(&place, &thread);
    let first = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let fine = json!({"$status": "fine"});
    let of_another_type = {
        let mut step = serde_json::to_value(thread::step_node(&store, &first).unwrap()).unwrap();
        step["output"] = json!(store.put_text("free text").unwrap());
        store.put(&builtin::STEP_NODE, &step).unwrap()
    };
    let cases = [
        (place.step(&thread, None, "checker", &fine), "has role checker, expected writer"),
        (place.step(&thread, Some(first), "writer", &json!({"$status": "done"})), "has prev"),
        (of_another_type, "is of type 7VQ43ZSJTEWA7: expected the role's schema"),
        (before.0, "cannot be read"),
        ("0000000000000".parse().unwrap(), "cannot be read"),
    ];
    for (step, words) in cases {
        let error = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap_err();
        let ExecError::BadReply { source, .. } = &error else { panic!("{error}") };
        assert!(source.to_string().contains(words), "{source}");
        assert_eq!(head_of(&place, &thread), before);
    }
    // Both threads have the same start node content but for nothing: the same hash, so a step of `other` is ours, too.
    assert_eq!(head_of(&place, &other).0, before.0);
}

#[test]
fn an_agent_without_a_reply_is_an_error_with_its_last_words() {
    let place = Place::new();
    let thread = place.flow_thread();
    let failing = place.script("echo out of luck >&2; exit 7\n");
    let error = exec(&place, &thread, &failing).unwrap_err().to_string();
    let expected =
        "the agent `sh` gave no reply: it ended with exit status 7; its last words:\n    out of luck";
    assert_eq!(error, expected);
    let silent = place.script("echo 'not a reply'\n");
    let error = exec(&place, &thread, &silent).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the agent's last line of stdout is neither JSON nor a step hash: not a reply");
    let none = exec(&place, &thread, "/no/such/agent").unwrap_err();
    assert!(none.hint().unwrap().contains("--agent"));
}

#[test]
fn a_step_without_its_record_does_not_become_the_head() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head_of(&place, &thread);
    let good = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let with = |field: &str, value: &Hash| {
        let mut payload = store.get(&good).unwrap().payload;
        payload[field] = json!(value);
        store.put(&builtin::STEP_NODE, &payload).unwrap()
    };
    let nowhere: Hash = "0123456789ABC".parse().unwrap();
    let workflow = thread::head(&store, &thread).unwrap().start(&store).unwrap().workflow;
    let told = |step: &Hash, detail: &Hash| {
        let mut told: serde_json::Value = serde_json::from_str(&reply(step, "writer", None)).unwrap();
        told["detailHash"] = json!(detail);
        told.to_string()
    };
    let missing = format!("its detail {nowhere} cannot be read: expected the agent's record");
    let cases = [
        (with("detail", &nowhere).to_string(), missing.clone()),
        (told(&good, &nowhere), missing),
        (with("detail", &start.0).to_string(), format!("its detail {} is a StartNode: expected", start.0)),
        (told(&good, &workflow), format!("its detail {workflow} is a Workflow: expected")),
        (told(&good, &builtin::TEXT), format!("its detail {} is a schema: expected", builtin::TEXT)),
        (
            with("assembledPrompt", &nowhere).to_string(),
            format!("its assembledPrompt {nowhere} cannot be read: expected the opening messages"),
        ),
    ];
    for (said, expected) in cases {
        let error = exec(&place, &thread, &place.agent(std::slice::from_ref(&said))).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(source.starts_with(&expected), "{said}: {error}: {source}");
        assert_eq!(head_of(&place, &thread), start, "{said}");
    }
    // A record of any other type will do.
    let own = store.put(&builtin::META_SCHEMA, &json!({"type": "object", "required": ["x"]})).unwrap();
    let record = store.put(&own, &json!({"x": 1})).unwrap();
    let step = with("detail", &record);
    assert_eq!(exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap().head, step);
}

#[test]
fn a_location_counts_from_the_threads_directory_and_must_be_there() {
    let place = Place::new();
    let thread = place.flow_thread();
    let there = json!({"$status": "elsewhere", "dir": "sub/dir"});
    let step = place.step(&thread, None, "writer", &there);
    exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    let error = exec(&place, &thread, "unused").unwrap_err();
    assert!(error.to_string().ends_with("project/sub/dir for role `checker` to work in"), "{error}");
    assert!(error.hint().unwrap().contains("the edge's `location` says so"));
    fs::create_dir_all(place.project().join("sub/dir")).unwrap();
    let next = place.step(&thread, Some(step), "checker", &json!({"$status": "fine"}));
    exec(&place, &thread, &place.agent(&[next.to_string()])).unwrap();
    assert!(place.calls()[1].split('|').next().unwrap().ends_with("project/sub/dir"));
}

#[test]
fn an_empty_location_is_an_error() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "elsewhere"}));
    exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    let error = exec(&place, &thread, "unused").unwrap_err();
    assert_eq!(error.to_string(), "the location of the edge to role `checker` renders to nothing");
    assert_eq!(head_of(&place, &thread), (step, "idle"));
}

#[test]
fn a_prompt_that_no_command_line_can_hold_is_not_blamed_on_the_agent() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "lost", "dir": "a\0b"}));
    let report = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    assert!(report.obstacle.unwrap().contains("a NUL character"));
    let error = exec(&place, &thread, "unused").unwrap_err();
    assert!(
        error.to_string().contains("a NUL character") && error.hint().unwrap().contains("poke"),
        "{error}"
    );
}

#[test]
fn a_prompt_beyond_the_kernels_limit_is_refused_before_the_spawn() {
    let place = Place::new();
    let thread = place.flow_thread();
    let long = |bytes| json!({"$status": "lost", "dir": "x".repeat(bytes)});
    let step = place.step(&thread, None, "writer", &long((120 << 10) + 1));
    let report = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    let why =
        "the prompt of edge `writer` → `lost` renders to 122881 bytes: at most 122880 fit on a command line";
    assert_eq!(report.obstacle.as_deref(), Some(why));
    let error = exec(&place, &thread, "unused").unwrap_err();
    assert!(error.to_string() == why && error.hint().unwrap().contains("poke"), "{error}");

    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &long(120 << 10));
    let report = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    assert_eq!(report.current_role.as_deref(), Some("checker"));
}

#[test]
fn a_step_whose_way_on_is_broken_is_kept_and_says_so() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "lost"}));
    let report = exec(&place, &thread, &place.agent(&[step.to_string()])).unwrap();
    assert_eq!((report.head, report.status, report.current_role), (step, Status::Idle, None));
    assert!(report.obstacle.unwrap().contains("renders to nothing"));
}

#[test]
fn of_three_at_once_one_runs_and_two_are_told_who_does() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let (refused, go) = (AtomicUsize::new(0), place.path().join("go"));
    let agent = place.script(&format!("while [ ! -e {} ]; do sleep 0.02; done; echo {step}\n", go.display()));
    let run = || {
        let result = exec(&place, &thread, &agent);
        // The agent goes on when the others have been told.
        if result.is_err() && refused.fetch_add(1, Ordering::SeqCst) == 1 {
            fs::write(&go, "").unwrap();
        }
        result
    };
    let results = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(place.calls().len(), 1, "one agent");
    let busy: Vec<String> =
        results.iter().filter_map(|result| result.as_ref().err()).map(ToString::to_string).collect();
    let expected = format!("thread {thread} is already running, in process {}", std::process::id());
    assert_eq!(busy, [expected.clone(), expected]);
    assert_eq!(head_of(&place, &thread), (step, "idle"));
}

#[test]
fn another_engine_that_moves_the_head_meanwhile_is_noticed() {
    let place = Place::new();
    let thread = place.flow_thread();
    let start = head_of(&place, &thread).0;
    let ours = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let theirs = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let (entered, go) = (place.path().join("entered"), place.path().join("go"));
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo {ours}\n",
        entered.display(),
        go.display()
    );
    let agent = place.script(&script);
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| exec(&place, &thread, &agent));
        while !entered.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        thread::advance(&place.store(), &thread, &start, &theirs, &Status::Idle).unwrap();
        fs::write(&go, "").unwrap();
        run.join().unwrap()
    });
    let expected = format!("the head of thread {thread} has moved: expected {start}, found {theirs}");
    assert_eq!(result.unwrap_err().to_string(), expected);
    assert_eq!(head_of(&place, &thread).0, theirs);
}

fn poke(place: &Place, thread: &ThreadId, agent: Option<&str>) -> Result<StepReport, ExecError> {
    let options = agent.map(options).unwrap_or_default();
    place.with_engine(|engine| {
        poke_once(engine, &hold(engine, thread)?, "- again", &options, &mut Told::default())
    })
}

#[test]
fn a_poked_step_takes_the_place_of_the_last_one() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    assert!(matches!(poke(&place, &thread, Some("unused")), Err(ExecError::NothingToPoke { .. })));
    let first = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let second = place.step(&thread, Some(first), "writer", &json!({"$status": "checked"}));
    exec(&place, &thread, &place.agent(&[first.to_string()])).unwrap();
    exec(&place, &thread, &place.agent(&[second.to_string()])).unwrap();
    // The agent puts its step behind the head, as ever.
    let behind = place.step(&thread, Some(second), "writer", &json!({"$status": "again"}));
    let report = poke(&place, &thread, Some(&place.agent(&[behind.to_string()]))).unwrap();
    let played = report.played.unwrap();
    assert_eq!(head_of(&place, &thread), (played.hash, "idle"));
    assert_eq!((played.step.prev, report.current_role.as_deref()), (Some(first), Some("writer")));
    let hashes: Vec<Hash> =
        thread::chain(&store, &played.hash).unwrap().steps.iter().map(|(hash, _)| *hash).collect();
    assert_eq!(hashes, [first, played.hash]);
    assert!(store.has(&second), "nothing is lost");
    assert!(place.calls()[2].ends_with("--role writer --prompt - again"), "{:?}", place.calls());
}

#[test]
fn a_poked_step_may_suspend_and_a_failed_one_leaves_the_head() {
    let place = Place::new();
    let thread = place.flow_thread();
    let first = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    exec(&place, &thread, &place.agent(&[first.to_string()])).unwrap();
    let failed = place.step(&thread, Some(first), "writer", &json!({"$status": "error", "error": "no"}));
    let report = poke(&place, &thread, Some(&place.agent(&[reply(&failed, "writer", Some("no"))]))).unwrap();
    assert_eq!((report.failure.as_deref(), head_of(&place, &thread)), (Some("no"), (first, "idle")));
    let better = place.step(&thread, Some(first), "writer", &json!({"$status": "again"}));
    let report = poke(&place, &thread, Some(&place.agent(&[better.to_string()]))).unwrap();
    assert_eq!(report.played.unwrap().step.previous_attempts, Some(vec![failed]));
    let first = report.head;
    let asks = json!({"$status": "$SUSPEND", "reason": "Which?"});
    let asks = place.step(&thread, Some(first), "writer", &asks);
    let report = poke(&place, &thread, Some(&place.agent(&[asks.to_string()]))).unwrap();
    assert_eq!(report.status, Status::Suspended { role: "writer".into(), message: "Which?".into() });
    let step = report.played.unwrap().step;
    assert_eq!((step.prev, step.previous_attempts), (None, Some(vec![failed])), "it stands for the others");
}

#[test]
fn a_step_names_its_agent_and_never_a_command_line() {
    let place = Place::new();
    let thread = place.flow_thread();
    let store = place.store();
    let step = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let start = head_of(&place, &thread).0;
    for name in ["touch owned", "/bin/sh", "-c", "", "true", "scripted"] {
        let mut node = serde_json::to_value(thread::step_node(&store, &step).unwrap()).unwrap();
        node["agent"] = json!(name);
        let step = store.put(&builtin::STEP_NODE, &node).unwrap();
        let from = head_of(&place, &thread).0;
        thread::advance(&store, &thread, &from, &step, &Status::Idle).unwrap();
        let error = poke(&place, &thread, None).unwrap_err();
        assert!(matches!(&error, ExecError::UnknownMaker { agent } if agent == name), "{error}");
        thread::advance(&store, &thread, &step, &start, &Status::Idle).unwrap();
    }
}

/// A step names a program; whoever configures it may call it something else.
#[test]
fn the_maker_of_a_step_is_the_only_configured_agent_with_that_program() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let mut node = serde_json::to_value(
        thread::step_node(&store, &place.step(&thread, None, "writer", &json!({"$status": "again"})))
            .unwrap(),
    )
    .unwrap();
    node["agent"] = json!("uwf-other");
    let step: StepNode = serde_json::from_value(node).unwrap();
    let command = |program: &str, args: &[&str]| {
        AgentCommand::new(program, args.iter().map(|arg| (*arg).to_owned()).collect())
    };
    let (usual, other) = (command("usual", &[]), command("/opt/uwf-other", &["-x"]));
    let made = |agents: &[&AgentCommand]| {
        let agents =
            agents.iter().enumerate().map(|(n, agent)| (format!("a{n}"), (*agent).clone())).collect();
        let config = Config { agents, ..Config::default() };
        let mut told = Told::default();
        let made = place.with_engine(|engine| {
            Engine { config: &config, ..*engine }.maker(&step, Some(&usual), &mut told)
        });
        (made.unwrap(), told.0.len())
    };
    assert_eq!(made(&[&usual, &other, &other]), (other.clone(), 0));
    assert_eq!(made(&[&usual, &other, &command("uwf-other", &[])]), (usual.clone(), 1), "it may be either");
    assert_eq!(made(&[&usual]), (usual.clone(), 1));
}
