//! A new thread that goes on from a node of another one.

use std::path::Path;

use serde_json::json;

use uwf_store::{Expect, Hash, Store, VarChange};

use super::{
    COMPACT, Chain, Head, HeadKind, StartNode, Status, StepNode, ThreadError, ThreadId, chain, variable,
};
use crate::workflow;

/// Begins a thread whose head is `node`, a StartNode or a StepNode; the thread it is from stays as it is. A fork of a
/// step that asks a person asks, too; any other is idle.
///
/// # Errors
/// The node, its start or its workflow cannot be read, the node is of another type, or the variable cannot be written.
pub fn fork(store: &Store, node: &Hash) -> Result<ThreadId, ThreadError> {
    let found = store.get(node)?;
    let schema = found.type_;
    let kind = HeadKind::of(node, found)?;
    if let HeadKind::Step(step) = &kind
        && step.role == COMPACT
    {
        return Err(ThreadError::NoWayOn { step: *node, before: step.prev.unwrap_or(step.start) });
    }
    begin(store, (*node, schema), kind)
}

/// Begins a thread as [`fork`] does, which works in the directory `cwd`: with a start and steps of its own, that say the same
/// as those up to `node` but for where they were made.
///
/// # Errors
/// As [`fork`]; or the new steps cannot be written.
pub fn fork_into(store: &Store, node: &Hash, cwd: &str) -> Result<ThreadId, ThreadError> {
    let Chain { start: old, steps, .. } = chain(store, node)?;
    let mut batch = store.batch();
    let begun = StartNode { cwd: cwd.to_owned(), ..old.clone() };
    let start = batch.put(&begun.type_(), &json!(begun))?;
    let mut last: Option<(Hash, StepNode)> = None;
    for (_, mut step) in steps {
        step.cwd = moved(&step.cwd, (&old.cwd, cwd));
        step.start = start;
        step.prev = last.as_ref().map(|(hash, _)| *hash);
        if !step.links.ancestors.is_empty() {
            step.links.ancestors =
                last.as_ref().map_or_else(Vec::new, |(hash, before)| before.ancestors_after(*hash));
        }
        last = Some((batch.put(&step.type_(), &json!(step))?, step));
    }
    batch.commit()?;
    match last {
        Some((hash, step)) => begin(store, (hash, step.type_()), HeadKind::Step(Box::new(step))),
        None => begin(store, (start, begun.type_()), HeadKind::Start(begun)),
    }
}

/// A directory in the one that a thread works in is in the other one then; any other stays.
fn moved(path: &str, (from, to): (&str, &str)) -> String {
    match Path::new(path).strip_prefix(from) {
        Ok(below) if below.as_os_str().is_empty() => to.to_owned(),
        Ok(below) => Path::new(to).join(below).to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

fn begin(store: &Store, (hash, schema): (Hash, Hash), kind: HeadKind) -> Result<ThreadId, ThreadError> {
    let head = Head { hash, status: Status::Idle, kind, updated: store.now() };
    let workflow = workflow::get(store, &head.start(store)?.workflow)?;
    let tags = head.settled(store, &workflow, None).status.to_tags();
    let thread = ThreadId::new(store.now());
    let name = variable(&thread);
    store.vars().apply(&[VarChange::Set { name, schema, value: hash, tags, expect: Expect::Absent }])?;
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::fixture::Place;
    use crate::thread::{advance, head};

    #[test]
    fn a_fork_into_another_directory_has_the_same_steps_there() {
        let place = Place::new();
        let (store, thread) = (place.store(), place.flow_thread());
        let first = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
        let project = place.project().display().to_string();
        let mut second =
            store.get(&place.step(&thread, Some(first), "writer", &json!({"$status": "checked"})));
        for (below, expected) in [("/sub", "/else/sub"), ("", "/else"), ("-2", &format!("{project}-2"))] {
            let node = &mut second.as_mut().unwrap().payload;
            node["cwd"] = json!(format!("{project}{below}"));
            let second = store.put(&builtin::STEP_NODE, node).unwrap();
            let forked = fork_into(&store, &second, "/else").unwrap();
            let (here, there) = (
                chain(&store, &second).unwrap(),
                chain(&store, &head(&store, &forked).unwrap().hash).unwrap(),
            );
            assert_eq!(there.start, StartNode { cwd: "/else".to_owned(), ..here.start });
            let told = |(_, step): &(Hash, StepNode)| (step.role.clone(), step.output, step.detail);
            assert_eq!(
                here.steps.iter().map(told).collect::<Vec<_>>(),
                there.steps.iter().map(told).collect::<Vec<_>>()
            );
            let cwds: Vec<_> = there.steps.iter().map(|(_, step)| step.cwd.as_str()).collect();
            assert_eq!(cwds, ["/else", expected]);
        }
        store.verify(&mut |finding| panic!("{finding}")).unwrap();
        let start = head(&store, &thread).unwrap().hash;
        let fork = fork_into(&store, &start, "/else").unwrap();
        let begun = head(&store, &fork).unwrap();
        assert_eq!((begun.step().is_some(), begun.start(&store).unwrap().cwd), (false, "/else".to_owned()));
        advance(&store, &thread, &start, &first, &Status::Idle).unwrap();
        assert_eq!(head(&store, &thread).unwrap().hash, first, "the thread it is from stays");
    }
}
