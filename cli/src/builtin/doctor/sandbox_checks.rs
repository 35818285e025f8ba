//! The checks of the sandbox: tried on a process, reported promise by promise, and the way to what is missing.

use std::path::Path;

use crate::shell::{CliError, render};
use serde::Serialize;
use uwf_engine::{Env, Homes};
use uwf_tools::sandbox::{Enforced, Level, Promise, PromiseStatus, SandboxError};

use super::kernel::KernelFacts;
use super::remedy::{Remedy, remedies};
use uwf_agent::confinement::{ALLOW_SHELL, Confinement, SandboxSettings};

/// What was found.
#[derive(Serialize)]
pub(super) struct SandboxChecks {
    /// Whether strict runs commands.
    pub(super) strict: bool,
    /// What strict enforces; where it is refused, what there is.
    enforceable: Enforced,
    promises: Vec<PromiseStatus>,
    remedies: Vec<Remedy>,
    workspace: String,
    /// Why strict runs no command.
    error: Option<String>,
    /// What people can do about it.
    hint: Option<&'static str>,
    /// Whether the kernel refuses something: it is not the workspace.
    #[serde(skip)]
    is_lacking: bool,
}

/// The hint of those whose kernel refuses something, less the advice to ask the doctor.
const TAKE_LESS: &str = "or take what there is: --sandbox best-effort (of `uwf thread exec`, resume and poke, or of \
                         `uwf-builtin`); a role without run_command needs none of it \
                         (roles: { WORKFLOW/ROLE: { tools: […] } } in agents/builtin.yaml)";

/// Tries the strict sandbox without a network on a process.
pub(super) fn look(
    sandbox: SandboxSettings,
    homes: &Homes,
    workspace: &Path,
    env: &Env,
) -> Result<SandboxChecks, CliError> {
    let mut env = env.clone();
    // It is to be told whether there is a sandbox, not what is done where there is none.
    env.set(ALLOW_SHELL, "");
    let strict = SandboxSettings { level: Level::Strict, network: false, ..sandbox };
    // Kept as a whole: its directory must be there until it was tried.
    let tried = Confinement::prepare(&strict, homes, workspace, &env)?;
    let refusal = tried.sandbox.refusal();
    let enforceable = match refusal {
        None => tried.sandbox.enforced().clone(),
        Some(_) => {
            let less = SandboxSettings { level: Level::BestEffort, ..strict };
            Confinement::prepare(&less, homes, workspace, &env)?.sandbox.enforced().clone()
        }
    };
    let is_lacking = matches!(refusal, Some(SandboxError::Missing { .. } | SandboxError::Setup { .. }));
    Ok(SandboxChecks {
        strict: refusal.is_none(),
        promises: promises(&enforceable, matches!(refusal, Some(SandboxError::Workspace { .. }))),
        enforceable,
        workspace: render::path(workspace),
        error: refusal.map(ToString::to_string),
        hint: refusal.map(SandboxError::hint),
        is_lacking,
        remedies: if is_lacking { remedies(&KernelFacts::read()) } else { Vec::new() },
    })
}

/// No mechanism protects secrets that lie within the workspace.
fn promises(there_is: &Enforced, is_exposed: bool) -> Vec<PromiseStatus> {
    let open = |kept: PromiseStatus| match kept.promise {
        Promise::Secrets if is_exposed => PromiseStatus { held: false, by: Vec::new(), ..kept },
        _ => kept,
    };
    there_is.promises().into_iter().map(open).collect()
}

impl SandboxChecks {
    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match &self.error {
            None => lines.push("✓ sandbox: strict can be enforced".to_owned()),
            Some(error) => {
                lines.push(format!("✗ sandbox: {error}"));
                for Remedy { cause, remedy } in &self.remedies {
                    lines.push(format!("  → {cause}: {remedy}"));
                }
                lines.push(format!(
                    "  {}",
                    if self.is_lacking { TAKE_LESS } else { self.hint.unwrap_or_default() }
                ));
                lines.push("  what there is without strict:".to_owned());
            }
        }
        lines.extend(self.promises.iter().map(|kept| format!("  {}", line(kept, self.enforceable.landlock))));
        lines.push(format!("    {}", of_the_agent(self.enforceable.landlock)));
        lines
    }
}

