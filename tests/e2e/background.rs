//! Steps that run on their own: started, seen, stopped, killed, and never mistaken for another process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{is_alive, signal, wait_for};
use crate::rounds::{says, sleeper, sleeps, start};
use crate::site::{AGENT, Said, Site, UWF};

fn marker(site: &Site, thread: &str) -> Option<Value> {
    let file = site.home().join(format!(".uwf/running/{thread}.json"));
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn show(site: &Site, thread: &str) -> Value {
    site.uwf(&["thread", "show", thread]).ok().json()
}

fn launch(site: &Site, thread: &str, agent: &str) -> Said {
    site.uwf(&["thread", "exec", thread, "--background", "--agent", agent])
}

/// Fields of `/proc/<pid>/stat`, from the state on.
fn stat(pid: &str) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_background_run_returns_at_once_and_comes_to_its_end() {
    let site = Site::new();
    let thread = start(&site);
    let mock = site.write(
        "two.yaml",
        "roles:\n  worker:\n    - turns: [{ content: \"---\\n$status: more\\n---\\n\" }]\n    - turns: [{ content: \"---\\n$status: done\\n---\\n\" }]\n",
    );
    let body = format!("while [ ! -e go ]; do sleep 0.02; done; exec {AGENT} --mock {mock} \"$@\"\n");
    let agent = format!("sh {}", site.write("agent.sh", &body));
    let args = ["thread", "exec", &thread, "--background", "--until-end", "--agent", &agent];
    let said = site.uwf(&args).ok();
    let told = said.json();
    assert_eq!(
        (&told["background"], &told["status"], &told["currentRole"]),
        (&json!(true), &json!("running"), &json!("worker"))
    );
    assert_eq!(said.err, "");
    assert_eq!(show(&site, &thread)["background"], true);
    fs::write(site.workspace().join("go"), "").unwrap();
    wait_for(|| show(&site, &thread)["status"] == "end");
    wait_for(|| fs::read_dir(site.home().join(".uwf/running")).unwrap().count() == 0);
    assert_eq!(show(&site, &thread)["background"], Value::Null);
    let log = fs::read_to_string(site.home().join(format!(".uwf/logs/threads/{thread}.log"))).unwrap();
    for word in ["worker → more", "next: worker", "worker → done", "end\n", "turn 1: text"] {
        assert!(log.contains(word), "{word:?} is not in {log}");
    }
    site.verify();
    site.uwf(&["thread", "rm", &thread]).ok();
    assert_eq!(
        fs::read_dir(site.home().join(".uwf/logs/threads")).unwrap().count(),
        0,
        "rm takes the log along"
    );
}

#[test]
fn it_has_a_session_of_its_own_and_says_who_it_is() {
    let site = Site::new();
    let thread = start(&site);
    launch(&site, &thread, &sleeps(&site)).ok();
    let agent = sleeper(&site);
    let marker = marker(&site, &thread).unwrap();
    let pid = marker["pid"].to_string();
    let stat = stat(&pid);
    assert_eq!((&stat[3], &marker["thread"], &marker["background"]), (&pid, &json!(thread), &json!(true)));
    assert_eq!(marker["processStart"].to_string(), stat[19]);
    let stream = |number: u8| fs::read_link(format!("/proc/{pid}/fd/{number}")).unwrap();
    let log = site.home().join(format!(".uwf/logs/threads/{thread}.log"));
    assert_eq!([stream(0), stream(1), stream(2)], ["/dev/null".into(), log.clone(), log]);
    let listed = site.uwf(&["thread", "list", "--status", "running"]).ok().json();
    assert_eq!(listed[0]["thread"], thread.as_str());

    let begun = Instant::now();
    site.uwf(&["thread", "stop", &thread]).ok();
    assert!(!is_alive(&pid) && !is_alive(&agent), "stop returns when they are gone");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let shown = show(&site, &thread);
    assert_eq!((&shown["status"], &shown["background"]), (&json!("idle"), &Value::Null));
    assert_eq!(site.uwf(&["thread", "stop", &thread]).ok().json()["stopped"], false);
    site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: more")]).ok();
}

#[test]
fn a_killed_run_is_over_at_once_and_its_marker_misleads_nobody() {
    let site = Site::new();
    let thread = start(&site);
    launch(&site, &thread, &sleeps(&site)).ok();
    let agent = sleeper(&site);
    let pid = marker(&site, &thread).unwrap()["pid"].to_string();
    signal("-KILL", &pid);
    wait_for(|| !is_alive(&pid));
    wait_for(|| !is_alive(&agent));
    assert_eq!(show(&site, &thread)["status"], "idle");
    // The number now belongs to somebody else, as far as the marker tells.
    let mut bystander = site.command("sleep").arg("300").spawn().unwrap();
    let mut told = marker(&site, &thread).expect("a kill leaves the marker behind");
    told["pid"] = json!(bystander.id());
    site.write(&format!("home/.uwf/running/{thread}.json"), &told.to_string());
    assert_eq!(show(&site, &thread)["status"], "idle");
    assert_eq!(site.uwf(&["thread", "stop", &thread]).ok().json()["stopped"], false);
    site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: more")]).ok();
    site.uwf(&["thread", "cancel", &thread]).ok();
    site.uwf(&["thread", "rm", &thread, "--force"]).ok();
    assert!(bystander.try_wait().unwrap().is_none(), "nobody signalled it");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn cancel_and_forced_removal_end_the_run() {
    let site = Site::new();
    for (command, gone) in [(&["cancel"][..], false), (&["rm", "--force"], true)] {
        let thread = start(&site);
        fs::remove_file(site.workspace().join("up")).ok();
        launch(&site, &thread, &sleeps(&site)).ok();
        let agent = sleeper(&site);
        let args: Vec<&str> = ["thread", command[0], &thread].iter().chain(&command[1..]).copied().collect();
        site.uwf(&args).ok();
        assert!(!is_alive(&agent));
        assert_eq!(fs::read_dir(site.home().join(".uwf/running")).unwrap().count(), 0);
        match gone {
            true => drop(site.uwf(&["thread", "show", &thread]).fails(1, &["no such thread"])),
            false => assert_eq!(show(&site, &thread)["status"], "cancelled"),
        }
    }
}

#[test]
fn an_agent_that_is_not_there_is_told_before_anything_starts() {
    let site = Site::new();
    let thread = start(&site);
    launch(&site, &thread, "no-such-agent --fast")
        .fails(1, &["cannot start the agent `no-such-agent`", "hint: name an agent with --agent"]);
    assert_eq!((marker(&site, &thread), &show(&site, &thread)["status"]), (None, &json!("idle")));
}

#[test]
fn only_an_idle_thread_runs_in_the_background() {
    let site = Site::new();
    let thread = start(&site);
    site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: ask")]).code(10);
    let suspended = launch(&site, &thread, "/no/such/agent").code(10).json();
    assert_eq!((&suspended["status"], &suspended["background"]), (&json!("suspended"), &Value::Null));
    site.uwf(&["thread", "cancel", &thread]).ok();
    launch(&site, &thread, "/no/such/agent").fails(1, &["is not active"]);
    let (failing, broken) = (start(&site), site.write("broken", "#!/no/such/interpreter\n"));
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    launch(&site, &failing, &broken).ok();
    let log = site.home().join(format!(".uwf/logs/threads/{failing}.log"));
    wait_for(|| fs::read_to_string(&log).is_ok_and(|log| log.contains("cannot start the agent")));
}

/// Runs many steps in the foreground and sends a signal in the second one.
fn interrupted(how: &[&str], name: &str, code: i32) {
    let site = Site::new();
    let thread = start(&site);
    let first = says(&site, "$status: more");
    let body =
        format!("if [ -e first ]; then echo $$ > up; exec sleep 300; fi; touch first; exec {first} \"$@\"\n");
    let agent = format!("sh {}", site.write("agent.sh", &body));
    let args = [&["thread", "exec", &thread], how, &["--agent", &agent]].concat();
    let child = site.command(UWF).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let agent = sleeper(&site);
    signal(name, child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(code);
    assert!(!is_alive(&agent), "the agent ends with it");
    let told = said.json();
    assert_eq!(told.as_array().unwrap().len(), 1, "the step that was done is told: {told}");
    assert!(said.err.contains("error: stopped by signal"), "{}", said.err);
    let shown = show(&site, &thread);
    assert_eq!((&shown["head"], &shown["status"]), (&told[0]["head"], &json!("idle")));
}

#[test]
fn an_interrupted_run_keeps_the_steps_that_were_done() {
    interrupted(&["--until-end"], "-INT", 130);
    interrupted(&["--until-end"], "-TERM", 143);
    interrupted(&["-c", "3"], "-INT", 130);
}

#[test]
fn a_run_on_another_terminal_can_be_stopped_too() {
    let site = Site::new();
    let thread = start(&site);
    let args = ["thread", "exec", &thread, "--agent", &sleeps(&site)];
    let child = site.command(UWF).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleeper(&site);
    assert_eq!(show(&site, &thread)["background"], false);
    let stopped = std::thread::scope(|scope| {
        // Somebody must reap it: it is ours.
        let run = scope.spawn(|| Said::of(child.wait_with_output().unwrap()));
        let stop = site.uwf(&["thread", "stop", &thread]).ok().json();
        run.join().unwrap().code(143);
        stop
    });
    assert_eq!(stopped, json!({"thread": thread, "stopped": true}));
}
