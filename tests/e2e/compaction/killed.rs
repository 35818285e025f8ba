//! SIGKILL while a thread is being summed up, at many instants: the thread is as it was or summed up, and goes on.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{agent, steps, summary, thread_of, told};
use crate::process::wait_for;
use crate::site::{Site, UWF};
use crate::store::age;

/// How long `$COMPACT` thinks.
const DELAY: u64 = 60;

/// How many instants.
const POINTS: u32 = 14;

#[test]
fn a_thread_goes_on_after_a_kill_at_any_instant() {
    let site = Site::new();
    let (thread, quick) = thread_of(&site, "", 6);
    let turn = summary("Rounds were made.").replace("{ content", &format!("{{ delay_ms: {DELAY}, content"));
    let slow = agent(&site, "slow.yaml", &turn);
    let args = ["thread", "compact", &thread, "--keep", "2", "--agent", &slow];
    let begun = Instant::now();
    let undisturbed = site.uwf(&["step", "fork", &format!("{thread}:-1")]).ok().json();
    let undisturbed = undisturbed["thread"].as_str().unwrap().to_owned();
    site.uwf(&["thread", "compact", &undisturbed, "--keep", "2", "--agent", &slow]).ok();
    let whole = begun.elapsed();
    let mut summed_up = 0;
    for point in 0..POINTS {
        let before = steps(&site, &thread);
        let mut child =
            site.command(UWF).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * point / POINTS);
        child.kill().unwrap();
        child.wait().unwrap();
        // Whoever was asked for the summary may be about its last words.
        let free = || site.uwf(&["thread", "show", &thread]).ok().json()["status"] == "idle";
        wait_for(free);
        std::thread::sleep(Duration::from_millis(DELAY));
        let after = steps(&site, &thread);
        assert_eq!(told(&before), told(&after), "{point}");
        let is_summed_up = before != after;
        summed_up += u32::from(is_summed_up);
        if point % 3 == 0 {
            age(&site);
            site.uwf(&["cas", "gc"]).ok();
        }
        site.verify();
        if !is_summed_up {
            site.uwf(&args).ok();
        }
        // Two more rounds, so that there is something to sum up again.
        site.uwf(&["thread", "exec", &thread, "-c", "2", "--agent", &quick]).ok();
        assert_eq!(steps(&site, &thread).len(), before.len() + 2, "{point}");
    }
    assert!(summed_up < POINTS, "some kill came before the end");
    site.verify();
}

/// A role that was cut off can go on at its head alone.
#[test]
fn what_a_role_has_begun_is_not_lost_to_a_summary() {
    let site = Site::new();
    let rule = "compact: { after: 5, keep: 2 }\n";
    let (thread, quick) = thread_of(&site, rule, 5);
    let turns = format!(
        "roles:\n  worker:\n    - turns:\n        - {{ tool_calls: [{{ name: list_dir, arguments: {{ path: . }} }}] }}\n        - {{ delay_ms: 60000, content: \"{}\" }}\n",
        super::ROUND
    );
    let slow = format!("{} --mock {}", crate::site::AGENT, site.write("slow.yaml", &turns));
    let mut child = site
        .command(UWF)
        .args(["thread", "exec", &thread, "--agent", &slow])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = || crate::site::named(&site.home().join(".uwf/sessions"), &thread);
    let has_called = || {
        let text = journal().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        text.contains("\"entry\":\"finished\"")
    };
    wait_for(has_called);
    site.uwf(&["thread", "stop", &thread]).ok();
    child.wait().unwrap();
    let compact = || site.uwf(&["thread", "compact", &thread, "--keep", "2", "--agent", &quick]);
    compact().fails(1, &["role `worker` of thread", "was cut off", "uwf thread exec"]);
    assert!(journal().is_some());
    let goes_on = site.write("goes_on.yaml", &turns.replace("delay_ms: 60000, ", ""));
    let goes_on = format!("{} --mock {goes_on}", crate::site::AGENT);
    let done = site.uwf(&["thread", "exec", &thread, "--agent", &goes_on]).ok().json();
    assert!(done.get("compacted").is_none(), "the role that was cut off plays first: {done}");
    let done = site.uwf(&["thread", "exec", &thread, "--agent", &quick]).ok().json();
    assert_eq!(done["compacted"]["keep"], 2);
    site.verify();
}
