//! Scripts with several behaviours: a seed says which one plays, and the record which one did.

use serde_json::Value;

use crate::site::{AGENT, Site};

const WORKFLOW: &str = r#"
name: guess
description: Somebody guesses, somebody judges.
roles:
  guesser:
    goal: You guess.
    frontmatter:
      type: object
      required: [$status, guess]
      properties: { $status: { const: guessed }, guess: { type: number } }
  judge:
    goal: You judge.
    frontmatter:
      oneOf:
        - { type: object, required: [$status], properties: { $status: { const: yes } } }
        - { type: object, required: [$status], properties: { $status: { const: no } } }
graph:
  $START:
    new: { role: guesser, prompt: Guess. }
    resume: { role: guesser, prompt: Guess again. }
  guesser:
    guessed: { role: judge, prompt: "Is it {{guess}}?" }
  judge:
    yes: { role: $END, prompt: Found. }
    no: { role: guesser, prompt: Guess again. }
"#;

const SCRIPT: &str = r#"
roles:
  guesser:
    - behaviours:
        - name: right
          weight: 1
          turns: [{ content: "---\n$status: guessed\nguess: 7\n---\n" }]
        - name: wrong
          weight: 2
          turns: [{ content: "---\n$status: guessed\nguess: 3\n---\n" }]
        - name: slow
          weight: 1
          turns: [{ delay_ms: 20, content: "---\n$status: guessed\nguess: 5\n---\n" }]
        - name: failing
          weight: 1
          turns:
            - { error: { status: 503, retry_after: 0.01 } }
            - { content: "---\n$status: guessed\nguess: 5\n---\n" }
  judge:
    - behaviours:
        - { name: agrees, when: "it 7?", turns: [{ content: "---\n$status: yes\n---\n" }] }
        - { name: refuses, when: "it 3?", turns: [{ content: "---\n$status: no\n---\n" }] }
        - { name: doubts, when: "it 5?", turns: [{ content: "---\n$status: no\n---\n" }] }
"#;

/// The roles of a thread and what was drawn for each.
fn drawn(site: &Site, thread: &str) -> Vec<(String, String)> {
    let listed = site.uwf(&["step", "list", thread]).ok().json();
    let steps = listed["steps"].as_array().unwrap()[1..].to_owned();
    let one = |step: &Value| {
        let detail = site.uwf(&["cas", "get", step["detail"].as_str().unwrap()]).ok().json();
        let provider = &detail["payload"]["settings"]["provider"];
        (step["role"].as_str().unwrap().to_owned(), provider["behaviour"].as_str().unwrap().to_owned())
    };
    steps.iter().map(one).collect()
}

#[test]
fn the_same_seed_plays_the_same_and_is_kept_with_the_thread() {
    let site = Site::new();
    let (workflow, script) = (site.write("guess.yaml", WORKFLOW), site.write("mock.yaml", SCRIPT));
    let run = |seed: &str| {
        let run = ["run", &workflow, "-p", "x", "--mock", &script, "--mock-seed", seed, "--json"];
        let said = site.uwf(&run).ok().json();
        drawn(&site, said["thread"].as_str().unwrap())
    };
    let first = run("4");
    assert_eq!(first.last().unwrap(), &("judge".to_owned(), "agrees".to_owned()));
    assert_eq!(run("4"), first);
    let all: Vec<_> = (0..8).map(|seed| run(&seed.to_string())).collect();
    let names: Vec<&str> = all.iter().flatten().map(|(_, behaviour)| behaviour.as_str()).collect();
    for name in ["right", "wrong", "slow", "failing", "agrees", "refuses", "doubts"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // A step at a time, with what is kept alone.
    let thread = site.start(&workflow, "x");
    let begin = ["thread", "exec", &thread, "--mock", &script, "--mock-seed", "4"];
    site.uwf(&begin).ok();
    let options = site.uwf(&["thread", "show", &thread]).ok().json()["options"].clone();
    assert_eq!(options["mockSeed"], 4);
    site.uwf(&["thread", "exec", &thread, "--until-end"]).ok();
    assert_eq!(drawn(&site, &thread), first);
    site.verify();
}

#[test]
fn a_seed_without_a_script_and_a_prompt_that_nothing_fits_are_told() {
    let site = Site::new();
    let workflow = site.write("guess.yaml", WORKFLOW);
    let told = ["--role", "guesser", "-p", "x", "--mock-seed", "1"];
    site.agent(&[&["run", workflow.as_str()], &told[..]].concat()).fails(
        1,
        &[
            "error: a seed of a mock script is given, and no mock script",
            "hint: name the script with --mock FILE",
        ],
    );
    site.uwf(&["run", &workflow, "-p", "x", "--mock-seed", "9007199254740992"]).fails(2, &["is not in"]);
    let script = site.write("mock.yaml", &SCRIPT.replace("\"it 5?\"", "\"it 9?\""));
    let thread = site.start(&workflow, "x");
    let agent = format!("{AGENT} --mock {script} --mock-seed 0");
    // Seeds until one has the guesser say 5: the judge has nothing for that.
    let ends = (0..8).map(|seed| {
        let run =
            ["run", &workflow, "-p", "x", "--mock", &script, "--mock-seed", &seed.to_string(), "--json"];
        site.uwf(&run)
    });
    let failed = ends.into_iter().find(|said| said.code != 0).unwrap();
    assert!(
        failed.err.contains("has no behaviour for role judge whose `when` is in its prompt"),
        "{failed:?}"
    );
    // Who is configured with a script may be told a seed, too.
    site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok();
}
