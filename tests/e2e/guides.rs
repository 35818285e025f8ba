//! The programs in the guides that `uwf prompt` prints, and on the page of this repository, run as they stand.

use std::fs;
use std::process::Command;

use crate::site::{AGENT, MockServer, Said, Site, UWF, example, search_path};

#[test]
fn the_agent_in_the_guide_plays_a_role() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3 here");
        return;
    }
    let site = Site::new();
    let guide = site.uwf(&["prompt", "adapter-developing"]).ok().out;
    let program = guide.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    site.write("work/agent.py", program);
    let thread = site.start(&example("debate/workflow.yaml"), "t");
    let path = search_path();
    let exec = ["thread", "exec", &thread, "--agent", "python3 ./agent.py"];
    let said = Said::of(site.command(UWF).args(exec).env("PATH", &path).output().unwrap());
    // The first status of `proponent` alone is not all that its schema asks for: the answer is refused by the store.
    said.fails(1, &["gave no reply"]);
    let workflow = site.write(
        "w.yaml",
        "name: w\ndescription: d\nroles:\n  a:\n    goal: g\n    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [done, odd] } } }\ngraph:\n  $START:\n    new: { role: a, prompt: Go. }\n  a:\n    done: { role: a, prompt: Again. }\n    odd: { role: $END, prompt: End. }\n",
    );
    let thread = site.start(&workflow, "t");
    for _ in 0..2 {
        let exec = ["thread", "exec", &thread, "--agent", "python3 ./agent.py"];
        let said = Said::of(site.command(UWF).args(exec).env("PATH", &path).output().unwrap()).ok();
        assert_eq!(said.json()["currentRole"], "a");
    }
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    assert_eq!((steps["steps"].as_array().unwrap().len(), &steps["steps"][2]["agent"]), (3, &"mine".into()));
    site.verify();
}

/// Why a block of the page is not run: a line above it says so.
const NOT_RUN: [&str; 2] = ["<!-- not run: builds -->", "<!-- not run: asks an endpoint -->"];

fn page() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap()
}

/// The blocks of commands on the page that are to be run, and how many are not.
fn blocks(page: &str) -> (Vec<String>, usize) {
    let mut parts = page.split("```sh\n");
    let mut before = parts.next().unwrap();
    let (mut run, mut others) = (Vec::new(), 0);
    for part in parts {
        let (block, after) = part.split_once("```").unwrap();
        let last = before.trim_end().lines().last().unwrap_or_default();
        if NOT_RUN.contains(&last) {
            others += 1;
        } else {
            assert!(!last.contains("not run"), "{last} is no reason");
            run.push(block.to_owned());
        }
        before = after;
    }
    (run, others)
}

#[test]
fn every_command_of_the_page_runs() {
    let site = Site::new();
    let (blocks, others) = blocks(&page());
    assert!(blocks.len() >= 5 && others <= 2, "{} run, {others} not", blocks.len());
    let mut bash = site.command("bash");
    bash.args(["-euo", "pipefail", "-c", &blocks.concat()]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let programs = search_path();
    let bin = programs.split(':').next().unwrap();
    bash.env("PATH", &programs).env("UWF_BIN", bin).env("TMPDIR", site.workspace());
    let said = Said::of(bash.output().unwrap()).ok();
    // The turn of the story of try.sh, the sum of the example, and the last word of what was read.
    for words in
        ["=== the same command goes on where it stopped", "\nend\n6\n", "## Step 5: reviewer → approved"]
    {
        assert!(said.out.contains(words), "{words:?} is not in: {}{}", said.out, said.err);
    }
    site.verify();
    // Whoever has typed the whole page goes on with an example of it.
    let doctor = site.uwf(&["doctor"]).ok().json();
    assert_eq!(doctor["builtin"]["config"]["connected"], false, "no made-up model is left: {doctor}");
    let script = example("solve-issue/mock.yaml");
    let server = MockServer::start(&site, &script);
    let thread = solve_issue(&site);
    let mut of_his_own = exec(&site, &thread, &["--until-end"]);
    of_his_own.env("UWF_BASE_URL", &server.url).env("UWF_MODEL", "m");
    assert_eq!(Said::of(of_his_own.output().unwrap()).ok().json()[4]["status"], "end");
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3 here for the agent of the page");
        return;
    }
    let thread = solve_issue(&site);
    let scripted = format!("{AGENT} --mock {script}");
    Said::of(exec(&site, &thread, &["-c", "2", "--agent", &scripted]).output().unwrap()).ok();
    let reviewed = Said::of(exec(&site, &thread, &["--agent", "mine"]).output().unwrap()).ok();
    assert_eq!(reviewed.json()["status"], "end", "the agent of the page plays the reviewer");
    site.verify();
}

