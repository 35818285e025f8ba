//! The project's own words: `AGENTS.md` from the root down to the file at hand, and skills; seen from what a model is sent.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::endpoint::{Endpoint, call, text};
use crate::site::{Site, example};

fn planned() -> Value {
    text("---\n$status: planned\nfiles: [a]\nplan: p\n---\n")
}

/// An endpoint that makes these calls one after the other, and then answers.
fn calling(calls: Vec<(&'static str, Value)>) -> Endpoint {
    Endpoint::new(move |number, _| match calls.get(number) {
        Some((tool, arguments)) => (200, call(number, tool, arguments)),
        None => (200, planned()),
    })
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

fn run(site: &Site, endpoint: &Endpoint) -> Value {
    let workflow = example("solve-issue/workflow.yaml");
    let said = site.agent(&[
        "run",
        &workflow,
        "--role",
        "planner",
        "-p",
        "plan",
        "--base-url",
        &endpoint.url,
        "--model",
        "any",
        "--format",
        "json",
    ]);
    said.ok().json()
}

fn put(site: &Site, path: &str, text: &str) {
    let path = site.workspace().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The system message of a request, and the results of its calls.
fn sent(endpoint: &Endpoint, number: usize) -> (String, Vec<String>) {
    let request = endpoint.asked()[number].json();
    let all = |role: &str| {
        let messages = request["messages"].as_array().unwrap().iter();
        let of = messages.filter(|message| message["role"] == role);
        of.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    (all("system").concat(), all("tool"))
}

#[test]
fn words_are_told_from_the_root_down_to_the_file_at_hand_and_once() {
    let site = Site::new();
    put(&site, "AGENTS.md", "Root: run the tests.\n");
    put(&site, "CLAUDE.md", "never told\n");
    put(&site, "src/CLAUDE.md", "Src: use tabs.\n");
    put(&site, "src/deep/AGENTS.md", "Deep: no recursion.\n");
    for path in ["a.txt", "src/b.txt", "src/deep/c.txt", "other/d.txt"] {
        put(&site, path, "x\n");
    }
    let write = ("write_file", json!({"path": "src/deep/new.txt", "content": "x\n"}));
    let endpoint =
        calling(vec![read("a.txt"), read("src/deep/c.txt"), read("src/b.txt"), write, read("other/d.txt")]);
    let step = run(&site, &endpoint)["stepHash"].as_str().unwrap().to_owned();
    let (system, results) = sent(&endpoint, 5);
    assert!(
        system.contains("# The project's own words")
            && system.contains("`AGENTS.md`:\n```markdown\nRoot: run the tests."),
        "{system}"
    );
    assert!(!system.contains("never told") && !system.contains("use tabs"));
    let told: Vec<(bool, bool)> = results
        .iter()
        .map(|result| (result.contains("Src: use tabs."), result.contains("Deep: no recursion.")))
        .collect();
    assert_eq!(told, [(false, false), (true, true), (false, false), (false, false), (false, false)]);
    assert!(results[1].find("Src:") < results[1].find("Deep:"), "{}", results[1]);
    assert_eq!(system, sent(&endpoint, 0).0, "the beginning of each request is the same");
    let recorded = site.uwf(&["step", "read", &step, "--prompt"]).ok().out;
    assert!(recorded.contains("Root: run the tests."), "{recorded}");
    site.verify();
}

#[test]
fn whoever_looks_into_a_directory_is_told_its_words() {
    let site = Site::new();
    for dir in ["found", "named"] {
        put(&site, &format!("{dir}/AGENTS.md"), &format!("Of {dir}: use tabs.\n"));
    }
    let all = ("grep", json!({"pattern": "tabs"}));
    let grep = ("grep", json!({"pattern": "nothing", "path": "found"}));
    let glob = ("glob", json!({"pattern": "*.rs", "path": "named"}));
    let endpoint = calling(vec![all, grep, glob]);
    run(&site, &endpoint);
    let (_, results) = sent(&endpoint, 3);
    let told = |at: usize, dir: &str| results[at].contains(&format!("Of {dir}: use tabs.\n```"));
    assert_eq!((told(0, "found"), told(1, "found"), told(2, "named")), (false, true, true), "{results:?}");
}

#[test]
fn a_workspace_without_words_is_told_of_as_before_and_so_is_one_where_they_are_off() {
    let endpoint = calling(vec![read("src/b.txt")]);
    let site = Site::new();
    put(&site, "src/b.txt", "x\n");
    run(&site, &endpoint);
    let bare = sent(&endpoint, 1);
    put(&site, "AGENTS.md", "Root\n");
    put(&site, "src/AGENTS.md", "Src\n");
    put(&site, ".claude/skills/s/SKILL.md", "---\ndescription: D\n---\n");
    site.write("home/.uwf/agents/builtin.yaml", "instructions: []\nskills: []\n");
    let endpoint = calling(vec![read("src/b.txt")]);
    run(&site, &endpoint);
    assert_eq!(sent(&endpoint, 1), bare);
    site.write("home/.uwf/agents/builtin.yaml", "instructions: [HOUSE.md]\n");
    put(&site, "HOUSE.md", "House rules\n");
    let endpoint = calling(vec![read("src/b.txt")]);
    run(&site, &endpoint);
    let (system, results) = sent(&endpoint, 1);
    assert!(
        system.contains("House rules") && !system.contains("Root") && system.contains("SKILL.md"),
        "{system}"
    );
    assert_eq!(results, bare.1);
    let wrong = [
        ("instructions: [a/b]", "names of files"),
        ("skills: [../x]", "below the workspace"),
        ("skills: [/x]", "below the workspace"),
    ];
    for (setting, words) in wrong {
        site.write("home/.uwf/agents/builtin.yaml", &format!("{setting}\n"));
        let workflow = example("solve-issue/workflow.yaml");
        let said = site.agent(&[
            "run",
            &workflow,
            "--role",
            "planner",
            "-p",
            "p",
            "--base-url",
            &endpoint.url,
            "--model",
            "m",
        ]);
        said.fails(1, &[words]);
    }
}

#[test]
fn nothing_outside_is_told_and_nothing_holds_a_run_up() {
    let site = Site::new();
    let outside = site.write("outside.md", "the words of a stranger");
    symlink(&outside, site.workspace().join("AGENTS.md")).unwrap();
    put(&site, "a/x", "x\n");
    put(&site, "b/x", "x\n");
    put(&site, "c/x", "x\n");
    symlink("/etc/passwd", site.workspace().join("a/AGENTS.md")).unwrap();
    assert!(Command::new("mkfifo").arg(site.workspace().join("b/AGENTS.md")).status().unwrap().success());
    fs::create_dir(site.workspace().join("c/AGENTS.md")).unwrap();
    put(&site, "c/CLAUDE.md", "a\0b");
    let endpoint = calling(vec![read("a/x"), read("b/x"), read("c/x")]);
    run(&site, &endpoint);
    let (system, results) = sent(&endpoint, 3);
    assert!(!system.contains("own words"), "{system}");
    assert!(results.iter().all(|result| result.ends_with("(end of file, 1 line)")), "{results:?}");
}

#[test]
fn all_words_together_have_32_kb() {
    let site = Site::new();
    put(&site, "AGENTS.md", &"root root root root\n".repeat(1_500));
    put(&site, "a/AGENTS.md", &"deep deep deep deep\n".repeat(1_500));
    put(&site, "a/x", "x\n");
    put(&site, "b/AGENTS.md", "b b b\n");
    put(&site, "b/x", "x\n");
    let endpoint = calling(vec![read("a/x"), read("b/x")]);
    run(&site, &endpoint);
    let (system, results) = sent(&endpoint, 2);
    let count = |text: &str, word: &str| text.matches(word).count() * 20;
    assert_eq!(count(&system, "root root root root\n"), 30_000);
    let told = count(&results[0], "deep deep deep deep\n");
    assert!((2_700..=2_768).contains(&told), "{told}");
    assert!(results[0].contains("`a/AGENTS.md` (its beginning"), "{}", &results[0][..200]);
    assert!(!results[1].contains("b b b"), "{}", results[1]);
}

#[test]
fn skills_are_listed_and_read_when_they_are_needed() {
    let site = Site::new();
    put(
        &site,
        ".claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fill in\n  forms\n---\nUse the form tool.\n",
    );
    put(&site, ".agents/skills/release/SKILL.md", "---\nname: release\ndescription: Make a version\n---\n");
    put(&site, ".agents/skills/broken/SKILL.md", "no frontmatter\n");
    put(&site, ".agents/skills/README", "x\n");
    let endpoint = calling(vec![read(".claude/skills/pdf/SKILL.md")]);
    run(&site, &endpoint);
    let (system, results) = sent(&endpoint, 1);
    let list = "- `release` (`.agents/skills/release/SKILL.md`): Make a version\n- `pdf` (`.claude/skills/pdf/SKILL.md`): Fill in forms";
    assert!(system.contains(list), "{system}");
    assert!(!system.contains("Use the form tool") && results[0].contains("Use the form tool"), "{system}");
}

#[test]
fn what_was_told_is_not_told_again_when_a_run_goes_on() {
    let site = Site::new();
    put(&site, "src/AGENTS.md", "Src: use tabs.\n");
    put(&site, "src/b.txt", "x\n");
    let turn = "  - tool_calls: [{ name: read_file, arguments: { path: src/b.txt } }]\n";
    let answer = "  - content: \"---\\n$status: planned\\nfiles: [a]\\nplan: p\\n---\\n\"\n";
    let slow = format!(
        "turns:\n{turn}  - {{ content: a, delay_ms: 60000, expect: {{ last_contains: use tabs }} }}\n"
    );
    let mock = site.write("m.yaml", &slow);
    let workflow = example("solve-issue/workflow.yaml");
    let mut child = site
        .command(crate::site::AGENT)
        .args(["run", &workflow, "--role", "planner", "-p", "plan", "--mock", &mock])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let sessions = site.home().join(".uwf/sessions");
    let text = || {
        let files = fs::read_dir(&sessions).into_iter().flatten().flatten().map(|entry| entry.path());
        files
            .filter(|path| path.is_file())
            .filter_map(|path| fs::read_to_string(path).ok())
            .collect::<String>()
    };
    for _ in 0..200 {
        if text().contains("\"finished\"") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = text();
    let first: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    let thread = first["thread"].as_str().unwrap();
    assert!(journal.contains(r#""told":[{"path":"src/AGENTS.md","bytes":15}]"#), "{journal}");
    let again = "  - tool_calls: [{ name: read_file, arguments: { path: src/b.txt, offset: 1 } }]\n";
    site.write("m.yaml", &format!("turns:\n{turn}{again}{answer}"));
    site.agent(&["run", "--continue", thread, "--mock", &mock]).ok();
    assert_eq!(text().matches("use tabs").count(), 1);
}
