//! Stop, cancel and time limits reach down.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Stack, WORKS};

/// Sleeps in a command of the innermost role.
const SLEEPS: &str = "
roles:
  inner-role:
    - turns:
        - tool_calls: [{ name: run_command, arguments: { command: 'echo begun > begun; sleep 60' } }]
        - content: \"---\\n$status: done\\n---\\n\"
";

/// Begins it in the background and waits for the command.
fn asleep() -> (Stack, String) {
    let stack = Stack::new(SLEEPS);
    let outer = stack.start();
    stack.site.uwf(&["thread", "exec", &outer, "--background"]).ok();
    let begun = Instant::now();
    while !stack.site.workspace().join("begun").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing begins");
        std::thread::sleep(Duration::from_millis(20));
    }
    (stack, outer)
}

#[test]
fn stop_ends_all_levels_and_the_run_goes_on_later() {
    let (stack, outer) = asleep();
    let threads = stack.threads(&outer);
    for thread in &threads {
        assert_eq!(stack.show(thread)["status"], "running");
    }
    stack.site.uwf(&["thread", "stop", &outer]).ok();
    for thread in &threads {
        assert_eq!(stack.show(thread)["status"], "idle");
    }
    let mock = stack.site.write("mock.yaml", WORKS);
    stack.site.write("home/.uwf/config.yaml", &super::config(&mock));
    stack.site.verify();
}

#[test]
fn stopping_a_called_thread_ends_its_callers_run() {
    let (stack, outer) = asleep();
    let inner = stack.threads(&outer)[2].clone();
    stack.site.uwf(&["thread", "stop", &inner]).ok();
    assert_eq!(stack.show(&outer)["status"], "idle");
}

#[test]
fn cancel_reaches_down() {
    let (stack, outer) = asleep();
    let threads = stack.threads(&outer);
    stack.site.uwf(&["thread", "cancel", &outer]).ok();
    for thread in &threads {
        assert_eq!(stack.show(thread)["status"], "cancelled");
    }
    stack.site.verify();
}

#[test]
fn a_time_limit_holds_for_all_levels_together() {
    let stack = Stack::new(SLEEPS);
    let outer = stack.start();
    let begun = Instant::now();
    let said = stack.site.uwf(&["thread", "exec", &outer, "--timeout", "2s"]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let told = said.fails(1, &["thread", "cannot go on", "took longer than"]);
    assert!(told.err.contains("inner-role") || told.err.contains("middle-role"), "{}", told.err);
    assert_eq!(stack.show(&outer)["status"], "idle");
}

#[test]
fn a_called_thread_that_is_gone_is_begun_anew() {
    let broken = WORKS.replace("$status: done", "$status: odd");
    let stack = Stack::new(&broken);
    let outer = stack.start();
    stack.exec(&outer).code(3);
    let [_, middle, _] = stack.threads(&outer);
    stack.site.uwf(&["thread", "rm", &middle]).ok();
    let mock = stack.site.write("mock.yaml", WORKS);
    stack.site.write("home/.uwf/config.yaml", &super::config(&mock));
    let said = stack.exec(&outer).ok();
    assert!(said.err.contains("is gone or cancelled: a new one begins"), "{}", said.err);
    assert_ne!(stack.called(&outer), middle);
    assert_eq!(stack.steps(&outer)[0]["output"]["text"], json!("whole"));
    stack.site.verify();
}
