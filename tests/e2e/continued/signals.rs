//! SIGINT, SIGTERM and SIGHUP, wherever a run waits: the journal is kept, no step is written, and the command that is named
//! continues it.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{ANSWER, Endpoint, WORKFLOW, Work, command, journals, of_kind, play};
use crate::process::{signal, wait_for};
use crate::rounds;
use crate::site::{AGENT, Said, Site, UWF};

/// Long enough that nobody would wait for it.
const SLOW: &str = "{ delay_ms: 60000, content: too late }";

/// Ends a run by a signal once `ready`, and gives what it said.
fn end(work: &Work, name: &str, mut ready: impl FnMut() -> bool) -> Said {
    let child = work.begin();
    wait_for(&mut ready);
    let begun = Instant::now();
    signal(name, child.id());
    let said = Said::of(child.wait_with_output().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(30), "it did not wait");
    let shown = work.site.uwf(&["thread", "show", &work.thread]).ok().json();
    assert_eq!(shown["status"], "idle", "no step was written");
    said
}

fn names_the_command(work: &Work, said: &Said) {
    let hint = format!("hint: nothing is lost; continue with: uwf thread exec {}", work.thread);
    assert!(said.err.contains(&hint), "{}", said.err);
}

#[test]
fn while_the_model_answers() {
    let read = "{ tool_calls: [{ name: read_file, arguments: { path: a.txt } }] }";
    let work = Work::by_arrival(&play(&[read, SLOW, ANSWER]));
    let said = end(&work, "-INT", || work.asked().len() == 2).code(130);
    names_the_command(&work, &said);
    let reply = work.run().ok().reply();
    assert_eq!(reply["usage"]["turns"], 2, "the call that was not answered was made again");
    assert_eq!(of_kind(&work.lines(), "started").count(), 1, "the tool was not");
    assert_eq!(work.asked().values().sum::<u64>(), 3);
    work.site.verify();
}

#[test]
fn while_a_retry_is_waited_for() {
    let busy = "{ error: { status: 429, retry_after: 60 } }";
    let work = Work::by_arrival(&play(&[busy, ANSWER]));
    let said = end(&work, "-TERM", || work.asked().len() == 1).code(143);
    names_the_command(&work, &said);
    assert_eq!(work.run().ok().reply()["usage"]["turns"], 1);
}

#[test]
fn while_a_tool_runs() {
    let two = "{ tool_calls: [{ name: run_command, arguments: { command: 'touch began; sleep 1000' } }, \
               { name: write_file, arguments: { path: later.txt, content: x } }] }";
    let work = Work::new(&play(&[two, ANSWER]));
    let began = work.site.workspace().join("began");
    let said = end(&work, "-TERM", || began.exists()).code(143);
    names_the_command(&work, &said);
    let last = work.lines().pop().unwrap();
    let text = last["message"]["content"].as_str().unwrap();
    assert!(text.contains("(cancelled after ") && text.contains("Look before you repeat it"), "{text}");
    assert_eq!(work.file("later.txt"), "", "what had not started has not started");
    let said = work.run().ok();
    assert!(said.err.contains("continues the interrupted run, after 1 turn\n"), "{}", said.err);
    assert_eq!(work.file("later.txt"), "x", "and does now");
    assert_eq!(said.reply()["usage"]["turns"], 2);
    let detail = work.site.uwf(&["cas", "get", said.reply()["detailHash"].as_str().unwrap()]).ok().json();
    let parts = detail["payload"]["settings"]["interrupted"].as_array().unwrap();
    assert_eq!(
        (parts.len(), &parts[0]["sandbox"]),
        (1, &detail["payload"]["sandbox"]),
        "it tells of the parts"
    );
    work.site.verify();
}

#[test]
fn the_end_of_a_terminal_is_one_unless_it_is_ignored() {
    let work = Work::new(&play(&[&command("touch began; until [ -e go ]; do sleep 0.02; done"), ANSWER]));
    let began = work.site.workspace().join("began");
    let said = end(&work, "-HUP", || began.exists()).code(129);
    names_the_command(&work, &said);
    fs::remove_file(&began).unwrap();
    let mut nohup = work.site.command("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$@\"", "sh", AGENT, "--fresh"]).args(work.args());
    let child = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| began.exists());
    signal("-HUP", child.id());
    fs::write(work.site.workspace().join("go"), "").unwrap();
    assert_eq!(Said::of(child.wait_with_output().unwrap()).ok().reply()["frontmatter"]["files"], 1);
}

