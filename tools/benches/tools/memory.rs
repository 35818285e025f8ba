//! The memory of one call, in a process of its own: the bench starts itself once more, with the call in its
//! environment. That process opens a toolbox, notes what it holds, makes the call and notes the most it ever held.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::BenchWorkspace;

/// The directory of the workspace, the tool and the arguments for the process that is measured.
const CALL: [&str; 3] = ["UWF_BENCH_DIR", "UWF_BENCH_TOOL", "UWF_BENCH_ARGUMENTS"];

/// In bytes.
#[derive(Clone, Copy)]
pub(crate) struct Peak {
    /// Before the call.
    pub(crate) idle: u64,
    /// At any time.
    pub(crate) most: u64,
}

impl Peak {
    /// Of a call in a new process.
    pub(crate) fn of(dir: PathBuf, tool: &str, arguments: &serde_json::Value) -> Peak {
        let values = [dir.into_os_string(), tool.into(), arguments.to_string().into()];
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.envs(CALL.into_iter().zip(values)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [idle, most] = numbers[..] else { panic!("{}", String::from_utf8_lossy(&output.stderr)) };
        Peak { idle, most }
    }
}

/// Whether this is the process that is measured.
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os(CALL[0]).is_some()
}

/// Makes the call, and prints what was held before and the most that was held.
pub(crate) fn measure() {
    let [dir, tool, arguments] = CALL.map(|name| std::env::var(name).unwrap());
    let workspace = BenchWorkspace::at(dir.into());
    let idle = held("VmRSS:");
    workspace.call(&tool, &serde_json::from_str(&arguments).unwrap());
    println!("{idle} {}", held("VmHWM:"));
}

fn held(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
