//! A workspace in a temporary directory with a toolbox over it; for tests.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::read_state::Digest;
use crate::sandbox::{Policy, Sandbox};
use crate::{Cancel, Outputs, ToolLimits, ToolOutput, Toolbox, ToolboxConfig};

/// A workspace at `ws` in a temporary directory, and beside it `spool` and whatever a test puts outside.
pub(crate) struct Scratch {
    dir: TempDir,
    pub(crate) toolbox: Toolbox,
}

/// Shorter waits than the defaults, so that tests are quick.
pub(crate) fn limits() -> ToolLimits {
    ToolLimits {
        drain: Duration::from_millis(200),
        grace: Duration::from_millis(300),
        ..ToolLimits::default()
    }
}

/// The real git, whatever the tester has told his own.
pub(crate) fn git() -> Command {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    git
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self::with(limits())
    }

    pub(crate) fn with(limits: ToolLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        let toolbox = Toolbox::open(config(dir.path(), limits)).unwrap();
        Self { dir, toolbox }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    /// The directory around the workspace.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.root().join(path)).unwrap();
    }

    pub(crate) fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.toolbox.call(tool, &arguments.to_string(), &Cancel::default())
    }

    /// The answer to a call that must succeed.
    #[track_caller]
    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments);
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    /// The answer to a call that must be refused.
    #[track_caller]
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments);
        assert!(output.is_error, "{}", output.text);
        assert!(output.facts.changes.is_empty());
        output.text
    }
}

/// Names outputs by their digest, and knows one of an earlier run.
#[derive(Debug)]
pub(crate) struct Numbered;

impl Outputs for Numbered {
    fn name(&self, output: &mut dyn Read) -> io::Result<String> {
        let mut all = Vec::new();
        output.read_to_end(&mut all)?;
        Ok(Digest::of(&all).to_string())
    }

    fn find(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        match name {
            "EARLIER" => Ok(Some(Box::new(&b"of an earlier run\n"[..]))),
            "BROKEN" => Err(io::Error::other("the disk is on fire")),
            _ => Ok(None),
        }
    }
}

/// The strict sandbox over `ws`, with a temporary directory of its own.
pub(crate) fn policy(dir: &Path) -> Policy {
    let temporary = tempfile::Builder::new().prefix("uwf-").tempdir_in(dir).unwrap().keep();
    Policy { home: Some(dir.join("home")), ..Policy::new(dir.join("ws"), temporary) }
}

pub(crate) fn config(dir: &Path, limits: ToolLimits) -> ToolboxConfig {
    ToolboxConfig {
        root: dir.join("ws"),
        allow: None,
        writable: None,
        spool_dir: dir.join("spool"),
        outputs: Arc::new(Numbered),
        env: vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), dir.join("home").into()),
            ("MY_TOKEN".into(), "t".into()),
            ("INNOCENT".into(), "pass the-provider-key".into()),
            ("LC_ALL".into(), "C".into()),
            ("PLAIN".into(), "unheard of".into()),
            ("NAMED_BY_SOMEBODY".into(), "seen".into()),
        ],
        pass_env: vec!["NAMED_*".to_owned()],
        hidden_env: vec!["the-provider-key".to_owned()],
        allow_git_programs: false,
        limits,
        sandbox: Arc::new(Sandbox::prepare(policy(dir))),
    }
}
