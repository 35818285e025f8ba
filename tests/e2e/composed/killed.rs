//! SIGKILL at any point over three levels, then continued: the same result as undisturbed, nothing finished is repeated. With
//! `SWEEP_POINTS=60` in the environment at so many points.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Stack;
use crate::site::UWF;

/// At how many points, where nobody says how many.
const POINTS: u32 = 16;

/// Each visit leaves a line in a file: one that is repeated leaves two.
const SCRIPT: &str = "
roles:
  inner-role:
    - turns:
        - tool_calls: [{ name: run_command, arguments: { command: 'echo one >> done' } }]
        - content: \"---\\n$status: more\\ntext: half\\n---\\nHalf.\\n\"
    - turns:
        - tool_calls: [{ name: run_command, arguments: { command: 'echo two >> done' } }]
        - content: \"---\\n$status: more\\ntext: most\\n---\\nMost.\\n\"
    - turns:
        - tool_calls: [{ name: run_command, arguments: { command: 'echo three >> done' } }]
        - content: \"---\\n$status: done\\ntext: whole\\n---\\nAll.\\n\"
";

/// What must not depend on whether a run was disturbed.
fn result(stack: &Stack, outer: &str) -> Value {
    let levels = stack.threads(outer).map(|thread| {
        let steps = stack.steps(&thread);
        let told = |step: &Value| json!([step["role"], step["output"], step["usage"]["turns"]]);
        json!([stack.show(&thread)["status"], steps.iter().map(told).collect::<Vec<_>>()])
    });
    json!(levels)
}

fn kill_after(stack: &Stack, outer: &str, time: Duration) {
    let mut command = stack.site.command(UWF);
    command.args(["thread", "exec", outer, "--until-end"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_that_is_killed_at_any_point_goes_on() {
    let undisturbed = Stack::new(SCRIPT);
    let (begun, outer) = (Instant::now(), undisturbed.start());
    undisturbed.exec(&outer).ok();
    let (whole, expected) = (begun.elapsed(), result(&undisturbed, &outer));
    assert_eq!(super::file(&undisturbed.site, "done"), "one\ntwo\nthree\n");

    let points = std::env::var("SWEEP_POINTS").ok().and_then(|count| count.parse().ok()).unwrap_or(POINTS);
    for point in 0..points {
        let stack = Stack::new(SCRIPT);
        let outer = stack.start();
        kill_after(&stack, &outer, whole * point / points);
        // An agent that is being ended along with its engine may hold its run for an instant.
        let begun = Instant::now();
        while stack.show(&outer)["status"] != "end" {
            let said = stack.exec(&outer);
            assert!(begun.elapsed() < Duration::from_secs(60), "{point}: it cannot go on: {said:?}");
        }
        let done = super::file(&stack.site, "done");
        // A command that was cut off is told as such and not run again, whether it had its effect or not; each other one ran
        // once.
        let lines: Vec<&str> = done.lines().collect();
        let mut each = ["one", "two", "three"].iter();
        assert!(lines.len() >= 2 && lines.iter().all(|line| each.any(|one| one == line)), "{point}: {done}");
        assert_eq!(result(&stack, &outer), expected, "{point}");
        stack.site.verify();
    }
}
