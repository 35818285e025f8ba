//! Runs that were cut off, and what goes on with them: a run of twelve turns against a real endpoint on loopback, ended
//! in every way and at every point, is in the end as if nothing had happened.

#[path = "continued/elsewhere.rs"]
mod elsewhere;
#[path = "continued/journals.rs"]
mod journals;
#[path = "continued/kept.rs"]
mod kept;
#[path = "continued/killed.rs"]
mod killed;
#[path = "continued/signals.rs"]
mod signals;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::site::{AGENT, Said, Site};

const WORKFLOW: &str = "\
name: continued
description: One role
roles:
  worker:
    goal: You work.
    frontmatter: { type: object, required: [$status, files], properties: { $status: { const: done }, files: { type: integer } } }
graph:
  $START:
    new: { role: worker, prompt: Work. }
  worker:
    done: { role: $END, prompt: Done. }
";

/// What `seq 1 6000` prints, as the record names it.
const SEQUENCE: &str = "7A01W53MJ4S7G";

/// Commands that create, and that remove and change modes.
const MAKE: &str =
    "cp a.txt copy.txt; mkdir -p d/e; cp a.txt d/e/f; chmod 750 d/e/f; ln -sf ../a.txt d/link; touch gone";
const UNMAKE: &str = "rm -f gone; chmod 640 d/e/f; chmod 700 d/e";

/// Whatever may be cut off is asked for twice, so that the end is the same; `log` tells what really ran.
fn turns() -> Vec<String> {
    let call = |name: &str, arguments: &str| format!("{{ name: {name}, arguments: {arguments} }}");
    let command = |number: u64, script: &str| {
        call("run_command", &format!("{{ command: 'echo {number} >> log; {script}' }}"))
    };
    let write = |path: &str, content: &str| {
        call("write_file", &format!("{{ path: {path}, content: \"{content}\\n\" }}"))
    };
    let edit = call("edit_file", "{ path: a.txt, old_string: one, new_string: two }");
    let read = |path: &str| call("read_file", &format!("{{ path: {path} }}"));
    let grep = call("grep", "{ pattern: o }");
    let output = call("tool_output", &format!("{{ hash: {SEQUENCE}, offset: 3000, limit: 2 }}"));
    [
        vec![read("a.txt"), read("b.txt")],
        vec![write("new.txt", "new"), read("b.txt")],
        vec![write("new.txt", "new"), grep.clone()],
        vec![edit.clone()],
        vec![read("a.txt"), edit],
        vec![command(1, MAKE)],
        vec![command(2, MAKE), read("copy.txt")],
        vec![command(3, &format!("{UNMAKE}; seq 1 6000"))],
        vec![output, grep, read("a.txt")],
        vec![write("a.txt", "final"), write("b.txt", "was read long ago")],
        vec![read("a.txt"), command(4, UNMAKE), write("a.txt", "final"), write("b.txt", "was read long ago")],
    ]
    .iter()
    .map(|calls| format!("{{ tool_calls: [{}], usage: {{ input_tokens: 100, output_tokens: 7 }} }}", calls.join(", ")))
    .chain(["{ content: \"---\\n$status: done\\nfiles: 4\\n---\\nAll of it.\", usage: { input_tokens: 90, output_tokens: 9 } }".to_owned()])
    .collect()
}

/// An answer that is valid.
const ANSWER: &str = "{ content: \"---\\n$status: done\\nfiles: 1\\n---\\n\" }";

/// A turn that calls a command.
fn command(script: &str) -> String {
    format!("{{ tool_calls: [{{ name: run_command, arguments: {{ command: '{script}' }} }}] }}")
}

fn script() -> String {
    play(&turns())
}

fn play<S: AsRef<str>>(turns: &[S]) -> String {
    turns.iter().fold("turns:\n".to_owned(), |script, turn| script + "  - " + turn.as_ref() + "\n")
}

/// The script as an endpoint.
struct Endpoint {
    server: Child,
    address: String,
}

impl Endpoint {
    fn serve(site: &Site, script: &str, options: &[&str]) -> Endpoint {
        let script = site.write("script.yaml", script);
        let mut command = site.command(AGENT);
        command.args(["mock-server", &script]).args(options).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap().to_owned();
        Endpoint { server, address }
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How often each turn was asked for.
    fn asked(&self) -> BTreeMap<u64, u64> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request =
            format!("GET /v1/requests HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let body = &reply[reply.find("[").unwrap()..=reply.rfind(']').unwrap()];
        let entries: Vec<Value> = serde_json::from_str(body).unwrap();
        let number = |value: &Value| value.as_u64().unwrap();
        entries.iter().map(|entry| (number(&entry["entry"]), number(&entry["times"]))).collect()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// A thread in a place of its own, ready for its one step.
struct Work {
    site: Site,
    endpoint: Endpoint,
    thread: String,
    /// What the endpoint was asked for other threads.
    before: BTreeMap<u64, u64>,
}

impl Work {
    /// Each request gets the answer to the turns it holds, however often it comes.
    fn new(script: &str) -> Work {
        Work::with(script, &["--by-turn"])
    }

    /// The script goes on with each request: one that is interrupted is not answered so again.
    fn by_arrival(script: &str) -> Work {
        Work::with(script, &[])
    }

    fn with(script: &str, options: &[&str]) -> Work {
        let site = Site::in_memory();
        let endpoint = Endpoint::serve(&site, script, options);
        let mut work = Work { site, endpoint, thread: String::new(), before: BTreeMap::new() };
        work.begin_anew();
        work
    }

    /// Another thread in the same place, as if there had been none.
    fn begin_anew(&mut self) {
        let workspace = self.site.workspace();
        fs::remove_dir_all(&workspace).unwrap();
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("a.txt"), "one\n").unwrap();
        fs::write(workspace.join("b.txt"), "other\n").unwrap();
        let workflow = self.site.write("w.yaml", WORKFLOW);
        self.thread = self.site.start(&workflow, "Work");
        self.before = self.endpoint.asked();
    }

    /// How often each turn was asked for, for this thread.
    fn asked(&self) -> BTreeMap<u64, u64> {
        let mut asked = self.endpoint.asked();
        asked.retain(|turn, times| {
            *times -= self.before.get(turn).copied().unwrap_or_default();
            *times > 0
        });
        asked
    }

    /// The agent as an engine calls it.
    fn agent(&self) -> Command {
        let mut command = self.site.command(AGENT);
        command.args(self.args());
        command
    }

    fn args(&self) -> Vec<String> {
        let url = self.endpoint.url();
        [
            "--thread",
            &self.thread,
            "--role",
            "worker",
            "--prompt",
            "Work.",
            "--base-url",
            &url,
            "--model",
            "m",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn run(&self) -> Said {
        Said::of(self.agent().output().unwrap())
    }

    /// Begins a run whose output can be waited for.
    fn begin(&self) -> Child {
        self.agent().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The journals of this thread, the outputs beside them left out.
    fn journals(&self) -> Vec<PathBuf> {
        let is_own = |path: &PathBuf| path.display().to_string().contains(&self.thread);
        journals(&self.site).into_iter().filter(is_own).collect()
    }

    /// The lines of the youngest journal, so far.
    fn lines(&self) -> Vec<Value> {
        self.journals().last().map(lines).unwrap_or_default()
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.site.workspace().join(name)).unwrap_or_default()
    }
}

/// The lines of a journal; a torn one is left out.
fn lines(journal: &PathBuf) -> Vec<Value> {
    let text = fs::read(journal).unwrap_or_default();
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The journals of a site.
fn journals(site: &Site) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(site.home().join(".uwf/sessions")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["entry"] == kind)
}
