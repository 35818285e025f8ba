//! Whatever an endpoint does, in any order: a role run ends in a reply, and no request of it breaks the invariant of
//! conversations, which the loop checks before it sends one (a breach ends a run without a reply).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_engine::{AdapterOutput, AgentRequest, Env, ThreadId, thread, workflow};
use uwf_store::{Hash, Store};
use uwf_tools::sandbox::{Level, Policy, Sandbox};

use crate::react::Notice;
use crate::replay::{RecordedRun, Replayed, replay};
use crate::role_run::{RunContext, journals_dir, role_run};
use crate::settings::{Flags, Settings};
use crate::signals::Signals;
use crate::workers::Workers;

const WORKFLOW: &str = "
name: w
description: d
roles:
  worker:
    goal: Work.
    frontmatter: { type: object, properties: { $status: { const: done } }, required: [$status] }
graph:
  $START:
    new: { role: worker, prompt: Work. }
  worker:
    done: { role: $END, prompt: Done. }
";

/// A home, a store with the workflow, and a workspace.
pub(crate) struct RunFixture {
    dir: TempDir,
    pub(crate) store: Store,
    workflow: Hash,
    sandbox: Arc<Sandbox>,
    workers: Workers,
}

fn clock() -> u64 {
    1_795_311_855_000
}

impl RunFixture {
    pub(crate) fn new() -> RunFixture {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("work")).unwrap();
        std::fs::create_dir(root.join("run")).unwrap();
        let store = uwf_engine::open_store(&root.join("ocas"), clock).unwrap();
        std::fs::write(root.join("w.yaml"), WORKFLOW).unwrap();
        let resolved = workflow::resolve(&store, "w.yaml", &root).unwrap();
        let workflow = resolved.ensure_stored(&store).unwrap();
        let policy = Policy { level: Level::Off, ..Policy::new(root.join("work"), root.join("run")) };
        let (sandbox, workers) = (Arc::new(Sandbox::prepare(policy)), Workers::start().unwrap());
        RunFixture { dir, store, workflow, sandbox, workers }
    }

    /// Where the journals are.
    pub(crate) fn journals(&self) -> PathBuf {
        journals_dir(&self.dir.path().canonicalize().unwrap().join("uwf"))
    }

    /// Where the run works.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    /// A thread that nobody has played yet.
    pub(crate) fn start(&self) -> ThreadId {
        let workspace = self.workspace().display().to_string();
        thread::start(&self.store, &self.workflow, "t", &workspace).unwrap()
    }

    /// Plays the script in a thread of its own, on a clock that does not wait.
    fn run(&self, turns: &[Value]) -> Result<AdapterOutput, String> {
        self.run_with(turns, &|_| (), &mut |_| {})
    }

    /// The same under other settings, and with a listener.
    pub(crate) fn run_with(
        &self,
        turns: &[Value],
        change: &dyn Fn(&mut Settings),
        on_notice: &mut dyn FnMut(Notice<'_>),
    ) -> Result<AdapterOutput, String> {
        let root = self.dir.path().canonicalize().unwrap();
        let script = root.join("script.json");
        std::fs::write(&script, json!({ "turns": turns }).to_string()).unwrap();
        let (home, workspace) = (root.join("uwf"), root.join("work"));
        let thread = self.start();
        let mut settings = settings(&script, &home);
        change(&mut settings);
        let request = AgentRequest::new(thread, "worker", Some("Work.".to_owned()), None);
        let run = self.context((&home, &workspace), &settings);
        let reply = runtime().block_on(role_run(&request, &run, None, on_notice));
        reply.map_err(|error| format!("{error}: {:?}", std::error::Error::source(&error)))
    }
}

