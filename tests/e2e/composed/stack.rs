//! Three levels: what goes up, what goes down, and who is told.

use serde_json::json;

use super::{ASKS, Stack, WORKS};
use crate::site::{Site, UWF};

#[test]
fn three_levels_end_together() {
    let stack = Stack::new(WORKS);
    let outer = stack.start();
    let ended = stack.exec(&outer).ok().json();
    assert_eq!((&ended[0]["status"], ended.as_array().unwrap().len()), (&json!("end"), 1));
    let threads = stack.threads(&outer);
    for (depth, thread) in threads.iter().enumerate() {
        let steps = stack.steps(thread);
        assert_eq!(steps.len(), [1, 1, 2][depth], "{depth}");
        let last = steps.last().unwrap();
        assert_eq!(last["output"], json!({"$status": "done", "text": "whole"}));
    }
    // What was used below is what was used in all.
    let used = |thread: &str| {
        stack.steps(thread).iter().map(|step| step["usage"]["turns"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(threads.each_ref().map(|thread| used(thread)), [2, 2, 2]);
    let inner = stack.show(&threads[2]);
    assert_eq!(
        (&inner["parent"]["depth"], &inner["parent"]["stack"]),
        (&json!(2), &json!(["middle", "outer"]))
    );
    let step = stack.payload(&stack.steps(&threads[2])[1]["hash"]);
    assert_eq!(step["ancestors"], json!([step["prev"]]), "a called thread's steps name their ancestors");
    let read = stack.site.uwf(&["thread", "read", &outer]).ok().out;
    assert!(read.contains("Step 1.1.2: inner-role → done") && read.contains("All of it."), "{read}");
    stack.site.verify();
}

#[test]
fn a_question_goes_up_and_the_answer_down() {
    let stack = Stack::new(ASKS);
    let outer = stack.start();
    let asked = stack.exec(&outer).code(10).json();
    assert_eq!(asked[0]["suspendMessage"], "Which half?");
    let threads = stack.threads(&outer);
    for thread in &threads {
        assert_eq!(stack.show(thread)["status"], "suspended");
    }
    let answered = stack.site.uwf(&["thread", "resume", &outer, "-p", "The left one."]).ok().json();
    assert_eq!(answered["status"], "end");
    assert_eq!(stack.threads(&outer), threads, "the same threads went on");
    for thread in &threads {
        let steps = stack.steps(thread);
        assert_eq!((steps.len(), &steps[1]["output"]["text"]), (2, &json!("whole")));
    }
    stack.site.verify();
}

#[test]
fn a_question_that_was_answered_below_is_not_asked_again() {
    let stack = Stack::new(ASKS);
    let outer = stack.start();
    stack.exec(&outer).code(10);
    let [_, middle, inner] = stack.threads(&outer);
    stack.site.uwf(&["thread", "resume", &inner, "-p", "The left one."]).ok();
    assert_eq!(stack.show(&middle)["status"], "suspended", "nobody has told it");
    let ended = stack.site.uwf(&["thread", "resume", &outer, "-p", "Never mind."]).ok().json();
    assert_eq!(ended["status"], "end");
    stack.site.verify();
}

#[test]
fn whoever_asked_is_answered_also_where_nobody_says_so() {
    let stack = Stack::new(ASKS);
    let config = std::fs::read_to_string(stack.site.home().join(".uwf/config.yaml")).unwrap();
    stack.site.write("home/.uwf/config.yaml", &config.replace("  outer: { outer-role: middle }\n", ""));
    let outer = stack.start();
    stack.site.uwf(&["thread", "exec", &outer, "--agent", "workflow:middle"]).code(10);
    let called = stack.called(&outer);
    let hint = stack.show(&called)["hint"].as_str().unwrap().to_owned();
    assert!(hint.ends_with(&format!("uwf thread resume {outer} -p TEXT")), "{hint}");
    stack.site.uwf(&["thread", "resume", &outer, "-p", "The left one."]).ok();
    assert_eq!((stack.called(&outer), &stack.show(&called)["status"]), (called, &json!("end")));

    // Another agent takes the question over, and nobody waits below.
    let outer = stack.start();
    stack.site.uwf(&["thread", "exec", &outer, "--agent", "workflow:middle"]).code(10);
    let script = stack.site.write("own.yaml", "turns: [{ content: \"---\\n$status: done\\n---\\n\" }]\n");
    let agent = format!("{} --mock {script}", crate::site::AGENT);
    stack.site.uwf(&["thread", "resume", &outer, "-p", "Mine.", "--agent", &agent]).ok();
    assert_eq!(stack.show(&stack.called(&outer))["status"], "cancelled");
    stack.site.verify();
}

#[test]
fn an_output_that_does_not_fit_after_a_question_is_tried_anew() {
    let stack = Stack::new(ASKS);
    let outer = super::flow("outer").replace("required: [$status]", "required: [$status, question]");
    stack.site.write("work/.workflow/outer.yaml", &outer);
    let outer = stack.start();
    stack.exec(&outer).code(10);
    let first = stack.called(&outer);
    let resume = || stack.site.uwf(&["thread", "resume", &outer, "-p", "The left one."]);
    let failed = resume().code(3).json();
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("workflow `middle` ended with an output that is none of role `outer-role`"),
        "{message}"
    );
    assert_eq!(stack.called(&outer), first);
    assert_eq!(resume().code(10).json()["suspendMessage"], "Which half?", "another thread asks");
    assert_ne!(stack.called(&outer), first);
    let task = stack.payload(&stack.show(&stack.called(&outer))["head"])["prompt"].clone();
    assert!(task.is_null() || task.as_str().unwrap().contains("Do it in outer."), "{task}");
    stack.site.verify();
}

#[test]
fn a_suspended_thread_goes_on_in_another_store() {
    let stack = Stack::new(ASKS);
    let outer = stack.start();
    stack.exec(&outer).code(10);
    let file = stack.site.write("t.jsonl", "");
    std::fs::remove_file(&file).unwrap();
    stack.site.uwf(&["thread", "export", &outer, "-o", &file]).ok();
    let other = Stack::at(Site::new(), ASKS);
    other.site.uwf(&["thread", "import", &file]).ok();
    let cwd = other.site.workspace().display().to_string();
    let ended =
        other.site.uwf(&["thread", "resume", &outer, "-p", "The left one.", "--cwd", &cwd]).ok().json();
    assert_eq!(ended["status"], "end");
    other.site.verify();
}

#[test]
fn a_step_that_failed_below_is_tried_again_where_it_failed() {
    let broken = WORKS.replace("$status: done", "$status: odd");
    let stack = Stack::new(&broken);
    let outer = stack.start();
    let failed = stack.exec(&outer).code(3).json();
    let message = failed[0]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("role `middle-role` of thread") && message.contains("role `inner-role`"),
        "{message}"
    );
    let threads = stack.threads(&outer);
    assert_eq!(stack.steps(&threads[2]).len(), 1, "what was finished stays");
    let mock = stack.site.write("mock.yaml", WORKS);
    stack.site.write("home/.uwf/config.yaml", &super::config(&mock));
    stack.exec(&outer).ok();
    assert_eq!(stack.threads(&outer), threads);
    let steps = stack.steps(&threads[2]);
    assert_eq!((steps.len(), steps[1]["previousAttempts"].as_array().unwrap().len()), (2, 1));
    assert_eq!(stack.steps(&outer)[0]["previousAttempts"].as_array().unwrap().len(), 1);
    stack.site.verify();
}

#[test]
fn where_the_graph_asks_the_answer_begins_another_thread() {
    let stack = Stack::new(
        "
roles:
  inner-role:
    - turns: [{ content: \"---\\n$status: more\\ntext: what\\n---\\n\" }]
",
    );
    let asks = super::flow("outer").replace(
        "role: outer-role, prompt: 'Go on in outer: {{text}}'",
        "role: $SUSPEND, prompt: 'Say {{text}}.'",
    );
    stack.site.write("work/.workflow/outer.yaml", &asks);
    let ends = super::flow("middle").replace(
        "more: { role: middle-role, prompt: 'Go on in middle: {{text}}' }",
        "more: { role: $END, prompt: Done. }",
    );
    stack.site.write("work/.workflow/middle.yaml", &ends);
    let ends = super::flow("inner").replace(
        "more: { role: inner-role, prompt: 'Go on in inner: {{text}}' }",
        "more: { role: $END, prompt: Done. }",
    );
    stack.site.write("work/.workflow/inner.yaml", &ends);
    let outer = stack.start();
    assert_eq!(stack.exec(&outer).code(10).json()[0]["suspendMessage"], "Say what.");
    let asked = stack.called(&outer);
    stack.site.write(
        "mock.yaml",
        &WORKS.replace(
            "- turns: [{ content: \"---\\n$status: more",
            "- turns: [{ expect: { last_contains: This. }, content: \"---\\n$status: done",
        ),
    );
    stack.site.uwf(&["thread", "resume", &outer, "-p", "This."]);
    assert_ne!(stack.called(&outer), asked);
    stack.site.verify();
}

#[test]
fn what_was_told_before_a_question_is_not_told_again() {
    let used = ASKS.replace(
        "- turns: [{ content",
        "- turns: [{ tool_calls: [{ name: write_file, arguments: { path: first, content: '1' } }] }, { content",
    );
    assert_ne!(used, ASKS);
    let stack = Stack::new(&used);
    let outer = stack.start();
    stack.exec(&outer).code(10);
    stack.site.uwf(&["thread", "resume", &outer, "-p", "The left one."]).ok();
    let turns: Vec<_> =
        stack.steps(&outer).iter().map(|step| step["usage"]["turns"].as_u64().unwrap()).collect();
    assert_eq!(turns, [2, 1]);
    let diff = |n: u32| stack.site.uwf(&["step", "diff", &format!("{outer}:{n}"), "--name-only"]).out;
    assert!(diff(1).contains("first") && !diff(2).contains("first"), "{} and {}", diff(1), diff(2));
    let read = stack.site.uwf(&["thread", "read", &outer]).ok().out;
    assert!(read.contains("Step 1.1.1: inner-role") && read.contains("Step 2.1.1: inner-role"), "{read}");
    assert!(!read.contains("2.1.2"), "{read}");
    let step = stack.steps(&outer)[0]["hash"].as_str().unwrap().to_owned();
    let read = stack.site.uwf(&["step", "read", &step]).ok().out;
    assert!(read.contains("Played by workflow `middle`") && read.contains("Step 1.1: inner-role"), "{read}");
}

#[test]
fn a_forked_question_is_answered_in_the_directory_of_the_fork() {
    let stack = Stack::new(&ASKS.replace(
        "        - content: \"---\\n$status: done",
        "        - tool_calls: [{ name: write_file, arguments: { path: where, content: here } }]\n          expect: { last_contains: The left one. }\n        - content: \"---\\n$status: done",
    ).replace("\n          expect: { last_contains: The left one. }\n\"", "\n\""));
    let outer = stack.start();
    stack.exec(&outer).code(10);
    let copy = stack.site.workspace().with_file_name("copy");
    let forked = stack
        .site
        .uwf(&["step", "fork", &format!("{outer}:1"), "--worktree", copy.to_str().unwrap()])
        .ok()
        .json();
    let fork = forked["thread"].as_str().unwrap();
    stack.site.uwf(&["thread", "resume", fork, "-p", "The left one."]);
    assert!(copy.join("where").exists() && !stack.site.workspace().join("where").exists());
    assert_eq!(stack.show(&outer)["status"], "suspended");
}

#[test]
fn another_visit_has_another_thread_and_the_one_before_is_given_up() {
    let broken = WORKS.replace("$status: done", "$status: odd");
    let stack = Stack::new(&broken);
    let outer = stack.start();
    stack.exec(&outer).code(3);
    let [_, middle, inner] = stack.threads(&outer);
    let mock = stack.site.write("mock.yaml", WORKS);
    stack.site.write("home/.uwf/config.yaml", &super::config(&mock));
    // Another workflow in its place.
    stack.site.uwf(&["thread", "exec", &outer, "--agent", "workflow:inner"]).ok();
    assert_ne!(stack.called(&outer), middle);
    assert_eq!(
        (&stack.show(&middle)["status"], &stack.show(&inner)["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    // What is poked is asked what it was asked for, and more.
    stack.site.write(
        "mock.yaml",
        &WORKS.replace(
            "- turns: [{ content: \"---\\n$status: more",
            "- turns: [{ expect: { last_contains: Do it in inner. }, content: \"---\\n$status: more",
        ),
    );
    let outer = stack.start();
    stack.exec(&outer).ok();
    let said = stack.site.uwf(&["thread", "poke", &outer, "-p", "Better."]);
    said.fails(1, &["not active"]);
    // An agent that makes the visit itself leaves nobody waiting.
    let stack = Stack::new(&broken);
    let outer = stack.start();
    stack.exec(&outer).code(3);
    let middle = stack.called(&outer);
    let script = stack.site.write("own.yaml", "turns: [{ content: \"---\\n$status: done\\n---\\n\" }]\n");
    let agent = format!("{} --mock {script}", crate::site::AGENT);
    stack.site.uwf(&["thread", "exec", &outer, "--agent", &agent]).ok();
    assert_eq!(stack.show(&middle)["status"], "cancelled");
    stack.site.uwf(&["thread", "rm", &outer]).ok();
    stack.site.uwf(&["thread", "show", &middle]).fails(1, &["no such thread"]);
    stack.site.verify();
}

#[test]
fn an_engine_that_knows_agents_alone_can_call_a_workflow() {
    let stack = Stack::new(WORKS);
    let config = std::fs::read_to_string(stack.site.home().join(".uwf/config.yaml")).unwrap();
    let as_agent = config.replace(
        "middle: { workflow: middle }",
        &format!("middle: {{ command: {UWF}, args: [as-agent, middle] }}"),
    );
    assert_ne!(as_agent, config);
    stack.site.write("home/.uwf/config.yaml", &as_agent);
    let outer = stack.start();
    stack.exec(&outer).ok();
    let [_, middle, inner] = stack.threads(&outer);
    assert_eq!((stack.steps(&middle).len(), stack.steps(&inner).len()), (1, 2));
    let step = stack.payload(&stack.steps(&outer)[0]["hash"]);
    assert_eq!(step["childThread"], stack.show(&middle)["head"]);
    // The reply is that of any agent; the head stays with the engine that called.
    let other = stack.start();
    let said = stack
        .site
        .uwf(&["as-agent", "middle", "--thread", &other, "--role", "outer-role", "--prompt", "Do it."])
        .ok();
    assert_eq!((said.out.lines().count(), &said.reply()["frontmatter"]["text"]), (1, &json!("whole")));
    assert_eq!(stack.steps(&other).len(), 0);
    let said = stack.site.uwf(&["as-agent", "middle", &other, "outer-role"]).ok();
    assert_eq!(said.reply()["isError"], false);
    stack.site.verify();
}

#[test]
fn what_does_not_fit_is_mapped() {
    let stack = Stack::new(WORKS);
    let mapped = super::flow("outer")
        .replace("enum: [done, more]", "enum: [good]")
        .replace("text: { type: string }", "answer: { type: string }")
        .replace("    done:", "    good:")
        .replace("    more: { role: outer-role, prompt: 'Go on in outer: {{text}}' }\n", "");
    stack.site.write("work/.workflow/outer.yaml", &mapped);
    let outer = stack.start();
    let failed = stack.exec(&outer).code(3).json();
    let message = failed[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("is none of role `outer-role`") && message.contains("`output:`"), "{message}");
    let text = format!(
        "{mapped}output:\n  outer-role: {{ $status: {{ from: /$status, values: {{ done: good }} }}, answer: /text }}\n"
    );
    stack.site.write("work/.workflow/outer.yaml", &text);
    let outer = stack.start();
    stack.exec(&outer).ok();
    assert_eq!(stack.steps(&outer)[0]["output"], json!({"$status": "good", "answer": "whole"}));
    stack.site.verify();
}

#[test]
fn a_question_to_the_step_goes_to_who_made_it() {
    let stack = Stack::new(WORKS);
    let outer = stack.start();
    stack.exec(&outer).ok();
    let step = stack.steps(&outer)[0]["hash"].as_str().unwrap().to_owned();
    let script = stack.site.write("ask.yaml", "turns: [{ content: 'Because.' }]\n");
    let agent = format!("{} --mock {script}", crate::site::AGENT);
    let said = stack.site.uwf(&["step", "ask", &step, "-p", "Why?", "--agent", &agent]).ok();
    assert!(said.out.contains("Because."), "{}", said.out);
}
