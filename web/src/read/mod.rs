//! What pages tell, read from the store: each page's content as a value, before it is markup.

mod evaluation;
mod list;
mod step;
mod thread;
mod turns;

pub(crate) use self::evaluation::{
    EvaluationList, EvaluationRow, comparable, difference, evaluation, evaluations,
};
pub(crate) use self::list::{ListFilter, ListPage, ListRow, list};
pub(crate) use self::step::{StepPage, StepPlace, step, step_at, step_hash};
pub(crate) use self::thread::{StepRow, ThreadPage, ThreadQuery, asks_at, thread};
pub(crate) use self::turns::{Conversation, Item, PlayedCall, TurnsPage, message};
