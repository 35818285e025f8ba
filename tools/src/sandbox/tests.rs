//! Real commands against the sandbox: what must not work, what must go on working, and the same with the sandbox off.

mod attacks;
mod exhaustion;
mod levels;
mod network;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::scratch::limits;
use crate::{Cancel, ToolOutput, Toolbox};

/// A workspace, a home with secrets and a store, each beside the others.
pub(super) struct SandboxFixture {
    dir: tempfile::TempDir,
    toolbox: Toolbox,
    pub(super) sandbox: Arc<Sandbox>,
}

impl SandboxFixture {
    pub(super) fn new() -> SandboxFixture {
        SandboxFixture::with(|policy| policy)
    }

    pub(super) fn with(change: impl FnOnce(Policy) -> Policy) -> SandboxFixture {
        SandboxFixture::at(tempfile::tempdir().unwrap(), change)
    }

    pub(super) fn off() -> SandboxFixture {
        SandboxFixture::with(|policy| Policy { level: Level::Off, ..policy })
    }

    fn at(dir: tempfile::TempDir, change: impl FnOnce(Policy) -> Policy) -> SandboxFixture {
        for (name, text) in [
            ("ws/a", "a\n"),
            ("home/.ssh/id", "the-secret"),
            ("home/.uwf/config.yaml", "the-secret"),
            ("home/.config/gh/hosts.yml", "the-secret"),
            ("home/.cargo/credentials.toml", "the-secret"),
            ("home/notes", "no secret\n"),
            ("store/nodes/x", "the-secret"),
            ("elsewhere/f", "no secret\n"),
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let policy = Policy {
            private: vec![dir.path().join("home/.uwf"), dir.path().join("store")],
            ..crate::scratch::policy(dir.path())
        };
        let sandbox = Arc::new(Sandbox::prepare(change(policy)));
        let config = crate::scratch::config(dir.path(), limits());
        let toolbox =
            Toolbox::open(crate::ToolboxConfig { sandbox: Arc::clone(&sandbox), ..config }).unwrap();
        SandboxFixture { dir, toolbox, sandbox }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn run(&self, command: &str) -> ToolOutput {
        let arguments = json!({"command": command, "timeout_s": 100});
        self.toolbox.call("run_command", &arguments.to_string(), &Cancel::default())
    }

    /// The answer to a command that must work.
    #[track_caller]
    pub(super) fn works(&self, command: &str) -> String {
        let output = self.run(command);
        assert_eq!(output.facts.exit_code, Some(0), "{command}: {}", output.text);
        output.text
    }

    /// The answer to a command that must fail.
    #[track_caller]
    pub(super) fn fails(&self, command: &str) -> String {
        let output = self.run(command);
        assert!(output.facts.exit_code.is_some_and(|code| code != 0), "{command}: {}", output.text);
        assert!(!output.text.contains("the-secret"), "{command}: {}", output.text);
        output.text
    }

    /// A Python program, refused or not by the exit code. The program sees `E`, the number of the error it is to expect.
    #[track_caller]
    pub(super) fn python(&self, program: &str) {
        fs::write(self.path("ws/program.py"), program).unwrap();
        self.works("python3 program.py");
    }
}

/// Whether a program is there.
pub(super) fn has(program: &str) -> bool {
    let path = "/usr/local/bin:/usr/bin:/bin";
    std::env::split_paths(path).any(|dir| dir.join(program).is_file())
}

/// The whole of this module once more, by an ordinary user, in a process of its own.
#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() || std::env::var_os(CHILD).is_some() {
        return;
    }
    // The test program may lie where nobody else may go.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), open_to_all()).unwrap();
    let copy = dir.path().join("tests");
    // Not by this process: another test may fork while the copy is open for writing, and then it cannot be run yet.
    let program = std::env::current_exe().unwrap();
    let copied = Command::new("install").args(["-m", "755"]).arg(program).arg(&copy).status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(&copy);
    command.args(["sandbox::tests::", "--test-threads=2"]).env(CHILD, "1").env_remove("RUST_BACKTRACE");
    let output = as_nobody(command.env("TMPDIR", dir.path())).output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("test result: ok"), "{text}");
}

const CHILD: &str = "UWF_TOOLS_TEST_AS_NOBODY";

fn open_to_all() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o777)
}

fn as_nobody(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.current_dir("/").gid(65_534).uid(65_534)
}
