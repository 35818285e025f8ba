//! A workspace of generated files with a toolbox over it, under the strict sandbox.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use uwf_tools::sandbox::{Policy, Sandbox};
use uwf_tools::{Cancel, Outputs, ToolLimits, Toolbox, ToolboxConfig};
use xxhash_rust::xxh64::Xxh64;

use crate::memory::Peak;

/// Bytes of a generated line, its end included.
const LINE: u64 = 65;

/// What is generated is removed with it.
pub(crate) struct BenchWorkspace {
    dir: PathBuf,
    toolbox: Toolbox,
    _removed: Option<tempfile::TempDir>,
}

impl BenchWorkspace {
    pub(crate) fn new() -> BenchWorkspace {
        // Beside the build, not in /tmp: that is often memory, where a sync costs nothing.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let workspace = BenchWorkspace::at(dir.path().to_owned());
        BenchWorkspace { _removed: Some(dir), ..workspace }
    }

    /// Over one that is there, and stays.
    pub(crate) fn at(dir: PathBuf) -> BenchWorkspace {
        let temporary = tempfile::Builder::new().prefix("uwf-").tempdir_in(&dir).unwrap().keep();
        let sandbox = Sandbox::prepare(Policy::new(dir.join("work"), temporary));
        assert!(sandbox.refusal().is_none(), "{sandbox:?}");
        let config = ToolboxConfig {
            root: dir.join("work"),
            allow: None,
            writable: None,
            spool_dir: dir.join("spool"),
            outputs: Arc::new(HashedOutputs::default()),
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            pass_env: Vec::new(),
            hidden_env: Vec::new(),
            allow_git_programs: false,
            limits: ToolLimits::default(),
            sandbox: Arc::new(sandbox),
        };
        BenchWorkspace { toolbox: Toolbox::open(config).unwrap(), dir, _removed: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join("work").join(name)
    }

    /// A program with the environment that commands get, in the workspace.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).current_dir(self.path(""));
        command
    }

    /// A call that does what it is asked for.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) {
        let output = self.toolbox.call(tool, &arguments.to_string(), &Cancel::default());
        assert!(!output.is_error && output.facts.exit_code.unwrap_or(0) == 0, "{}", output.text);
        assert!(!output.text.starts_with("(no "), "{tool} {arguments} found nothing");
    }

    /// A call that is answered with an error.
    pub(crate) fn refused(&self, tool: &str, arguments: &Value) {
        assert!(self.toolbox.call(tool, &arguments.to_string(), &Cancel::default()).is_error);
    }

    /// The memory of a call in a process of its own.
    pub(crate) fn peak(&self, tool: &str, arguments: &Value) -> Peak {
        Peak::of(self.dir.clone(), tool, arguments)
    }

    /// What replacing a file costs without a tool: its content written and synced under another name.
    pub(crate) fn write_synced(&self, name: &str, content: &[u8]) {
        let mut file = File::create(self.dir.join(name)).unwrap();
        file.write_all(content).unwrap();
        file.sync_all().unwrap();
    }

    /// A file of about `bytes` bytes, no two lines of which are the same.
    pub(crate) fn lines(&self, name: &str, bytes: u64) {
        let mut file = BufWriter::new(File::create(self.path(name)).unwrap());
        for number in 0..lines_in(bytes) {
            file.write_all(line(number).as_bytes()).unwrap();
        }
        file.flush().unwrap();
    }

    /// `dirs` directories of `files` files each, of 2 KB.
    pub(crate) fn tree(&self, dirs: usize, files: usize) {
        for dir in 0..dirs {
            // Three levels, ten directories in each.
            let dir_path = self.path(&format!("a{}/b{}/c{dir}", dir % 10, dir / 10 % 10));
            fs::create_dir_all(&dir_path).unwrap();
            for file in 0..files {
                write_file(&dir_path, dir * files + file);
            }
        }
    }
}

fn write_file(dir: &Path, number: usize) {
    let text: String = (0..32)
        .map(|line| format!("line {line} of file {number}, which says what it has to say to no end\n"))
        .collect();
    fs::write(dir.join(format!("f{number}.txt")), text).unwrap();
}

/// Line `number` (from 0) of a generated file.
pub(crate) fn line(number: u64) -> String {
    format!("{number:>10} and the rest of a line that is like all the others…\n")
}

/// How many lines are in a generated file of `bytes` bytes.
pub(crate) fn lines_in(bytes: u64) -> u64 {
    bytes / LINE
}

/// Names an output by the hash of its bytes, as an agent does, and its number: equal outputs would else replace each
/// other, and the time that takes is not the command's.
#[derive(Debug, Default)]
struct HashedOutputs {
    outputs: AtomicU64,
}

impl Outputs for HashedOutputs {
    fn name(&self, output: &mut dyn Read) -> io::Result<String> {
        let mut hasher = Xxh64::new(0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match output.read(&mut buffer)? {
                0 => break,
                n => hasher.update(&buffer[..n]),
            }
        }
        let number = self.outputs.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{:016x}-{number}", hasher.digest()))
    }

    fn find(&self, _name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(None)
    }
}
