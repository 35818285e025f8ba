//! The remote as the protocol sees it: what is committed, and what each transaction does to it.

use super::{Protocol, STEPS};

/// A turn, by the fence of the claim under which its model was asked.
pub(crate) type Turn = u8;

/// A step as it is in the chain: its place, the turns it is made of, and the claim that made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Step {
    pub(crate) place: u8,
    pub(crate) turns: Vec<Turn>,
    pub(crate) fence: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Standing {
    Ready,
    Leased,
    Done,
}

/// A row of the table of threads, with the lines of its journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub(crate) standing: Standing,
    pub(crate) fence: u8,
    /// Whether the time of the lease is over, or, with locks of sessions, whether the session that held the lock is gone.
    pub(crate) is_over: bool,
    pub(crate) chain: Vec<Step>,
    pub(crate) journal: Vec<Turn>,
    /// Steps whose nodes are there.
    pub(crate) nodes: Vec<Step>,
}

impl Thread {
    pub(crate) fn new() -> Thread {
        Thread {
            standing: Standing::Ready,
            fence: 0,
            is_over: false,
            chain: vec![],
            journal: vec![],
            nodes: vec![],
        }
    }

    pub(crate) fn can_be_claimed(&self) -> bool {
        self.standing == Standing::Ready || self.standing == Standing::Leased && self.is_over
    }

    pub(crate) fn claim(&mut self) {
        self.standing = Standing::Leased;
        self.fence += 1;
        self.is_over = false;
    }

    fn is_held_by(&self, fence: u8) -> bool {
        self.standing == Standing::Leased && self.fence == fence
    }
}

/// What a worker asks of the database in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) thread: u8,
    pub(crate) fence: u8,
    pub(crate) what: Write,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Write {
    /// The line of a turn at this place in the journal of the step at that place.
    Journal {
        step: u8,
        line: u8,
        turn: Turn,
    },
    Nodes(Step),
    /// The head from the step before this one to this one.
    Head(Step),
    Heartbeat,
    HandBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    LeaseLost,
    /// The lease holds, but the thread is not where it was.
    Conflict,
}

/// What was found to be wrong while a request was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Wrong {
    /// Somebody without the lease has written.
    pub(crate) outsider_wrote: bool,
    /// A worker asked for a turn that was acknowledged.
    pub(crate) asked_again: bool,
    /// A worker with the lease was told that its thread had moved.
    pub(crate) false_conflict: bool,
    /// A line came into the journal of another step than its own.
    pub(crate) misplaced_line: bool,
    /// A head was written whose nodes are not there.
    pub(crate) head_without_nodes: bool,
}

/// Serves one request: all of it or nothing.
pub(crate) fn serve(thread: &mut Thread, request: &Request, protocol: Protocol, wrong: &mut Wrong) -> Answer {
    let is_held = thread.is_held_by(request.fence);
    if let Write::Nodes(step) = &request.what {
        // They harm nobody: no fence.
        if !thread.nodes.contains(step) && usize::from(step.place) >= thread.chain.len() {
            thread.nodes.push(step.clone());
            thread.nodes.sort();
        }
        return Answer::Done;
    }
    // What is there already as it was to be is done, whoever holds the thread now.
    if let Write::Head(step) = &request.what
        && protocol.knows_its_own
        && thread.chain.contains(step)
    {
        return Answer::Done;
    }
    if !is_held && protocol.has_fence {
        return Answer::LeaseLost;
    }
    if let Write::Journal { step, .. } = &request.what
        && usize::from(*step) != thread.chain.len()
    {
        if protocol.lines_name_head {
            return Answer::Conflict;
        }
        wrong.misplaced_line = true;
    }
    let answer = write(thread, &request.what);
    if answer == Answer::Done {
        wrong.outsider_wrote |= !is_held && request.what != Write::Heartbeat;
        if let Write::Head(step) = &request.what {
            wrong.head_without_nodes |= !thread.nodes.contains(step);
            // What is in the chain has its nodes; those of others for this place are of no interest any more.
            let place = thread.chain.len();
            thread.nodes.retain(|step| usize::from(step.place) >= place);
        }
    }
    answer
}

fn write(thread: &mut Thread, what: &Write) -> Answer {
    match what {
        Write::Journal { line, turn, .. } => {
            let line = usize::from(*line);
            match thread.journal.get(line) {
                Some(there) if there == turn => Answer::Done,
                None if thread.journal.len() == line => {
                    thread.journal.push(*turn);
                    Answer::Done
                }
                _ => Answer::Conflict,
            }
        }
        Write::Head(step) => {
            if usize::from(step.place) != thread.chain.len() {
                return Answer::Conflict;
            }
            thread.chain.push(step.clone());
            thread.journal.clear();
            if thread.chain.len() >= STEPS {
                thread.standing = Standing::Done;
            }
            Answer::Done
        }
        Write::Heartbeat => {
            thread.is_over = false;
            Answer::Done
        }
        Write::HandBack => {
            thread.standing = Standing::Ready;
            Answer::Done
        }
        Write::Nodes(_) => Answer::Done,
    }
}
