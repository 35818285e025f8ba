//! Threads that go to a remote and come back by the programs themselves, which are killed on the way; and what never goes along.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use uwf_fleet::fixture::Postgres;

use super::fleet::Fleet;
use crate::process::{is_alive, wait_for};
use crate::site::{Said, Site, UWF, example};
use crate::thread::TASK;

/// A key as the environment of people has it.
const KEY: &str = "sk-live-4f9d2c71b6a05e38";

/// A site that knows the remote `team`.
fn at_the_remote(postgres: &Postgres) -> Site {
    let site = Site::new();
    site.uwf(&["remote", "add", "team", &postgres.url(), "--create"]).ok();
    site
}

/// Kills a command after so many milliseconds; whether it came to its end before.
fn killed(site: &Site, args: &[&str], after: u64) -> bool {
    let mut command = site.command(UWF);
    let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_millis(after));
    let had_ended = child.try_wait().unwrap().is_some_and(|status| status.success());
    child.kill().ok();
    child.wait().unwrap();
    had_ended
}

/// The command is killed later and later, until it comes to its end.
fn killed_until_done(site: &Site, args: &[&str]) -> u32 {
    let mut kills = 0;
    for after in (1..).map(|n| n * 2) {
        if killed(site, args, after) {
            break;
        }
        kills += 1;
        // Nodes that came before the name of their thread are found, and nothing is damaged.
        let verified: Value = site.uwf(&["cas", "verify", "--format", "json"]).json();
        let findings = verified["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["kind"] == "lost"), "{verified:#}");
    }
    site.verify();
    kills
}

#[test]
fn a_push_and_a_clone_that_are_killed_are_done_by_the_same_command_again() {
    let Some(postgres) = Postgres::start() else { return };
    let (here, there) = (at_the_remote(&postgres), at_the_remote(&postgres));
    here.project("solve-issue/project");
    let thread = here.start(&example("solve-issue/workflow.yaml"), TASK);
    let mock = example("solve-issue/mock.yaml");
    here.uwf(&["thread", "exec", &thread, "--until-end", "--mock", &mock]).ok();
    let kills = killed_until_done(&here, &["push", "team", &thread]);
    assert!(kills > 0, "none was killed");
    let again = here.uwf(&["push", "team", &thread, "--format", "json"]).ok();
    assert_eq!(again.json()[0]["outcome"], "same");
    assert!(killed_until_done(&there, &["clone", "team", &thread]) > 0, "none was killed");
    let steps = |site: &Site| site.uwf(&["step", "list", &thread, "--format", "json"]).ok().out;
    let (one, other): (Value, Value) =
        (serde_json::from_str(&steps(&here)).unwrap(), serde_json::from_str(&steps(&there)).unwrap());
    assert_eq!(one, other);
    there.verify();
}

#[test]
fn no_key_goes_to_the_remote_with_a_thread() {
    let Some(postgres) = Postgres::start() else { return };
    let site = at_the_remote(&postgres);
    site.write("home/.uwf/.env", &format!("OPENAI_API_KEY={KEY}\n"));
    site.write("work/notes.txt", "a note");
    let call = |command: &str| format!("{{ name: run_command, arguments: {{ command: '{command}' }} }}");
    let calls = [call("env"), call("cat ../home/.uwf/.env; true")];
    let answer = "---\\n$status: done\\nnote: it is done\\n---\\nDone.";
    let mock = format!("turns:\n  - tool_calls: [{}]\n  - content: \"{answer}\"\n", calls.join(", "));
    let mock = site.write("mock.yaml", &mock);
    let workflow = "name: one\ndescription: One role\nroles:\n  worker:\n    goal: You work.\n    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [done] }, note: { type: string } } }\n\
                    graph:\n  $START: { new: { role: worker, prompt: Begin. } }\n  worker: { done: { role: $END, prompt: Done. } }\n";
    let thread = site.start(&site.write("one.yaml", workflow), "Work.");
    let run = |args: &[&str]| {
        let mut command = site.command(UWF);
        command.args(args).env("OPENAI_API_KEY", KEY).env("PGPASSWORD", "s3cret-of-the-database");
        Said::of(command.output().unwrap())
    };
    run(&["thread", "exec", &thread, "--until-end", "--mock", &mock]).ok();
    run(&["push", "team", &thread]).ok();
    let dump = dumped(&postgres);
    assert!(dump.contains(&thread) && dump.contains("one"), "the thread is there");
    // What is in a bytea is told in digits.
    for secret in [KEY, "s3cret-of-the-database"] {
        let digits: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!dump.contains(secret) && !dump.contains(&digits), "{secret}");
    }
    let said = "it is done".bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(dump.contains(&said), "it is looked for where it would be");
}

/// All that a database has, as text.
fn dumped(postgres: &Postgres) -> String {
    let programs = fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path());
    let program = programs.map(|dir| dir.join("bin/pg_dump")).find(|program| program.exists()).unwrap();
    let output = Command::new(program).args(["--data-only", "--dbname", &postgres.url()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_numbers_of_a_worker_are_read_by_the_library_that_reads_such_numbers() {
    let Some(fleet) = Fleet::new(2) else { return };
    let python = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/moto/bin/python");
    let there = python.exists() && {
        let imported =
            Command::new(&python).args(["-c", "import prometheus_client"]).stderr(Stdio::null()).status();
        imported.is_ok_and(|status| status.success())
    };
    assert!(there || std::env::var_os("UWF_REQUIRE_MOTO").is_none(), "prometheus_client is not installed");
    if !there {
        return;
    }
    let machine = fleet.machine();
    let worker = machine.start(&["--metrics", "0"]);
    let thread = fleet.submit(1)[0];
    wait_for(|| fleet.column(&thread, "state") == "done");
    let log = fs::read_to_string(machine.log()).unwrap();
    let url =
        log.split_whitespace().find(|word| word.ends_with("/metrics")).unwrap_or_else(|| panic!("{log}"));
    let script = "import sys, urllib.request\n\
        from prometheus_client.parser import text_string_to_metric_families as families\n\
        text = urllib.request.urlopen(sys.argv[1]).read().decode()\n\
        for family in families(text):\n    \
            assert family.documentation and family.type in ('counter', 'gauge'), family\n    \
            for sample in family.samples: print(sample.name, int(sample.value))\n";
    let read = Command::new(&python).args(["-c", script, url]).output().unwrap();
    worker.signal("-TERM");
    assert_eq!(worker.wait(), 0);
    let read = Said::of(read).ok().out;
    for line in ["uwf_worker_steps_total 2", "uwf_worker_claims_total 1", "uwf_worker_running 0"] {
        assert!(read.lines().any(|other| other == line), "{line} is not in\n{read}");
    }
}

#[test]
fn agents_end_with_a_worker_that_is_killed() {
    let Some(fleet) = Fleet::new(1) else { return };
    fleet.submit(1);
    let machine = fleet.machine().played_by("echo $$ >> up; exec sleep 600\n");
    let worker = machine.start(&[]);
    let up = fleet.submitter.workspace().join("up");
    let agent = || fs::read_to_string(&up).unwrap_or_default();
    wait_for(|| agent().ends_with('\n'));
    worker.signal("-KILL");
    assert_ne!(worker.wait(), 0);
    wait_for(|| !is_alive(agent().trim()));
}
