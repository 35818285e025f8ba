//! Input without end, by length or by depth: an error that names the bound, never a crash, and nothing is stuck.

use crate::site::{AGENT, Said, Site};

const FLOW: &str = "name: flow
roles:
  a:
    goal: Write.
    frontmatter: { properties: { $status: { const: done }, text: { type: string } }, required: [$status, text] }
  b:
    goal: Read.
    frontmatter: { properties: { $status: { const: read } } }
graph:
  $START: { new: { role: a, prompt: Write. } }
  a: { done: { role: b, prompt: 'Read {{{text}}}.' } }
  b: { read: { role: $END, prompt: Read. } }
";

fn answer(status: &str, text: &str) -> String {
    format!(
        "turns:\n  - content: |\n      ---\n      $status: {status}\n      text: {text}\n      ---\n      Fine.\n"
    )
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// It ended by itself, with an error that is one of ours.
#[track_caller]
fn refused(said: Said, words: &[&str]) {
    assert!((1..=3).contains(&said.code), "{said:?}");
    assert!(!said.err.contains("panicked at") && said.err.len() < 5_000, "{said:?}");
    for word in words {
        assert!(said.err.contains(word), "{word}: {said:?}");
    }
}

#[test]
fn an_answer_that_makes_the_next_prompt_too_long_is_told_and_made_again() {
    let site = Site::new();
    let thread = site.start(&site.write("w.yaml", FLOW), "t");
    let with = |name: &str, text: &str| format!("{AGENT} --mock {}", site.write(name, text));
    let long = with("long.yaml", &answer("done", &"x".repeat(130_000)));
    let why = "the prompt of edge `a` → `done` renders to 130006 bytes: at most 122880 fit on a command line";

    let said = site.uwf(&["thread", "exec", &thread, "--agent", &long, "--format", "json"]).ok().json();
    assert!(said["hint"].as_str().unwrap().contains(why), "{said}");
    let shown = site.uwf(&["thread", "show", &thread, "--format", "json"]).ok().json();
    assert!(shown["hint"].as_str().unwrap().contains(why), "{shown}");
    site.uwf(&["thread", "exec", &thread, "--agent", &long]).fails(1, &[why, "uwf thread poke"]);
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["head"], shown["head"]);

    let short = with("short.yaml", &answer("done", "it"));
    site.uwf(&["thread", "poke", &thread, "-p", "Shorter.", "--agent", &short]).ok();
    let read = with("read.yaml", &answer("read", "it"));
    site.uwf(&["thread", "exec", &thread, "--agent", &read]).ok();
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["status"], "end");
    site.verify();
}

#[test]
fn names_that_read_as_options_are_refused() {
    let site = Site::new();
    for name in ["--help", "-x", "--role"] {
        let flow =
            FLOW.replace("\n  b:", &format!("\n  {name}:")).replace("role: b", &format!("role: {name}"));
        let file = site.write("w.yaml", &flow);
        let named = format!("role name `{name}` cannot be stored");
        site.uwf(&["workflow", "add", &file]).fails(1, &[&named, "do not begin with `-`"]);
    }
    let file = site.write("w.yaml", &FLOW.replace("name: flow", "name: -x"));
    site.uwf(&["workflow", "add", &file]).fails(1, &["workflow name `-x`"]);
}

#[test]
fn depth_is_refused_wherever_it_comes_from() {
    let site = Site::new();
    let workflow = site.write("w.yaml", FLOW);
    let thread = site.start(&workflow, "t");
    for depth in [129, 5_000, 200_000] {
        let deep = nested(depth);
        let json = site.write("deep.json", &deep);
        refused(site.uwf(&["cas", "put", "--type", "string", &json]), &[]);
        let schema =
            site.write("schema.json", &format!("{}{{}}{}", "{\"not\":".repeat(depth), "}".repeat(depth)));
        refused(site.uwf(&["cas", "schema", "put", &schema]), &[]);
        let flow = site.write("deep.yaml", &format!("{FLOW}x: {deep}\n"));
        refused(site.uwf(&["workflow", "validate", &flow]), &["nested deeper than 128 levels"]);
        let script = site.write("script.yaml", &format!("turns: {deep}\n"));
        let agent = ["run", &workflow, "--role", "b", "-p", "x", "--mock"];
        refused(site.agent(&[&agent[..], &[&script]].concat()), &["nested deeper than 128 levels"]);
        // An answer may be anything; it is sent back, and the run fails in words.
        let script = site.write("script.yaml", &answer("read", &deep));
        let said = site.agent(&[&agent[..], &[&script]].concat());
        assert!(said.code >= 0 && !said.err.contains("panicked at"), "{depth}: {}", said.code);
        let config = site.write("home/.uwf/config.yaml", &format!("theirs: {deep}\n"));
        refused(site.uwf(&["config", "list"]), &["nested deeper than 128 levels"]);
        std::fs::remove_file(config).unwrap();
    }
    let key = vec!["a"; 5_000].join(".");
    refused(site.uwf(&["config", "set", &key, "1"]), &["it has 5000 names, and at most 32 lead to a value"]);
    refused(site.uwf(&["config", "get", &key]), &["it has 5000 names"]);
    refused(site.uwf(&["models", &"*a".repeat(50_000)]), &["no model"]);
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["status"], "idle");
    site.verify();
}
