//! What is typed after `uwf-builtin`, and the scripts it plays.

use super::{Case, agent};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = calls();
    cases.extend(runs());
    cases.extend(scripts());
    cases
}

fn calls() -> Vec<Case> {
    vec![
        agent(&[], 2, &["thread", "--help"]),
        agent(&["rum"], 2, &["unknown command, rum", "run"]),
        agent(&["nope", "a"], 2, &["nope", "26 characters"]),
        agent(&["{idle}"], 2, &["no role"]),
        agent(&["--role", "a", "--prompt", "x"], 2, &["no thread"]),
        agent(&["--thread", "nope", "--role", "a", "--prompt", "x"], 2, &["nope", "26 characters"]),
        agent(&["{idle}", "a", "extra"], 2, &["extra"]),
        agent(&["{idle}", "a", "--thread", "{idle}"], 2, &["--thread"]),
        agent(&["{idle}", "b", "--mock", "{mock}"], 1, &["b", "hint: "]),
        agent(&["{unknown}", "a", "--mock", "{mock}"], 1, &["{unknown}"]),
        agent(&["{idle}", "a", "--reply", "xml"], 2, &["xml", "--reply"]),
        agent(&["{idle}", "a", "--mock", "none.yaml"], 1, &["none.yaml"]),
        agent(&["{idle}", "a"], 1, &["no model is configured", "uwf setup"]),
        agent(&["--model", "m", "run", "one.yaml", "--role", "a", "-p", "x"], 2, &["come after it"]),
        agent(&["doctor", "--cwd", "nowhere"], 1, &["nowhere"]),
        agent(&["tools", "extra"], 2, &["extra"]),
        agent(&["completions", "csh"], 2, &["csh"]),
        agent(&["man", "--out", "one.yaml"], 1, &["one.yaml"]),
    ]
}

macro_rules! run {
    ($($more:literal),*) => { &["run", "one.yaml", "--role", "a", "-p", "x", "--mock", "{mock}", $($more),*] };
}

fn runs() -> Vec<Case> {
    vec![
        agent(&["run"], 2, &["<WORKFLOW>", "--role"]),
        agent(&["run", "one.yaml", "-p", "x"], 2, &["--role"]),
        agent(&["run", "none.yaml", "--role", "a", "-p", "x", "--mock", "{mock}"], 1, &["none.yaml"]),
        agent(&["run", "one.yaml", "--role", "b", "-p", "x", "--mock", "{mock}"], 1, &["b", "a"]),
        agent(&["run", "one.yaml", "--role", "a", "-p", "", "--mock", "{mock}"], 1, &["the task is empty"]),
        agent(run!("--max-turns", "x"), 2, &["'x'", "--max-turns"]),
        agent(run!("--max-tokens", "-5"), 2, &["-5"]),
        agent(run!("--timeout", "soon"), 2, &["'soon'", "--timeout"]),
        agent(run!("--sandbox", "maybe"), 2, &["maybe", "strict"]),
        agent(run!("--tools", "read_fil"), 1, &["read_fil", "read_file"]),
        agent(run!("--temperature", "hot"), 2, &["'hot'", "--temperature"]),
        agent(run!("--temperature", "5"), 2, &["'5'", "from 0 to 2"]),
        agent(run!("--temperature", "nan"), 2, &["'nan'", "from 0 to 2"]),
        agent(run!("--max-turns", "0"), 2, &["0 is not in 1.."]),
        agent(run!("--max-tokens", "0"), 2, &["0 is not in 1.."]),
        agent(run!("--timeout", "0s"), 2, &["'0s'", "more than no time"]),
        agent(run!("--cwd", "nowhere"), 1, &["nowhere"]),
        agent(run!("--cwd", "one.yaml"), 1, &["one.yaml is not a directory"]),
        agent(&["run", "one.yaml", "--role", "a", "-p", "x", "--base-url", "h/v1"], 1, &["base URL"]),
        agent(
            &[
                "run",
                "one.yaml",
                "--role",
                "a",
                "-p",
                "x",
                "--model",
                "m",
                "--base-url",
                "http://u:sk-bad-4e1d9c@h",
            ],
            1,
            &["base URL"],
        ),
    ]
}

fn scripts() -> Vec<Case> {
    let bad = |text, says| {
        agent(&["run", "one.yaml", "--role", "a", "-p", "x", "--mock", "m.yaml"], 1, says)
            .file("work/m.yaml", text)
    };
    vec![
        bad("", &["m.yaml"]),
        bad("turns: [\n", &["m.yaml", "line 2"]),
        bad("turns: 5\n", &["m.yaml", "turns"]),
        bad("turn: []\n", &["m.yaml", "turn"]),
        bad("turns: [{ contnt: x }]\n", &["m.yaml", "contnt", "content"]),
        bad("turns: [{ tool_calls: [{ nam: grep }] }]\n", &["m.yaml", "nam"]),
        bad("turns: [{ error: { status: many } }]\n", &["m.yaml", "status"]),
        bad("turns: [{ content: x, delay_ms: soon }]\n", &["m.yaml", "delay_ms"]),
        bad("roles: { b: [] }\n", &["m.yaml"]),
        agent(&["mock-server"], 2, &["<FILE>"]),
        agent(&["mock-server", "none.yaml"], 1, &["none.yaml"]),
        agent(&["mock-server", "one.yaml"], 1, &["one.yaml"]),
        agent(&["mock-server", "{mock}", "--port", "99999"], 2, &["99999", "--port"]),
    ]
}
