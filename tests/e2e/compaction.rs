//! Threads that are summed up: prompts that stay short, a history that stays whole, and a thread that goes on after
//! whatever came between.

#[path = "compaction/bad_input.rs"]
mod bad_input;
#[path = "compaction/killed.rs"]
mod killed;

use serde_json::Value;

use crate::site::{AGENT, Site};
use crate::store::age;

/// One role, round after round, with a rule for summaries or without.
fn workflow(rule: &str) -> String {
    format!(
        "\
name: long
description: One role
roles:
  worker:
    goal: You work.
    frontmatter:
      type: object
      required: [$status]
      properties: {{ $status: {{ enum: [more, ask, done] }}, note: {{ type: string }} }}
graph:
  $START:
    new: {{ role: worker, prompt: Begin. }}
    resume: {{ role: worker, prompt: Begin again. }}
  worker:
    more: {{ role: worker, prompt: Go on. }}
    ask: {{ role: $SUSPEND, prompt: Which one? }}
    done: {{ role: $END, prompt: Done. }}
{rule}"
    )
}

/// What the worker says in each round.
const ROUND: &str = "---\\n$status: more\\nnote: a word about this round\\n---\\nWhat I did in this round, at some length.\\n";

/// A worker that always wants one more round, and a `$COMPACT` that says so.
fn script(compact: &str) -> String {
    format!(
        "roles:\n  worker:\n    - turns:\n        - {{ content: \"{ROUND}\" }}\n  $COMPACT:\n    - turns:\n        - {compact}\n"
    )
}

/// The turn with a summary.
fn summary(text: &str) -> String {
    format!("{{ content: \"---\\n$status: done\\nsummary: {text}\\n---\\n\" }}")
}

/// An agent that plays such a script.
fn agent(site: &Site, name: &str, compact: &str) -> String {
    format!("{AGENT} --mock {}", site.write(name, &script(compact)))
}

/// A thread of so many steps, and its agent.
fn thread_of(site: &Site, rule: &str, steps: usize) -> (String, String) {
    let workflow = site.write("long.yaml", &workflow(rule));
    let agent = agent(site, "mock.yaml", &summary("Rounds were made."));
    let thread = site.start(&workflow, "the task");
    if steps > 0 {
        site.uwf(&["thread", "exec", &thread, "-c", &steps.to_string(), "--agent", &agent]).ok();
    }
    (thread, agent)
}

/// The steps of a thread, without its start.
fn steps(site: &Site, thread: &str) -> Vec<Value> {
    site.uwf(&["step", "list", thread]).ok().json()["steps"].as_array().unwrap()[1..].to_vec()
}

fn prompt(site: &Site, step: &str) -> String {
    let read = site.uwf(&["step", "read", step, "--prompt", "--format", "json"]).ok().json();
    read["prompt"].as_str().unwrap().to_owned()
}

/// What steps say, whatever they are stored as.
fn told(steps: &[Value]) -> Vec<[Value; 4]> {
    steps.iter().map(|step| ["role", "output", "detail", "agent"].map(|field| step[field].clone())).collect()
}

