//! A place of its own for a test: an empty HOME, an empty workspace, and the binaries run in it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

pub(crate) const UWF: &str = env!("CARGO_BIN_EXE_uwf");
pub(crate) const AGENT: &str = env!("CARGO_BIN_EXE_uwf-builtin");
pub(crate) const EVAL: &str = env!("CARGO_BIN_EXE_uwf-eval");

/// The directory of the examples.
pub(crate) fn example(name: &str) -> String {
    format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// `PATH` with both programs in front.
pub(crate) fn search_path() -> String {
    format!("{}:{}", Path::new(UWF).parent().unwrap().display(), std::env::var("PATH").unwrap())
}

/// A HOME and a workspace that nobody else uses.
pub(crate) struct Site {
    dir: tempfile::TempDir,
}

/// What a program said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Site {
    pub(crate) fn new() -> Site {
        Site::within(tempfile::tempdir().unwrap())
    }

    /// The same in memory, where a sync costs nothing: for tests that make hundreds of runs and end processes, not
    /// machines.
    pub(crate) fn in_memory() -> Site {
        Site::within(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    /// The same in this directory.
    pub(crate) fn below(dir: &Path) -> Site {
        Site::within(tempfile::tempdir_in(dir).unwrap())
    }

    fn within(dir: tempfile::TempDir) -> Site {
        let site = Site { dir };
        fs::create_dir(site.home()).unwrap();
        fs::create_dir(site.workspace()).unwrap();
        site
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Writes a file, relative to the site's own directory, and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Copies the files of an example project into the workspace.
    pub(crate) fn project(&self, name: &str) {
        for entry in fs::read_dir(example(name)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, self.workspace().join(path.file_name().unwrap())).unwrap();
        }
    }

    /// A program with this site's HOME, in its workspace, and nothing else of our environment but PATH.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.home());
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command
    }

    pub(crate) fn uwf(&self, args: &[&str]) -> Said {
        Said::of(self.command(UWF).args(args).output().unwrap())
    }

    pub(crate) fn agent(&self, args: &[&str]) -> Said {
        Said::of(self.command(AGENT).args(args).output().unwrap())
    }

    /// Starts a thread and gives its id.
    pub(crate) fn start(&self, workflow: &str, prompt: &str) -> String {
        let started = self.uwf(&["thread", "start", workflow, "-p", prompt]).ok().json();
        started["thread"].as_str().unwrap().to_owned()
    }

    /// The store holds together: every node decodes, has its own hash, obeys its type, and refers to what is there.
    pub(crate) fn verify(&self) {
        self.uwf(&["cas", "verify"]).ok();
    }

    /// Every byte below the site, to look for what must not be there.
    pub(crate) fn contains(&self, needle: &str) -> Option<PathBuf> {
        find(self.dir.path(), needle.as_bytes())
    }
}

impl Drop for Site {
    /// Whatever a test has recorded can be played again, byte for byte. A thread of a store that a test has damaged cannot.
    fn drop(&mut self) {
        if std::thread::panicking() || !self.home().join(".ocas").is_dir() || !self.workspace().is_dir() {
            return;
        }
        let listed = self.uwf(&["thread", "list", "--all", "--format", "json"]).out;
        let threads: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap_or_default();
        let has_asked = self.home().join(".uwf/cache/asks").is_dir();
        for thread in threads.iter().filter_map(|thread| thread["thread"].as_str()) {
            let steps = self.replay(&["--all", thread]);
            for step in steps.iter().filter(|_| has_asked) {
                self.replay(&["--asked", step["step"].as_str().unwrap()]);
            }
        }
    }
}

impl Site {
    /// What is the same when it is played again; none where there is nothing to be played.
    fn replay(&self, what: &[&str]) -> Vec<serde_json::Value> {
        let replayed = self.uwf(&[&["replay"], what, &["--format", "json"]].concat());
        let replayed: Vec<serde_json::Value> = serde_json::from_str(&replayed.out).unwrap_or_default();
        for one in &replayed {
            assert!(one["difference"].is_null(), "{one:#}");
        }
        tell_replayed(replayed.len());
        replayed
    }
}

/// Adds to the file that `REPLAYED` names how many steps of a test, and questions to them, were played again.
fn tell_replayed(steps: usize) {
    let Some(path) = std::env::var_os("REPLAYED") else { return };
    let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::io::Write::write_all(&mut file, format!("{steps} {test}\n").as_bytes()).unwrap();
}

/// A running `uwf-builtin mock-server`; it ends with the test.
pub(crate) struct MockServer {
    child: Child,
    /// The base URL.
    pub(crate) url: String,
}

impl MockServer {
    /// Serves a script of this site.
    pub(crate) fn start(site: &Site, script: &str) -> MockServer {
        MockServer::on(site, script, 0)
    }

    /// The same on this port; 0 is any.
    pub(crate) fn on(site: &Site, script: &str, port: u16) -> MockServer {
        let mut command = site.command(AGENT);
        let port = port.to_string();
        command.args(["mock-server", script, "--port", &port]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        MockServer { child, url: url.trim().to_owned() }
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A file below `dir` that holds `needle`.
pub(crate) fn find(dir: &Path, needle: &[u8]) -> Option<PathBuf> {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            if let Some(found) = find(&path, needle) {
                return Some(found);
            }
        } else if path.is_file()
            && !path.is_symlink()
            && fs::read(&path).unwrap_or_default().windows(needle.len()).any(|window| window == needle)
        {
            return Some(path);
        }
    }
    None
}

/// The file below `dir` whose name begins so.
pub(crate) fn named(dir: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).find_map(|path| match path.is_dir() {
        true => named(&path, name),
        false => path.file_name()?.to_str()?.starts_with(name).then_some(path),
    })
}

impl Said {
    pub(crate) fn of(output: Output) -> Said {
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It ended well.
    pub(crate) fn ok(self) -> Said {
        self.code(0)
    }

    /// It ended with this code.
    pub(crate) fn code(self, code: i32) -> Said {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// stdout as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    /// The last line of stdout as JSON.
    pub(crate) fn reply(&self) -> Value {
        serde_json::from_str(self.out.lines().last().unwrap()).unwrap()
    }

    /// It failed as the design says: nothing on stdout, an error that names the things, and these words.
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Said {
        let said = self.code(code);
        assert_eq!(said.out, "", "a failure prints no result");
        assert!(said.err.contains("error: "), "{}", said.err);
        for word in words {
            assert!(said.err.contains(word), "{word:?} is not in: {}", said.err);
        }
        said
    }
}
