//! What is typed after `uwf`.

use super::{Case, uwf};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = threads();
    cases.extend(starts());
    cases.extend(steps());
    cases.extend(artifacts());
    cases.extend(others());
    cases
}

fn threads() -> Vec<Case> {
    vec![
        uwf(&["thread", "exec"], 2, &["<THREAD>"]),
        uwf(&["thread", "exce", "{idle}"], 2, &["exce", "exec"]),
        uwf(
            &["thread", "exec", "nope"],
            1,
            &["`nope` names no thread", "a thread's id, the first or last characters"],
        ),
        uwf(&["thread", "exec", "{step}"], 1, &["{step} is a step of role", "and a thread is wanted"]),
        uwf(&["thread", "exec", "{unknown}"], 1, &["{unknown}", "hint: "]),
        uwf(&["thread", "exec", "{idle}", "-c", "0"], 2, &["'0'", "--count"]),
        uwf(&["thread", "exec", "{idle}", "-c", "many"], 2, &["'many'", "--count"]),
        uwf(&["thread", "exec", "{idle}", "-c", "2", "--until-end"], 2, &["--count", "--until-end"]),
        uwf(&["thread", "exec", "{idle}", "--max-steps", "3"], 2, &["--until-end"]),
        uwf(&["thread", "exec", "{idle}", "-c", "2", "--max-steps", "3"], 2, &["--count", "--max-steps"]),
        uwf(&["thread", "exec", "{idle}", "--agent", ""], 1, &["`` is not a command", "--agent"]),
        uwf(&["thread", "exec", "{idle}", "--agent", "a 'b"], 1, &["`a 'b`", "quote"]),
        uwf(&["thread", "exec", "{idle}", "--agent", "no-such-agent"], 1, &["no-such-agent", "--agent"]),
        uwf(&["thread", "exec", "{idle}", "--agent", "./none"], 1, &["none", "hint: "]),
        uwf(&["thread", "exec", "{idle}", "--cwd", "nowhere"], 1, &["nowhere", "hint: "]),
        uwf(&["thread", "exec", "{idle}", "--cwd", "one.yaml"], 1, &["one.yaml is not a directory"]),
        uwf(&["thread", "exec", "{idle}", "--timeout", "soon"], 2, &["'soon'", "--timeout"]),
        uwf(&["thread", "exec", "{ended}"], 1, &["{ended}", "status is end", "no `resume` edge"]),
        uwf(&["thread", "resume", "{idle}", "-p", "x"], 1, &["{idle}", "idle", "uwf thread exec"]),
        uwf(&["thread", "resume", "{ended}", "-p", "x"], 1, &["{ended}", "resume"]),
        uwf(&["thread", "resume", "nope"], 1, &["`nope` names no thread"]),
        uwf(&["thread", "show", "nope"], 1, &["`nope` names no thread"]),
        uwf(&["thread", "show", "{unknown}"], 1, &["{unknown}"]),
        uwf(&["thread", "show", "01\u{1b}[31m"], 1, &["names no thread"]),
        uwf(&["thread", "show", ""], 1, &["names no thread"]),
        uwf(&["thread", "list", "--status", "odd"], 2, &["'odd'", "--status"]),
        uwf(&["thread", "list", "--after", "soon"], 2, &["`soon` is not a time", "7d"]),
        uwf(&["thread", "list", "--before", "2026-13-40"], 2, &["`2026-13-40` is not a time"]),
        uwf(&["thread", "list", "--take", "-1"], 2, &["-1"]),
        uwf(&["thread", "read", "{unknown}"], 1, &["{unknown}"]),
        uwf(&["thread", "read", "{ended}", "--before", "nope"], 1, &["nope", "13 characters"]),
        uwf(&["thread", "read", "{ended}", "--before", "{node}"], 1, &["{node}", "{ended}"]),
        uwf(&["step", "read", "{node}", "--prompt", "--quota", "9"], 2, &["--prompt", "--quota"]),
        uwf(&["thread", "read", "{ended}", "--quota", "much"], 2, &["'much'", "--quota"]),
    ]
}

