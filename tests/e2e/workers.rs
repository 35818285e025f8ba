//! `uwf worker`: real workers with homes of their own against a real Postgres.

#[path = "workers/chaos.rs"]
mod chaos;
#[path = "workers/fleet.rs"]
pub(crate) mod fleet;
#[path = "workers/proxy.rs"]
mod proxy;
#[path = "workers/pushed.rs"]
mod pushed;

use std::fs;

use serde_json::Value;

use self::fleet::Fleet;
use crate::process::{is_alive, wait_for};
use crate::site::Said;

/// A chain of four that is summed up before the last one, and who plays it.
const SUMMED_UP: &str = "compact: { after: 2, keep: 1 }\n";
const SUMS_UP: &str = "
roles:
  $COMPACT:
    - turns: [{ content: \"---\\n$status: done\\nsummary: It was counted.\\n---\\n\" }]
";

#[test]
fn two_workers_run_all_threads_and_make_each_step_once() {
    let Some(fleet) = Fleet::new(3) else { return };
    let threads = fleet.submit(6);
    let machines = [fleet.machine(), fleet.machine()];
    let workers = machines.each_ref().map(|machine| machine.start(&["--until-empty", "--parallel", "2"]));
    for (worker, machine) in workers.into_iter().zip(&machines) {
        assert_eq!(worker.wait(), 0, "{}", fs::read_to_string(machine.log()).unwrap());
    }
    for thread in &threads {
        assert_eq!(
            (fleet.column(thread, "state"), fleet.column(thread, "steps")),
            ("done".into(), "3".into())
        );
    }
    let calls: Vec<String> = machines.iter().flat_map(|machine| machine.calls()).collect();
    assert_eq!(calls.iter().filter(|call| call.starts_with("end ")).count(), 18);
    for machine in &machines {
        assert_eq!(machine.site.uwf(&["thread", "list", "--all"]).ok().out.trim(), "[]", "nothing is left");
        machine.site.verify();
    }
    assert_eq!(fleet.count("SELECT count(*) FROM uwf.worker"), 0);
}

#[test]
fn what_happens_is_told_to_programs_and_to_people() {
    let Some(fleet) = Fleet::new(2) else { return };
    let thread = fleet.submit(1)[0];
    let machine = fleet.machine();
    let args = ["--until-empty", "--name", "w1", "--format", "json"];
    let said = Said::of(machine.worker(&args).output().unwrap()).ok();
    assert_eq!(said.err, "");
    let told: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = told.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["started", "claimed", "step", "step", "ended"]);
    assert_eq!((told[2]["step"]["role"].as_str(), told[2]["state"].as_str()), (Some("one"), Some("leased")));
    assert_eq!(
        (told[3]["thread"].as_str(), told[3]["state"].as_str()),
        (Some(thread.as_str()), Some("done"))
    );

    let thread = fleet.submit(1)[0];
    let said = Said::of(machine.worker(&["--once", "--name", "w1"]).output().unwrap()).ok();
    assert_eq!(said.out, "");
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(lines[0].starts_with("worker w1 runs threads of "), "{}", said.err);
    assert_eq!(lines[1], format!("{thread}  claimed, fence 1"));
    assert!(lines[2].starts_with(&format!("{thread}  one → done  ")) && lines[2].ends_with("next: two"));
    assert_eq!(*lines.last().unwrap(), "worker w1 has ended after 2 steps");
}

#[test]
fn what_fails_is_told_with_the_agents_own_words_and_tried_again() {
    let Some(fleet) = Fleet::new(1) else { return };
    let thread = fleet.submit(1)[0];
    let machine = fleet.machine().played_by("echo 'error: no such model' >&2; exit 1\n");
    let said = Said::of(machine.worker(&["--once"]).output().unwrap()).ok();
    let failed = said.err.lines().find(|line| line.contains("  failed: ")).unwrap_or(&said.err).to_owned();
    assert!(failed.contains("no such model") && failed.contains("exit status 1"), "{failed}");
    assert_eq!(
        (fleet.column(&thread, "state"), fleet.column(&thread, "attempts")),
        ("ready".into(), "1".into())
    );
    assert!(fleet.column(&thread, "reason").contains("no such model"));
}

#[test]
fn the_files_of_a_snapshot_go_from_machine_to_machine() {
    let Some(fleet) = Fleet::new(2) else { return };
    fleet.submitter.write("work/given", "given");
    let thread = fleet.submit(1)[0];
    fleet.in_a_snapshot(&thread);
    let first = "[ -e made ] && exit 1; cat given > made; echo half > given; exec $AGENT \"$@\"\n";
    let said = Said::of(fleet.machine().played_by(first).worker(&["--once"]).output().unwrap()).ok();
    assert!(said.err.contains("  failed: "), "{}", said.err);
    assert_eq!(fleet.column(&thread, "steps"), "1");
    let second = "[ $(cat made given) = givenhalf ] || exit 1; touch more; exec $AGENT \"$@\"\n";
    let machine = fleet.machine().played_by(second);
    assert_eq!(machine.start(&["--until-empty"]).wait(), 0);
    let said = fs::read_to_string(machine.log()).unwrap();
    assert_eq!(fleet.column(&thread, "state"), "done", "{said}");
    assert_eq!(fs::read_to_string(fleet.submitter.workspace().join("given")).unwrap(), "given");
    let left = machine.site.home().join(".local/share/uwf/workspaces");
    assert_eq!(fs::read_dir(left).unwrap().count(), 0);
}

#[test]
fn the_first_signal_lets_steps_finish_and_the_second_one_stops_them() {
    let Some(fleet) = Fleet::new(2) else { return };
    let thread = fleet.submit(1)[0];
    let waits = "echo $$ >> up; while [ ! -e go ]; do sleep 0.02; done; exec $AGENT \"$@\"\n";
    let machine = fleet.machine().played_by(waits);
    let work = fleet.submitter.workspace();
    let agents = || fs::read_to_string(work.join("up")).unwrap_or_default();
    let worker = machine.start(&["--grace", "60s"]);
    wait_for(|| agents().ends_with('\n'));
    worker.signal("-TERM");
    wait_for(|| fs::read_to_string(machine.log()).unwrap().contains("running steps are finished"));
    fs::write(work.join("go"), "").unwrap();
    assert_eq!(worker.wait(), 0);
    let state = || {
        (fleet.column(&thread, "state"), fleet.column(&thread, "steps"), fleet.column(&thread, "attempts"))
    };
    assert_eq!(state(), ("ready".into(), "1".into(), "0".into()));

    fs::remove_file(work.join("go")).unwrap();
    let worker = machine.start(&["--grace", "60s"]);
    wait_for(|| agents().lines().count() == 2);
    worker.signal("-INT");
    wait_for(|| {
        fs::read_to_string(machine.log()).unwrap().matches("running steps are finished").count() == 2
    });
    worker.signal("-INT");
    assert_eq!(worker.wait(), 130);
    assert_eq!(state(), ("ready".into(), "1".into(), "0".into()));
    let agents = agents();
    assert!(agents.lines().all(|agent| !is_alive(agent)), "{agents}");

    fs::write(work.join("go"), "").unwrap();
    assert_eq!(machine.start(&["--until-empty"]).wait(), 0);
    assert_eq!(state(), ("done".into(), "2".into(), "0".into()));
}

#[test]
fn a_summary_is_pushed_before_the_role_plays_and_is_made_once() {
    let Some(fleet) = Fleet::new(4) else { return };
    let chain = fs::read_to_string(fleet.submitter.workspace().join("chain.yaml")).unwrap();
    fleet.submitter.write("work/chain.yaml", &(chain + SUMMED_UP));
    let thread = fleet.submit(1)[0];
    let others = ["one", "two", "three", "four"].map(|role| {
        format!("  {role}:\n    - turns: [{{ content: \"---\\n$status: done\\n---\\nCounted.\" }}]\n")
    });
    let script = SUMS_UP.to_owned() + &others.concat();
    // The one that plays after the summary fails, and another machine goes on.
    let four = "  four:\n    - turns: [{ ";
    let (before, _) = script.split_at(script.find(four).unwrap());
    let fails = format!("{before}{four}error: {{ status: 400, message: not today }} }}]\n");
    let first = fleet.machine();
    first.site.write("mock.yaml", &fails);
    let said = Said::of(first.worker(&["--once", "--format", "json"]).output().unwrap()).ok();
    let told: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary =
        told.iter().find(|event| !event["compacted"].is_null()).unwrap_or_else(|| panic!("{said:?}"));
    assert_eq!((&summary["step"], summary["state"].as_str()), (&Value::Null, Some("leased")));
    assert_eq!(fleet.column(&thread, "head"), summary["compacted"]["head"].as_str().unwrap());
    assert_eq!((fleet.column(&thread, "steps"), fleet.column(&thread, "role")), ("3".into(), "four".into()));
    let second = fleet.machine();
    second.site.write("mock.yaml", &script);
    assert_eq!(second.start(&["--until-empty"]).wait(), 0);
    let said = fs::read_to_string(second.log()).unwrap();
    assert_eq!(
        (fleet.column(&thread, "state"), fleet.column(&thread, "steps")),
        ("done".into(), "4".into()),
        "{said}"
    );
    let calls = [first.calls(), second.calls()].concat();
    assert_eq!(calls.iter().filter(|call| call.contains("$COMPACT") && call.starts_with("end")).count(), 1);
    assert_eq!(
        fleet.count("SELECT count(*) FROM uwf.event WHERE kind = 'step' AND data ->> 'role' = '$COMPACT'"),
        1
    );
}
