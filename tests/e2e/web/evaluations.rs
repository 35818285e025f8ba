//! The pages of evaluations: those of `uwf serve`, and the files of `uwf-eval report` and `uwf-eval diff`.

use super::*;
use crate::site::{EVAL, Said, search_path};

fn eval(site: &Site, args: &[&str]) -> Said {
    let mut command = site.command(EVAL);
    Said::of(command.args(args).env("PATH", search_path()).output().unwrap())
}

/// A task whose prompt, answers, judges and errors are hostile. One judge says what it found, another fails.
fn hostile_task(site: &Site) {
    eval(site, &["init", "hostile"]).ok();
    let task = site.workspace().join("hostile");
    let judge = format!("#!/bin/sh\ncat <<'E'\n{}\nE\n", json!({"score": 0.5, "data": {HOSTILE: [HOSTILE]}}));
    fs::write(task.join("judges/small.sh"), judge).unwrap();
    let call = json!({"name": "run_command", "arguments": {"command": format!("cat <<'E'\n{HOSTILE}\nE")}});
    let answer = format!("---\n$status: mended\nfile: {}\n---\nI ran `{HOSTILE}`.", json!(HOSTILE));
    let turns = json!([{"tool_calls": [call], "content": HOSTILE}, {"content": answer}]);
    fs::write(task.join("mock.yaml"), json!({"roles": {"developer": [{"turns": turns}]}}).to_string())
        .unwrap();
    let fails = format!("cat <<'E' >&2\n{HOSTILE}\nE\nexit 127");
    let judges = json!([
        {"name": "said", "entry": "judges/small.sh"},
        {"name": "hallucination", "builtin": true},
        {"name": "tests", "builtin": true, "command": fails, "weight": 0},
    ]);
    let text = format!(
        "name: hostile\ndescription: {0}\nworkflow: ./workflow.yaml\nprompt: {0}\njudges: {judges}\n",
        json!(HOSTILE)
    );
    fs::write(task.join("task.yaml"), text).unwrap();
}

#[test]
fn evaluations_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let site = Site::new();
    eval(&site, &["init", "double"]).ok();
    hostile_task(&site);
    // Of a task, and of one all whose texts would be more than text.
    for (name, seed) in [("before", "6"), ("after", "2")] {
        let args = ["run", "double", "hostile", "--offline", "--count", "2", "--name", name];
        let ran = eval(&site, &[&args[..], &["--seed", seed]].concat());
        assert!(ran.code == 0 || ran.code == 3, "{}", ran.err);
    }
    let place = |file: &str| site.workspace().join(file).display().to_string();
    let (report, diff) = (place("report.html"), place("diff.html"));
    eval(&site, &["report", "before", "--as", "html", "-o", &report]).ok();
    eval(&site, &["diff", "before", "after", "--as", "html", "-o", &diff]).ok();
    let evaluations = json!({"report": report, "diff": diff, "before": "before", "after": "after"});
    Served::of(&site).look(&site, &chromium, (&["evaluations"], &evaluations));
}