#[test]
fn the_sixtieth_prompt_is_no_longer_than_the_twenty_fifth() {
    let site = Site::new();
    let (thread, _) = thread_of(&site, "compact: { after: 11, keep: 5 }\n", 60);
    let all = steps(&site, &thread);
    assert_eq!(all.len(), 60);
    let prompts: Vec<String> = all.iter().map(|step| prompt(&site, step["hash"].as_str().unwrap())).collect();
    let lengths: Vec<usize> = prompts.iter().map(String::len).collect();
    assert!(lengths[59] <= lengths[24], "{lengths:?}");
    assert!(
        lengths[12..].iter().max() <= lengths[..12].iter().max().map(|most| most + 600).as_ref(),
        "{lengths:?}"
    );
    assert!(prompts[59].contains("# Summary of what happened before"), "{}", prompts[59]);
    assert!(prompts[59].contains("Rounds were made."), "{}", prompts[59]);
    assert!(!prompts[11].contains("# Summary"), "{}", prompts[11]);

    // Where summaries stand is told, and hides nothing.
    let places: Vec<usize> = (0..60).filter(|at| all[*at].get("compact").is_some()).collect();
    assert_eq!(places, [7, 14, 21, 28, 35, 42, 49]);
    let by = all[7]["compactedBy"].as_str().unwrap();
    assert_eq!(site.uwf(&["cas", "get", by]).ok().json()["payload"]["role"], "$COMPACT");
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    assert_eq!(shown["summary"]["step"], all[49]["hash"]);
    let read = site.uwf(&["thread", "read", &thread]).ok().out;
    assert_eq!(read.matches("*(a summary of everything before this step: ").count(), 7);
    assert_eq!(read.matches("## Step ").count(), 60);
    let carrier = site.uwf(&["step", "read", all[49]["hash"].as_str().unwrap()]).ok().out;
    assert!(carrier.contains("*(a summary of everything before this step: `uwf cas get "), "{carrier}");
    // The prompt that made a summary is on record as any is.
    assert!(prompt(&site, by).contains("Of the steps above, the last 5 stay as written"));
    site.verify();
}

#[test]
fn a_thread_that_was_summed_up_is_forked_collected_and_taken_elsewhere() {
    let site = Site::new();
    let (thread, agent) = thread_of(&site, "", 9);
    let before = steps(&site, &thread);
    let done = site.uwf(&["thread", "compact", &thread, "--keep", "3", "--agent", &agent]).ok().json();
    let after = steps(&site, &thread);
    assert_eq!(told(&before), told(&after));
    assert_eq!(before[..6], after[..6]);
    assert_eq!(
        (&done["step"], &done["head"], &done["from"]),
        (&after[6]["hash"], &after[8]["hash"], &before[8]["hash"])
    );
    assert_eq!((&done["summary"], &done["compactedBy"]), (&after[6]["compact"], &after[6]["compactedBy"]));
    let text = site.uwf(&["cas", "get", done["summary"].as_str().unwrap()]).ok().json();
    assert_eq!(text["payload"], "Rounds were made.");

    // Collecting keeps the step that made the summary, and by it the chain as it was.
    age(&site);
    site.uwf(&["cas", "gc"]).ok();
    site.verify();
    assert_eq!(steps(&site, &thread), after);
    site.uwf(&["step", "read", done["compactedBy"].as_str().unwrap()]).ok();
    let old = site.uwf(&["step", "fork", before[8]["hash"].as_str().unwrap()]).ok().json();
    assert_eq!(steps(&site, old["thread"].as_str().unwrap()), before);

    // A fork goes on with the summary; one of a step before it without.
    for (step, has) in [(&after[8], true), (&after[5], false)] {
        let fork = site.uwf(&["step", "fork", step["hash"].as_str().unwrap()]).ok().json();
        let fork = fork["thread"].as_str().unwrap().to_owned();
        site.uwf(&["thread", "exec", &fork, "--agent", &agent]).ok();
        assert_eq!(prompt(&site, &format!("{fork}:-1")).contains("# Summary"), has);
    }

    let other = Site::new();
    let file = site.write("thread.jsonl", "");
    site.uwf(&["thread", "export", &thread, "-o", &file]).ok();
    other.uwf(&["thread", "import", &file]).ok();
    let strip = |steps: Vec<Value>| -> Vec<Value> {
        let without = |mut step: Value| {
            step.as_object_mut().unwrap().remove("timestamp");
            step
        };
        steps.into_iter().map(without).collect()
    };
    assert_eq!(strip(steps(&other, &thread)), strip(after));
    other.verify();
    let there = self::agent(&other, "mock.yaml", &summary("Elsewhere."));
    let cwd = other.workspace().display().to_string();
    other.uwf(&["thread", "exec", &thread, "--agent", &there, "--cwd", &cwd]).ok();
    assert!(prompt(&other, &format!("{thread}:-1")).contains("Rounds were made."));
}

