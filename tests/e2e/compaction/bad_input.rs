//! What cannot be summed up, or listed in pages: each with an error that says what and what to do, and nothing changed.

use super::{agent, steps, summary, thread_of, workflow};
use crate::rounds;
use crate::site::Site;

#[test]
fn what_cannot_be_summed_up_is_told_and_nothing_is_changed() {
    let site = Site::new();
    let (thread, good) = thread_of(&site, "", 4);
    let before = (steps(&site, &thread), site.uwf(&["thread", "show", &thread]).ok().out);
    let compact = |more: &[&str]| site.uwf(&[&["thread", "compact"], more].concat());
    let t = thread.as_str();
    let of = |name: &str, answer: &str| agent(&site, name, &format!("{{ content: \"{answer}\" }}"));

    // What was typed.
    compact(&[]).fails(2, &["<THREAD>"]);
    compact(&["nothing"]).fails(1, &["nothing"]);
    compact(&["01KAB7M5D8WQ0R3T6V9Y2Z4C8E"]).fails(1, &["no such thread"]);
    compact(&[t, "--keep", "0"]).fails(2, &["--keep"]);
    compact(&[t, "--keep", "-1"]).fails(2, &["unexpected argument '-1'"]);
    compact(&[t, "--keep", "few"]).fails(2, &["--keep"]);
    compact(&[t, "--keep", "4294967296"]).fails(2, &["--keep"]);
    compact(&[t, "--keep", "2", "--agent", "'"]).fails(1, &["is not a command"]);
    compact(&[t, "--keep", "2", "--agent", "/no/such/agent"]).fails(1, &["/no/such/agent"]);
    compact(&[t, "--keep", "2", "--cwd", "no/where", "--agent", &good]).fails(1, &["no/where"]);
    compact(&[t, "--keep", "2", "--timeout", "soon"]).fails(2, &["--timeout"]);

    // What there is to sum up.
    compact(&[t, "--agent", &good])
        .fails(1, &["there is nothing to sum up", "4 steps since", "5 are to stay", "--keep 3"]);
    compact(&[t, "--keep", "4", "--agent", &good]).fails(1, &["there is nothing to sum up", "--keep 3"]);
    let fresh = rounds::start(&site);
    compact(&[&fresh, "--keep", "1", "--agent", &good])
        .fails(1, &["it has no step yet", "two steps are needed"]);

    // What the agent says: it is corrected twice, and then that is a failed step.
    for (name, answer, why) in [
        ("none.yaml", "no frontmatter", "frontmatter"),
        ("blank.yaml", "---\\n$status: done\\nsummary: ' '\\n---\\n", "summary"),
        ("missing.yaml", "---\\n$status: done\\n---\\n", "summary"),
        ("number.yaml", "---\\n$status: done\\nsummary: [7]\\n---\\n", "summary"),
        ("other.yaml", "---\\n$status: more\\nsummary: x\\n---\\n", "$status"),
    ] {
        let said = compact(&[t, "--keep", "2", "--agent", &of(name, answer)]).code(3).json();
        let message = said["error"]["message"].as_str().unwrap();
        assert!(!message.is_empty() && said["head"] == before.0[3]["hash"], "{name}: {said}");
        assert!(
            said["hint"].as_str().unwrap().ends_with(&format!("`uwf thread compact {t} --keep 2`")),
            "{said}"
        );
        let step = said["error"]["stepHash"].as_str().unwrap();
        let read = site.uwf(&["step", "read", step]).ok().out;
        assert!(read.contains(why), "{name}: {read}");
    }
    let asks = of("asks.yaml", "---\\n$status: $SUSPEND\\nreason: Which part?\\n---\\n");
    let said = compact(&[t, "--keep", "2", "--agent", &asks]).code(3).json();
    assert!(said["error"]["message"].as_str().unwrap().contains("it asks instead: Which part?"), "{said}");
    assert_eq!((said["status"].as_str(), said["done"].as_bool()), (Some("idle"), Some(false)));

    // An agent that plays another role, or none at all.
    compact(&[t, "--keep", "2", "--agent", "true"]).fails(1, &["gave no reply"]);
    let other = format!("sh -c 'echo {}'", before.0[3]["hash"].as_str().unwrap());
    compact(&[t, "--keep", "2", "--agent", &other]).fails(1, &["is not valid", "the head has not moved"]);
    assert_eq!(steps(&site, &thread), before.0);

    // A good answer is taken all the same, and the failed ones are linked to it.
    let done = compact(&[t, "--keep", "2", "--agent", &good]).ok().json();
    let attempts = |step: &serde_json::Value| {
        let node = site.uwf(&["cas", "get", step.as_str().unwrap()]).ok().json();
        node["payload"]["previousAttempts"].as_array().unwrap().clone()
    };
    // For its agent the question was an answer, before which the others had failed.
    let asked = attempts(&done["compactedBy"]);
    assert_eq!((asked.len(), attempts(&asked[0]).len()), (1, 5));
    compact(&[t, "--keep", "2", "--agent", &good]).fails(1, &["there is nothing to sum up", "2 steps since"]);
    site.verify();
}

