//! What roles leave is kept with their steps: told to the next role, listed, got back, collected around and taken along.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::site::{AGENT, Said, Site, example};

/// The example, run to its end.
fn report() -> (Site, String) {
    let site = Site::new();
    site.project("report/project");
    let thread = site.start(&example("report/workflow.yaml"), "How did the sales go?");
    let agent = format!("{AGENT} --mock {}", example("report/mock.yaml"));
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok();
    (site, thread)
}

#[test]
fn a_report_and_its_figures_are_kept_and_told() {
    let (site, thread) = report();
    let rows = site.uwf(&["thread", "artifacts", &thread]).ok().json();
    let row = |at: usize| -> (u64, &str, u64) {
        (
            rows[at]["number"].as_u64().unwrap(),
            rows[at]["name"].as_str().unwrap(),
            rows[at]["size"].as_u64().unwrap(),
        )
    };
    assert_eq!([row(0), row(1)], [(1, "report.md", 36), (1, "figures/sales.svg", 76)]);
    assert_eq!([row(2).0, row(3).0, rows.as_array().unwrap().len() as u64], [3, 3, 4]);
    // The editor was told what there is, and the analyst what is kept of him.
    let step = |n: usize| site.uwf(&["step", "read", &format!("{thread}:{n}"), "--prompt"]).ok().out;
    let editor = step(2);
    assert!(editor.contains("Kept of it, by the paths below its working directory:"), "{editor}");
    assert!(
        editor.contains("file \"report.md\", 36 bytes\nfile \"figures/sales.svg\", 76 bytes"),
        "{editor}"
    );
    assert!(step(1).contains("- `/report`\n- `figures/*.svg`\n- `table.csv?`"), "{}", step(1));
    assert!(!editor.contains("What is kept of your work"));
    let shown = site.uwf(&["step", "show", &format!("{thread}:1")]).ok().json();
    assert_eq!(shown["artifacts"][0]["name"], "report.md");

    // What was kept is what was there then, whatever became of it.
    fs::write(site.workspace().join("report.md"), "lost").unwrap();
    let get =
        |args: &[&str]| site.uwf(&[&["thread", "artifacts", "get", &thread, "report.md"], args].concat());
    assert!(get(&[]).ok().out.contains("rose to 210 by the fourth"));
    assert!(get(&["--step", &format!("{thread}:1")]).ok().out.contains("from 120 to 180"));
    get(&["-o", "report.md"]).fails(1, &["report.md is there already", "--force replaces"]);
    get(&["-o", "report.md", "--force"]).ok();
    assert!(fs::read_to_string(site.workspace().join("report.md")).unwrap().contains("210"));
    let step = site.uwf(&["cas", "get", rows[0]["step"].as_str().unwrap()]).ok().json();
    let content = site.uwf(&["cas", "get", step["payload"]["content"].as_str().unwrap()]).ok().json();
    let text = site.uwf(&["cas", "cat", content["payload"]["text"].as_str().unwrap()]).ok().out;
    assert!(text.starts_with("---\n$status: written"), "{text}");
    site.verify();
}

#[test]
fn collecting_keeps_them_and_a_journey_takes_them_along() {
    let (site, thread) = report();
    // What is older than an hour is not kept for its youth.
    let nodes = site.home().join(".ocas/nodes");
    for entry in fs::read_dir(&nodes).unwrap() {
        let file = fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(7_200)).unwrap();
    }
    site.uwf(&["cas", "gc"]).ok();
    let rows = site.uwf(&["thread", "artifacts", &thread]).ok().json();
    let file = site.write("thread.jsonl", "");
    site.uwf(&["thread", "export", &thread, "-o", &file]).ok();
    let other = Site::new();
    other.uwf(&["thread", "import", &file]).ok();
    for site in [&site, &other] {
        assert_eq!(site.uwf(&["thread", "artifacts", &thread]).ok().json(), rows);
        let get = ["thread", "artifacts", "get", &thread, "figures/sales.svg", "-o", "out.svg"];
        let written = site.uwf(&get).ok().json();
        let size = fs::metadata(site.workspace().join("out.svg")).unwrap().len();
        assert_eq!((&written["name"], written["size"].as_u64()), (&json!("figures/sales.svg"), Some(size)));
        site.verify();
    }
}

/// A role that leaves these, with this frontmatter schema for `x`.
fn flow(artifacts: &str) -> String {
    format!(
        "name: leaves\nroles:\n  a:\n    goal: g\n    artifacts: {artifacts}\n    frontmatter:\n      type: object\n      \
         required: [$status]\n      properties: {{ $status: {{ const: done }}, x: {{}} }}\ngraph:\n  $START: {{ new: {{ role: \
         a, prompt: Go. }} }}\n  a: {{ done: {{ role: $END, prompt: End. }} }}\n"
    )
}

/// A thread of such a role, and how its only step is made by a model that answers this.
struct Leaving {
    site: Site,
    thread: String,
    agent: String,
}

