//! `uwf run` and its like as a user has them: the real agent, a script in the place of a model, a terminal where one is asked.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::process::{signal, wait_for};
use crate::rounds::{sleeper, sleeps};
use crate::site::{Said, Site, UWF};
use crate::terminal::Person;

const WORKFLOW: &str = "\
name: rounds
description: One role, round after round
roles:
  worker:
    goal: You work.
    frontmatter:
      type: object
      required: [$status]
      properties: { $status: { enum: [more, ask, done] } }
graph:
  $START:
    new: { role: worker, prompt: Begin. }
  worker:
    more: { role: worker, prompt: Go on. }
    ask: { role: $SUSPEND, prompt: Which one? }
    done: { role: $END, prompt: Done. }
";

/// A script in which the worker gives these statuses, visit by visit.
fn script(site: &Site, statuses: &[&str]) -> String {
    let visit = |status: &&str| {
        let body = if *status == "done" { "All of it is done." } else { "Body." };
        format!(
            "    - turns:\n        - content: |\n            ---\n            $status: {status}\n            ---\n            {body}\n"
        )
    };
    let visits: String = statuses.iter().map(visit).collect();
    site.write("script.yaml", &format!("roles:\n  worker:\n{visits}"))
}

fn command(site: &Site, args: &[&str]) -> Command {
    site.write("work/rounds.yaml", WORKFLOW);
    let mut command = site.command(UWF);
    command.args(args);
    command
}

fn uwf(site: &Site, args: &[&str]) -> Said {
    Said::of(command(site, args).output().unwrap())
}

