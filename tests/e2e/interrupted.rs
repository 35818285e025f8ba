//! Signals and crashes: nothing is half-written, nothing goes on running, the next run starts clean.

use std::process::{Child, Stdio};

use crate::process::{runs, signal, wait_for};
use crate::site::{AGENT, Said, Site, example};

/// Starts a developer whose command announces itself by a file and then sleeps, for so long.
fn sleeping(site: &Site, (thread, seconds): (&str, &str)) -> Child {
    let command = format!("echo begun > begun; sleep {seconds}");
    let mock = site.write(
        "m.yaml",
        &format!(
            "turns:\n  - tool_calls: [{{ name: run_command, arguments: {{ command: '{command}' }} }}]\n"
        ),
    );
    let child = site
        .command(AGENT)
        .args([thread, "developer", "--mock", &mock])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| site.workspace().join("begun").exists());
    child
}

fn after(name: &str, code: i32) -> Said {
    let site = Site::new();
    let thread = site.start(&example("solve-issue/workflow.yaml"), "t");
    // No other command sleeps as long.
    let seconds = format!("1000.{}{}", std::process::id(), code.unsigned_abs());
    let child = sleeping(&site, (&thread, &seconds));
    wait_for(|| runs(&seconds));
    signal(name, child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(code);
    wait_for(|| !runs(&seconds));
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    assert_eq!(shown["status"], "idle", "no step was written");
    let journals = std::fs::read_dir(site.home().join(".uwf/sessions")).unwrap();
    let journal = journals.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let text = std::fs::read_to_string(journal).unwrap();
    assert!(text.contains("\"entry\":\"started\""), "the journal knows which call was running: {text}");
    let answered = text.lines().last().unwrap().contains("\"cancelled\":true");
    assert_eq!(answered, name != "-KILL", "an orderly stop answers the call that was running: {text}");
    site.verify();
    said
}

#[test]
fn sigterm_is_an_orderly_stop() {
    let said = after("-TERM", 143);
    assert!(said.err.contains("interrupted by SIGTERM") && said.err.contains("hint: "), "{}", said.err);
}

#[test]
fn sigint_is_an_orderly_stop() {
    after("-INT", 130);
}

#[test]
fn a_killed_agent_leaves_no_command_behind() {
    after("-KILL", -1);
}