#[test]
fn threads_that_run_or_were_cancelled_are_left_alone() {
    let site = Site::new();
    let (thread, agent) = thread_of(&site, "", 3);
    let compact = || site.uwf(&["thread", "compact", &thread, "--keep", "1", "--agent", &agent]);
    let sleeps = rounds::sleeps(&site);
    site.uwf(&["thread", "exec", &thread, "--background", "--agent", &sleeps]).ok();
    rounds::sleeper(&site);
    compact().fails(1, &["is already running"]);
    site.uwf(&["thread", "stop", &thread]).ok();
    compact().ok();
    site.uwf(&["thread", "cancel", &thread]).ok();
    compact().fails(1, &["is not active: its status is cancelled"]);
    site.verify();
}

#[test]
fn a_thread_that_waits_or_has_ended_is_summed_up_and_stays_so() {
    let site = Site::new();
    for (status, code, word) in [("ask", 10, "suspended"), ("done", 0, "end")] {
        let (thread, agent) = thread_of(&site, "", 3);
        let last = super::script(&summary("Rounds were made."))
            .replace("$status: more", &format!("$status: {status}"));
        let last = format!("{} --mock {}", crate::site::AGENT, site.write(&format!("{status}.yaml"), &last));
        site.uwf(&["thread", "exec", &thread, "--agent", &last]).code(code);
        let show = || site.uwf(&["thread", "show", &thread]).ok().json();
        let asked = show()["suspendMessage"].clone();
        site.uwf(&["thread", "compact", &thread, "--keep", "1", "--agent", &agent]).ok();
        assert_eq!((show()["status"].as_str(), &show()["suspendMessage"]), (Some(word), &asked));
        site.uwf(&["thread", "resume", &thread, "-p", "This.", "--agent", &agent]).ok();
        assert!(super::prompt(&site, &format!("{thread}:-1")).contains("# Summary of what happened before"));
    }
    site.verify();
}

#[test]
fn a_rule_that_cannot_work_is_refused_where_the_workflow_is_checked() {
    let site = Site::new();
    for (rule, words) in [
        ("compact: 20\n", &["`compact` must be a mapping, got 20"][..]),
        ("compact: { keep: 2 }\n", &["`after` is missing"]),
        ("compact: { after: 0 }\n", &["`after` must be a number of steps, from 1 on, got 0"]),
        ("compact: { after: 4 }\n", &["`keep` 5", "must be less than `after`"]),
        (
            "compact: { after: 4, keep: 4 }\n",
            &["leaves nothing to sum up after 4 steps", "{ after: 20, keep: 5 }"],
        ),
        ("compact: { after: 9, keep: none }\n", &["`keep` must be a number of steps, from 1 on, got text"]),
    ] {
        let file = site.write("bad.yaml", &workflow(rule));
        site.uwf(&["workflow", "validate", &file]).fails(1, words);
        site.uwf(&["thread", "start", &file, "-p", "x"]).fails(1, words);
    }
    let misspelt = site.write("odd.yaml", &workflow("compact: { after: 9, kept: 3 }\n"));
    let said = site.uwf(&["-v", "workflow", "validate", &misspelt]).ok();
    assert!(said.err.contains("unknown key `kept`"), "{}", said.err);
    let good = site.write("good.yaml", &workflow("compact: { after: 9, keep: 3 }\n"));
    site.uwf(&["workflow", "validate", &good]).ok();
    let role =
        workflow("").replace("  worker:\n    goal", "  $COMPACT:\n    goal").replace("worker", "$COMPACT");
    let role = site.write("role.yaml", &role);
    site.uwf(&["workflow", "validate", &role]).fails(1, &["role name `$COMPACT` cannot be stored"]);
}
