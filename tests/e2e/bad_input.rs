//! Bad input, as people really type and write it: every case names the thing and what to do, exits as documented, and
//! leaves store and settings as they were, to the byte.
//!
//! One table a kind of input below `bad_input/`; this file is what holds for all of them.

#[path = "bad_input/arguments.rs"]
mod arguments;
#[path = "bad_input/builtin.rs"]
mod builtin;
#[path = "bad_input/settings.rs"]
mod settings;
#[path = "bad_input/values.rs"]
mod values;
#[path = "bad_input/workflows.rs"]
mod workflows;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::site::{AGENT, Said, Site, UWF, example};

/// What no output may hold; cases put it into keys, variables and files.
const SECRET: &str = "sk-bad-4e1d9c";

/// What a bug of ours would print.
const PANIC: [&str; 4] = ["panicked at", "RUST_BACKTRACE", "unwrap", "internal error"];

/// How an error tells what to do: by saying so, by what it expected, or by the operating system's reason.
const FIX: [&str; 9] = [
    "hint: ",
    "expected ",
    "caused by: ",
    "there are ",
    "it has ",
    "is missing",
    "must be",
    "must have",
    "does not obey type",
];

/// Whether it names a line and a column.
fn has_place(text: &str) -> bool {
    text.split(':').filter(|part| part.parse::<u32>().is_ok()).count() >= 2
}

/// One command line, and what comes of it.
struct Case {
    program: &'static str,
    args: &'static [&'static str],
    /// Files below the site, there for this case only.
    files: Vec<(&'static str, &'static [u8])>,
    env: Vec<(&'static str, &'static str)>,
    code: i32,
    /// Words on stderr.
    says: &'static [&'static str],
}

fn case(
    program: &'static str,
    args: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
) -> Case {
    Case { program, args, files: vec![], env: vec![], code, says }
}

fn uwf(args: &'static [&'static str], code: i32, says: &'static [&'static str]) -> Case {
    case(UWF, args, code, says)
}

fn agent(args: &'static [&'static str], code: i32, says: &'static [&'static str]) -> Case {
    case(AGENT, args, code, says)
}

impl Case {
    fn file(mut self, name: &'static str, text: &'static str) -> Case {
        self.files.push((name, text.as_bytes()));
        self
    }

    fn bytes(mut self, name: &'static str, bytes: &'static [u8]) -> Case {
        self.files.push((name, bytes));
        self
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Case {
        self.env.push((name, value));
        self
    }
}

const ONE_ROLE: &str = "\
name: one
description: One role
roles:
  a:
    goal: g
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [done, asks] } } }
graph:
  $START:
    new: { role: a, prompt: Go. }
  a:
    done: { role: $END, prompt: End. }
    asks: { role: $SUSPEND, prompt: What? }
";

/// A place with a thread in every state; cases name what is there as `{idle}`, `{suspended}`, `{ended}`, `{step}`.
struct Ground {
    site: Site,
    names: BTreeMap<&'static str, String>,
}

impl Ground {
    fn new() -> Ground {
        let site = Site::new();
        site.write("work/one.yaml", ONE_ROLE);
        let script =
            |status: &str| format!("turns: [{{ content: \"---\\n$status: {status}\\n---\\nHm.\\n\" }}]\n");
        let (done, asks) =
            (site.write("done.yaml", &script("done")), site.write("asks.yaml", &script("asks")));
        let run = |mock: &str, code| {
            let thread = site.start("one.yaml", "t");
            let agent = format!("{AGENT} --mock {mock}");
            let said = site.uwf(&["thread", "exec", &thread, "--agent", &agent]).code(code);
            (thread, said.json()["head"].as_str().unwrap().to_owned())
        };
        let (ended, step) = run(&done, 0);
        let (suspended, _) = run(&asks, 10);
        let idle = site.start("one.yaml", "t");
        let text = site.write("text.json", "\"a text\"");
        let node = site.uwf(&["cas", "put", "--type", "text", &text]).ok().out.trim().to_owned();
        let names = [
            ("{idle}", idle),
            ("{ended}", ended),
            ("{suspended}", suspended),
            ("{step}", step),
            ("{node}", node),
            ("{mock}", done),
            ("{unknown}", "01KAZZZZZZZZZZZZZZZZZZZZZZ".to_owned()),
            ("{debate}", example("debate/workflow.yaml")),
        ];
        Ground { site, names: names.into_iter().collect() }
    }

