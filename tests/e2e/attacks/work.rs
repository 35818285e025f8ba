//! What must go on working under the strict sandbox: tables of what people's builds and tests do, each with the programs
//! that it needs. The few things that must be refused are told in a word that a person understands.

#[path = "work/builds.rs"]
mod builds;
#[path = "work/git.rs"]
mod git;
#[path = "work/home.rs"]
mod home;
#[path = "work/processes.rs"]
mod processes;
#[path = "work/python.rs"]
mod python;
#[path = "work/servers.rs"]
mod servers;

use serde_json::{Value, json};

use super::field::{Answers, Call, Field, PATH, Who, answers, by_everybody, command, has, skipped};
use crate::site::Said;

/// What is tried: its name, the programs that it needs, and the command, which must succeed.
type Work = (&'static str, &'static str, &'static str);

#[track_caller]
fn assert_works(answers: &Answers) {
    let failed = answers.texts.iter().filter(|(_, answer)| !answer.succeeded());
    let failed: Vec<String> = failed.map(|(id, answer)| format!("{id}: {}", last(&answer.text))).collect();
    assert!(failed.is_empty(), "{} of {} fail:\n{}", failed.len(), answers.texts.len(), failed.join("\n"));
}

/// The end of a text, where programs say what is wrong.
fn last(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(6)..].join("\n")
}

/// The calls for which the programs are here; the others are told.
fn possible(field: &Field, table: &[Work]) -> Vec<Call> {
    let missing = |needs: &'static str| needs.split_whitespace().find(|program| !has(program));
    let (here, not): (Vec<_>, Vec<_>) = table.iter().partition(|(_, needs, _)| missing(needs).is_none());
    not.iter().for_each(|(name, needs, _)| skipped(name, missing(needs).unwrap()));
    here.iter().map(|(name, _, text)| command(name, &field.fill(text))).collect()
}

/// All of it is done, in one run, in order.
#[track_caller]
fn works(field: &Field, table: &[Work], options: &[&str]) {
    let calls = possible(field, table);
    if !calls.is_empty() {
        assert_works(&field.run(&calls, options));
    }
}

/// A run as [`Field::run`] makes them, with more in the agent's environment.
fn run_with(field: &Field, calls: &[Call], variables: &[(&str, String)]) -> Answers {
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| json!({"id": call.id, "name": call.tool, "arguments": call.arguments}))
        .collect();
    let script = json!({"turns": [{"tool_calls": calls}, {"content": "---\n$status: done\n---\n"}]});
    let mock = field.site.write("m.yaml", &script.to_string());
    let workflow = field.dir().join("w.yaml").display().to_string();
    let args = ["run", &workflow, "--role", "worker", "-p", "Work", "--mock", &mock];
    let mut agent = field.agent();
    agent.args(args).envs(variables.iter().map(|(name, value)| (name, value)));
    let said = Said::of(agent.output().unwrap()).ok();
    Answers { texts: answers(&field.site.home().join(".uwf/sessions")), said }
}

/// The same as [`works`], with more in the agent's environment.
#[track_caller]
fn works_with(field: &Field, table: &[Work], variables: &[(&str, String)]) {
    let calls = possible(field, table);
    if !calls.is_empty() {
        assert_works(&run_with(field, &calls, variables));
    }
}

const FILES: &[Work] = &[
    ("list", "", "ls / /tmp /usr /usr/bin > listing && test -s listing"),
    ("a private TMPDIR", "", "test $(stat -c %a $TMPDIR) = 700"),
    ("a temporary file", "mktemp", "f=$(mktemp) && d=$(mktemp -d) && echo x > $f && mv $f $d/"),
    ("link", "", "ln a hard && ln -s a soft && cmp hard soft"),
    ("move", "", "mkdir -p d/e f && echo x > d/e/x && mv d/e/x f/ && mv f d/ && test -f d/f/x"),
    ("move from TMPDIR", "", "echo x > $TMPDIR/x && mv $TMPDIR/x x && ln x $TMPDIR/y 2>/dev/null; test -f x"),
    ("mode and time", "", "echo ':' > s && chmod +x s && ./s && touch -d yesterday s && test -x s"),
    ("copy and unpack", "tar", "tar cf t.tar d && rm -r d && tar xpf t.tar && cp -a d g && test -f g/f/x"),
    ("compress", "tar gzip", "tar czf t.tgz d && mkdir z && tar xzf t.tgz -C z && test -f z/d/f/x"),
    ("zip and unzip", "zip unzip", "zip -qr t.zip d && rm -rf d && unzip -q t.zip && test -f d/f/x"),
    ("a named pipe", "mkfifo", "mkfifo p && (echo through > p &) && test \"$(cat p)\" = through"),
    ("a lock", "flock", "flock lock -c 'flock -n lock true && exit 9; exit 0' && flock -n lock true"),
    ("a sparse file", "truncate", "truncate -s 1G big && test $(stat -c %s big) = 1073741824 && rm big"),
    ("an extended name", "", "echo x > 'a b\tc–d' && test -f 'a b\tc–d'"),
    (
        "shared memory",
        "",
        "echo x > /dev/shm/uwf-work && grep -q x /dev/shm/uwf-work && rm /dev/shm/uwf-work",
    ),
    (
        "the null device and the like",
        "head",
        "head -c 9 /dev/urandom > /dev/null && head -c 9 /dev/zero | wc -c",
    ),
];

#[test]
fn files_are_listed_linked_moved_and_packed() {
    by_everybody(|who| works(&Field::new(who), FILES, &[]));
}

/// What is refused: its name, its programs, the command, and words of which the answer has one.
const REFUSED: &[(&str, &str, &str, &[&str])] = &[
    (
        "a tracer",
        "strace",
        "strace -o $TMPDIR/out true",
        &["ptrace", "not permitted", "Function not implemented"],
    ),
    (
        "a debugger",
        "gdb",
        "HOME=$TMPDIR gdb -batch -nx -ex run /bin/true 2>&1; exit 1",
        &["ptrace", "not permitted", "Function not implemented"],
    ),
    (
        "a tracer of a process",
        "strace sleep",
        "sleep 9 & timeout 5 strace -p $!",
        &["ptrace", "not permitted"],
    ),
    ("an agent that nobody names", "ssh-add", "ssh-add -l", &["authentication agent"]),
    ("an agent of the machine", "ssh-add", "SSH_AUTH_SOCK={unix} ssh-add -l", &["agent"]),
];

#[test]
fn what_is_refused_is_told_in_a_word() {
    by_everybody(|who| {
        let field = Field::new(who);
        let table: Vec<Work> = REFUSED.iter().map(|(name, needs, text, _)| (*name, *needs, *text)).collect();
        let agent = [("SSH_AUTH_SOCK", field.fill("{unix}"))];
        let answers = run_with(&field, &possible(&field, &table), &agent);
        for (name, .., words) in REFUSED {
            let Some(answer) = answers.texts.get(*name) else { continue };
            assert!(!answer.succeeded(), "{name}: {}", answer.text);
            assert!(words.iter().any(|word| answer.text.contains(word)), "{name}: {}", answer.text);
        }
        assert_eq!(field.visits(), 0);
    });
}
