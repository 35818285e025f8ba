//! The page of this repository and the book in `docs/`: every command runs as it stands, every link leads somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::site::{AGENT, MockServer, Said, Site, UWF, example, search_path};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Why a block is not run: a line above it says so.
const NOT_RUN: [&str; 3] = [
    "<!-- not run: builds -->",
    "<!-- not run: asks an endpoint -->",
    "<!-- not run: connects to a database -->",
];

fn page() -> String {
    fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap()
}

/// The files of the book, relative to `docs/`, without its list of contents.
fn chapters() -> Vec<PathBuf> {
    let docs = Path::new(ROOT).join("docs");
    let (mut found, mut open) = (Vec::new(), vec![docs.clone()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(extension) if extension == "md" && !path.ends_with("SUMMARY.md") => {
                    found.push(path.strip_prefix(&docs).unwrap().to_owned());
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The page and the chapters: the path of each in the repository, and its text.
fn texts() -> Vec<(PathBuf, String)> {
    let chapters = chapters().into_iter().map(|chapter| Path::new("docs").join(chapter));
    let files =
        chapters.chain(["README.md", "SKILL.md", "CHANGELOG.md", "docs/SUMMARY.md"].map(PathBuf::from));
    files.map(|file| (file.clone(), fs::read_to_string(Path::new(ROOT).join(&file)).unwrap())).collect()
}

/// The blocks of commands in a text that are to be run, and how many are not.
pub(crate) fn blocks(text: &str) -> (Vec<String>, usize) {
    let mut parts = text.split("```sh\n");
    let mut before = parts.next().unwrap();
    let (mut run, mut others) = (Vec::new(), 0);
    for part in parts {
        let (block, after) = part.split_once("\n```").unwrap();
        let last = before.trim_end().lines().last().unwrap_or_default();
        if NOT_RUN.contains(&last) {
            others += 1;
        } else {
            assert!(!last.contains("not run"), "{last} is no reason");
            run.push(format!("{block}\n"));
        }
        before = after;
    }
    (run, others)
}

/// Runs blocks one after the other as somebody would type them in a checkout, with an empty HOME.
pub(crate) fn typed(site: &Site, blocks: &[String]) -> Said {
    let mut bash = site.command("bash");
    bash.args(["-euo", "pipefail", "-c", &blocks.concat()]).current_dir(ROOT);
    let programs = search_path();
    let bin = programs.split(':').next().unwrap();
    bash.env("PATH", &programs).env("UWF_BIN", bin).env("TMPDIR", site.workspace());
    Said::of(bash.output().unwrap())
}

#[test]
fn every_command_of_the_page_runs() {
    let site = Site::new();
    let (blocks, others) = blocks(&page());
    assert!(blocks.len() >= 4 && others <= 1, "{} run, {others} not", blocks.len());
    let said = typed(&site, &blocks).ok();
    // What try.sh says, the last answer and the sum of the example, the last word of what was read, and the first
    // workflow of one's own.
    let sum = "The tests pass and the loop is right for any number of arguments.\n6\n";
    for words in [
        "=== the same command goes on where it stopped",
        sum,
        "## Step 5: reviewer → approved",
        "\nNow it is right.\n",
    ] {
        assert!(said.out.contains(words), "{words:?} is not in: {}{}", said.out, said.err);
    }
    site.verify();
    // Whoever has typed the whole page goes on with an example of it.
    let doctor = site.uwf(&["doctor"]).ok().json();
    assert_eq!(doctor["builtin"]["config"]["connected"], false, "no made-up model is left: {doctor}");
    let script = example("solve-issue/mock.yaml");
    let server = MockServer::start(&site, &script);
    let thread = solve_issue(&site);
    let mut of_his_own = exec(&site, &thread, &["--until-end"]);
    of_his_own.env("UWF_BASE_URL", &server.url).env("UWF_MODEL", "m");
    assert_eq!(Said::of(of_his_own.output().unwrap()).ok().json()[4]["status"], "end");
    site.verify();
}

fn solve_issue(site: &Site) -> String {
    site.project("solve-issue/project");
    let task = "`sh add.sh 1 2 3` prints 3: let it add three numbers and more.";
    site.start(&example("solve-issue/workflow.yaml"), task)
}

fn exec(site: &Site, thread: &str, args: &[&str]) -> Command {
    let mut uwf = site.command(UWF);
    uwf.args(["thread", "exec", thread]).args(args).env("PATH", search_path());
    uwf
}

/// What a chapter is to be run with, and what must come out.
fn run_chapter(chapter: &Path) {
    let text = fs::read_to_string(Path::new(ROOT).join("docs").join(chapter)).unwrap();
    let (blocks, _) = blocks(&text);
    if blocks.is_empty() {
        return;
    }
    let site = Site::new();
    let said = typed(&site, &blocks);
    assert!(said.code == 0, "{}: {said:#?}", chapter.display());
    let words: &[&str] = match chapter.to_str().unwrap() {
        "first-run.md" => &["The sea is blue.", "No word in it was a colour."],
        "threads.md" => &["Would you tell a murderer", "report.md"],
        "changes.md" => &["for n in \"$@\"; do"],
        "interruptions.md" => &["interrupted", "planner → planned"],
        "recipes.md" => &["What, then, do we owe the truth to?", "morning-"],
        "eval.md" => &["cannot be told", "hallucination"],
        "agents.md" => &["developer → done"],
        "mock-scripts.md" => &["Loop over all arguments"],
        _ => &[],
    };
    for word in words {
        assert!(
            said.out.contains(word),
            "{}: {word:?} is not in: {}{}",
            chapter.display(),
            said.out,
            said.err
        );
    }
    if site.home().join(".ocas").is_dir() {
        site.verify();
    }
}

#[test]
fn every_command_of_the_book_runs() {
    // The guides are what `uwf prompt` prints: theirs have words in the place of what is to be typed.
    let chapters: Vec<PathBuf> =
        chapters().into_iter().filter(|chapter| chapter.components().count() == 1).collect();
    assert!(chapters.len() >= 12, "{chapters:?}");
    thread::scope(|scope| {
        let runs: Vec<_> = chapters.iter().map(|chapter| scope.spawn(move || run_chapter(chapter))).collect();
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}

#[test]
fn the_agent_of_the_book_plays_the_reviewer() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3 here for the agent of the book");
        return;
    }
    let site = Site::new();
    let (blocks, _) = blocks(&fs::read_to_string(Path::new(ROOT).join("docs/agents.md")).unwrap());
    typed(&site, &blocks[..1]).ok();
    let script = example("solve-issue/mock.yaml");
    let thread = solve_issue(&site);
    let scripted = format!("{AGENT} --mock {script}");
    Said::of(exec(&site, &thread, &["-c", "2", "--agent", &scripted]).output().unwrap()).ok();
    let reviewed = Said::of(exec(&site, &thread, &["--agent", "mine"]).output().unwrap()).ok();
    assert_eq!(reviewed.json()["status"], "end", "the agent of the book plays the reviewer");
    site.verify();
}

/// All names of fields in a value, however deep.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            found.insert(name.clone());
            names(value, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

/// The fields that the row of a command names: the words in code that stands in brackets.
fn named_fields(row: &str) -> BTreeSet<String> {
    let shapes = row.split('`').skip(1).step_by(2).filter(|code| code.starts_with(['{', '[']));
    let words = shapes.flat_map(|shape| shape.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_fields_that_the_book_names_are_printed() {
    let site = Site::new();
    site.project("solve-issue/project");
    let (workflow, mock) = (example("solve-issue/workflow.yaml"), example("solve-issue/mock.yaml"));
    let run = ["run", &workflow, "-p", "three numbers", "--mock", &mock, "--max-rounds", "1", "--json"];
    let run = site.uwf(&run).code(10).json();
    let thread = run["thread"].as_str().unwrap();
    let said = |words: &[&str]| site.uwf(&[words, &["--format", "json"]].concat()).ok().json();
    let report = site.home().join("report").display().to_string();
    fs::create_dir(&report).unwrap();
    for file in fs::read_dir(example("report/project")).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(file.path(), Path::new(&report).join(file.file_name())).unwrap();
    }
    let (kept, kept_mock) = (example("report/workflow.yaml"), example("report/mock.yaml"));
    let kept = said(&["run", &kept, "-p", "How did the sales go?", "--cwd", &report, "--mock", &kept_mock]);
    let printed = [
        ("`uwf run`", run.clone()),
        ("`uwf thread start`", said(&["thread", "start", &workflow, "-p", "t"])),
        ("`uwf thread exec`", said(&["thread", "show", thread])),
        ("`uwf thread list`", said(&["thread", "list", "--all"])),
        ("`uwf step list`", said(&["step", "list", thread])),
        ("`uwf step fork`", said(&["step", "fork", &format!("{thread}:1")])),
        ("`uwf cost`", said(&["cost"])),
        ("`uwf workflow add`", said(&["workflow", "add", &workflow])),
        ("`uwf workflow list`", said(&["workflow", "list"])),
        ("`uwf thread artifacts`", said(&["thread", "artifacts", kept["thread"].as_str().unwrap()])),
        ("`uwf cas get`", said(&["cas", "get", &format!("{thread}:1")])),
    ];
    let text = fs::read_to_string(Path::new(ROOT).join("docs/programs.md")).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `uwf")).collect();
    assert_eq!(rows.len(), printed.len(), "{rows:#?}");
    for (command, printed) in printed {
        let row = rows.iter().find(|row| row.starts_with(&format!("| {command}"))).unwrap();
        let mut there = BTreeSet::new();
        names(&printed, &mut there);
        // Of a failed step alone.
        let (said, other) = (named_fields(row), ["stepHash", "message"].map(str::to_owned).into());
        let missing: Vec<_> =
            said.difference(&there).filter(|name| !BTreeSet::contains(&other, *name)).collect();
        assert!(missing.is_empty() && !said.is_empty(), "{row}: {missing:?} is not in {printed:#}");
    }
}

/// Where the links of a markdown text lead, without those in code.
fn links(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2).collect::<String>();
    let outside = prose.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let links = outside.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.to_owned()).collect()
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for (file, text) in texts() {
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let from = Path::new(ROOT).join(&file);
            let target = if path.is_empty() { from.clone() } else { from.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} leads nowhere", file.display());
            if file.starts_with("docs") {
                let docs = Path::new(ROOT).join("docs").canonicalize().unwrap();
                let inside = target.canonicalize().unwrap().starts_with(docs);
                assert!(inside, "{}: {link} leads out of the book", file.display());
            }
            if !heading.is_empty() {
                let there = fs::read_to_string(&target).unwrap();
                let mut headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.any(|known| known == heading), "{}: no heading of {link}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn the_picture_of_the_graph_is_the_one_that_is_drawn() {
    let site = Site::new();
    let drawn =
        site.uwf(&["workflow", "graph", &example("solve-issue/workflow.yaml"), "--as", "svg"]).ok().out;
    let file = Path::new(ROOT).join("docs/pictures/solve-issue.svg");
    let stood = fs::read_to_string(&file).unwrap_or_default();
    if stood != drawn {
        fs::write(&file, &drawn).unwrap();
    }
    assert!(stood == drawn, "{} was not up to date; it is now, commit it", file.display());
}

#[test]
fn every_chapter_is_in_the_list_of_contents() {
    let summary = fs::read_to_string(Path::new(ROOT).join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&summary).into_iter().map(PathBuf::from).collect();
    assert_eq!(listed, chapters().into_iter().collect());
}

/// The commands in a text's code, inline or in blocks for the shell: the words after `uwf` or `uwf-builtin` up to the
/// first that is an argument.
fn named(text: &str) -> Vec<Vec<&str>> {
    let mut code: Vec<&str> = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        match part.strip_prefix("sh\n").filter(|_| at % 2 == 1) {
            Some(block) => code.extend(block.lines().flat_map(|line| line.split(['(', '"']))),
            None if at % 2 == 0 => code.extend(part.split('`').skip(1).step_by(2)),
            None => {}
        }
    }
    let is_name =
        |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with("--");
    code.into_iter()
        .filter(|span| span.starts_with("uwf ") || span.starts_with("uwf-builtin "))
        .map(|span| span.split_whitespace().take_while(is_name).collect::<Vec<_>>())
        .filter(|words| words.len() > 1)
        .collect()
}

#[test]
fn every_command_that_is_named_exists() {
    let site = Site::new();
    // The changelog and the chapter of mistakes name what does not exist, on purpose.
    let own = |file: &Path| !file.ends_with("CHANGELOG.md") && !file.ends_with("mistakes.md");
    let text: String = texts().into_iter().filter(|(file, _)| own(file)).map(|(_, text)| text).collect();
    let mut seen = 0;
    for words in named(&text) {
        let program = if words[0] == "uwf" { UWF } else { AGENT };
        // `uwf cas put`, but `uwf-builtin run`, `uwf setup`: what follows is an argument there.
        let has_verbs = ["workflow", "thread", "step", "cas", "config", "log", "prompt", "var"];
        let count = if words.get(1).is_some_and(|noun| has_verbs.contains(noun)) { 3 } else { 2 };
        let args: Vec<&str> = words.iter().skip(1).take(count - 1).copied().chain(["--help"]).collect();
        let said = Said::of(site.command(program).args(&args).output().unwrap()).ok();
        assert!(said.out.contains("Usage: "), "{words:?}: {}", said.out);
        seen += 1;
    }
    assert!(seen > 150, "{seen}");
}