    fn filled(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Every file that must not change, with its bytes.
    fn digest(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.site.home(), &mut files);
        files
    }

    fn tell(&self, case: &Case) -> Said {
        let args: Vec<String> = case.args.iter().map(|arg| self.filled(arg)).collect();
        let mut command = self.site.command(case.program);
        command.args(args).envs(case.env.iter().map(|(name, value)| (name, self.filled(value))));
        Said::of(command.output().unwrap())
    }

    /// Runs one case; gives what is wrong with it.
    fn judge(&self, case: &Case) -> Vec<String> {
        let root = self.site.home().parent().unwrap().to_owned();
        for (name, bytes) in &case.files {
            self.site.write(name, "");
            fs::write(root.join(name), bytes).unwrap();
        }
        let before = self.digest();
        let said = self.tell(case);
        let after = self.digest();
        case.files.iter().for_each(|(name, _)| fs::remove_file(root.join(name)).unwrap());

        let mut faults = Vec::new();
        let mut check = |good: bool, what: String| {
            if !good {
                faults.push(what)
            }
        };
        check(said.code == case.code, format!("exit status {} instead of {}", said.code, case.code));
        check(said.out.is_empty(), "something on stdout".to_owned());
        check(said.err.contains("error: ") || said.err.contains("Usage: "), "no error".to_owned());
        let mends = case.code == 2 || FIX.iter().any(|word| said.err.contains(word)) || has_place(&said.err);
        check(mends, "does not say how to mend it".to_owned());
        for word in case.says {
            let word = self.filled(word);
            check(said.err.contains(&word), format!("does not say {word:?}"));
        }
        for word in PANIC.iter().chain([&SECRET]) {
            check(!said.err.contains(word), format!("says {word:?}"));
        }
        check(before == after, format!("changed {:?}", changed(&before, &after)));
        if !faults.is_empty() {
            faults.push(format!("it said: {}{}", said.out, said.err));
        }
        faults
    }
}

fn collect(dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        // Reading a database in WAL mode makes these two.
        // That something was tried is for the log to tell, whatever came of it.
        let is_log = path.ends_with("logs");
        let is_sqlite_s = path.extension().is_some_and(|ending| ending == "db-wal" || ending == "db-shm");
        if is_log {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if !is_sqlite_s {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

fn changed<'a>(
    before: &'a BTreeMap<PathBuf, Vec<u8>>,
    after: &'a BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<&'a PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).collect()
}

fn judge(cases: &[Case]) {
    let ground = Ground::new();
    let mut report = String::new();
    for case in cases {
        for fault in ground.judge(case) {
            report += &format!("{:?} {:?}\n  {fault}\n", case.args, case.env);
        }
    }
    assert!(report.is_empty(), "\n{report}");
    ground.site.verify();
}

#[test]
fn arguments_of_uwf() {
    judge(&arguments::cases());
}

#[test]
fn nodes_and_values() {
    judge(&values::cases());
}

#[test]
fn workflow_files() {
    judge(&workflows::cases());
}

#[test]
fn settings_and_environment() {
    judge(&settings::cases());
}

#[test]
fn the_builtin_agent() {
    judge(&builtin::cases());
}

#[test]
fn there_are_many_of_them() {
    let tables =
        [arguments::cases(), values::cases(), workflows::cases(), settings::cases(), builtin::cases()];
    let count: usize = tables.iter().map(Vec::len).sum();
    assert!(count >= 150, "{count}");
}

#[test]
fn a_directory_that_is_gone_is_no_workspace() {
    let site = Site::new();
    let gone = site.workspace().join("gone");
    for program in [UWF, AGENT] {
        std::fs::create_dir(&gone).unwrap();
        let command = format!("cd {0} && rmdir {0} && exec {program} doctor", gone.display());
        let said = Said::of(site.command("sh").args(["-c", &command]).output().unwrap());
        said.fails(1, &["error: the current directory cannot be used", "hint: change into a directory"]);
    }
}