#[test]
fn what_was_done_elsewhere_is_continued_there() {
    let site = Site::new();
    let thread = rounds::start(&site);
    let other = site.home().with_file_name("other place");
    fs::create_dir(&other).unwrap();
    let endpoint = Endpoint::serve(&site, &play(&[&command("touch began; sleep 1000"), ANSWER]), &[]);
    let agent = format!("{AGENT} --base-url {} --model m", endpoint.url());
    let args = ["thread", "exec", &thread, "--agent", &agent, "--cwd", other.to_str().unwrap()];
    let mut exec = site.command(UWF);
    let child = exec.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| other.join("began").exists());
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    let hint = format!("continue with: uwf thread exec {thread} --cwd '{}'\n", other.display());
    assert!(said.err.ends_with(&hint) && said.err.matches("error:").count() == 1, "{}", said.err);
    let said = site.uwf(&[&["-v"], &args[..]].concat()).ok();
    assert!(said.err.contains("continues the interrupted run, after 1 turn"), "{}", said.err);
}

#[test]
fn a_poke_is_continued_by_a_poke() {
    let site = Site::new();
    let thread = rounds::start(&site);
    site.uwf(&["thread", "exec", &thread, "--agent", &rounds::says(&site, "$status: more")]).ok();
    let script = play(&[&command("touch began; sleep 1000"), ANSWER]);
    let endpoint = Endpoint::serve(&site, &script, &[]);
    let agent = format!("{AGENT} --base-url {} --model m", endpoint.url());
    let args = ["thread", "poke", &thread, "-p", "Better.", "--agent", &agent];
    let mut poke = site.command(UWF);
    let child = poke.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| site.workspace().join("began").exists());
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    let hint = format!("continue with: uwf thread poke {thread} -p Better. --agent '{agent}'\n");
    assert!(said.err.ends_with(&hint) && said.err.matches("error:").count() == 1, "{}", said.err);
    let said = site.uwf(&[&["-v"], &args[..]].concat()).ok();
    assert!(said.err.contains("continues the interrupted run, after 1 turn"), "{}", said.err);
    assert_eq!(said.json()["status"], "end");
}

#[test]
fn a_second_signal_waits_for_nobody() {
    let work = Work::new(&play(&[
        command("trap \"\" TERM; touch began; while :; do sleep 1; done").as_str(),
        ANSWER,
    ]));
    let mut child = work.begin();
    wait_for(|| work.site.workspace().join("began").exists());
    // Two that come at once are one.
    while child.try_wait().unwrap().is_none() {
        signal("-INT", child.id());
        std::thread::sleep(Duration::from_millis(50));
    }
    Said::of(child.wait_with_output().unwrap()).code(130);
    assert_eq!(work.lines().last().unwrap()["entry"], "started", "nobody waited for how the call went");
    work.run().ok();
    let lines = work.lines();
    let text = of_kind(&lines, "finished").next().unwrap()["message"]["content"].as_str().unwrap();
    assert!(text.starts_with("[The run was interrupted while this call was under way"), "{text}");
}

