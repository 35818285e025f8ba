//! Agents of other kinds, agent by agent: first visit, correction, continuation, failure, interruption, questions.
//!
//! Each agent is a stand-in of its name that puts out what the real one did (`tests/agents`, recorded; of those that no registry has,
//! as their documentation shows it), one recording a call, as a plan says, and notes how it was called.

#[path = "adapted/confined.rs"]
mod confined;
#[path = "adapted/sessions.rs"]
mod sessions;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::process::{runs, signal, wait_for};
use crate::site::{Said, Site, UWF};

/// An agent, and what the tests must know of its recordings.
struct Agent {
    name: &'static str,
    program: &'static str,
    /// The calls of a visit whose first answer is none, and of the next visit.
    plan: [&'static str; 3],
    /// What is in the arguments of a call that goes on with a session.
    resumes: &'static str,
    /// What is in those that fork one.
    forks: Option<&'static str>,
    /// The exit code where its model fails, and what it says then.
    fails: (i32, &'static str),
    /// The exit code where it does not know a session.
    unknown: Option<i32>,
    /// Tokens in, of both visits.
    tokens: [u64; 2],
    /// Whether it is told by an argument.
    by_argument: bool,
}

const USUAL: Agent = Agent {
    name: "",
    program: "",
    plan: ["tool", "resume", "resume"],
    resumes: "resume",
    forks: None,
    fails: (1, ""),
    unknown: Some(1),
    tokens: [360, 120],
    by_argument: false,
};

const AGENTS: [Agent; 9] = [
    Agent {
        name: "claude-code",
        program: "claude",
        forks: Some("--fork-session"),
        fails: (1, "rompt is too long"),
        ..USUAL
    },
    // Each resumed recording is of a session that had used 120 before.
    Agent {
        name: "codex",
        program: "codex",
        forks: Some("fork"),
        fails: (1, "ran out of room"),
        tokens: [240, 0],
        ..USUAL
    },
    Agent {
        name: "opencode",
        program: "opencode",
        resumes: "--session",
        forks: Some("--fork"),
        fails: (1, "rompt is too long"),
        ..USUAL
    },
    Agent {
        name: "pi",
        program: "pi",
        resumes: "--session",
        forks: Some("--fork"),
        fails: (0, "rompt is too long"),
        ..USUAL
    },
    Agent {
        name: "gemini",
        program: "gemini",
        fails: (144, "rompt is too long"),
        unknown: Some(42),
        ..USUAL
    },
    Agent {
        name: "hermes",
        program: "hermes",
        fails: (1, "HTTP 401"),
        tokens: [0, 0],
        by_argument: true,
        ..USUAL
    },
    Agent {
        name: "aider",
        program: "aider",
        plan: ["empty", "resume", "resume"],
        resumes: "--restore-chat-history",
        fails: (0, "AuthenticationError"),
        unknown: None,
        tokens: [0, 0],
        ..USUAL
    },
    Agent {
        name: "goose",
        program: "goose",
        plan: ["empty", "success", "success"],
        fails: (1, "it ended with exit status 1"),
        unknown: None,
        tokens: [240, 240],
        ..USUAL
    },
    Agent {
        name: "cursor",
        program: "cursor-agent",
        plan: ["empty", "success", "success"],
        fails: (1, "it ended with exit status 1"),
        unknown: None,
        tokens: [0, 0],
        by_argument: true,
        ..USUAL
    },
];

const WORKFLOW: &str = "\
name: pair
description: A writer and a reviewer
roles:
  writer:
    goal: You write.
    frontmatter:
      type: object
      required: [$status, summary]
      properties: { $status: { enum: [done] }, summary: { type: string } }
  reviewer:
    goal: You review.
    frontmatter:
      type: object
      required: [$status]
      properties: { $status: { enum: [again, fine] } }
graph:
  $START: { new: { role: writer, prompt: Write it. } }
  writer: { done: { role: reviewer, prompt: 'Review {{summary}}.' } }
  reviewer:
    again: { role: writer, prompt: Write it better. }
    fine: { role: $END, prompt: Done. }
";

const REVIEWS: &str = "roles:
  reviewer:
    - turns: [{ content: \"---\\n$status: again\\n---\\nMore.\" }]
    - turns: [{ content: \"---\\n$status: fine\\n---\\nGood.\" }]
";

/// What a stand-in does: notes its call, and puts out the recording that the plan names.
const STAND_IN: &str = r#"#!/bin/sh
case "$1" in --version) echo "stand-in 9.8.7 (of a test)"; exit 0;; esac
dir='{dir}'; recorded='{recorded}'
n=$(ls "$dir" | grep -c '\.args$')
for arg in "$@"; do printf '%s\n' "$arg"; done > "$dir/$n.args"
previous=
for arg in "$@"; do
  [ "$previous" = --message-file ] && cp "$arg" "$dir/$n.told"
  case "$previous" in -q|-i) ;; esac
  previous=$arg
done
[ -e "$dir/$n.told" ] || cat > "$dir/$n.told"
step=$(sed -n "$((n + 1))p" "$dir/plan")
what=${step%%:*}; code=0
case "$step" in *:*) code=${step##*:};; esac
case "$what" in
  wait)
    head -n 1 "$recorded"/success.* | grep -v '^==>' | head -n 1
    setsid sleep {seconds} &
    echo begun > "$dir/begun"
    sleep {seconds};;
  *)
    for kind in jsonl txt; do [ -e "$recorded/$what.$kind" ] && cat "$recorded/$what.$kind"; done
    [ -e "$recorded/$what.stderr" ] && cat "$recorded/$what.stderr" >&2
    [ "$what" = empty ] && cat "$dir/empty";;
esac
exit "$code"
"#;

/// A site with the stand-in of an agent in `PATH`.
struct Stage {
    site: Site,
    agent: &'static Agent,
    workflow: String,
    reviews: String,
}

impl Stage {
    fn new(agent: &'static Agent, plan: &[&str]) -> Stage {
        let site = Site::new();
        let recorded = format!("{}/tests/agents/{}", env!("CARGO_MANIFEST_DIR"), agent.name);
        fs::create_dir(site.home().join("calls")).unwrap();
        let dir = site.home().join("calls").display().to_string();
        let seconds = format!("1000.{}{}", std::process::id(), agent.name.len() * 7 + agent.program.len());
        let script = STAND_IN.replace("{dir}", &dir).replace("{recorded}", &recorded);
        let program =
            site.write(&format!("home/bin/{}", agent.program), &script.replace("{seconds}", &seconds));
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        let workflow = site.write("pair.yaml", WORKFLOW);
        let reviews = site.write("reviews.yaml", REVIEWS);
        let stage = Stage { site, agent, workflow, reviews };
        stage.plan(plan);
        stage.site.write("home/calls/empty", stage.empty());
        let config = format!("agentOverrides: {{ pair: {{ writer: {} }} }}\n", agent.name);
        stage.site.write("home/.uwf/config.yaml", &config);
        stage
    }

    /// An answer that has no frontmatter, where no recording has one.
    fn empty(&self) -> &'static str {
        match self.agent.name {
            "aider" => "Aider v0.86.2\n\nI am ready.\n\nTokens: 120 sent, 15 received.\n",
            "goose" => {
                "{\"type\":\"message\",\"message\":{\"id\":\"a\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I am ready.\"}]}}\n{\"type\":\"complete\"}\n"
            }
            _ => {
                "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I am ready.\"}]},\"session_id\":\"c1\"}\n{\"type\":\"result\",\"is_error\":false,\"session_id\":\"c1\"}\n"
            }
        }
    }

    /// The calls that come, after those that were.
    fn plan(&self, plan: &[&str]) {
        self.site.write("home/calls/plan", &(plan.join("\n") + "\n"));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.site.command(UWF);
        let path = format!("{}:{}", self.site.home().join("bin").display(), std::env::var("PATH").unwrap());
        // A stand-in notes its calls in the home.
        command.env("PATH", path).env("UWF_BUILTIN_SANDBOX", "off").args(args);
        command
    }

    fn uwf(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    fn start(&self) -> String {
        self.site.start(&self.workflow, "A text, please.")
    }

    fn exec(&self, thread: &str) -> Said {
        self.uwf(&["thread", "exec", thread, "--mock", &self.reviews])
    }

    /// How a call was made: its arguments, and what it was told.
    fn call(&self, number: usize) -> (String, String) {
        let read = |kind: &str| {
            let file = self.site.home().join(format!("calls/{number}.{kind}"));
            fs::read_to_string(file).unwrap_or_else(|_| panic!("{}: no call {number}", self.agent.name))
        };
        let (args, told) = (read("args"), read("told"));
        if self.agent.by_argument { (args.clone(), args) } else { (args, told) }
    }

    fn calls(&self) -> usize {
        let dir = fs::read_dir(self.site.home().join("calls")).unwrap();
        dir.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "args"))
            .count()
    }