fn starts() -> Vec<Case> {
    vec![
        uwf(&["thread", "start"], 2, &["<WORKFLOW>"]),
        uwf(&["thread", "start", "one.yaml"], 2, &["no task is given", "-p TEXT", "-f FILE"]),
        uwf(&["run", "one.yaml"], 2, &["no task is given", "-p TEXT"]),
        uwf(&["run", "one.yaml", "-p", "x", "--mock", "none.yaml"], 1, &["mock script none.yaml"]),
        uwf(&["run", "one.yaml", "-p", "x", "--max-cost", "much"], 2, &["--max-cost"]),
        uwf(&["run", "one.yaml", "-p", "x", "--max-rounds", "0"], 2, &["--max-rounds"]),
        uwf(&["run", "one.yaml", "-p", "x", "--base-url", "http://me:x@h/v1"], 1, &["a password"]),
        uwf(&["thread", "start", "one.yaml", "-p", " "], 1, &["the task is empty"]),
        uwf(&["thread", "start", "nope", "-p", "x"], 1, &["nope", "hint: "]),
        uwf(&["thread", "start", "none.yaml", "-p", "x"], 1, &["none.yaml", "hint: "]),
        uwf(&["thread", "start", "../work", "-p", "x"], 1, &["work"]),
        uwf(&["thread", "start", "one.yaml", "-p", "x", "--cwd", "nowhere"], 1, &["nowhere"]),
        uwf(&["thread", "start", "{node}", "-p", "x"], 1, &["{node}"]),
        uwf(&["thread", "start", "0000000000000", "-p", "x"], 1, &["0000000000000"]),
        uwf(&["thread", "start", "", "-p", "x"], 1, &["hint: "]),
        uwf(&["workflow", "add"], 2, &["<FILE>"]),
        uwf(&["workflow", "add", "none.yaml"], 1, &["none.yaml"]),
        uwf(&["workflow", "show", "nope"], 1, &["nope", "hint: "]),
        uwf(&["workflow", "lst"], 2, &["lst", "list"]),
    ]
}

fn steps() -> Vec<Case> {
    vec![
        uwf(&["step", "show", "nope"], 1, &["nope", "13 characters"]),
        uwf(&["step", "show", "0000000000000"], 1, &["0000000000000"]),
        uwf(&["step", "show", "{node}"], 1, &["{node}", "not a step"]),
        uwf(&["step", "read", "{node}"], 1, &["{node}", "not a step"]),
        uwf(&["step", "read", "{node}", "--prompt"], 1, &["{node}", "not a step"]),
        uwf(&["step", "read", "{idle}"], 1, &["{idle}", "is a thread, and a step is wanted"]),
        uwf(&["step", "list", "nope"], 1, &["`nope` names no thread"]),
        uwf(&["step", "list", "{unknown}"], 1, &["{unknown}"]),
    ]
}

fn artifacts() -> Vec<Case> {
    vec![
        uwf(&["thread", "artifacts"], 2, &["<THREAD>"]),
        uwf(&["thread", "artifacts", "nope"], 1, &["`nope` names no thread"]),
        uwf(&["thread", "artifacts", "{unknown}"], 1, &["{unknown}"]),
        uwf(&["thread", "artifacts", "{step}"], 1, &["{step}"]),
        uwf(&["thread", "artifacts", "get", "{ended}"], 2, &["<NAME>"]),
        uwf(
            &["thread", "artifacts", "get", "{ended}", "a.md"],
            1,
            &["has no artifact `a.md`", "it has none"],
        ),
        uwf(&["thread", "artifacts", "get", "{unknown}", "a.md"], 1, &["{unknown}"]),
        uwf(&["thread", "artifacts", "get", "{ended}", "a.md", "--force"], 2, &["--output"]),
        uwf(
            &["thread", "artifacts", "get", "{ended}", "a.md", "--step", "nope"],
            1,
            &["nope", "13 characters"],
        ),
        uwf(&["thread", "artifacts", "get", "{ended}", "a.md", "--step", "{ended}:7"], 1, &["has no step 7"]),
        uwf(
            &["thread", "artifacts", "get", "{ended}", "a.md", "--step", "{step}"],
            1,
            &["step {step} of thread"],
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        uwf(&[], 2, &["Usage: uwf"]),
        uwf(&["thred", "list"], 2, &["thred", "thread"]),
        uwf(&["thread"], 2, &["Usage: uwf thread"]),
        uwf(&["thread", "list", "--format", "xml"], 2, &["xml", "--format"]),
        uwf(&["thread", "list", "--color", "red"], 2, &["red", "--color"]),
        uwf(&["thread", "list", "-q", "-v"], 2, &["--quiet", "--verbose"]),
        uwf(&["thread", "list", "extra"], 2, &["extra"]),
        uwf(&["log", "show", "--date", "yesterday"], 2, &["`yesterday` is not a day", "2026-11-21"]),
        uwf(&["log", "show", "2020-01-01", "--date", "2020-01-01"], 2, &["--date"]),
        uwf(&["setup", "--agent", "a/b"], 1, &["`a/b` is no agent's name", "agents.mine.command"]),
        uwf(&["log", "show", "yesterday"], 1, &["begins or ends with `yesterday`", "or name a day, such as"]),
        uwf(&["log", "show", "2020-01-01"], 1, &["no lines of 2020-01-01", "there are some of"]),
        uwf(&["log", "clean"], 2, &["--before"]),
        uwf(&["log", "clean", "--before", "old"], 2, &["`old` is not a time"]),
        uwf(&["prompt", "nope"], 2, &["nope"]),
        uwf(&["skill", "nope"], 2, &["nope"]),
        uwf(&["completions", "csh"], 2, &["csh"]),
        uwf(&["man", "--out", "one.yaml"], 1, &["one.yaml", "cannot write pages"]),
    ]
}
