//! What was said in a run: the bytes of each message and of the declared tools, once.

use uwf_engine::record::{Detail, Listed, RunLog, Turn};
use uwf_engine::thread;

use crate::bench_home::BenchHome;

/// The bytes of what was said in the step at which a thread stands: texts, thoughts, calls and the tools as they were sent,
/// with nothing around them.
pub(crate) fn said(home: &BenchHome, thread: &str) -> u64 {
    let store = uwf_engine::open_store(&home.dir().join(".ocas"), || 0).unwrap();
    let head = thread::head(&store, &thread.parse().unwrap()).unwrap();
    let detail = Detail::read(&store, &head.step().unwrap().detail).unwrap();
    let turn = |listed: &Listed| Turn::read(&store, &listed.turn().unwrap()).unwrap();
    let tools = RunLog::read(&store, &detail.log.unwrap()).unwrap().tools.unwrap();
    let tools = store.blob(&tools).unwrap().size();
    tools + detail.messages.unwrap().iter().map(turn).map(|turn| of(&turn)).sum::<u64>()
}

fn of(turn: &Turn) -> u64 {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let calls = turn.calls().iter().map(|call| length(&call.name) + length(&call.args));
    (length(&turn.content) + length(&turn.reasoning) + calls.sum::<usize>()) as u64
}
