//! The shortest way to what is missing of the sandbox: from the facts of a machine to causes and what to do about each.
//!
//! Pure.

use serde::Serialize;

use super::apparmor;
use super::kernel::{Container, KernelFacts};

/// The oldest kernel that the sandbox is made for.
const OLDEST: (u32, u32) = (5, 10);

/// Why something is missing, and what gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Remedy {
    pub(super) cause: String,
    pub(super) remedy: String,
}

/// For a machine where promises are not kept; empty where no reason is known.
pub(super) fn remedies(facts: &KernelFacts) -> Vec<Remedy> {
    let ways = [old_kernel(facts), settings(facts), apparmor(facts), container(facts), filter(facts)];
    ways.into_iter().flatten().collect()
}

fn remedy(cause: impl Into<String>, remedy: impl Into<String>) -> Option<Remedy> {
    Some(Remedy { cause: cause.into(), remedy: remedy.into() })
}

fn old_kernel(facts: &KernelFacts) -> Option<Remedy> {
    let (major, minor) = facts.linux.filter(|linux| *linux < OLDEST)?;
    remedy(format!("Linux {major}.{minor} is older than 5.10"), "boot a newer kernel")
}

fn settings(facts: &KernelFacts) -> Option<Remedy> {
    if facts.forbidding.is_empty() {
        return None;
    }
    let names: Vec<&str> = facts.forbidding.iter().filter_map(|setting| setting.split('=').next()).collect();
    let lines: Vec<String> = facts.forbidding.iter().map(|setting| format!("'{setting}'")).collect();
    let there = if facts.container.is_some() { "on the machine around the container, " } else { "" };
    remedy(
        format!("settings forbid namespaces ({} = 0)", names.join(", ")),
        format!(
            "{there}printf '%s\\n' {} | sudo tee /etc/sysctl.d/60-uwf.conf >/dev/null && sudo sysctl --system",
            lines.join(" ")
        ),
    )
}

/// Whether AppArmor would refuse what a program without a profile asks for.
fn is_restricted(facts: &KernelFacts) -> bool {
    facts.apparmor_restricts && !facts.privileged && !facts.label.starts_with("uwf-builtin")
}

fn apparmor(facts: &KernelFacts) -> Option<Remedy> {
    if !is_restricted(facts) {
        return None;
    }
    let setting = "kernel.apparmor_restrict_unprivileged_userns = 1";
    match facts.container {
        None => remedy(
            format!("AppArmor keeps user namespaces to programs that have a profile ({setting})"),
            apparmor::INSTALL,
        ),
        Some(_) => remedy(
            format!(
                "AppArmor of the machine around keeps user namespaces to programs that have a profile ({setting})"
            ),
            "on that machine, save what `uwf-builtin doctor --apparmor-profile` prints in this container as \
             /etc/apparmor.d/uwf-builtin and load it with `sudo apparmor_parser -r /etc/apparmor.d/uwf-builtin`",
        ),
    }
}

fn container(facts: &KernelFacts) -> Option<Remedy> {
    let engine = facts.container?;
    let options = options(facts, engine);
    let program = match engine {
        Container::Docker => "docker run",
        Container::Podman => "podman run",
        Container::Other => {
            return remedy(
                "this is a container, which may make no namespaces or mount no /proc",
                "start it with no seccomp and no AppArmor profile, in a user namespace of its own, and with all of /proc \
                 (in Kubernetes: seccompProfile and appArmorProfile of type Unconfined, hostUsers: false, procMount: Unmasked)",
            );
        }
    };
    if options.is_empty() {
        return None;
    }
    let options: Vec<String> = options.iter().map(|option| format!("--security-opt {option}")).collect();
    remedy(
        "this is a container, which may make no namespaces or mount no /proc",
        format!("start it as `{program} {} …`", options.join(" ")),
    )
}

/// What stands in the way here, and not what might elsewhere.
fn options(facts: &KernelFacts, engine: Container) -> Vec<&'static str> {
    let mut options = Vec::new();
    if facts.filtered {
        options.push("seccomp=unconfined");
    }
    match (facts.label.ends_with("(enforce)"), is_restricted(facts), engine) {
        // Its profile is known by name there, and podman's own kind of container takes none.
        (_, true, Container::Docker) => options.push("apparmor=uwf-builtin"),
        (true, ..) => options.push("apparmor=unconfined"),
        _ => {}
    }
    if facts.label.contains(":container_t:") {
        options.push("label=disable");
    }
    match engine {
        Container::Docker if facts.proc_covered => options.push("systempaths=unconfined"),
        Container::Podman if facts.proc_covered => options.push("unmask=ALL"),
        _ => {}
    }
    options
}

fn filter(facts: &KernelFacts) -> Option<Remedy> {
    if !facts.filtered || facts.container.is_some() {
        return None;
    }
    remedy(
        "whoever started this program filters its system calls (seccomp)",
        "start it outside of that; in a systemd unit, without RestrictNamespaces= and SystemCallFilter=",
    )
}

#[cfg(test)]
#[path = "remedy_tests.rs"]
mod tests;