impl RunFixture {
    fn context<'a>(
        &'a self,
        (home, workspace): (&'a Path, &'a Path),
        settings: &'a Settings,
    ) -> RunContext<'a> {
        RunContext {
            store: &self.store,
            home,
            workspace,
            settings,
            sandbox: &self.sandbox,
            workers: &self.workers,
            env: Vec::new(),
            clock,
            trace: None,
            stand_alone: false,
            signals: &|| Ok(Signals::new(|_| Poll::Pending)),
            claim: None,
            begun: &|| (),
            sink: None,
        }
    }

    /// Plays a recorded step again, after this was done to its record.
    pub(crate) fn replay(&self, step: Hash, change: impl FnOnce(&mut RecordedRun)) -> Replayed {
        self.replay_in(&self.workspace(), (step, false), change)
    }

    /// The same in a directory, where its tools are run once more if they are to be.
    pub(crate) fn replay_in(
        &self,
        workspace: &Path,
        (step, runs_tools): (Hash, bool),
        change: impl FnOnce(&mut RecordedRun),
    ) -> Replayed {
        let home = self.dir.path().canonicalize().unwrap().join("replay");
        let settings = settings(Path::new("none"), &home);
        let mut recorded = RecordedRun::read(&self.store, step).unwrap();
        change(&mut recorded);
        let run = self.context((&home, workspace), &settings);
        runtime().block_on(replay(&recorded, &run, runs_tools, &mut |_| ())).unwrap()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

fn settings(script: &Path, home: &Path) -> Settings {
    let flags = Flags {
        mock: Some(script.to_owned()),
        max_turns: Some(8),
        sandbox: Some(Level::Off),
        ..Flags::default()
    };
    let mut settings = Settings::load(flags, &Env::default(), home).unwrap();
    // The clock goes on while tools run.
    settings.limits.time = None;
    settings
}

/// Everything that scripts can do, good and bad.
fn entries() -> Vec<Value> {
    let call = |id: &str, arguments: &str| json!({"id": id, "name": "list_dir", "arguments": arguments});
    let calls = |calls: Value| json!({ "tool_calls": calls });
    let streamed = |events: &str| json!({ "body": events });
    vec![
        json!({"content": "---\n$status: done\n---\nFine."}),
        json!({"content": "It is fine."}),
        json!({"content": "", "reasoning": "hm"}),
        json!({"content": " \n"}),
        json!({"content": "<think>hm</think>"}),
        json!({"content": "<tool_call>{\"name\": \"list_dir\"}</tool_call>"}),
        json!({"content": "---\n$status: odd\n---\n", "finish_reason": "length"}),
        calls(json!([call("a", "{}")])),
        calls(json!([call("a", "{}"), call("a", "{}"), call("b", "{\"path\": \"x")])),
        calls(json!([{"name": "no_such_tool", "arguments": {}}])),
        calls(json!([{"name": "write_file", "arguments": "not JSON"}, {"name": "list_dir"}])),
        json!({"content": "Let me look.", "tool_calls": [call("", "")]}),
        json!({"error": {"status": 429, "retry_after": 1}}),
        json!({"error": {"status": 500}}),
        json!({"error": {"status": 200, "message": "overloaded"}}),
        json!({"error": {"status": 401}}),
        json!({"error": {"status": 400, "code": "context_length_exceeded"}}),
        json!({"reset": true}),
        json!({"content": "half", "drop_after_bytes": 3}),
        json!({"content": "half", "stall_after_bytes": 3}),
        json!({"content": "late", "delay_ms": 500}),
        json!({"body": "<html>"}),
        json!({"body": {"choices": []}}),
        json!({"body": {"choices": [{"message": {"content": null, "tool_calls": [{"function": {"name": "list_dir"}}]}}]}}),
        streamed(
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"list_dir\"}}]}}]}\n\ndata: [DONE]\n\n",
        ),
        streamed("data: {\"choices\":[{\"delta\":{\"content\":\"---\\n$status: do\"}}]}\n\n"),
    ]
}

#[test]
fn any_order_of_faults_ends_in_a_reply() {
    let fixture = RunFixture::new();
    let script = proptest::collection::vec(proptest::sample::select(entries()), 1..14);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(32) });
    let outcome = runner.run(&script, |turns| {
        let reply = fixture.run(&turns).map_err(TestCaseError::fail)?;
        let replayed = fixture.replay(reply.step_hash, |_| ());
        prop_assert_eq!(replayed.difference, None);
        let output = &reply.frontmatter;
        if reply.is_error {
            prop_assert!(
                ["answer", "budget", "provider"].iter().any(|phase| output["phase"] == *phase),
                "{output}"
            );
            prop_assert!(reply.error_message.is_some_and(|error| !error.is_empty()));
        } else {
            prop_assert_eq!(&output["$status"], "done");
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failed| panic!("{failed}"));
}
