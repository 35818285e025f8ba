//! Where the attacks take place: a home with secrets, files outside, servers on loopback, and the agent between them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::machine::Machine;
use crate::site::{AGENT, Said, Site};

/// In files that no tool may show.
pub(super) const SECRET: &str = "the-innermost-secret";
/// Of the provider; in the agent's environment.
pub(super) const KEY: &str = "local-key-0123456789";

const WORKFLOW: &str = "name: attacked\ndescription: d\nroles:\n  worker:\n    goal: g\n    frontmatter: { type: object, properties: { $status: { const: done } }, required: [$status] }\ngraph:\n  $START:\n    new: { role: worker, prompt: Work. }\n  worker:\n    done: { role: $END, prompt: Done. }\n";

/// Who runs the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Who runs the tests.
    Me,
    /// The user 65534.
    Nobody,
}

/// Everybody who can run an agent here.
pub(super) fn everybody() -> Vec<Who> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root && has("setpriv") {
        return vec![Who::Me, Who::Nobody];
    }
    skipped("the attacks by an ordinary user", "setpriv, run by root");
    vec![Who::Me]
}

/// Does it as everybody, at the same time: runs mostly wait.
pub(super) fn by_everybody(attack: impl Fn(Who) + Sync) {
    let attack = &attack;
    std::thread::scope(|scope| {
        everybody().into_iter().for_each(|who| drop(scope.spawn(move || attack(who))))
    });
}

/// A program's directory in PATH; where an ordinary user finds it too.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(super) fn has(program: &str) -> bool {
    std::env::split_paths(PATH).any(|dir| dir.join(program).is_file())
}

pub(crate) fn skipped(what: &str, why: &str) {
    tell(&format!("skipped: {what}: needs {why}"));
}

/// Said past the test runner, which shows nothing of a test that passes.
pub(super) fn tell(line: &str) {
    let mut past_the_runner = std::io::stderr();
    writeln!(past_the_runner, "{line}").unwrap();
}

/// A site under attack.
pub(super) struct Field {
    pub(super) site: Site,
    pub(super) who: Who,
    tcp: Server,
    tcp6: Option<Server>,
    udp: Server,
    unix: Server,
    named: Server,
    /// Beside the temporary directories, which commands do not see: mostly a place that is there to be read.
    seen: tempfile::TempDir,
    /// What else runs on the machine, where an attack asks for it.
    machine: Option<Machine>,
    /// What the agent is started by: a program and its arguments.
    launcher: Vec<String>,
}