    /// The steps of a thread, but for the start.
    fn steps(&self, thread: &str) -> Vec<Value> {
        self.uwf(&["step", "list", thread]).ok().json()["steps"].as_array().unwrap()[1..].to_vec()
    }

    fn node(&self, hash: &Value) -> Value {
        self.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone()
    }
}

#[test]
fn a_first_visit_is_corrected_and_the_next_one_goes_on_with_its_session() {
    for agent in &AGENTS {
        let stage = Stage::new(agent, &agent.plan);
        let thread = stage.start();
        let run = ["thread", "exec", &thread, "--until-end", "--mock", &stage.reviews];
        let said = stage.uwf(&run);
        assert_eq!(said.code, 0, "{}: {said:?}", agent.name);
        assert_eq!(stage.calls(), 3, "{}", agent.name);
        let (first, told) = stage.call(0);
        assert!(!first.contains(agent.resumes), "{}: {first}", agent.name);
        for said in
            ["You are `writer`", "A text, please.", "Write it.", "# Output format", "Your last message"]
        {
            assert!(told.contains(said), "{}: {said} in {told}", agent.name);
        }
        let (args, told) = stage.call(1);
        assert!(args.contains(agent.resumes), "{}: {args}", agent.name);
        assert!(
            told.contains("Your answer was refused") && !told.contains("# Your role"),
            "{}: {told}",
            agent.name
        );
        let (args, told) = stage.call(2);
        assert!(args.contains(agent.resumes), "{}: {args}", agent.name);
        assert!(told.contains("You are called again") && told.contains("Write it better."), "{}", agent.name);
        let steps = stage.steps(&thread);
        let tokens = [&steps[0], &steps[2]].map(|step| step["usage"]["inputTokens"].as_u64().unwrap());
        assert_eq!(tokens, agent.tokens, "{}", agent.name);
        for step in [&steps[0], &steps[2]] {
            assert_eq!(
                (step["agent"].as_str(), step["output"]["$status"].as_str()),
                (Some(agent.name), Some("done"))
            );
        }
        recorded(&stage, &steps[0]);
        stage.site.verify();
    }
}

