//! A place of its own for the measurements: homes, a workspace, a workflow, scripts.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const UWF: &str = env!("CARGO_BIN_EXE_uwf");
pub(crate) const AGENT: &str = env!("CARGO_BIN_EXE_uwf-builtin");

const WORKFLOW: &str = "\
name: figures
description: One role
roles:
  worker:
    goal: You answer.
    frontmatter: { type: object, required: [$status], properties: { $status: { const: done } } }
graph:
  $START:
    new: { role: worker, prompt: Answer. }
  worker:
    done: { role: $END, prompt: Done. }
";

pub(crate) const ANSWER: &str = "  - content: |\n      ---\n      $status: done\n      ---\n      Done.\n";

/// Homes, a workspace and scripts.
pub(crate) struct BenchHome {
    dir: tempfile::TempDir,
}

impl BenchHome {
    pub(crate) fn new() -> BenchHome {
        // Beside the build, not in /tmp: that is often memory, where a sync costs nothing.
        let home = BenchHome { dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        fs::create_dir(home.dir().join("work")).unwrap();
        home.write("w.yaml", WORKFLOW);
        home.write("work/notes.txt", "a line of a file that is read again and again\n");
        home.write("answer.yaml", &format!("turns:\n{ANSWER}"));
        // None like another: a run in circles is ended.
        let call = |n| {
            format!("  - tool_calls: [{{ name: grep, arguments: {{ pattern: worker, context: {n} }} }}]\n")
        };
        let calls: String = (0..20).map(call).collect();
        home.write("calls.yaml", &format!("turns:\n{calls}{ANSWER}"));
        home
    }

    /// Files in the workspace, ten in a directory.
    pub(crate) fn project(&self, files: usize) {
        for n in 0..files {
            let directory = self.dir().join(format!("work/d{}", n / 10));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(format!("f{n}.txt")), format!("file {n}\n").repeat(50)).unwrap();
        }
    }

    /// A home whose store holds this many text nodes more.
    pub(crate) fn with_nodes(count: usize) -> BenchHome {
        let home = BenchHome::new();
        let nodes: String = (0..count)
            .map(|n| format!("{{\"type\":\"7VQ43ZSJTEWA7\",\"payload\":\"node {n}\"}}\n"))
            .collect();
        let nodes = home.write("nodes.jsonl", &nodes);
        let put =
            home.uwf(&["cas".into(), "put".into(), "--jsonl".into(), nodes]).stdout(Stdio::null()).status();
        assert!(put.unwrap().success());
        home
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.dir());
        command.current_dir(self.dir().join("work"));
        command
    }

    pub(crate) fn uwf(&self, args: &[String]) -> Command {
        let mut command = self.command(UWF);
        command.args(args);
        command
    }

    pub(crate) fn agent<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.command(AGENT);
        command.args(args);
        command
    }

    /// A new thread of the workflow.
    pub(crate) fn thread(&self) -> String {
        let workflow = self.dir().join("w.yaml").display().to_string();
        let start = ["thread", "start", &workflow, "-p", "x"].map(str::to_owned);
        let output = self.uwf(&start).stderr(Stdio::null()).output().unwrap();
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        reply["thread"].as_str().unwrap().to_owned()
    }

    /// The agent form, without a tool call.
    pub(crate) fn role_run(&self, thread: &str) -> Vec<String> {
        let script = self.dir().join("answer.yaml").display().to_string();
        [thread, "worker", "--fresh", "--prompt", "Answer.", "--mock", &script].map(str::to_owned).to_vec()
    }

    pub(crate) fn mock_agent(&self) -> String {
        format!("{AGENT} --mock {}", self.dir().join("answer.yaml").display())
    }

    /// The largest resident set of a run with 20 tool calls, in KiB.
    pub(crate) fn peak_memory_of_20_tool_calls(&self) -> u64 {
        let script = self.dir().join("calls.yaml").display().to_string();
        self.peak_memory_of_a_run(&script)
    }

    /// The same of a run with 10 commands that print so many bytes each.
    pub(crate) fn peak_memory_of_10_commands(&self, bytes: u64) -> u64 {
        let call = |n| {
            let command = format!("yes 'a line of output {n}' | head -c {bytes}");
            format!("  - tool_calls: [{{ name: run_command, arguments: {{ command: \"{command}\" }} }}]\n")
        };
        let calls: String = (0..10).map(call).collect();
        let script = self.write("outputs.yaml", &format!("turns:\n{calls}{ANSWER}"));
        self.peak_memory_of_a_run(&script)
    }

    fn peak_memory_of_a_run(&self, script: &str) -> u64 {
        let thread = self.thread();
        let args = [thread.as_str(), "worker", "--prompt", "Answer.", "--mock", script];
        let mut child = self.agent(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.peak_memory(&mut child, Duration::ZERO)
    }

    /// The largest resident set of a process until it ends, in KiB; looked at so often.
    pub(crate) fn peak_memory(&self, child: &mut Child, every: Duration) -> u64 {
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(peak);
            std::thread::sleep(every);
        }
        peak
    }
}