#[test]
fn a_summary_that_fails_is_told_as_a_step_that_failed() {
    let site = Site::new();
    let (thread, agent) = thread_of(&site, "compact: { after: 3, keep: 1 }\n", 4);
    let bad = self::agent(&site, "bad.yaml", "{ error: { status: 400, message: no summary today } }");
    let before = steps(&site, &thread);
    let failed = site.uwf(&["thread", "exec", &thread, "--agent", &bad]).code(3).json();
    assert!(failed["error"]["message"].as_str().unwrap().contains("no summary today"), "{failed}");
    let step = failed["error"]["stepHash"].as_str().unwrap();
    assert!(failed["hint"].as_str().unwrap().contains(&format!("`uwf thread exec {thread}`")), "{failed}");
    let listed = site.uwf(&["step", "list", &thread]).ok().json();
    assert_eq!(
        (&listed["failed"][0]["hash"], &listed["failed"][0]["role"]),
        (&step.into(), &"$COMPACT".into())
    );
    assert_eq!(steps(&site, &thread), before, "the head has stayed");
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["error"]["stepHash"], step);
    // The next time it is tried again, and what failed is on record.
    let done = site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok().json();
    let by = done["compacted"]["compactedBy"].as_str().unwrap();
    assert_eq!(site.uwf(&["cas", "get", by]).ok().json()["payload"]["previousAttempts"][0], step);
    assert_eq!(steps(&site, &thread).len(), 5);
    assert!(site.uwf(&["step", "list", &thread]).ok().json().get("failed").is_none());
    site.verify();
}

/// What a step did is undone wherever the step is stored again since.
#[test]
fn what_was_undone_is_so_after_a_summary() {
    let site = Site::new();
    let workflow = site.write("long.yaml", &workflow(""));
    let write = |n: usize| {
        format!(
            "    - turns:\n        - {{ tool_calls: [{{ name: write_file, arguments: {{ path: f{n}, content: \"x\\n\" }} }}] }}\n        - {{ content: \"{ROUND}\" }}\n"
        )
    };
    let turns: String = (0..4).map(write).collect();
    let compact = summary("Files were written.");
    let mock = format!("roles:\n  worker:\n{turns}  $COMPACT:\n    - turns:\n        - {compact}\n");
    let agent = format!("{AGENT} --mock {}", site.write("mock.yaml", &mock));
    let thread = site.start(&workflow, "Write.");
    site.uwf(&["thread", "exec", &thread, "-c", "4", "--agent", &agent]).ok();
    let exists = |n: usize| site.workspace().join(format!("f{n}")).exists();
    let before = steps(&site, &thread);
    site.uwf(&["undo", &format!("{thread}:4")]).ok();
    site.uwf(&["thread", "compact", &thread, "--keep", "2", "--agent", &agent]).ok();
    let after = steps(&site, &thread);
    assert_eq!((&after[3]["undone"], after[2].get("undone")), (&"whole".into(), None));
    assert!(!exists(3) && exists(2));
    site.uwf(&["undo", &format!("{thread}:-1")]).fails(1, &["step 4 of thread", "is undone already"]);
    // By its old name, too.
    let old = before[2]["hash"].as_str().unwrap();
    let undone = site.uwf(&["undo", old]).ok().json();
    assert_eq!(undone["thread"], thread.as_str());
    assert!(!exists(2) && exists(1));
    site.uwf(&["undo", after[2]["hash"].as_str().unwrap()])
        .fails(1, &["step 3 of thread", "is undone already"]);
    site.uwf(&["redo", after[3]["hash"].as_str().unwrap()]).ok();
    site.uwf(&["redo", old]).ok();
    assert!((0..4).all(exists));
    assert!(steps(&site, &thread).iter().all(|step| step.get("undone").is_none()));
    site.uwf(&["thread", "checkout", &format!("{thread}:3"), "../there"]).ok();
    assert!(site.workspace().join("../there/f2").exists() && !site.workspace().join("../there/f3").exists());
    site.verify();
}
