//! Threads whose way is decided by conditions, with a judge of code; and what a process that is none comes to.

use std::cell::RefCell;
use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_store::{Hash, Store};
use uwf_workflow::condition::{self, Answer, Question};
use uwf_workflow::moderator::{Route, Target};

use super::process::{ConditionProcess, judge};
use super::{Conditions, Unanswered};
use crate::builtin;
use crate::fixture::Place;
use crate::thread::{self, Head, Status, ThreadError, ThreadId};
use crate::view::ThreadView;
use crate::workflow::{self, Workflow};

const LISTED: &str = "
name: listed
roles:
  a: { goal: You play., frontmatter: { type: object, properties: { n: { type: integer } } } }
  b: { goal: You play., frontmatter: { type: object, properties: { $status: { const: done } }, required: [$status] } }
conditions:
  one: { description: One, expression: 'steps[-1].output.n = 1' }
  two: { description: Two, expression: 'steps[-1].output.n = 2' }
  fails: { description: Fails, expression: 'steps[-1].output.n + \"x\"' }
graph:
  $START: [{ role: a, condition: null }]
  a: [{ role: b, condition: one, location: 'd{{n}}' }, { role: $SUSPEND, condition: two, prompt: 'Two?' }, { role: a, condition: fails }]
  b: { done: [{ role: $END, prompt: 'Over.', when: two }, { role: a, prompt: 'Again.' }] }
";

/// Evaluates here, and remembers what it was asked.
#[derive(Default)]
struct Here(RefCell<Vec<Question>>);

impl Conditions for Here {
    fn answer(&self, question: &Question) -> Result<Answer, Unanswered> {
        self.0.borrow_mut().push(question.clone());
        Ok(condition::answer(question, &mut |_| {}))
    }
}

struct Listed {
    place: Place,
    store: Store,
    workflow: Workflow,
    thread: ThreadId,
}

impl Listed {
    fn new() -> Listed {
        let place = Place::new();
        let store = place.store();
        std::fs::write(place.project().join("listed.yaml"), LISTED).unwrap();
        let resolved = workflow::resolve(&store, "./listed.yaml", &place.project()).unwrap();
        let hash = resolved.ensure_stored(&store).unwrap();
        assert_eq!(store.get(&hash).unwrap().type_, builtin::WORKFLOW_2);
        let workflow = workflow::get(&store, &hash).unwrap();
        let thread = thread::start(&store, &hash, "the task", place.project().to_str().unwrap()).unwrap();
        Listed { place, store, workflow, thread }
    }

    /// Moves the head to a step of `role` with this output.
    fn step(&self, role: &str, output: &Value) -> Hash {
        let before = thread::head(&self.store, &self.thread).unwrap();
        let prev = before.step().map(|_| before.hash);
        let output = self.store.put(&self.workflow.roles[role].frontmatter, output).unwrap();
        let node = json!({
            "start": before.start_hash(), "prev": prev, "role": role, "output": output, "detail": output, "agent": "x",
            "edgePrompt": "", "startedAtMs": 1, "completedAtMs": 2, "cwd": "/", "assembledPrompt": null, "usage": null,
            "previousAttempts": null,
        });
        let step = self.store.put(&builtin::STEP_NODE, &node).unwrap();
        thread::advance(&self.store, &self.thread, &before.hash, &step, &Status::Idle).unwrap();
        step
    }

    fn head(&self) -> Head {
        thread::head(&self.store, &self.thread).unwrap()
    }

    fn next(&self, judge: &dyn Conditions) -> Result<Route, ThreadError> {
        thread::next(&self.store, &self.workflow, &self.head(), Some(judge))
    }
}

#[test]
fn the_first_condition_that_is_true_says_who_is_next() {
    let (listed, here) = (Listed::new(), Here::default());
    let begun = listed.next(&here).unwrap();
    assert_eq!((begun.target, begun.prompt.as_str()), (Target::Role("a".into()), "the task"));
    assert!(here.0.borrow().is_empty(), "nothing decides at the start");
    let step = listed.step("a", &json!({"n": 1}));
    let next = listed.next(&here).unwrap();
    assert_eq!((next.target, next.location.as_deref()), (Target::Role("b".into()), Some("d1")));
    assert_eq!(next.prompt, "Role `a` has delivered: {\"n\":1}");
    let asked = here.0.borrow()[0].clone();
    let output = thread::step_node(&listed.store, &step).unwrap().output;
    let start = listed.head().start(&listed.store).unwrap();
    let context = json!({
        "start": {"workflow": start.workflow, "prompt": "the task"},
        "steps": [{"role": "a", "output": {"n": 1}, "detail": output, "agent": "x"}],
    });
    assert_eq!((asked.context, asked.expressions.len()), (context, 3));
    // The status form, where the first is not true.
    listed.step("b", &json!({"$status": "done"}));
    assert_eq!(listed.next(&here).unwrap().prompt, "Again.");
    // A condition may suspend; so does one that nobody stored.
    listed.step("a", &json!({"n": 2}));
    let settled = listed.head().settled(&listed.store, &listed.workflow, Some(&here));
    assert_eq!(settled.status, Status::Suspended { role: "a".into(), message: "Two?".into() });
    assert_eq!(listed.head().settled(&listed.store, &listed.workflow, None).status, Status::Idle);
}

#[test]
fn what_cannot_be_decided_is_told() {
    let (listed, here) = (Listed::new(), Here::default());
    listed.step("a", &json!({"n": 3}));
    let error = listed.next(&here).unwrap_err();
    let expected = "condition `fails`, which decides what comes after role `a`, fails: at character 20: T2002: The right side \
                    of the + operator must evaluate to a number (in `steps[-1].output.n + \"x\"`)";
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().unwrap().contains("uwf thread poke"));
    let nobody = thread::next(&listed.store, &listed.workflow, &listed.head(), None).unwrap_err();
    let expected = "what comes after role `a` depends on the conditions `one`, `two`, `fails`, which nobody has evaluated";
    assert_eq!(nobody.to_string(), expected);
    let again = thread::again(&listed.store, &listed.workflow, &listed.head(), Some(&here)).unwrap_err();
    assert!(again.to_string().contains("`$START` has no edge for status `resume`"), "{again}");
    let view = ThreadView::of(&listed.store, &listed.place.homes().uwf, &listed.thread, Some(&here)).unwrap();
    assert!(view.hint.unwrap().contains("at character 20"));
}

#[test]
fn a_process_that_does_not_answer_is_told() {
    let listed = Listed::new();
    listed.step("a", &json!({"n": 1}));
    let told = |program: &str| {
        let process = ConditionProcess::new(PathBuf::from(program));
        let judge = judge(Some(&process)).unwrap();
        listed.next(judge).unwrap_err().to_string()
    };
    let decided = "what comes after role `a` cannot be decided by condition `one`, condition `two`, condition `fails`: ";
    assert_eq!(
        told("/bin/false"),
        format!("{decided}the process that evaluates conditions ended with exit status 1 and no answer")
    );
    assert_eq!(
        told("/nowhere/uwf"),
        format!(
            "{decided}the process that evaluates conditions cannot be started: No such file or directory (os error 2)"
        )
    );
}
