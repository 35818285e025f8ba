//! What commands try: to change what is outside, to read secrets, to reach the machine's servers and other processes, to get
//! past the walls by the kernel.
//!
//! Each command ends with 0 when it got what it wanted. That a command is refused does not count by itself: nothing outside
//! may differ, no secret be learnt, no server be reached and nothing live on.

#[path = "commands/kernel.rs"]
mod kernel;
#[path = "commands/memory.rs"]
mod memory;
#[path = "commands/modes.rs"]
mod modes;
#[path = "commands/names.rs"]
mod names;
#[path = "commands/processes.rs"]
mod processes;
#[path = "commands/secrets.rs"]
mod secrets;
#[path = "commands/servers.rs"]
mod servers;
#[path = "commands/writes.rs"]
mod writes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::field::{Answers, Call, Field, KEY, SECRET, Who, by_everybody, command, has, skipped};

/// Name, the programs that it needs, the command, and how it ends in a sandbox.
pub(super) type Attack = (&'static str, &'static str, &'static str, End);

/// How an attack ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It fails, and the model is told in these words.
    Refused(&'static str),
    /// It succeeds on what commands have of their own: this path outside is what it was.
    Own(&'static str),
}

/// What an attack is directed at: each is kept by other means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aim {
    Files,
    Modes,
    Secrets,
    Names,
    Servers,
    Processes,
    Memory,
    Kernel,
}

/// Those that do no harm, with which the sandbox switched off would let them succeed; and the others.
const TABLES: &[(Aim, &[Attack], &[Attack])] = &[
    (Aim::Secrets, secrets::HARMLESS, secrets::CONFINED),
    (Aim::Names, names::HARMLESS, &[]),
    (Aim::Modes, modes::HARMLESS, modes::CONFINED),
    (Aim::Files, writes::HARMLESS, writes::CONFINED),
    (Aim::Servers, servers::HARMLESS, servers::CONFINED),
    (Aim::Processes, processes::HARMLESS, processes::CONFINED),
    (Aim::Memory, memory::HARMLESS, memory::CONFINED),
    (Aim::Kernel, &[], kernel::CONFINED),
];

/// Where things would be left by what must not succeed.
const PROBES: &[&str] = &["/etc", "/usr", "", "/var/tmp", "/var/lib", "/dev", "/opt", "/sys/fs/cgroup"];

/// One attack as it is tried in a field.
pub(super) struct Tried {
    pub(super) aim: Aim,
    pub(super) name: String,
    pub(super) end: End,
    call: Call,
}

/// The names of all, whatever programs are here.
pub(super) fn all_names() -> Vec<String> {
    let all = TABLES.iter().flat_map(|(_, harmless, confined)| harmless.iter().chain(*confined));
    all.map(|(name, ..)| (*name).to_owned()).chain(kernel::names_of_calls()).collect()
}

/// Those of the tables for which everything is here.
fn tables(field: &Field, harmless_only: bool) -> Vec<Tried> {
    let chosen = |(aim, harmless, confined): &(Aim, &'static [Attack], &'static [Attack])| {
        let more = if harmless_only { &[] } else { *confined };
        harmless.iter().chain(more).map(|attack| (*aim, attack)).collect::<Vec<_>>()
    };
    let mut tried = Vec::new();
    for (aim, (name, needs, text, end)) in TABLES.iter().flat_map(chosen) {
        match needs.split_whitespace().find(|program| !has(program)) {
            Some(missing) => skipped(name, missing),
            None if !field.reaches(text) => skipped(name, "IPv6 on loopback, or python3"),
            None => {
                let call = command(name, &field.fill(text));
                tried.push(Tried { aim, name: (*name).to_owned(), end: *end, call });
            }
        }
    }
    tried
}

/// All attacks that can be tried here.
pub(super) fn corpus(field: &Field) -> Vec<Tried> {
    let calls = kernel::system_calls().into_iter().map(|(name, text)| Tried {
        aim: Aim::Kernel,
        call: command(&name, &text),
        name,
        end: End::Refused(""),
    });
    tables(field, false).into_iter().chain(calls).collect()
}

/// What was outside before and after, and what the machine noticed.
pub(super) struct Witness {
    before: BTreeMap<PathBuf, String>,
    machine: Value,
}

impl Witness {
    pub(super) fn new(field: &Field) -> Witness {
        Witness { machine: field.noticed(), before: field.outside() }
    }

    /// The attacks that got what they wanted, each with what was seen of it.
    pub(super) fn broken(&self, field: &Field, tried: &[Tried], answers: &Answers) -> Vec<(Aim, String)> {
        let after = field.outside();
        let mut broken = Vec::new();
        for Tried { aim, name, end, .. } in tried {
            let answer = &answers.texts[name];
            let differs = |path: &Path| self.before.get(path) != after.get(path) || is_probe(path);
            let held = match end {
                End::Refused(_) => !answer.succeeded(),
                End::Own(path) => !differs(Path::new(&field.fill(path))),
            };
            if !held || [SECRET, KEY].iter().any(|secret| answer.text.contains(secret)) {
                broken.push((*aim, format!("{name}: {}", answer.text)));
            }
        }
        broken
    }

    /// Nothing at all is different.
    #[track_caller]
    pub(super) fn assert_same(&self, field: &Field) {
        assert_eq!(field.outside(), self.before);
        assert_eq!(field.visits(), 0, "no server of the machine was reached");
        assert_eq!(field.noticed(), self.machine);
        for dir in PROBES {
            let probe = format!("{dir}/uwf-attacks-probe");
            assert!(!Path::new(&probe).exists(), "{probe}");
        }
    }
}

fn is_probe(path: &Path) -> bool {
    path.ends_with("uwf-attacks-probe") && path.exists()
}

/// One run of the first calls and then of the attacks.
pub(super) fn run(field: &Field, (first, tried): (Vec<Call>, &mut [Tried]), options: &[&str]) -> Answers {
    let take = |Tried { call: Call { id, tool, arguments }, .. }: &mut Tried| Call {
        id: id.clone(),
        tool,
        arguments: arguments.take(),
    };
    let calls: Vec<Call> = first.into_iter().chain(tried.iter_mut().map(take)).collect();
    field.run(&calls, options)
}

#[test]
fn commands_neither_leave_nor_learn_nor_reach() {
    by_everybody(|who| {
        let field = Field::with_machine(who);
        let mut tried = corpus(&field);
        let witness = Witness::new(&field);
        let answers = run(&field, (Vec::new(), &mut tried), &[]);
        let mut broken: Vec<String> =
            witness.broken(&field, &tried, &answers).into_iter().map(|(_, what)| what).collect();
        for Tried { name, end, .. } in &tried {
            let answer = &answers.texts[name];
            match end {
                End::Refused(told) if !answer.text.contains(told) => {
                    broken.push(format!("{name}: expected {told:?}: {}", answer.text));
                }
                End::Own(_) if !answer.succeeded() => {
                    broken.push(format!("{name} failed: {}", answer.text));
                }
                _ => {}
            }
        }
        assert!(broken.is_empty(), "{} as {who:?}:\n{}", broken.len(), broken.join("\n\n"));
        assert_eq!(answers.texts.len(), tried.len());
        witness.assert_same(&field);
        field.assert_kept_secret(&answers);
    });
}

#[test]
fn with_the_sandbox_off_the_harmless_ones_succeed() {
    let field = Field::with_machine(Who::Me);
    let mut tried = tables(&field, true);
    let witness = Witness::new(&field);
    let answers = run(&field, (Vec::new(), &mut tried), &["--sandbox", "off"]);
    let failed: Vec<_> = answers.texts.iter().filter(|(_, answer)| !answer.succeeded()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(answers.texts["read an ssh key"].text.contains(SECRET));
    assert!(field.visits() >= 3 && field.outside() != witness.before);
    let noticed = field.noticed();
    assert!(noticed["visits"].as_array().is_none_or(|visits| visits.len() >= 8), "{noticed}");
}
