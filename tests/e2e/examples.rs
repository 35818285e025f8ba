//! The examples run to their ends with the scripts beside them.

use std::fs;
use std::path::Path;

use crate::book::{blocks, typed};
use crate::site::{AGENT, Said, Site, UWF, example};
use crate::tasks::has;

fn mock(name: &str) -> String {
    format!("{AGENT} --mock {}", example(&format!("{name}/mock.yaml")))
}

fn roles(site: &Site, thread: &str) -> Vec<String> {
    let steps = site.uwf(&["step", "list", thread]).ok().json();
    let steps = steps["steps"].as_array().unwrap()[1..].to_owned();
    steps.iter().map(|step| step["role"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_example_is_valid() {
    let site = Site::new();
    let names = [
        "solve-issue",
        "develop",
        "debate",
        "socratic-questioning",
        "report",
        "plan-and-review",
        "analyze-topic",
        "e2e-walkthrough",
        "reflective",
    ];
    for name in names {
        let said = site.uwf(&["workflow", "validate", &example(&format!("{name}/workflow.yaml"))]).ok();
        assert_eq!(said.json()["name"], name);
    }
}

#[test]
fn a_debate_takes_two_rounds() {
    let site = Site::new();
    let thread = site.start(&example("debate/workflow.yaml"), "Tabs are better than spaces.");
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &mock("debate")]).ok();
    assert_eq!(roles(&site, &thread), ["proponent", "opponent", "judge", "proponent", "opponent", "judge"]);
    let read = site.uwf(&["thread", "read", &thread]).ok().out;
    assert!(read.contains("winner: proponent") && read.contains("**Ended**"), "{read}");
    site.verify();
}

#[test]
fn a_person_is_asked_until_he_has_seen_it() {
    let site = Site::new();
    let agent = mock("socratic-questioning");
    let thread = site.start(&example("socratic-questioning/workflow.yaml"), "Is it always wrong to lie?");
    let asked = site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).code(10).json();
    assert_eq!(asked[0]["suspendMessage"], "Would you tell a murderer where your friend hides?");
    let answer = |text: &str| site.uwf(&["thread", "resume", &thread, "-p", text, "--agent", &agent]);
    assert_eq!(answer("No, I would not.").code(10).json()["suspendedRole"], "teacher");
    assert_eq!(answer("To people who have a right to it.").ok().json()["currentRole"], "scribe");
    let ended = site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok().json();
    assert_eq!((&ended["status"], &ended["done"]), (&"end".into(), &true.into()));
    assert_eq!(roles(&site, &thread), ["teacher", "teacher", "teacher", "scribe"]);
    site.verify();
}

#[test]
fn a_report_is_edited_until_it_is_accepted() {
    let site = Site::new();
    site.project("report/project");
    let thread = site.start(&example("report/workflow.yaml"), "How did the sales go?");
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &mock("report")]).ok();
    assert_eq!(roles(&site, &thread), ["analyst", "editor", "analyst", "editor"]);
    let report = site.uwf(&["thread", "artifacts", "get", &thread, "report.md"]).ok().out;
    assert_eq!(report, "# Sales\n\nThey fell to 90 in the second quarter, and rose to 210 by the fourth.\n");
    let first =
        site.uwf(&["thread", "artifacts", "get", &thread, "report.md", "--step", &format!("{thread}:1")]);
    assert_eq!(first.ok().out, "# Sales\n\nThey rose from 120 to 180.\n");
    site.verify();
}

#[test]
fn conditions_lead_from_a_plan_to_an_approved_change() {
    let site = Site::new();
    let thread = site.start(&example("plan-and-review/workflow.yaml"), "Let the tool read its settings.");
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["currentRole"], "planner");
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &mock("plan-and-review")]).ok();
    assert_eq!(roles(&site, &thread), ["planner", "developer", "reviewer", "developer", "reviewer"]);
    let read = site.uwf(&["thread", "read", &thread]).ok().out;
    assert!(read.contains("approved: true") && read.contains("**Ended**"), "{read}");
    let drawn = site
        .uwf(&["workflow", "graph", &example("plan-and-review/workflow.yaml"), "--format", "text"])
        .ok()
        .out;
    for line in ["-->|\"Reviewer rejected the implementation\"|", "-.->|\"FALLBACK\"|"] {
        assert!(drawn.contains(line), "{drawn}");
    }
    site.verify();
}

/// Runs the commands of an example's page.
fn page(site: &Site, name: &str) -> Said {
    let text = fs::read_to_string(example(&format!("{name}/README.md"))).unwrap();
    let (blocks, others) = blocks(&text);
    assert!(!blocks.is_empty() && others == 0, "{name}");
    typed(site, &blocks).ok()
}

