//! A new thread that goes on from a node of another one.

use std::collections::BTreeMap;

use super::{HeadKind, Status, ThreadError, ThreadId, decode, variable};
use crate::moderator::SUSPEND;
use crate::schema::builtin;
use crate::store::{Expect, Hash, Store, VarChange};

/// Begins a thread whose head is `node`, a StartNode or a StepNode; the thread it is from stays as it is. A fork of a
/// step that asks a person asks, too; any other is idle.
pub fn fork(store: &Store, node: &Hash) -> Result<ThreadId, ThreadError> {
    let found = store.get(node)?;
    let schema = found.type_;
    let kind = match schema {
        builtin::START_NODE => HeadKind::Start(decode(node, found)?),
        builtin::STEP_NODE => HeadKind::Step(decode(node, found)?),
        type_ => return Err(ThreadError::NotAThreadNode { hash: *node, type_ }),
    };
    let tags = match kind {
        HeadKind::Start(_) => BTreeMap::new(),
        HeadKind::Step(step) => {
            let output = store.get(&step.output)?.payload;
            match output["$status"].as_str() {
                Some(SUSPEND) => {
                    let message = output["reason"].as_str().unwrap_or_default().to_owned();
                    Status::Suspended { role: step.role, message }.to_tags()
                }
                _ => BTreeMap::new(),
            }
        }
    };
    let thread = ThreadId::new(store.now());
    let name = variable(&thread);
    store.vars().apply(&[VarChange::Set { name, schema, value: *node, tags, expect: Expect::Absent }])?;
    Ok(thread)
}