/// What the record of the first visit must have.
fn recorded(stage: &Stage, step: &Value) {
    let name = stage.agent.name;
    let detail = stage.node(&step["detail"]);
    assert!(!detail["sessionId"].as_str().unwrap().is_empty(), "{name}");
    assert!(detail["snapshots"]["after"]["tree"].is_string(), "{name}: {detail}");
    let turns: Vec<Value> =
        detail["messages"].as_array().unwrap().iter().map(|turn| stage.node(turn)).collect();
    let said: Vec<&str> = turns.iter().map(|turn| turn["role"].as_str().unwrap()).collect();
    assert_eq!((said[0], said[1]), ("system", "user"), "{name}");
    let is_correction = |turn: &&Value| turn["kind"] == "correction";
    assert_eq!(turns.iter().filter(is_correction).count(), 1, "{name}");
    if stage.agent.plan[0] == "tool" && name != "hermes" {
        let call = turns.iter().find_map(|turn| turn["toolCalls"].get(0)).unwrap();
        assert!(call["args"].as_str().unwrap().contains("echo made"), "{name}: {call}");
        let result = turns.iter().find(|turn| turn["role"] == "tool").unwrap();
        assert_eq!(result["callId"], call["id"], "{name}");
        assert!(!result["content"].as_str().unwrap().is_empty(), "{name}: {result}");
    }
}

