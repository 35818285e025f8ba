//! Which session an agent goes on with: one that knows what was done, or else a new one that is told everything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::{AGENTS, Stage, WORKFLOW};
use crate::process::{signal, wait_for};
use crate::site::{AGENT, Said, Site};

const REVIEWS: &str = "roles:
  reviewer:
    - turns: [{ content: \"---\\n$status: again\\n---\\nMore.\" }]
    - turns: [{ content: \"---\\n$status: again\\n---\\nStill more.\" }]
    - turns: [{ content: \"---\\n$status: fine\\n---\\nGood.\" }]
";

/// A program in the home that reads what it is told, and then runs this.
fn program(site: &Site, name: &str, body: &str) -> String {
    let path = site.write(&format!("home/bin/{name}"), &format!("#!/bin/sh\n{body}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A stage on which the writer is Claude Code, unless somebody else is named.
struct Turns {
    stage: Stage,
    thread: String,
    reviewer: String,
    other: String,
}

impl Turns {
    fn new(plan: &[&str]) -> Turns {
        let stage = Stage::new(&AGENTS[0], plan);
        let reviews = stage.site.write("more-reviews.yaml", REVIEWS);
        let answer = "cat > /dev/null; printf -- '---\\n$status: done\\nsummary: by another\\n---\\nOther words.\\n'\n";
        let other = program(&stage.site, "other", answer);
        let thread = stage.start();
        Turns {
            stage,
            thread,
            reviewer: format!("{AGENT} --mock {reviews}"),
            other: format!("command {other}"),
        }
    }

    fn plays(&self, agent: &str) {
        self.stage.uwf(&["thread", "exec", &self.thread, "--agent", agent]).ok();
    }

    fn reviews(&self) {
        self.plays(&self.reviewer);
    }

    fn writes(&self) {
        self.plays("claude-code");
    }

    /// Whether that call went on with a session; one that did not was told everything.
    fn went_on(&self, call: usize, everything: &[&str]) -> bool {
        let (args, told) = self.stage.call(call);
        let went_on = args.contains("--resume");
        for said in everything.iter().filter(|_| !went_on) {
            assert!(told.contains(said), "{said} in {told}");
        }
        went_on
    }
}

const EVERYTHING: [&str; 4] = ["# Your role", "A text, please.", "## You answered", "Write it better."];

#[test]
fn a_session_that_missed_a_visit_of_another_agent_is_not_gone_on_with() {
    let turns = Turns::new(&["success", "success"]);
    turns.writes();
    turns.reviews();
    turns.plays(&turns.other);
    turns.reviews();
    turns.writes();
    let everything = [&EVERYTHING[..], &["Other words.", "More.", "Still more."]].concat();
    assert!(!turns.went_on(1, &everything));
}

#[test]
fn a_session_is_gone_on_with_after_a_poke_unless_another_agent_made_the_step_again() {
    let turns = Turns::new(&["success", "success", "success"]);
    turns.writes();
    let poke = |agent: &str| {
        turns.stage.uwf(&["thread", "poke", &turns.thread, "-p", "Once more.", "--agent", agent]).ok();
    };
    poke("claude-code");
    assert!(turns.went_on(1, &[]), "it knows the step that it makes again");
    poke(&turns.other);
    turns.reviews();
    turns.writes();
    assert!(!turns.went_on(2, &[&EVERYTHING[..], &["Other words."]].concat()));
}

/// The second visit is ended when the agent is at work.
fn interrupted() -> Turns {
    let turns = Turns::new(&["success", "wait", "success"]);
    turns.writes();
    turns.reviews();
    let mut command = turns.stage.command(&["thread", "exec", &turns.thread, "--agent", "claude-code"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| turns.stage.site.home().join("calls/begun").exists());
    signal("-TERM", child.id());
    Said::of(child.wait_with_output().unwrap()).code(143);
    assert!(turns.went_on(1, &[]));
    turns
}

#[test]
fn an_interrupted_session_is_gone_on_with_by_its_run_alone() {
    let turns = interrupted();
    let fresh = ["adapt", "claude-code", "--thread", &turns.thread, "--role", "writer", "--fresh"];
    turns.stage.uwf(&fresh).ok();
    assert!(!turns.went_on(2, &EVERYTHING));
}

#[test]
fn who_has_lost_the_session_of_an_interrupted_visit_is_told_everything() {
    let turns = interrupted();
    fs::remove_file(turns.stage.site.home().join(".uwf/cache/claude-code-sessions.json")).unwrap();
    turns.writes();
    assert!(!turns.went_on(2, &EVERYTHING));
    assert_eq!(turns.stage.steps(&turns.thread).len(), 3);
}

/// An agent of one's own, whose calls run this with their number in `n` and what they are told in `told.$n`.
fn own(definition: &str, body: &str) -> (Site, String) {
    let site = Site::new();
    let count = "n=$(ls ../home/calls | wc -l); cat > \"../home/calls/$n\"\n";
    fs::create_dir(site.home().join("calls")).unwrap();
    program(&site, "own", &format!("{count}{body}"));
    let head = "description: Mine\nprogram: ../../bin/own\nprompt: stdin\n";
    site.write("home/.uwf/agents/mine.yaml", &format!("{head}{definition}"));
    let workflow = site.write("pair.yaml", WORKFLOW);
    let thread = site.start(&workflow, "A text, please.");
    (site, thread)
}

fn told(site: &Site, call: usize) -> String {
    fs::read_to_string(site.home().join(format!("calls/{call}"))).unwrap()
}

const EVENTS: &str = "args: {}
reply:
  format: jsonl
  events:
    - { session: /session }
    - { text: /text, call: { id: /call, name: tool, args: /args } }
    - { result: { id: /result, output: done } }
";

#[test]
fn an_agent_that_tells_a_session_and_cannot_go_on_with_it_is_told_everything_with_the_correction() {
    let wrong = r#"[ "$n" = 0 ] && { printf '{"session":"s0","text":"I am ready."}\n'; exit; }"#;
    let right = r#"printf '{"session":"s1","text":"---\\n$status: done\\nsummary: it\\n---\\nDone."}\n'"#;
    let (site, thread) = own(EVENTS, &format!("{wrong}\n{right}\n"));
    site.uwf(&["thread", "exec", &thread, "--agent", "mine"]).ok();
    let told = told(&site, 1);
    for said in ["# Your role", "A text, please.", "I am ready.", "Your answer was refused"] {
        assert!(told.contains(said), "{said} in {told}");
    }
}

#[test]
fn an_answer_that_was_taken_is_not_asked_for_again() {
    // Its last turn has a call beside the answer.
    let answer = r#"printf '{"text":"---\\n$status: done\\nsummary: it\\n---\\nDone.","call":"c1"}\n{"result":"c1"}\n'"#;
    let (site, thread) = own(EVENTS, &format!("{answer}\n"));
    let adapt = ["adapt", "mine", "--thread", &thread, "--role", "writer"];
    let first = site.uwf(&adapt).ok().json();
    let journals = fs::read_dir(site.home().join(".uwf/sessions")).unwrap().flatten();
    let journal =
        journals.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let journal = journal.unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let is_over = |line: &&str| line.contains("\"entry\":\"ended\"");
    let ended = lines.iter().position(is_over).unwrap();
    // It was ended before the record was made.
    fs::write(&journal, lines[..=ended].join("\n") + "\n").unwrap();
    let again = site.uwf(&adapt).ok().json();
    assert_eq!((&again["stepHash"], &again["body"]), (&first["stepHash"], &Value::from("Done.")));
    assert_eq!(fs::read_dir(site.home().join("calls")).unwrap().count(), 1, "it is not called again");
}

#[test]
fn a_fork_that_is_not_made_is_told_and_questions_are_remembered_by_their_step() {
    let stage = Stage::new(&AGENTS[0], &["success", "fork", "error:1"]);
    let thread = stage.start();
    stage.exec(&thread).ok();
    let step = stage.steps(&thread)[0]["hash"].as_str().unwrap().to_owned();
    let ask = ["step", "ask", &step, "-p", "Why so?"];
    stage.uwf(&ask).ok();
    let known = fs::read_to_string(stage.site.home().join(".uwf/cache/claude-code-sessions.json")).unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    assert!(known[format!("{step}:ask")]["fork"].is_string(), "{known:#}");
    let said = stage.uwf(&ask);
    said.fails(1, &["the agent `claude-code` gave no answer", "uwf step ask --no-fork"]);
    assert_eq!(stage.calls(), 3, "no other session is asked in its place");
}