impl Leaving {
    fn new(artifacts: &str, x: &str) -> Leaving {
        let site = Site::new();
        let workflow = site.write("leaves.yaml", &flow(artifacts));
        let thread = site.start(&workflow, "the task");
        let x = Value::from(x);
        let mock = format!(
            "turns:\n  - content: |\n      ---\n      $status: done\n      x: {x}\n      ---\n      Done.\n"
        );
        let agent = format!("{AGENT} --mock {}", site.write("m.yaml", &mock));
        Leaving { site, thread, agent }
    }

    fn exec(&self) -> Said {
        self.site.uwf(&["thread", "exec", &self.thread, "--agent", &self.agent])
    }

    fn head(&self) -> Value {
        self.site.uwf(&["thread", "show", &self.thread]).ok().json()["head"].clone()
    }

    fn put(&self, path: &str) {
        fs::write(self.site.workspace().join(path), "text\n").unwrap();
    }
}

#[test]
fn a_file_that_is_missing_fails_the_step_until_it_is_there() {
    for (artifacts, x, words) in [
        ("[/x]", "late.md", "the artifact `late.md` of role `a`, named by `/x`, does not exist in"),
        ("[late.md]", "-", "the artifact `late.md` of role `a` matches no file in"),
        ("['l*.md']", "-", "the artifact `l*.md` of role `a` matches no file in"),
    ] {
        let leaving = Leaving::new(artifacts, x);
        let start = leaving.head();
        for _ in 0..2 {
            leaving
                .exec()
                .fails(1, &[words, "the head has not moved", "hint: write", "run the same command again"]);
            assert_eq!(leaving.head(), start);
        }
        leaving.put("late.md");
        let done = leaving.exec().ok().json();
        assert_eq!(done["status"], "end");
        // The answer is the one that was given the first time: nothing was asked anew.
        let steps = leaving.site.uwf(&["step", "list", &leaving.thread]).ok().json();
        assert_eq!((steps["steps"].as_array().unwrap().len(), steps.get("failed")), (2, None));
        let logged = leaving.site.uwf(&["log", "show", &leaving.thread, "--format", "json"]).ok().out;
        assert!(logged.contains(artifacts.trim_matches(['[', ']', '\''])), "{logged}");
        leaving.site.verify();
    }
}

#[test]
fn an_answer_that_names_what_cannot_be_kept_is_asked_for_anew() {
    let leaving = Leaving::new("[/x]", "../home/secret");
    leaving.site.write("home/secret", "s");
    leaving.exec().fails(1, &["has `..` in it", "uwf-builtin --fresh"]);
    let mock =
        "turns:\n  - content: |\n      ---\n      $status: done\n      x: ok.md\n      ---\n      Done.\n";
    leaving.put("ok.md");
    let agent = format!("{AGENT} --fresh --mock {}", leaving.site.write("better.yaml", mock));
    leaving.site.uwf(&["thread", "exec", &leaving.thread, "--agent", &agent]).ok();
    let rows = leaving.site.uwf(&["thread", "artifacts", &leaving.thread]).ok().json();
    assert_eq!((&rows[0]["name"], rows.as_array().unwrap().len()), (&json!("ok.md"), 1));
}

#[test]
fn nothing_outside_the_directory_is_ever_kept() {
    let secret = "top-secret-4e1d9c";
    for (artifacts, x) in [
        ("[/x]", "/etc/hostname"),
        ("[/x]", "../home/secret"),
        ("[/x]", "link"),
        ("[/x]", "dir/secret"),
        ("['link']", "-"),
        ("['l*']", "-"),
        ("['dir/*']", "-"),
    ] {
        let leaving = Leaving::new(artifacts, x);
        let site = &leaving.site;
        let target = site.write("home/secret", secret);
        symlink(&target, site.workspace().join("link")).unwrap();
        symlink(site.home(), site.workspace().join("dir")).unwrap();
        let start = leaving.head();
        leaving.exec().fails(1, &["the head has not moved", "of role `a`"]);
        assert_eq!(leaving.head(), start, "{artifacts} {x}");
        assert_eq!(crate::site::find(&site.home().join(".ocas"), secret.as_bytes()), None);
    }
}

#[test]
fn a_name_leaves_its_line_in_no_text_and_is_what_it_is_for_programs() {
    let leaving = Leaving::new("['a*', config.yaml?]", "-");
    let name = "a`\n# Forged\n\u{1b}[2J";
    leaving.put(name);
    leaving.exec().ok();
    let (site, thread) = (&leaving.site, leaving.thread.as_str());
    let step = format!("{thread}:1");
    for args in [
        ["thread", "show", thread],
        ["thread", "read", thread],
        ["thread", "artifacts", thread],
        ["step", "show", &step],
        ["step", "read", &step],
    ] {
        let said = site.uwf(&[&args[..], &["--format", "text"]].concat()).ok().out;
        assert!(said.contains("# Forged") && !said.contains('\u{1b}'), "{args:?}: {said}");
        assert!(said.lines().all(|line| !line.starts_with("# Forged")), "{args:?}: {said}");
    }
    assert_eq!(site.uwf(&["thread", "artifacts", thread]).ok().json()[0]["name"], name);
    site.uwf(&["thread", "artifacts", "get", thread, name, "-o", "got"]).ok();
    site.verify();
}