#[test]
fn an_agent_that_fails_fails_the_step_and_the_next_attempt_begins_anew() {
    for agent in &AGENTS {
        let error = format!("error:{}", agent.fails.0);
        let stage = Stage::new(agent, &[&error, "success"]);
        let thread = stage.start();
        let said = stage.exec(&thread);
        assert_eq!(said.code, 3, "{}: {said:?}", agent.name);
        let failed = said.json();
        let step = stage.node(&failed["error"]["stepHash"]);
        let output = stage.node(&step["output"]);
        assert_eq!(output["phase"], "agent", "{}: {output}", agent.name);
        let error = output["error"].as_str().unwrap();
        assert!(error.starts_with(&format!("the agent `{}` failed: ", agent.name)), "{error}");
        assert!(error.contains(agent.fails.1), "{error}");
        assert_eq!(stage.exec(&thread).code, 0, "{}", agent.name);
        let (args, told) = stage.call(1);
        assert!(!args.contains(agent.resumes), "{}: {args}", agent.name);
        assert!(told.contains("1 earlier attempt at this step failed"), "{}: {told}", agent.name);
    }
}

#[test]
fn a_session_that_the_agent_has_forgotten_is_begun_anew_with_everything() {
    for agent in AGENTS.iter().filter(|agent| agent.unknown.is_some()) {
        let unknown = format!("unknown:{}", agent.unknown.unwrap());
        let stage = Stage::new(agent, &["success", &unknown, "success"]);
        let thread = stage.start();
        let run = ["thread", "exec", &thread, "--until-end", "--mock", &stage.reviews];
        let said = stage.uwf(&run);
        assert_eq!((said.code, stage.calls()), (0, 3), "{}: {said:?}", agent.name);
        assert!(stage.call(1).0.contains(agent.resumes), "{}", agent.name);
        let (args, told) = stage.call(2);
        assert!(!args.contains(agent.resumes), "{}: {args}", agent.name);
        for said in ["# Your role", "## You answered", "A text, please.", "Write it better."] {
            assert!(told.contains(said), "{}: {said} in {told}", agent.name);
        }
    }
}

/// An exec in which the agent waits.
fn waiting(stage: &Stage, thread: &str) -> Child {
    let mut command = stage.command(&["thread", "exec", thread, "--mock", &stage.reviews]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| stage.site.home().join("calls/begun").exists());
    child
}

fn seconds(stage: &Stage) -> String {
    let script = fs::read_to_string(stage.site.home().join("bin").join(stage.agent.program)).unwrap();
    script
        .lines()
        .find_map(|line| line.trim().strip_prefix("setsid sleep ")?.strip_suffix(" &").map(str::to_owned))
        .unwrap()
}

#[test]
fn an_agent_that_is_interrupted_leaves_nothing_behind_and_goes_on() {
    for agent in &AGENTS {
        let stage = Stage::new(agent, &["wait", "success"]);
        let thread = stage.start();
        let child = waiting(&stage, &thread);
        let seconds = seconds(&stage);
        wait_for(|| runs(&seconds));
        signal("-TERM", child.id());
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 143, "{}: {said:?}", agent.name);
        wait_for(|| !runs(&seconds));
        assert_eq!(stage.steps(&thread).len(), 0, "{}", agent.name);
        assert_eq!(stage.exec(&thread).code, 0, "{}", agent.name);
        let (args, told) = stage.call(1);
        // Some tell their session only at their end, or with their answer.
        let is_known = !["hermes"].contains(&agent.name);
        assert_eq!(args.contains(agent.resumes), is_known, "{}: {args}", agent.name);
        let said = if is_known { "You were interrupted" } else { "# Your role" };
        assert!(told.contains(said), "{}: {told}", agent.name);
        assert_eq!(stage.steps(&thread).len(), 1, "{}", agent.name);
    }
}