#[test]
fn an_engine_that_is_stopped_goes_on_with_what_the_journal_says() {
    let work = Work::new(&play(&[command("touch began; sleep 1000").as_str(), ANSWER]));
    let agent = format!("{AGENT} --base-url {} --model m", work.endpoint.url());
    let child = work
        .site
        .command(UWF)
        .args(["thread", "exec", &work.thread, "--agent", &agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| work.site.workspace().join("began").exists());
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    names_the_command(&work, &said);
    let exec = work.site.uwf(&["thread", "exec", &work.thread]).ok();
    assert_eq!(exec.json()["status"], "end", "{}", exec.err);
    assert_eq!(work.asked().values().copied().collect::<Vec<_>>(), [1, 1]);
}

/// A stand-alone run whose command has begun, and its thread.
fn stand_alone(site: &Site, endpoint: &Endpoint) -> (Child, String) {
    let (workflow, url) = (site.write("w.yaml", WORKFLOW), endpoint.url());
    let run = ["run", &workflow, "--role", "worker", "-p", "- Work", "--base-url", &url, "--model", "m"];
    let mut command = site.command(AGENT);
    command.args(run).args(["--max-turns", "7", "--temperature", "0.5", "--tools", "run_command,grep"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| site.workspace().join("began").exists());
    let threads = site.uwf(&["thread", "list", "--all"]).ok().json();
    (child, threads[0]["thread"].as_str().unwrap().to_owned())
}

#[test]
fn a_stand_alone_run_is_continued_by_the_command_that_it_names() {
    let site = Site::in_memory();
    let script = play(&[command("touch began; sleep 1000").as_str(), ANSWER]);
    let endpoint = Endpoint::serve(&site, &script, &["--by-turn"]);
    let (child, thread) = stand_alone(&site, &endpoint);
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    let hint = said.err.lines().find_map(|line| line.split_once("continue with: uwf-builtin ")).unwrap().1;
    assert_eq!(hint, format!("run --continue {thread}"));
    // From anywhere: the directory is the journal's, too.
    let mut command = site.command(AGENT);
    command.args(hint.split(' ')).current_dir(site.home());
    let said = Said::of(command.output().unwrap()).ok();
    let reply = said.json();
    assert_eq!((&reply["frontmatter"]["files"], &reply["usage"]["turns"]), (&1.into(), &2.into()));
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    assert_eq!((&shown["status"], &shown["head"]), (&"end".into(), &reply["stepHash"]));
    let get = |hash: &str| site.uwf(&["cas", "get", hash]).ok().json()["payload"].clone();
    let settings = get(reply["detailHash"].as_str().unwrap())["settings"].clone();
    assert_eq!(settings["budget"]["turns"], 7);
    assert_eq!(settings["sampling"]["temperature"], 0.5);
    assert_eq!(get(reply["stepHash"].as_str().unwrap())["cwd"], site.workspace().display().to_string());
    let step = reply["stepHash"].as_str().unwrap();
    let recorded = format!("its last step, of the role worker, is recorded, {step}");
    site.agent(&["run", "--continue", &thread]).fails(1, &[&recorded, "uwf step read", "thread show"]);
    site.verify();
}

#[test]
fn an_interrupted_stand_alone_run_can_be_begun_anew() {
    let site = Site::in_memory();
    let script = play(&[command("echo x >> log; touch began; [ -e go ] || sleep 1000").as_str(), ANSWER]);
    let endpoint = Endpoint::serve(&site, &script, &["--by-turn"]);
    let (child, thread) = stand_alone(&site, &endpoint);
    signal("-INT", child.id());
    Said::of(child.wait_with_output().unwrap()).code(130);
    fs::write(site.workspace().join("go"), "").unwrap();
    site.agent(&["run", "--fresh", "--role", "worker"]).fails(2, &["--continue"]);
    site.agent(&["run", "--continue", &thread, "--fresh"]).ok();
    assert_eq!(fs::read_to_string(site.workspace().join("log")).unwrap(), "x\nx\n", "it ran once more");
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["status"], "end");
    let journals = fs::read_dir(site.home().join(".uwf/sessions")).unwrap();
    assert_eq!(journals.count(), 1, "the interrupted run's is gone");
}

#[test]
fn a_stand_alone_run_that_was_killed_loses_nothing() {
    let site = Site::in_memory();
    let script = play(&[command("echo once >> log; touch began; sleep 1000").as_str(), ANSWER]);
    let endpoint = Endpoint::serve(&site, &script, &["--by-turn"]);
    let (mut child, thread) = stand_alone(&site, &endpoint);
    child.kill().unwrap();
    child.wait().unwrap();
    let said =
        site.agent(&["run", "--continue", &thread, "--max-turns", "9", "--sandbox", "best-effort"]).ok();
    assert!(said.err.contains("in the sandbox that is asked for now"), "{}", said.err);
    let detail = said.json()["detailHash"].as_str().unwrap().to_owned();
    let settings = site.uwf(&["cas", "get", &detail]).ok().json()["payload"]["settings"].clone();
    assert_eq!(settings["budget"]["turns"], 9, "what is typed again counts");
    assert_eq!(settings["sandbox"]["level"], "best-effort");
    assert_eq!(fs::read_to_string(site.workspace().join("log")).unwrap(), "once\n");
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json()["status"], "end");
    site.verify();
}

#[test]
fn a_stand_alone_run_of_another_version_is_not_said_to_start_over() {
    let site = Site::in_memory();
    let script = play(&[command("touch began; sleep 1000").as_str(), ANSWER]);
    let endpoint = Endpoint::serve(&site, &script, &["--by-turn"]);
    let (mut child, thread) = stand_alone(&site, &endpoint);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = journals(&site).pop().unwrap();
    let newer = fs::read_to_string(&journal).unwrap().replacen("\"version\":5", "\"version\":99", 1);
    fs::write(&journal, newer).unwrap();
    let path = journal.display().to_string();
    let said = site
        .agent(&["run", "--continue", &thread])
        .fails(1, &[&path, "it is of version 99 of the format", "hint: a journal of another version"]);
    assert!(!said.err.contains("starts over") && !said.err.contains("no interrupted run"), "{}", said.err);
}

#[test]
fn only_what_run_began_is_continued_by_run() {
    let work = Work::by_arrival(&play(&[SLOW]));
    end(&work, "-INT", || work.asked().len() == 1).code(130);
    work.site.agent(&["run", "--continue", &work.thread]).fails(1, &["no interrupted run"]);
    work.site.agent(&["run", "--continue", &work.thread, "-p", "x"]).fails(2, &["--continue"]);
    work.site.agent(&["run", "--role", "worker"]).fails(2, &["--prompt", "WORKFLOW"]);
}
