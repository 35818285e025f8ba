//! Many programs on one store at once: one agent a thread, no lost step, no "database is locked".

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::wait_for;
use crate::rounds::{says, start};
use crate::site::{AGENT, Said, Site};

/// How many programs run at once.
const PROCESSES: usize = 16;

/// The same command line in many processes; `over` counts those that have ended.
fn at_once(site: &Site, args: &[&str], over: &AtomicUsize) -> Vec<Said> {
    std::thread::scope(|scope| {
        let run = || {
            let said = site.uwf(args);
            over.fetch_add(1, Ordering::SeqCst);
            said
        };
        let runs: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(run)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// An agent that takes as long as the file `go` is not there, and counts its calls.
fn waits(site: &Site) -> String {
    let mock = says(site, "$status: more");
    let body = format!("echo x >> calls; while [ ! -e go ]; do sleep 0.02; done; exec {mock} \"$@\"\n");
    format!("sh {}", site.write("waits.sh", &body))
}

fn calls(site: &Site) -> usize {
    fs::read_to_string(site.workspace().join("calls")).unwrap_or_default().lines().count()
}

fn steps(site: &Site, thread: &str) -> usize {
    site.uwf(&["step", "list", thread]).ok().json()["steps"].as_array().unwrap().len() - 1
}

#[test]
fn of_many_that_step_one_thread_one_does_and_the_others_say_who() {
    for background in [false, true] {
        let site = Site::new();
        let thread = start(&site);
        let agent = waits(&site);
        let mut args = vec!["thread", "exec", &thread, "--agent", &agent];
        args.extend(background.then_some("--background"));
        let over = AtomicUsize::new(0);
        let runs = std::thread::scope(|scope| {
            let runs = scope.spawn(|| at_once(&site, &args, &over));
            // The agent goes on only when all others have given up: none of them waits for it.
            wait_for(|| over.load(Ordering::SeqCst) >= PROCESSES - 1 && calls(&site) > 0);
            fs::write(site.workspace().join("go"), "").unwrap();
            runs.join().unwrap()
        });
        let (done, refused): (Vec<_>, Vec<_>) = runs.iter().partition(|said| said.code == 0);
        assert_eq!((done.len(), refused.len()), (1, PROCESSES - 1), "{runs:?}");
        let first = &refused[0].err;
        let expected = format!("error: thread {thread} is already running, in process ");
        assert!(first.starts_with(&expected), "{first}");
        for said in &refused {
            assert_eq!((said.code, said.out.as_str(), &said.err), (1, "", first));
        }
        wait_for(|| steps(&site, &thread) == 1);
        assert_eq!(calls(&site), 1, "one agent was spawned");
        site.verify();
    }
}

#[test]
fn many_threads_stepped_by_many_processes_all_finish() {
    let site = Site::new();
    let threads: Vec<String> = (0..64).map(|_| start(&site)).collect();
    let mock = site.write(
        "two.yaml",
        "roles:\n  worker:\n    - turns: [{ content: \"---\\n$status: more\\n---\\n\" }]\n    - turns: [{ content: \"---\\n$status: done\\n---\\n\" }]\n",
    );
    let agent = format!("{AGENT} --mock {mock}");
    let worker = |first: usize| {
        // Each goes round from another thread on, so that they meet again and again.
        for thread in threads.iter().cycle().skip(first * 4).take(threads.len()) {
            let said = site.uwf(&["thread", "exec", thread, "--agent", &agent]);
            let refused = ["is already running", "is not active"].iter().any(|word| said.err.contains(word));
            assert!(said.code == 0 || refused, "{said:?}");
        }
    };
    std::thread::scope(|scope| {
        (0..PROCESSES).for_each(|first| drop(scope.spawn(move || worker(first))));
    });
    let listed = site.uwf(&["thread", "list", "--all"]).ok().json();
    for row in listed.as_array().unwrap() {
        assert_eq!(row["status"], "end", "{row}");
    }
    assert_eq!(listed.as_array().unwrap().len(), threads.len());
    for thread in &threads {
        assert_eq!(steps(&site, thread), 2, "{thread}");
    }
    site.verify();
}

#[test]
fn many_starts_at_once_are_many_threads() {
    let site = Site::new();
    let workflow = {
        start(&site);
        site.home().parent().unwrap().join("rounds.yaml").display().to_string()
    };
    let runs = at_once(&site, &["thread", "start", &workflow, "-p", "x"], &AtomicUsize::new(0));
    let mut ids: Vec<String> =
        runs.into_iter().map(|said| said.ok().json()["thread"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), PROCESSES);
    assert_eq!(site.uwf(&["thread", "list"]).ok().json().as_array().unwrap().len(), PROCESSES + 1);
    site.verify();
}

#[test]
fn of_many_that_play_one_visit_one_does_and_the_others_say_where() {
    let site = Site::new();
    let thread = start(&site);
    let waits = "echo x >> calls; while [ ! -e go ]; do sleep 0.02; done";
    let mock = site.write("waits.yaml", &format!(
        "turns:\n  - tool_calls: [{{name: run_command, arguments: {{command: '{waits}'}}}}]\n  - content: \"---\\n$status: more\\n---\\n\"\n"
    ));
    let args = [
        "--mock",
        &mock,
        "--sandbox",
        "best-effort",
        "--thread",
        &thread,
        "--role",
        "worker",
        "--prompt",
        "Go.",
    ];
    let over = AtomicUsize::new(0);
    let runs = std::thread::scope(|scope| {
        let run = || {
            let said = site.agent(&args);
            over.fetch_add(1, Ordering::SeqCst);
            said
        };
        let runs: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(run)).collect();
        // The one that plays goes on when all others have given up, or will not.
        for _ in 0..1500 {
            if over.load(Ordering::SeqCst) >= PROCESSES - 1 && calls(&site) > 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        fs::write(site.workspace().join("go"), "").unwrap();
        runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(calls(&site), 1, "{runs:?}");
    let (done, refused): (Vec<_>, Vec<_>) = runs.into_iter().partition(|said| said.code == 0);
    assert_eq!((done.len(), refused.len()), (1, PROCESSES - 1), "{refused:?}");
    for said in refused {
        said.fails(1, &["by another process", ".jsonl"]);
    }
}
