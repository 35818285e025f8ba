use super::*;

const SMALL: &str = "description: d\nprogram: p\nprompt: stdin\nargs: {}\nreply: { format: text }\n";

fn refused(text: &str) -> String {
    Definition::read("mine", text, "mine.yaml").unwrap_err().to_string()
}

#[test]
fn what_comes_with_the_program_is_valid_and_the_engine_knows_its_names() {
    assert_eq!(SHIPPED.map(|(name, _)| name), defined::SHIPPED);
    let home = Path::new("/no/such/home");
    for (name, text) in SHIPPED {
        let definition = Definition::find(home, name).unwrap();
        assert!(definition.file.is_none() && !definition.description.is_empty(), "{name}");
        assert!(!definition.tried.is_empty(), "{name}");
        assert_eq!(definition.needs.hint.is_empty(), name == defined::COMMAND, "{name}");
        assert_eq!(Definition::text(home, name).unwrap(), text);
    }
}

#[test]
fn ones_own_goes_before_what_comes_with_the_program() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("agents")).unwrap();
    fs::write(home.path().join("agents/codex.yaml"), SMALL.replace("program: p", "program: bin/p")).unwrap();
    let own = Definition::find(home.path(), "codex").unwrap();
    assert_eq!(own.file, Some(home.path().join("agents/codex.yaml")));
    assert_eq!(own.program_of(home.path()), home.path().join("agents/bin/p").display().to_string());
    for (program, stands_for) in [("../bin/p", "bin/p"), ("./p", "agents/p"), ("/opt/../p", "/p")] {
        let own = Definition { program: program.to_owned(), ..own.clone() };
        assert_eq!(own.program_of(home.path()), home.path().join(stands_for).display().to_string());
    }
    let error = Definition::find(home.path(), "codexx").unwrap_err();
    assert_eq!(error.to_string(), "no agent of that name is defined: `codexx`");
    assert!(error.hint().unwrap().starts_with("agents defined: codex, "), "{:?}", error.hint());
    assert!(matches!(Definition::find(home.path(), "../codex"), Err(DefinitionError::Unknown { .. })));
}

#[test]
fn every_mistake_is_told_by_its_key() {
    assert!(Definition::read("mine", SMALL, "mine.yaml").is_ok());
    let with = |more: &str| refused(&format!("{SMALL}{more}\n"));
    let instead = |old: &str, new: &str| refused(&SMALL.replace(old, new));
    assert!(with("colour: red").starts_with("mine.yaml: unknown field `colour`, expected one of"));
    assert!(instead("format: text", "format: html").contains("unknown variant `html`"));
    assert!(instead("args: {}", "args: { first: ['{{cwd'] }").contains("args.first: a tag is not closed"));
    let unknown = instead("args: {}", "args: { first: ['{{baseUrl}}'] }");
    assert!(unknown.contains("args.first: {{baseUrl}} is not known: there are confined, cwd"), "{unknown}");
    let untold = instead("prompt: stdin", "prompt: argument");
    assert_eq!(untold, "mine.yaml: args.first has no {{prompt}}, by which `prompt` says that it is told");
    let resume = instead("args: {}", "args: { resume: [-r] }");
    assert_eq!(resume, "mine.yaml: args.resume has no {{session}}");
    let no_id = instead("args: {}", "args: { resume: [-r, '{{session}}'] }");
    assert!(no_id.ends_with("args.resume needs a session, and no rule of `reply` tells its id"), "{no_id}");
    let fork = instead("args: {}", "args: { fork: [-f, '{{session}}'] }");
    assert!(fork.ends_with("args.fork is of no use without args.resume"), "{fork}");
    assert!(instead("program: p\n", "").ends_with("`program` is missing"));
    assert!(with("exit: { means: { one: failed } }").contains("exit.means: \"one\" is no exit code"));
    let events = instead("format: text", "format: jsonl");
    assert!(events.ends_with("reply.events is missing: nothing says what the reply tells"), "{events}");
    let pointer = instead("format: text", "format: jsonl, events: [{ when: { type: x }, text: /t }]");
    assert!(pointer.contains("\"type\" is no JSON pointer"), "{pointer}");
    assert!(refused("a: [").starts_with("mine.yaml: line "));
}

#[test]
fn what_is_not_found_is_not_therefore_a_session() {
    for (name, text) in SHIPPED {
        let unknown = Definition::read(name, text, name).unwrap().unknown_session;
        for said in ["sh: 1: cargo: command not found", "model gpt-9 not found", "HTTP 404: not found"] {
            assert!(!unknown.iter().any(|unknown| said.contains(unknown.as_str())), "{name}: {said}");
        }
    }
}