#[test]
fn a_question_goes_to_a_fork_or_to_a_fresh_session_that_is_told_the_record() {
    for agent in &AGENTS {
        let asked = if agent.forks.is_some() { "fork" } else { "success" };
        let stage = Stage::new(agent, &["success", asked, asked, "success"]);
        let thread = stage.start();
        stage.exec(&thread).ok();
        let step = stage.steps(&thread)[0]["hash"].as_str().unwrap().to_owned();
        let session =
            stage.node(&stage.steps(&thread)[0]["detail"])["sessionId"].as_str().unwrap().to_owned();
        let said = stage.uwf(&["step", "ask", &step, "-p", "Why so?"]).ok();
        let (args, told) = stage.call(1);
        assert!(told.contains("Why so?"), "{}: {told}", agent.name);
        match agent.forks {
            Some(fork) => {
                assert!(said.out.contains("Because of the fork."), "{}: {said:?}", agent.name);
                assert!(args.contains(fork) && args.contains(&session), "{}: {args}", agent.name);
                // The second question goes to a fork of the fork.
                stage.uwf(&["step", "ask", &step, "-p", "And then?"]).ok();
                let (args, _) = stage.call(2);
                assert!(args.contains(fork) && !args.contains(&session), "{}: {args}", agent.name);
            }
            None => {
                assert!(
                    told.contains("This is its record") && told.contains("A text, please."),
                    "{}",
                    agent.name
                );
                assert!(!args.contains(&session), "{}: {args}", agent.name);
                stage.uwf(&["step", "ask", &step, "-p", "And then?"]).ok();
            }
        }
        let (args, told) = {
            stage.uwf(&["step", "ask", &step, "-p", "Again?", "--no-fork"]).ok();
            stage.call(3)
        };
        assert!(!args.contains(&session) && told.contains("This is its record"), "{}: {args}", agent.name);
        assert_eq!(stage.steps(&thread).len(), 1, "nothing of the thread changes");
    }
}