/// A directory that commands see and do not write: not where they have places of their own, as a checkout may be.
fn seen() -> tempfile::TempDir {
    let hidden = ["/tmp", "/var/tmp", "/home", "/root", "/run"];
    let bases = [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt", "/usr/local/share"];
    let mut shown =
        bases.iter().filter(|base| !hidden.iter().any(|place| Path::new(base).starts_with(place)));
    let made = shown.find_map(|base| tempfile::tempdir_in(base).ok());
    made.expect("the target directory, /srv or /opt takes a directory that is not in /tmp or a home")
}

/// A server of the machine.
struct Server {
    address: String,
    visits: Arc<AtomicUsize>,
}

impl Field {
    pub(super) fn new(who: Who) -> Field {
        let site = Site::new();
        site.write("w.yaml", WORKFLOW);
        for secret in ["home/.ssh/id", "home/.netrc", "home/.uwf/notes", "home/.ocas/notes", "outside/secret"]
        {
            site.write(secret, SECRET);
        }
        for plain in ["home/.bashrc", "outside/file", "outside/dir/file", "work/a", "work-2/file"] {
            site.write(plain, "untouched\n");
        }
        let seen = seen();
        for plain in ["file", "dir/file"] {
            fs::create_dir_all(seen.path().join("dir")).unwrap();
            fs::write(seen.path().join(plain), "untouched\n").unwrap();
        }
        let (unix, named) =
            (site.home().with_file_name("socket"), format!("uwf-attacks-{}", fastname(&site)));
        Field {
            tcp: Server::tcp("127.0.0.1:0").unwrap(),
            tcp6: Server::tcp("[::1]:0"),
            udp: Server::udp(),
            unix: Server::unix(&std::os::unix::net::SocketAddr::from_pathname(unix).unwrap()),
            named: Server::unix(&abstract_name(&named)),
            seen,
            machine: None,
            launcher: Vec::new(),
            site,
            who,
        }
    }

    /// The same on a machine that runs more: see [`Machine`].
    pub(super) fn with_machine(who: Who) -> Field {
        let mut field = Field::new(who);
        field.plant();
        own_if(who, &field.dir());
        own_if(who, field.seen());
        field.machine = Machine::start(who, (&field.dir(), field.seen()), SECRET);
        field
    }

    /// What leads to secrets by other ways: a link in a closed directory, whose target is elsewhere.
    fn plant(&self) {
        let linked = self.seen().join("linked");
        fs::write(&linked, SECRET).unwrap();
        fs::create_dir(self.site.home().join(".aws")).unwrap();
        std::os::unix::fs::symlink(linked, self.site.home().join(".aws/credentials")).unwrap();
    }

    /// The same agent, started by this program.
    pub(super) fn launched_by(self, launcher: Vec<String>) -> Field {
        Field { launcher, ..self }
    }

    /// A directory that commands may see.
    pub(super) fn seen(&self) -> &Path {
        self.seen.path()
    }

    /// What the rest of the machine noticed; empty where nothing else runs.
    pub(super) fn noticed(&self) -> Value {
        self.machine.as_ref().map_or(Value::Null, Machine::noticed)
    }

    /// Whether what this text names is to be had: not every machine has IPv6 on loopback, or python3.
    pub(super) fn reaches(&self, text: &str) -> bool {
        let asks = |names: &[&str]| names.iter().any(|name| text.contains(name));
        (self.tcp6.is_some() || !asks(&["{tcp6}"])) && (self.machine.is_some() || !asks(Machine::NAMES))
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.site.home().parent().unwrap().to_owned()
    }

    /// The placeholders of a table filled in: `{dir}`, `{workspace}`, and the addresses of the servers.
    pub(super) fn fill(&self, text: &str) -> String {
        let dir = self.dir().display().to_string();
        let tcp6 = self.tcp6.as_ref().map_or("9", |server| &server.address);
        let workspace = self.site.workspace().display().to_string();
        let text = text.replace("{workspace}", &workspace);
        let filled = text.replace("{dir}", &dir).replace("{tcp}", &self.tcp.address).replace("{tcp6}", tcp6);
        let filled = filled.replace("{udp}", &self.udp.address).replace("{unix}", &self.unix.address);
        let filled = filled.replace("{abstract}", &self.named.address);
        let filled = filled.replace("{seen}", &self.seen().display().to_string());
        self.machine.as_ref().map_or(filled.clone(), |machine| machine.fill(&filled))
    }

    /// The command of the agent, as `who`.
    pub(super) fn agent(&self) -> Command {
        let mut command = match self.who {
            Who::Me => self.launch(AGENT),
            Who::Nobody => {
                own(&self.dir());
                let program = self.dir().join("uwf-builtin");
                if !program.exists() {
                    // Not by this process: another test may fork while the copy is open for writing, and then it
                    // cannot be run yet.
                    let copy = Command::new("install").args(["-m", "755", AGENT]).arg(&program).status();
                    assert!(copy.unwrap().success());
                }
                let mut command = self.launch("setpriv");
                command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
                command
            }
        };
        command.env("PATH", PATH);
        command
    }

    fn launch(&self, program: &str) -> Command {
        let Some((first, rest)) = self.launcher.split_first() else { return self.site.command(program) };
        let mut command = self.site.command(first);
        command.args(rest).arg(program);
        command
    }

    /// Runs an agent whose model makes `calls` at once and then answers.
    pub(super) fn run(&self, calls: &[Call], options: &[&str]) -> Answers {
        let said = self.attempt(calls, options).ok();
        Answers { texts: answers(&self.site.home().join(".uwf/sessions")), said }
    }

    /// The same, however the run ends.
    pub(super) fn attempt(&self, calls: &[Call], options: &[&str]) -> Said {
        let calls: Vec<Value> = calls
            .iter()
            .map(|call| json!({"id": call.id, "name": call.tool, "arguments": call.arguments}))
            .collect();
        let script =
            json!({"turns": [{"tool_calls": calls}, {"content": "---\n$status: done\n---\n"}]}).to_string();
        let mock = self.site.write("m.yaml", &script);
        let workflow = self.dir().join("w.yaml").display().to_string();
        let args = ["run", &workflow, "--role", "worker", "-p", "Attack", "--mock", &mock];
        Said::of(self.agent().args(args).args(options).output().unwrap())
    }

    /// What must not change: every file beside the workspace that is not the agent's own.
    pub(super) fn outside(&self) -> BTreeMap<PathBuf, String> {
        own_if(self.who, &self.dir());
        own_if(self.who, self.seen());
        let mut found = BTreeMap::new();
        for name in ["home/.bashrc", "home/.ssh", "home/.netrc", "outside", "work-2"] {
            state(&self.dir().join(name), &mut found);
        }
        state(self.seen(), &mut found);
        for path in [self.site.home(), PathBuf::from("/dev/null")] {
            found.insert(path.clone(), format!("{:o}", fs::metadata(path).unwrap().permissions().mode()));
        }
        for dir in ["", "home"] {
            for entry in fs::read_dir(self.dir().join(dir)).unwrap() {
                found.entry(entry.unwrap().path()).or_default();
            }
        }
        found.retain(|path, _| !["m.yaml", "uwf-builtin"].iter().any(|name| path.ends_with(name)));
        found
    }

    /// How often the servers of the machine were reached.
    pub(super) fn visits(&self) -> u64 {
        let servers = [&self.tcp, &self.udp, &self.unix, &self.named].into_iter().chain(&self.tcp6);
        servers.map(|server| server.visits.load(Ordering::SeqCst) as u64).sum()
    }

    /// No secret is in what the agent keeps.
    #[track_caller]
    pub(super) fn assert_kept_secret(&self, answers: &Answers) {
        for secret in [SECRET, KEY] {
            for (id, answer) in &answers.texts {
                assert!(!answer.text.contains(secret), "{id}: {}", answer.text);
            }
            assert!(!answers.said.out.contains(secret) && !answers.said.err.contains(secret));
            for dir in ["work", "home/.uwf/sessions", "home/.ocas"] {
                let found = crate::site::find(&self.dir().join(dir), secret.as_bytes());
                let found = found.filter(|path| !path.ends_with(".ocas/notes"));
                assert_eq!(found, None, "{secret} was kept");
            }
        }
    }
}

/// One call of a tool.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// A command, by the name of its attack.
pub(super) fn command(id: &str, command: &str) -> Call {
    Call { id: id.to_owned(), tool: "run_command", arguments: json!({"command": command}) }
}

/// The answer to a call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) facts: Value,
    pub(super) seconds: f64,
}

