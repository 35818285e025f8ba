//! The web pages of `uwf serve`, in a real browser: `tests/web/pages.mjs` looks at them, this makes what it looks at.
//!
//! Skipped, and said so, without Chromium or its driver (`npm ci --prefix tests/web`), unless UWF_REQUIRE_BROWSER is set.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use uwf_engine::record::{Detail, Turn};
use uwf_engine::{Status, StepLinks, StepNode, ThreadId, builtin, thread, workflow};
use uwf_store::{Expect, Hash, Store, VarChange};

use crate::process::wait_for;
use crate::rounds;
use crate::site::{AGENT, Site, UWF, example};
use crate::thread::TASK;

#[path = "web/evaluations.rs"]
mod evaluations;
#[path = "web/remote.rs"]
mod remote;

/// What a hostile text wants to be.
const HOSTILE: &str = "</title></pre><script>globalThis.pwned=1</script><img src=x onerror=globalThis.pwned=1><a href=javascript:globalThis.pwned=1>";

/// A workflow that asks, and one whose role prints what it is given.
const ASKS: &str = "\
name: asks
description: One role that asks
roles:
  worker:
    goal: You ask.
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [unclear, done] }, question: { type: string }, note: { type: string } } }
graph:
  $START:
    new: { role: worker, prompt: Begin. }
  worker:
    unclear: { role: $SUSPEND, prompt: '{{{question}}}' }
    done: { role: $END, prompt: Done. }
";

const ASKING: &str = "roles:\n  worker:\n    - turns: [{ content: \"---\\n$status: unclear\\nquestion: Which branch?\\n---\\n\" }]\n    - turns:\n        - content: \"---\\n$status: done\\n---\\nDone.\"\n          expect: { last_contains: Use the main branch. }\n";

fn pages() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/web")
}

/// The browser, if all that is needed is here.
fn chromium() -> Option<PathBuf> {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists());
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let driver = pages().join("node_modules/playwright-core").exists();
    if found.is_some() && driver && node.is_ok_and(|status| status.success()) {
        return found;
    }
    assert!(std::env::var_os("UWF_REQUIRE_BROWSER").is_none(), "a browser is required and not installed");
    // Not by eprintln!: what a passing test prints is shown to nobody.
    let mut past_the_runner = std::io::stderr();
    writeln!(past_the_runner, "skipped: Chromium or its driver is not here (npm ci --prefix tests/web)")
        .unwrap();
    None
}

/// A running `uwf serve`; it ends with the test.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn of(site: &Site) -> Served {
        Served::with(site, &[])
    }

    fn with(site: &Site, args: &[&str]) -> Served {
        let mut command = site.command(UWF);
        command.args(["serve", "--format", "text", "-q"]).args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Served { child, url: url.trim().to_owned() }
    }

    fn origin(&self) -> &str {
        self.url.split_once("/?token=").unwrap().0
    }

    /// Has the browser look at these threads.
    fn look(&self, site: &Site, chromium: &Path, (checks, threads): (&[&str], &Value)) {
        let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web");
        fs::create_dir_all(&pictures).unwrap();
        // A machine that many share takes its time; the figures are the benchmark's.
        let plan = json!({
            "url": self.url, "origin": self.origin(), "pictures": pictures, "chromium": chromium, "threads": threads,
            "checks": checks, "patience": 10_000,
        });
        let plan = site.write("plan.json", &plan.to_string());
        let mut command = Command::new("node");
        let looked = command.arg(pages().join("pages.mjs")).arg(plan).current_dir(pages()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&looked.stdout), String::from_utf8_lossy(&looked.stderr));
        assert!(looked.status.success(), "{out}\n{err}");
        fs::write(pictures.join(format!("{}.txt", checks[0])), out.as_bytes()).unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn pages_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let site = Site::new();
    site.project("solve-issue/project");
    let workflow = example("solve-issue/workflow.yaml");
    let exec =
        |thread: &str, mock: &str| site.uwf(&["thread", "exec", thread, "--until-end", "--mock", mock]);
    let solved = site.start(&workflow, TASK);
    exec(&solved, &example("solve-issue/mock.yaml")).ok();
    let failed = site.start(&workflow, "Mend what cannot be mended.");
    exec(&failed, &example("solve-issue/mock.yaml")).code(3);
    let asks_file = site.write("asks.yaml", ASKS);
    let asks = site.start(&asks_file, "A task with a question.");
    exec(&asks, &site.write("asking.mock.yaml", ASKING)).code(10);
    let hostile = site.start(&asks_file, HOSTILE);
    let words = json!(format!("---\n$status: done\nnote: {}\n---\n{HOSTILE}", json!(HOSTILE)));
    let call =
        json!({"name": "run_command", "arguments": {"command": format!("cat <<'E'\n{HOSTILE}\nE\nexit 1")}});
    let turns = json!([{"tool_calls": [call], "content": HOSTILE}, {"content": words}]);
    exec(
        &hostile,
        &site.write("hostile.yaml", &json!({"roles": {"worker": [{"turns": turns}]}}).to_string()),
    )
    .ok();
    let runs = rounds::start(&site);
    let mock = "roles:\n  worker:\n    - turns: [{ content: \"---\\n$status: more\\n---\\n\" }]\n    - turns: [{ content: \"---\\n$status: done\\n---\\n\" }]\n";
    let mock = site.write("two.yaml", mock);
    let body = format!("while [ ! -e go ]; do sleep 0.02; done; exec {AGENT} --mock {mock} \"$@\"\n");
    let agent = format!("sh {}", site.write("agent.sh", &body));
    site.uwf(&["thread", "exec", &runs, "--background", "--until-end", "--agent", &agent]).ok();
    let file = site.workspace().join("thread.html");
    site.uwf(&["thread", "read", &hostile, "--html", &file.display().to_string()]).ok();
    let threads = json!({
        "file": file, "solved": solved, "failed": failed, "asks": asks, "hostile": hostile, "runs": runs,
        "go": site.workspace().join("go"),
    });
    let checks = [
        "pictures",
        "graph",
        "tenth",
        "keys",
        "within a second",
        "suspended",
        "refused",
        "never runs",
        "one file",
    ];
    Served::of(&site).look(&site, &chromium, (&checks, &threads));
    wait_for(|| fs::read_dir(site.home().join(".uwf/running")).unwrap().count() == 0);
}