/// A definition of one's own, and any program.
#[test]
fn any_program_is_an_agent_by_name_or_by_a_definition() {
    let site = Site::new();
    let answer = "cat > told; printf -- '---\\n$status: done\\nsummary: %s\\n---\\n' \"$1\"\n";
    let program = site.write("home/writes.sh", &format!("#!/bin/sh\n{answer}"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let workflow = site.write("pair.yaml", WORKFLOW);
    let thread = site.start(&workflow, "A text, please.");
    site.uwf(&["thread", "exec", &thread, "--agent", "command ../home/writes.sh one"]).ok();
    assert!(fs::read_to_string(site.workspace().join("told")).unwrap().contains("A text, please."));
    let text = "description: Mine\nprogram: ../../writes.sh\nprompt: stdin\nargs: { first: [two] }\nreply: { format: text }\n";
    site.write("home/.uwf/agents/mine.yaml", text);
    let thread = site.start(&workflow, "A text, please.");
    site.uwf(&["thread", "exec", &thread, "--agent", "mine"]).ok();
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    assert_eq!(
        (&steps["steps"][1]["output"]["summary"], &steps["steps"][1]["agent"]),
        (&"two".into(), &"mine".into())
    );
    let row = &site.uwf(&["agents", "mine"]).ok().json()[0];
    let path: PathBuf = row["path"].as_str().unwrap().into();
    assert_eq!(path.canonicalize().unwrap(), Path::new(&program).canonicalize().unwrap());
    site.write("home/.uwf/agents/mine.yaml", &text.replace("prompt: stdin", "prompt: aloud"));
    let thread = site.start(&workflow, "A text, please.");
    site.uwf(&["thread", "exec", &thread, "--agent", "mine"])
        .fails(1, &["mine.yaml: unknown variant `aloud`, expected one of `argument`, `stdin`, `file`"]);
    let error = site.uwf(&["agents", "mine"]).code(1).json()[0]["error"].clone();
    assert!(error.as_str().unwrap().contains("unknown variant `aloud`"), "{error}");
}

#[test]
fn a_model_is_for_the_agent_that_it_is_named_with_and_arguments_are_passed_on() {
    let stage = Stage::new(&AGENTS[1], &["success", "success", "success"]);
    let model = ["--model", "some-model"];
    let exec = |thread: &str, more: &[&str]| {
        stage.uwf(&[&["thread", "exec", thread], &model[..], more].concat()).ok()
    };
    exec(&stage.start(), &["--agent", "codex -c 'a=b c'"]);
    assert!(
        stage.call(0).0.contains("-m\nsome-model\n-s\nworkspace-write\n-c\na=b c\n-\n"),
        "{}",
        stage.call(0).0
    );
    // Chosen by the configuration, it may know other models than the rest of the thread.
    let thread = stage.start();
    exec(&thread, &[]);
    assert!(!stage.call(1).0.contains("some-model"), "{}", stage.call(1).0);
    let shown = stage.uwf(&["thread", "show", &thread, "--format", "text"]).ok().out;
    assert!(!shown.contains("adapt"), "{shown}");
    let thread = stage.start();
    exec(&thread, &["--agent", "codex"]);
    let shown = stage.uwf(&["thread", "show", &thread, "--format", "text"]).ok().out;
    assert!(shown.contains("--agent codex"), "{shown}");
}

#[test]
fn agents_are_listed_with_what_is_found_of_them() {
    let stage = Stage::new(&AGENTS[1], &[]);
    let rows = stage.uwf(&["agents"]).ok().json();
    let row = |name: &str| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    let codex = row("codex");
    assert_eq!(
        (&codex["found"], &codex["version"], &codex["source"]),
        (&true.into(), &"9.8.7".into(), &"shipped".into())
    );
    assert_eq!((&codex["tried"], &codex["forks"]), (&"real 0.169.0".into(), &true.into()));
    let cursor = row("cursor");
    assert_eq!((&cursor["found"], &cursor["tried"]), (&false.into(), &"documentation".into()));
    assert_eq!(row("uwf-builtin")["found"], true);
    let thread = stage.start();
    let exec = ["thread", "exec", &thread, "--agent", "cursor"];
    stage.uwf(&exec).fails(1, &["the agent `cursor` is not there: no program cursor-agent"]);
    assert_eq!(stage.steps(&thread).len(), 0);
    // What an earlier step may have put there is not run.
    let planted = stage.site.write("work/bin/cursor-agent", "#!/bin/sh\n");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}/bin:/usr/bin:/bin", stage.site.workspace().display());
    let said = Said::of(stage.command(&exec).env("PATH", path).output().unwrap());
    said.fails(1, &["bin/cursor-agent is inside the thread's directory"]);
}

/// An agent that may write nothing but the workspace, and its own directory.
#[test]
fn an_agent_is_confined_where_that_is_asked_for_and_the_record_tells() {
    let site = Site::new();
    let tries = "echo own > \"$HOME/.agent/own\"; echo out > \"$HOME/out\"; echo in > in; cat > told\n";
    let body = format!("#!/bin/sh\n{tries}printf -- '---\\n$status: done\\nsummary: it\\n---\\n'\n");
    let program = site.write("home/bin/agent", &body);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(site.home().join(".agent")).unwrap();
    let text = format!(
        "description: Mine\nprogram: {program}\nprompt: stdin\nargs: {{}}\nreply: {{ format: text }}\nsandbox: {{ writable: [~/.agent] }}\n"
    );
    site.write("home/.uwf/agents/mine.yaml", &text);
    let workflow = site.write("pair.yaml", WORKFLOW);
    let thread = site.start(&workflow, "A text, please.");
    site.uwf(&["thread", "exec", &thread, "--agent", "mine", "--sandbox", "best-effort"]).ok();
    let exists = |name: &str| site.home().join(name).exists();
    assert_eq!((exists(".agent/own"), exists("out")), (true, false));
    assert!(fs::read_to_string(site.workspace().join("told")).unwrap().contains("A text, please."));
    assert!(site.workspace().join("in").exists());
    let step = site.uwf(&["step", "list", &thread]).ok().json()["steps"][1].clone();
    let detail = site.uwf(&["cas", "get", step["detail"].as_str().unwrap()]).ok().json()["payload"].clone();
    assert_eq!(detail["sandbox"]["level"], "best-effort", "{detail}");
    assert_ne!(detail["sandbox"]["network"], "open", "{detail}");
}

/// What an agent has git run is taken back when its call is over, and told.
#[test]
fn a_confined_agent_makes_git_run_nothing() {
    let site = Site::new();
    let tries = "git config core.pager evil; git config user.name me; git init -q sub; echo x > sub/.git/hooks/pre-commit\n\
                 chmod +x sub/.git/hooks/pre-commit; cat > told\n";
    let body = format!("#!/bin/sh\n{tries}printf -- '---\\n$status: done\\nsummary: it\\n---\\n'\n");
    let program = site.write("home/bin/agent", &body);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "description: Mine\nprogram: {program}\nprompt: stdin\nargs: {{}}\nreply: {{ format: text }}\n"
    );
    site.write("home/.uwf/agents/mine.yaml", &text);
    let git = |args: &[&str]| Said::of(site.command("git").args(args).output().unwrap()).ok().out;
    git(&["init", "-q"]);
    let thread = site.start(&site.write("pair.yaml", WORKFLOW), "A text, please.");
    site.uwf(&["thread", "exec", &thread, "--agent", "mine", "--sandbox", "best-effort"]).ok();
    assert!(!site.workspace().join("sub/.git/hooks/pre-commit").exists());
    let config = git(&["config", "--local", "--list"]);
    assert!(config.contains("user.name=me") && !config.contains("evil"), "{config}");
    let get = |hash: &Value| site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone();
    let step = site.uwf(&["step", "list", &thread]).ok().json()["steps"][1].clone();
    let turns: Vec<Value> = get(&step["detail"])["messages"].as_array().unwrap().iter().map(get).collect();
    let told = turns.last().filter(|turn| turn["kind"] == "closing").map(|turn| turn["content"].to_string());
    let undone = "git: undone: core.pager in .git/config; undone: the hook pre-commit in sub/.git/hooks";
    assert!(told.is_some_and(|told| told.contains(undone)), "{turns:#?}");
}