fn thread(site: &Site) -> String {
    site.uwf(&["thread", "list", "--all"]).ok().json()[0]["thread"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_gives_its_answer_and_what_was_chosen_is_kept() {
    let site = Site::new();
    let script = script(&site, &["more", "more", "more", "done"]);
    let run = ["run", "rounds.yaml", "-p", "Work.", "--mock", &script, "--sandbox", "best-effort"];
    let ran = uwf(&site, &[&run[..], &["--max-rounds", "2"]].concat()).code(10);
    assert!(
        ran.out.is_empty() && ran.err.contains("paused: 2 rounds used up: worker would play a 3rd time"),
        "{ran:?}"
    );
    let thread = thread(&site);
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    assert_eq!((&shown["status"], &shown["options"]["mock"]), (&json!("paused"), &json!(script)));
    // Nothing of it is typed again.
    let resumed = site.uwf(&["thread", "resume", &thread, "--max-rounds", "9"]).ok();
    assert_eq!(resumed.json()["status"], "idle");
    let ended = site.uwf(&["thread", "exec", &thread]).ok().json();
    assert_eq!(ended["status"], "end");
    let sandbox = site.uwf(&["thread", "show", &thread]).ok().json()["options"]["sandbox"].clone();
    assert_eq!(sandbox, "best-effort");
    let again = uwf(&site, &run).ok();
    assert_eq!(again.out, "All of it is done.\n");
    let told = uwf(&site, &[&run[..], &["--json"]].concat()).ok();
    let (told, quiet) = (told.json(), told.err);
    assert_eq!(
        (&told["body"], &told["usage"]["turns"], quiet.as_str()),
        (&json!("All of it is done."), &json!(4), "")
    );
}

#[test]
fn a_person_is_asked_and_the_run_goes_on() {
    let site = Site::new();
    let script = script(&site, &["ask", "done"]);
    let args = ["run", "rounds.yaml", "-p", "Work.", "--mock", &script];
    let mut person = Person::before(command(&site, &args));
    person.answers("worker asks: Which one?", "The left one.\n");
    let said = person.waits().ok();
    assert_eq!(said.out, "All of it is done.\n");
    let read = site.uwf(&["thread", "read", &thread(&site)]).ok().out;
    assert!(read.contains("The left one."), "{read}");
    // Return alone leaves it as it is.
    let mut person = Person::before(command(&site, &args));
    person.answers("worker asks: Which one?", "\n");
    let said = person.waits().code(10);
    assert!(said.out.is_empty() && said.err.contains("answer with: uwf thread resume "), "{said:?}");
    let waits = thread(&site);
    // Whoever resumes it without an answer is asked, too.
    let mut person = Person::before(command(&site, &["thread", "resume", &waits, "--until-end"]));
    person.answers("worker asks: Which one?", "The right one.\n");
    assert_eq!(person.waits().ok().json()[0]["status"], "end");
    site.verify();
}

#[test]
fn nobody_is_asked_where_there_is_no_terminal() {
    let site = Site::new();
    let script = script(&site, &["ask", "done"]);
    let ran = uwf(&site, &["run", "rounds.yaml", "-p", "Work.", "--mock", &script]).code(10);
    let thread = thread(&site);
    let answer =
        format!("suspended: worker asks: Which one?\nanswer with: uwf thread resume {thread} -p TEXT\n");
    assert!(ran.out.is_empty() && ran.err.contains(&answer), "{ran:?}");
    site.uwf(&["thread", "resume", &thread]).fails(10, &["waits for an answer", "-p TEXT"]);
    let launched =
        site.uwf(&["thread", "resume", &thread, "-p", "- this", "--until-end", "--background"]).ok();
    assert_eq!(launched.json()["background"], true);
    wait_for(|| site.uwf(&["thread", "show", &thread]).ok().json()["status"] == "end");
    let read = site.uwf(&["thread", "read", &thread]).ok().out;
    assert!(read.contains("- this"), "{read}");
}

#[test]
fn a_task_is_written_in_the_editor_of_a_person() {
    let site = Site::new();
    let editor = site.write(
        "editor.sh",
        "cp \"$1\" seen.md\nprintf '# Fix it\\n\\nnow\\n' | cat - \"$1\" > new && cp new \"$1\"\n",
    );
    let start = |editor: &str| {
        let mut command = command(&site, &["thread", "start", "-q", "rounds.yaml"]);
        command.env("EDITOR", editor).env("NO_COLOR", "1");
        Person::before(command).waits()
    };
    start("true").fails(1, &["the task is empty; nothing was changed"]);
    start("false").fails(1, &["the editor `false` failed"]);
    assert_eq!(site.uwf(&["thread", "list", "--all"]).ok().json(), json!([]));
    let said = start(&format!("sh {editor}")).ok();
    assert_eq!(said.out.trim(), thread(&site), "the id alone is on stdout");
    let seen = std::fs::read_to_string(site.workspace().join("seen.md")).unwrap();
    assert!(seen.starts_with("\n# ---") && seen.contains("is the task"), "{seen}");
    let start = &site.uwf(&["step", "list", said.out.trim()]).ok().json()["steps"][0];
    assert_eq!(start["prompt"], "# Fix it\n\nnow");
}

#[test]
fn what_is_cut_off_is_told_once_with_the_command_that_goes_on() {
    let site = Site::new();
    site.write("work/rounds.yaml", WORKFLOW);
    let turns = "roles:\n  worker:\n    - turns:\n        - tool_calls: [{ name: run_command, arguments: { command: 'touch began; until [ -e go ]; do sleep 0.02; done' } }]\n        - content: |\n            ---\n            $status: done\n            ---\n            Done at last.\n";
    let script = site.write("script.yaml", turns);
    let mut run =
        command(&site, &["run", "rounds.yaml", "-p", "Work.", "--mock", &script, "--sandbox", "best-effort"]);
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| site.workspace().join("began").exists());
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    let thread = thread(&site);
    let block = format!(
        "error: stopped by signal 2\n  hint: nothing is lost; continue with: uwf thread exec {thread} --until-end\n"
    );
    assert!(said.out.is_empty() && said.err.ends_with(&block), "{said:?}");
    assert_eq!(
        (said.err.matches("error:").count(), said.err.matches("continue with").count()),
        (1, 1),
        "{}",
        said.err
    );
    site.write("work/go", "");
    let gone_on = site.uwf(&["thread", "exec", &thread, "--until-end"]).ok();
    assert_eq!(gone_on.json()[0]["status"], "end");
}

#[test]
fn a_run_in_the_background_gives_its_id_and_can_be_paused() {
    let site = Site::new();
    let args = ["run", "rounds.yaml", "-p", "Work.", "--agent", &sleeps(&site), "--background", "-q"];
    let said = uwf(&site, &args).ok();
    let thread = said.out.trim();
    assert_eq!((thread.len(), said.err.as_str()), (26, ""));
    sleeper(&site);
    let paused = site.uwf(&["thread", "pause", thread]).ok().json();
    assert_eq!(paused["running"], true);
    site.uwf(&["thread", "stop", thread]).ok();
    wait_for(|| site.uwf(&["thread", "show", thread]).ok().json()["status"] == "paused");
    site.uwf(&["thread", "exec", thread]).fails(10, &["is paused", "uwf thread resume"]);
    site.uwf(&["thread", "cancel", thread]).ok();
}