#[test]
fn a_thousand_threads_and_turns_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let site = Site::in_memory();
    let file = site.write("asks.yaml", ASKS);
    let store = uwf_engine::open_store(&site.home().join(".ocas"), now).unwrap();
    let hash = workflow::put(&store, &workflow::load(file.as_ref()).unwrap()).unwrap();
    let cwd = site.workspace().display().to_string();
    let many = thread::start(&store, &hash, "A long step.", &cwd).unwrap();
    long_step(&store, &many, 1_000);
    let head = thread::head(&store, &many).unwrap();
    let names = (0..1_000).map(|n| {
        let mut start = head.start(&store).unwrap();
        start.prompt = format!("Task number-{n}.");
        let value = store.put(&builtin::START_NODE, &json!(start)).unwrap();
        let id = ThreadId::new(now() - 60_000 + n);
        let (name, tags) = (format!("@uwf/thread/{id}"), BTreeMap::new());
        VarChange::Set { name, schema: builtin::START_NODE, value, tags, expect: Expect::Any }
    });
    store.vars().apply(&names.collect::<Vec<_>>()).unwrap();
    Served::of(&site).look(&site, &chromium, (&["thousand", "click away"], &json!({"many": many})));
    // Nothing here was recorded by a run: there is nothing to be played again.
    fs::remove_dir_all(site.workspace()).unwrap();
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// A step of so many turns with a call each, as the head of the thread.
fn long_step(store: &Store, thread: &ThreadId, count: usize) {
    let mut batch = store.batch();
    let mut messages: Vec<Hash> = Vec::new();
    for n in 1..=count {
        let (id, at) = (format!("call{n}"), 1_700_000_000_000 + n);
        let args = json!({"path": format!("src/file{n}.rs")}).to_string();
        let said = json!({"role": "assistant", "kind": "turn", "content": format!("I look at file {n}."), "at": at,
            "toolCalls": [{"id": id, "name": "read_file", "args": args}], "durationMs": 900});
        let text = format!("{}the end of a long result", format!("line of file {n}\n").repeat(400));
        let result = json!({"role": "tool", "kind": "result", "callId": id, "content": text, "failed": false, "at": at});
        messages.extend([said, result].map(|turn| Turn::of(turn).put(&mut batch).unwrap()));
    }
    let listed = Some(messages.into_iter().map(Into::into).collect());
    let detail = Detail { messages: listed, ..Detail::empty("s", "m") }.put(&mut batch).unwrap();
    batch.commit().unwrap();
    let head = thread::head(store, thread).unwrap();
    let schema =
        workflow::get(store, &head.start(store).unwrap().workflow).unwrap().roles["worker"].frontmatter;
    let node = StepNode {
        start: head.start_hash(),
        prev: None,
        role: "worker".to_owned(),
        output: store.put(&schema, &json!({"$status": "unclear", "question": "What now?"})).unwrap(),
        detail,
        agent: "scripted".to_owned(),
        edge_prompt: "Begin.".to_owned(),
        started_at_ms: 1_700_000_000_000,
        completed_at_ms: 1_700_000_900_000,
        cwd: "/".to_owned(),
        assembled_prompt: None,
        usage: None,
        previous_attempts: None,
        links: StepLinks::default(),
    };
    let step = store.put(&node.type_(), &json!(node)).unwrap();
    thread::advance(store, thread, &head.hash, &step, &Status::Idle).unwrap();
}