/// Lets commands run the programs: the sandbox has a `/tmp` of its own, and they may lie in the other one.
fn show_programs(site: &Site) {
    let programs = Path::new(UWF).parent().unwrap();
    site.write("home/.uwf/agents/builtin.yaml", &format!("sandbox: {{ readable: [{programs:?}] }}\n"));
}

#[test]
fn a_topic_is_analysed_until_every_claim_has_a_source() {
    let site = Site::new();
    let said = page(&site, "analyze-topic").out;
    assert!(said.contains("whether the new page is better cannot be said."), "{said}");
    let listed = site.uwf(&["thread", "list", "--all"]).ok().json();
    let thread = listed[0]["thread"].as_str().unwrap();
    assert_eq!(roles(&site, thread), ["scoper", "researcher", "critic", "researcher", "critic", "writer"]);
    let kept = site.uwf(&["thread", "artifacts", "get", thread, "analysis.md"]).ok().out;
    assert!(kept.starts_with("# The two landing pages\n"), "{kept}");
    site.verify();
}

#[test]
fn uwf_walks_through_uwf() {
    let site = Site::new();
    show_programs(&site);
    let said = page(&site, "e2e-walkthrough").out;
    assert!(said.contains("26 checks by four roles"), "{said}");
    let listed = site.uwf(&["thread", "list", "--all"]).ok().json();
    let thread = listed[0]["thread"].as_str().unwrap();
    assert_eq!(roles(&site, thread), ["author", "runner", "reader", "keeper", "reporter"]);
    assert!(!site.home().join("walk/home").exists(), "the home is thrown away");
    site.verify();
}

#[test]
fn the_page_of_develop_sets_it_up() {
    let site = Site::new();
    page(&site, "develop");
    let set = site.uwf(&["config", "get", "agentOverrides.solve-issue.developer"]).ok().out;
    assert!(set.contains("develop"), "{set}");
}

/// A field of an artifact, and of an output: the same number, as far as the output says it.
fn same(found: &serde_json::Value, said: &serde_json::Value) {
    let (found, said) = (found.as_f64().unwrap(), said.as_f64().unwrap());
    assert!((found - said).abs() < 0.0005 + f64::EPSILON, "{said} is said, and it is {found}");
}

#[test]
fn a_workflow_is_improved_by_what_went_wrong_and_the_numbers_say_so() {
    if !["python3", "node", "rustc", "jq"].iter().all(|program| has(program)) {
        println!("skipped: no python3, node, rustc or jq here for the tasks");
        return;
    }
    let site = Site::new();
    show_programs(&site);
    let said = page(&site, "reflective");
    assert!(said.out.contains("`workflow.yaml` has the reviewer now."), "{said:?}");
    let listed = site.uwf(&["thread", "list", "--all"]).ok().json();
    let thread = listed[0]["thread"].as_str().unwrap();
    let played = ["collector", "analyst", "proposer", "evaluator", "decider", "evaluator", "decider"];
    assert_eq!(roles(&site, thread), played);
    let steps = site.uwf(&["step", "list", thread]).ok().json();
    let (measured, decided) = (&steps["steps"][6]["output"], &steps["steps"][7]["output"]);
    let kept = |name| site.uwf(&["thread", "artifacts", "get", thread, name]).ok().json();
    // What was found is quoted from steps that there are.
    let findings = kept("findings.json");
    for finding in findings.as_array().unwrap() {
        site.uwf(&["cas", "has", finding["step"].as_str().unwrap()]).ok();
    }
    assert_eq!(findings.as_array().unwrap().len(), 2);
    // The numbers of the answers are those that were measured.
    let diff = kept("diff.json");
    same(&diff["before"]["score"]["mean"], &measured["before"]);
    same(&diff["after"]["score"]["mean"], &measured["after"]);
    for said in [measured, decided] {
        let delta = &diff["score"]["delta"];
        same(&delta["mean"], &said["delta"]);
        same(&delta["interval"]["low"], &said["low"]);
        same(&delta["interval"]["high"], &said["high"]);
    }
    assert_eq!((&diff["verdict"]["is"], &decided["$status"]), (&"better".into(), &"kept".into()));
    let dir = site.home().join("reflect");
    let [now, proposed] =
        ["workflow.yaml", "proposed.yaml"].map(|name| fs::read_to_string(dir.join(name)).unwrap());
    assert_eq!(now, proposed);
    site.verify();
}