fn solve_issue(site: &Site) -> String {
    site.project("solve-issue/project");
    let task = "`sh add.sh 1 2 3` prints 3: let it add three numbers and more.";
    site.start(&example("solve-issue/workflow.yaml"), task)
}

fn exec(site: &Site, thread: &str, args: &[&str]) -> Command {
    let mut uwf = site.command(UWF);
    uwf.args(["thread", "exec", thread]).args(args).env("PATH", search_path());
    uwf
}

#[test]
fn every_command_of_the_setup_guide_runs() {
    let site = Site::new();
    let (blocks, others) = blocks(&site.uwf(&["prompt", "bootstrap"]).ok().out);
    assert_eq!((blocks.len(), others), (4, 0));
    let mut bash = site.command("bash");
    bash.args(["-euo", "pipefail", "-c", &blocks.concat()]);
    bash.env("PATH", search_path()).env("TMPDIR", site.home());
    let said = Said::of(bash.output().unwrap()).ok();
    assert!(said.out.contains("greeting: Hello.") && said.out.contains("**Ended** "), "{said:?}");
    let skill = fs::read_to_string(site.home().join(".agents/skills/uwf-usage/SKILL.md")).unwrap();
    assert!(skill.starts_with("---\nname: uwf-usage\n"), "{skill}");
}

/// The commands in a text's code, inline or in blocks for the shell: the words after `uwf` or `uwf-builtin` up to the
/// first that is an argument.
fn named(text: &str) -> Vec<Vec<&str>> {
    let mut code: Vec<&str> = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        match part.strip_prefix("sh\n").filter(|_| at % 2 == 1) {
            Some(block) => code.extend(block.lines().flat_map(|line| line.split(['(', '"']))),
            None if at % 2 == 0 => code.extend(part.split('`').skip(1).step_by(2)),
            None => {}
        }
    }
    let is_name =
        |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with("--");
    code.into_iter()
        .filter(|span| span.starts_with("uwf ") || span.starts_with("uwf-builtin "))
        .map(|span| span.split_whitespace().take_while(is_name).collect::<Vec<_>>())
        .filter(|words| words.len() > 1)
        .collect()
}

#[test]
fn every_command_that_is_named_exists() {
    let site = Site::new();
    let guides = ["usage", "workflow-authoring", "adapter-developing", "bootstrap"];
    let mut text = page();
    guides.iter().for_each(|guide| text += &site.uwf(&["prompt", guide]).ok().out);
    let mut seen = 0;
    for words in named(&text) {
        let program = if words[0] == "uwf" { UWF } else { AGENT };
        // `uwf cas put`, but `uwf-builtin run`, `uwf setup`: what follows is an argument there.
        let has_verbs = ["workflow", "thread", "step", "cas", "config", "log", "prompt", "var"];
        let count = if words.get(1).is_some_and(|noun| has_verbs.contains(noun)) { 3 } else { 2 };
        let args: Vec<&str> = words.iter().skip(1).take(count - 1).copied().chain(["--help"]).collect();
        let said = Said::of(site.command(program).args(&args).output().unwrap()).ok();
        assert!(said.out.contains("Usage: "), "{words:?}: {}", said.out);
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}
