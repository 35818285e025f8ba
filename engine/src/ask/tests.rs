use std::path::Path;

use crate::builtin;
use serde_json::json;

use super::*;
use crate::config::Config;
use crate::fixture::{Place, Told};

/// A step whose record names a session, or none.
fn step(place: &Place, session: Option<&str>) -> Hash {
    let (store, thread) = (place.store(), place.flow_thread());
    let step = place.step(&thread, None, "writer", &json!({"$status": "done"}));
    let mut node = serde_json::to_value(thread::step_node(&store, &step).unwrap()).unwrap();
    if let Some(session) = session {
        let schema = store.put(&builtin::META_SCHEMA, &json!({"type": "object"})).unwrap();
        node["detail"] = json!(store.put(&schema, &json!({"sessionId": session})).unwrap());
    }
    store.put(&builtin::STEP_NODE, &node).unwrap()
}

/// An agent that says which fork it makes, and repeats what it is asked.
const AGENT: &str = "\
case \"$*\" in
  *'--mode fork'*) n=$(cat \"$D/n\" 2>/dev/null || echo 1); echo $((n+1)) > \"$D/n\"; echo working; echo fork-$n ;;
  *) echo \"You asked: $*\" ;;
esac
";

fn put(place: &Place, question: &Question<'_>, agent: &str) -> Result<Answer, AskError> {
    put_and_hear(place, question, agent).0
}

fn put_and_hear(
    place: &Place,
    question: &Question<'_>,
    agent: &str,
) -> (Result<Answer, AskError>, Vec<String>) {
    let command = Config::default().named_agent(agent, Path::new("/")).unwrap();
    let options = ExecOptions { agent: Some(command), ..ExecOptions::default() };
    let mut told = Told::default();
    (place.with_engine(|engine| ask(engine, question, &options, &mut told)), told.0)
}

fn question(step: Hash) -> Question<'static> {
    Question { step, text: "- why?", no_fork: false, fresh: false }
}

#[test]
fn questions_to_a_step_go_to_one_fork_until_it_is_to_be_forgotten() {
    let place = Place::new();
    let (first, second) = (step(&place, Some("s1")), step(&place, Some("s2")));
    let agent = place.script(AGENT);
    let session = |question: Question<'_>| put(&place, &question, &agent).unwrap().session;
    assert_eq!(session(question(first)).as_deref(), Some("fork-1"));
    assert_eq!(session(question(first)).as_deref(), Some("fork-1"));
    assert_eq!(session(question(second)).as_deref(), Some("fork-2"));
    assert_eq!(session(Question { no_fork: true, ..question(first) }), None);
    assert_eq!(session(question(first)).as_deref(), Some("fork-1"));
    assert_eq!(session(Question { fresh: true, ..question(first) }).as_deref(), Some("fork-3"));
    assert_eq!(session(question(first)).as_deref(), Some("fork-3"));
    // What is no fork of this session and this agent is not used.
    let other = place.script(AGENT);
    assert_eq!(put(&place, &question(first), &other).unwrap().session.as_deref(), Some("fork-1"));
    std::fs::write(forks::path(&place.homes().uwf, &first), "{}").unwrap();
    assert_eq!(session(question(first)).as_deref(), Some("fork-4"));
}

#[test]
fn the_agent_is_told_the_question_and_where_the_record_is() {
    let place = Place::new();
    let step = step(&place, Some("s1"));
    let detail = thread::step_node(&place.store(), &step).unwrap().detail;
    let answer = put(&place, &question(step), &place.script(AGENT)).unwrap();
    let told = format!("You asked: --mode ask --session fork-1 --prompt - why? --detail {detail}");
    assert_eq!(answer.text, told);
}

/// The step's own session is what the question is about: it must not grow by it.
#[test]
fn the_steps_own_session_is_never_asked() {
    let place = Place::new();
    let asked = step(&place, Some("s1"));
    let detail = thread::step_node(&place.store(), &asked).unwrap().detail;
    let alone = format!("You asked: --mode ask --prompt - why? --detail {detail}");
    let no_fork = Question { no_fork: true, ..question(asked) };
    let (answer, told) = put_and_hear(&place, &no_fork, &place.script(AGENT));
    assert_eq!((answer.unwrap(), told.len()), (Answer { session: None, text: alone.clone() }, 0));
    for unable in ["echo 'cannot fork' >&2; exit 2", "echo"] {
        let agent = place.script(&format!("case \"$*\" in *'mode fork'*) {unable}; exit ;; esac\n{AGENT}"));
        let (answer, told) = put_and_hear(&place, &question(asked), &agent);
        assert_eq!(answer.unwrap(), Answer { session: None, text: alone.clone() }, "{unable}");
        assert!(
            told.len() == 1 && told[0].contains("did not fork the session, it ended with exit"),
            "{told:?}"
        );
    }
    let own: Vec<_> = place.calls().into_iter().filter(|call| call.contains("--session s1")).collect();
    assert!(own.iter().all(|call| call.contains("--mode fork")), "{own:?}");
}

#[test]
fn a_record_without_a_session_is_asked_about_without_one() {
    let place = Place::new();
    let answer = put(&place, &question(step(&place, None)), &place.script(AGENT)).unwrap();
    assert!(
        answer.session.is_none() && answer.text.starts_with("You asked: --mode ask --prompt"),
        "{answer:?}"
    );
}

#[test]
fn what_cannot_be_answered_is_an_error() {
    let place = Place::new();
    let asked = step(&place, Some("s1"));
    let error = |agent: &str| put(&place, &question(asked), &place.script(agent)).unwrap_err();
    let refused = error("echo 'cannot answer' >&2; exit 2\n");
    assert!(
        refused
            .to_string()
            .ends_with("gave no answer: it ended with exit status 2; its last words:\n    cannot answer")
    );
    assert!(refused.hint().is_none());
    let silent = error("case \"$*\" in *fork*) echo f ;; *) exit 0 ;; esac\n");
    assert!(silent.to_string().ends_with("gave no answer: it ended with exit status 0"), "{silent}");
    let blank = Question { text: " ", ..question(asked) };
    assert!(matches!(put(&place, &blank, "unused"), Err(AskError::NoQuestion)));
    let start = thread::step_node(&place.store(), &asked).unwrap().start;
    assert!(matches!(put(&place, &question(start), "unused"), Err(AskError::Thread(_))));
}

#[test]
fn an_agent_of_the_older_form_is_asked_nothing() {
    let place = Place::new();
    let step = step(&place, Some("s1"));
    let mut command = Config::default().named_agent(&place.script(AGENT), Path::new("/")).unwrap();
    command.form = CallForm::Positional;
    let options = ExecOptions { agent: Some(command), ..ExecOptions::default() };
    let error = place.with_engine(|engine| ask(engine, &question(step), &options, &mut Told::default()));
    let error = error.unwrap_err();
    let expected =
        "the agent `sh` takes no questions: it is called as `sh THREAD ROLE`, by `protocol: positional`";
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().unwrap().contains("--agent"));
    assert_eq!(place.calls(), [""; 0]);
}
