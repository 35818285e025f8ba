//! The attacks on kernels that lack something, played by `launch.py`: a filter of system calls around the agent. Where the
//! strict sandbox is said to hold, every attack must be held off and work go on; where it is not, a strict run must run
//! nothing and say what is missing, and a best-effort run must hold off at least what its own report claims.
//!
//! | setting | level | held off, root | ordinary user |
//! |---|---|---|---|
//! | no Landlock | strict | all | all |
//! | Landlock 1 to 5 | strict | all (2, 4) | all (1, 3, 5) |
//! | no `mount_setattr` (before Linux 5.12) | strict | all | – |
//! | no `clone3` | strict | – | all |
//! | no user namespaces, no mounts (containers) | best-effort | 279 of 323 | 283 of 323 |
//! | user namespaces without mounts | best-effort | – | 295 of 323 |
//! | no namespaces of processes, no `clone3` | best-effort | 317 of 323 | – |
//!
//! What the lower rows do not hold off is what their reports name as missing: modes and times of files outside, names and
//! sizes of what is hidden, and looking at other processes.

use std::sync::Mutex;

use serde_json::Value;

use super::commands::{Aim, Tried, Witness, corpus, run};
use super::field::{Answers, Field, Who, command, everybody, has, skipped, tell};

const LAUNCH: &str = include_str!("launch.py");

/// The settings, with the level that must be had, and what is said to be missing where it is not strict.
const SETTINGS: &[(&str, Option<&str>)] = &[
    ("no-landlock", None),
    ("landlock-1", None),
    ("landlock-2", None),
    ("landlock-3", None),
    ("landlock-4", None),
    ("landlock-5", None),
    ("no-mount-setattr", None),
    ("no-clone3", None),
    ("no-users", Some("namespaces: ")),
    ("no-mounts", Some("mounts of its own: ")),
    ("no-processes-no-clone3", Some("a process namespace: ")),
];

/// What must go on working under every strict level; done before the attacks.
const WORK: &[(&str, &str, &str)] = &[
    (
        "files",
        "",
        "mkdir -p w/d && echo x > w/d/f && chmod 755 w/d/f && ls / ~ /tmp > w/list && cp -a w w-2 && rm -r w-2",
    ),
    ("a temporary file", "", "echo x > $(mktemp) && echo x > /tmp/x && echo x > ~/.cache-x"),
    ("moves and links", "", "mkdir w/e && mv w/d/f w/e/ && ln -s f w/e/s && cat w/e/s"),
    ("pipes and jobs", "", "(sleep 0.05; echo x) | cat > w/p & wait && test -s w/p && ps -p $$ > /dev/null"),
    (
        "git",
        "git",
        "git init -q r && cd r && git -c user.name=n -c user.email=e commit -qm m --allow-empty && git gc -q",
    ),
    (
        "a server",
        "python3",
        "python3 -c 'import socket as s; l = s.create_server((\"127.0.0.1\", 0)); s.create_connection(l.getsockname()); l.accept(); s.socketpair()'",
    ),
];

/// Whether its means are there: what a report claims is kept.
fn is_claimed(aim: Aim, sandbox: &Value) -> bool {
    let is = |name: &str, value: &str| sandbox[name] == value;
    let (mounts, seccomp) = (sandbox["mounts"] == true, sandbox["seccomp"] == true);
    let files = mounts || sandbox["landlock"].is_number();
    let namespaces = is("network", "namespace");
    match aim {
        Aim::Files | Aim::Secrets => files,
        Aim::Names => mounts && namespaces,
        Aim::Modes => mounts,
        Aim::Servers => seccomp || (mounts && namespaces),
        Aim::Processes => is("processes", "namespace"),
        Aim::Memory => namespaces && files,
        Aim::Kernel => seccomp && files,
    }
}

fn launched(setting: &str, who: Who) -> Field {
    let field = Field::with_machine(who);
    let launch = field.site.write("launch.py", LAUNCH);
    field.launched_by(["python3", &launch, setting].map(str::to_owned).into())
}

/// What is on record about the sandbox of a run.
fn sandbox(field: &Field, answers: &Answers) -> Value {
    let hash = answers.said.json()["detailHash"].as_str().unwrap().to_owned();
    field.site.uwf(&["cas", "get", &hash]).ok().json()["payload"]["sandbox"].clone()
}

fn work() -> impl Iterator<Item = (String, &'static str)> {
    let here = WORK.iter().filter(|(_, needs, _)| needs.is_empty() || has(needs));
    here.map(|(name, _, text)| (format!("work: {name}"), *text))
}

/// Everything in one run: gives the attacks that were not held off, and how many there were.
fn attack(field: &Field, options: &[&str]) -> (Value, Vec<(Aim, String)>, Vec<Tried>) {
    let mut tried = corpus(field);
    let witness = Witness::new(field);
    let first = work().map(|(name, text)| command(&name, text)).collect();
    let answers = run(field, (first, &mut tried), options);
    let sandbox = sandbox(field, &answers);
    let is_strict = sandbox["level"] == "strict";
    for (name, _) in work().filter(|_| is_strict) {
        assert!(answers.texts[&name].succeeded(), "{name}: {}", answers.texts[&name].text);
    }
    let broken = witness.broken(field, &tried, &answers);
    if is_strict {
        witness.assert_same(field);
        field.assert_kept_secret(&answers);
    }
    (sandbox, broken, tried)
}

/// No command runs, and what is missing is told.
fn assert_refused(field: &Field, missing: &str) {
    let said = field.attempt(&[command("touch", "touch ran")], &[]);
    assert_eq!(said.code, 6, "{said:?}");
    let reply = said.json();
    let message = reply["errorMessage"].as_str().unwrap();
    assert!(reply["frontmatter"]["phase"] == "sandbox" && message.contains(missing), "{reply}");
    assert!(!field.site.workspace().join("ran").exists());
}

/// What is broken that must hold.
fn breaks((setting, missing): (&str, Option<&str>), who: Who) -> Option<String> {
    let field = launched(setting, who);
    let (sandbox, broken, tried) = match missing {
        None => attack(&field, &[]),
        Some(missing) => {
            assert_refused(&field, missing);
            attack(&field, &["--sandbox", "best-effort"])
        }
    };
    let level = sandbox["level"].as_str().unwrap();
    let held = tried.len() - broken.len();
    let row = format!("{setting} | {who:?} | {level} | {held} of {}", tried.len());
    tell(&row);
    let must_hold = |aim: Aim| missing.is_none() || is_claimed(aim, &sandbox);
    let broken: Vec<_> = broken.into_iter().filter(|(aim, _)| must_hold(*aim)).collect();
    (!broken.is_empty()).then(|| format!("{row}: {sandbox}: {broken:#?}"))
}

#[test]
fn the_attacks_are_held_off_on_every_kernel() {
    if !has("python3") {
        return skipped("the attacks on other kernels", "python3");
    }
    let everybody = everybody();
    // Each setting as one user, in turn; what is often met as both.
    let often = |setting: &str| ["no-landlock", "no-users"].contains(&setting);
    let all = SETTINGS.iter().enumerate().flat_map(|(at, setting)| {
        let turn = everybody[at % everybody.len()];
        everybody.iter().filter(move |who| often(setting.0) || **who == turn).map(|who| (*setting, *who))
    });
    let left = Mutex::new(all.collect::<Vec<_>>());
    let next = || left.lock().unwrap().pop();
    let broken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((setting, who)) = next() {
                    broken.lock().unwrap().extend(breaks(setting, who));
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