/// A promise that is kept and one that is not are said in different words: no mark is needed to tell them apart.
fn line(kept: &PromiseStatus, landlock: Option<u32>) -> String {
    if !kept.held {
        return format!("✗ {}", kept.promise.broken());
    }
    let by: Vec<String> = kept.by.iter().map(|mechanism| mechanism.describe(landlock)).collect();
    format!("✓ {}: {}", kept.promise.kept(), by.join(", "))
}

/// No promise of strict's, since commands are confined without it.
fn of_the_agent(landlock: Option<u32>) -> String {
    match landlock {
        Some(version) => format!("the agent's own process is confined as well: Landlock {version}"),
        None => {
            "the agent's own process is not confined: that takes Landlock (Linux 5.13), which is not there \
                 or not switched on"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn checks(enforced: &Value, refusal: Option<(String, &'static str)>) -> SandboxChecks {
        let enforceable: Enforced = from_value(enforced.clone()).unwrap();
        let remedies = match &refusal {
            Some(_) => vec![Remedy { cause: "a cause".to_owned(), remedy: "a command".to_owned() }],
            None => Vec::new(),
        };
        let promises = promises(&enforceable, false);
        let (error, hint) = refusal.unzip();
        let (strict, is_lacking, workspace) = (error.is_none(), error.is_some(), "/w".to_owned());
        SandboxChecks { strict, enforceable, promises, remedies, workspace, error, hint, is_lacking }
    }

    #[test]
    fn every_promise_has_a_line_that_cannot_be_read_the_other_way_round() {
        let all = json!({
            "level": "strict", "landlock": 7, "seccomp": true, "mounts": true, "processes": "namespace",
            "network": "namespace", "missing": [],
        });
        let expected = "✓ sandbox: strict can be enforced
  ✓ files outside the workspace cannot be changed: mounts, Landlock 7
  ✓ modes, owners and times of files outside cannot be changed: mounts
  ✓ secrets (keys, tokens, the store) cannot be read: mounts, Landlock 7
  ✓ processes end with the run: a process namespace
  ✓ processes outside the run cannot be signalled: a process namespace, Landlock 7
  ✓ shared memory and message queues of other programs cannot be reached: an IPC namespace, mounts, Landlock 7
  ✓ the network cannot be reached: a network namespace
  ✓ sockets of other programs (docker, D-Bus, ssh-agent) cannot be reached: mounts, a network namespace, Landlock 7
  ✓ system calls that lead out (ptrace, mount, bpf, io_uring) are refused: seccomp
    the agent's own process is confined as well: Landlock 7";
        assert_eq!(checks(&all, None).lines().join("\n"), expected);
        let old = json!({
            "level": "best-effort", "landlock": null, "seccomp": true, "mounts": false, "processes": "found",
            "network": "seccomp", "missing": ["x"],
        });
        let checks = checks(&old, Some(("no strict".to_owned(), "a hint")));
        let expected = "✗ sandbox: no strict
  → a cause: a command
  or take what there is: --sandbox best-effort (of `uwf thread exec`, resume and poke, or of `uwf-builtin`); a role \
without run_command needs none of it (roles: { WORKFLOW/ROLE: { tools: […] } } in agents/builtin.yaml)
  what there is without strict:
  ✗ files outside the workspace can be changed
  ✗ modes, owners and times of files outside can be changed
  ✗ secrets (keys, tokens, the store) can be read
  ✗ processes can outlive the run (they are looked for, and one that hides well is not found)
  ✗ processes outside the run can be signalled
  ✗ shared memory and message queues of other programs can be reached
  ✓ the network cannot be reached: seccomp
  ✓ sockets of other programs (docker, D-Bus, ssh-agent) cannot be reached: seccomp
  ✓ system calls that lead out (ptrace, mount, bpf, io_uring) are refused: seccomp
    the agent's own process is not confined: that takes Landlock (Linux 5.13), which is not there or not switched on";
        assert_eq!(checks.lines().join("\n"), expected);
        let json = serde_json::to_value(&checks).unwrap();
        assert_eq!((&json["strict"], &json["remedies"][0]["remedy"]), (&json!(false), &json!("a command")));
        assert_eq!(json["promises"][0], json!({"promise": "files-outside", "held": false, "by": []}));
    }
}