/// What a call has cost that was cut off is not known, whoever goes on.
#[test]
fn the_cost_of_a_visit_that_was_cut_off_is_not_told() {
    for how in ["-TERM", "-KILL"] {
        let stage = Stage::new(&AGENTS[0], &["wait", "success"]);
        let thread = stage.start();
        let mut child = waiting(&stage, &thread);
        let seconds = seconds(&stage);
        wait_for(|| runs(&seconds));
        if how == "-KILL" {
            // The adapter, which is the engine's child; whoever waits for it ends with it.
            let adapter =
                std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
            signal(how, adapter.split_whitespace().next().unwrap());
        } else {
            signal(how, child.id());
        }
        child.wait().unwrap();
        wait_for(|| {
            if how == "-KILL" {
                // Nobody is left who would end what the agent has begun, or is about to begin.
                let left =
                    Command::new("pgrep").args(["-f", &format!("^sleep {seconds}$")]).output().unwrap();
                for pid in String::from_utf8(left.stdout).unwrap().lines() {
                    Command::new("kill").arg(pid).stderr(Stdio::null()).status().unwrap();
                }
            }
            !runs(&seconds)
        });
        stage.exec(&thread).ok();
        let step = &stage.steps(&thread)[0];
        assert!(stage.node(&step["detail"])["cost"].is_null(), "{how}: {}", stage.node(&step["detail"]));
        let shown = stage.uwf(&["thread", "show", &thread, "--format", "json"]).ok().json();
        assert_eq!(shown["cost"], Value::Null, "{how}: {shown}");
    }
    let stage = Stage::new(&AGENTS[0], &["success"]);
    let thread = stage.start();
    stage.exec(&thread).ok();
    let shown = stage.uwf(&["thread", "show", &thread, "--format", "json"]).ok().json();
    assert!(shown["cost"].is_number(), "{shown}");
}