impl Answer {
    /// A command's: whether it did what it wanted.
    pub(super) fn succeeded(&self) -> bool {
        self.facts["exitCode"] == 0
    }
}

/// What a run said, by call.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) texts: BTreeMap<String, Answer>,
    pub(super) said: Said,
}

/// The answers in the latest journal.
pub(super) fn answers(sessions: &Path) -> BTreeMap<String, Answer> {
    let journals = fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path());
    let last = journals
        .filter(|path| path.is_file())
        .max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let text = fs::read_to_string(last.unwrap()).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["entry"] == "finished").map(|mut entry| answer(&mut entry)).collect()
}

fn answer(entry: &mut Value) -> (String, Answer) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let answer = Answer {
        text: text(&entry["message"]["content"]),
        facts: entry["facts"].take(),
        seconds: entry["durationMs"].as_f64().unwrap() / 1000.0,
    };
    (text(&entry["message"]["tool_call_id"]), answer)
}

/// Everything below `path`, with mode, owner and content.
fn state(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    let (mode, owner) = (metadata.permissions().mode(), metadata.uid());
    let (links, changed) = (metadata.nlink(), metadata.mtime());
    let bytes = if metadata.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    let content = String::from_utf8_lossy(&bytes);
    found.insert(path.to_owned(), format!("{mode:o} {owner} {links} {changed} {content}"));
    for entry in fs::read_dir(path).into_iter().flatten() {
        state(&entry.unwrap().path(), found);
    }
}

fn own_if(who: Who, dir: &Path) {
    if who == Who::Nobody {
        own(dir);
    }
}

/// All below `path` becomes the ordinary user's.
fn own(path: &Path) {
    std::os::unix::fs::lchown(path, Some(65_534), Some(65_534)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            own(&entry.unwrap().path());
        }
    }
}

fn fastname(site: &Site) -> String {
    site.home().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

fn abstract_name(name: &str) -> std::os::unix::net::SocketAddr {
    use std::os::linux::net::SocketAddrExt;
    std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
}

impl Server {
    fn tcp(address: &str) -> Option<Server> {
        let listener = TcpListener::bind(address).ok()?;
        let port = listener.local_addr().unwrap().port();
        Some(Server::serve(port.to_string(), move || listener.accept().map(|(stream, _)| greet(stream))))
    }

    fn unix(address: &std::os::unix::net::SocketAddr) -> Server {
        use std::os::linux::net::SocketAddrExt;
        let listener = std::os::unix::net::UnixListener::bind_addr(address).unwrap();
        let name = match (address.as_pathname(), address.as_abstract_name()) {
            (Some(path), _) => path.display().to_string(),
            (_, name) => String::from_utf8(name.unwrap().to_vec()).unwrap(),
        };
        Server::serve(name, move || listener.accept().map(|(stream, _)| greet(stream)))
    }

    fn udp() -> Server {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        Server::serve(port.to_string(), move || {
            let (_, from) = socket.recv_from(&mut [0; 64])?;
            socket.send_to(b"hello", from).map(drop)
        })
    }

    fn serve(address: String, visit: impl Fn() -> std::io::Result<()> + Send + 'static) -> Server {
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        thread::spawn(move || {
            while visit().is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Server { address, visits }
    }
}

fn greet(mut stream: impl Read + Write) {
    // A visitor who leaves at once is a visitor too.
    let asked = stream.read(&mut [0; 512]);
    if asked.is_err() {
        return;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").ok();
}
