//! Workers, the network between, and all that can happen: the protocol as a model that is explored to the end.

use stateright::{Model, Property};

use super::database::{Answer, Request, Standing, Step, Thread, Turn, Write, Wrong, serve};
use super::{Protocol, STEPS, TURNS};

/// How often a thread is claimed at most; more than there are faults to cause it.
const MAX_FENCE: u8 = 12;

/// A worker's run of one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) thread: u8,
    pub(crate) fence: u8,
    pub(crate) step: u8,
    /// The turns of the step; those before `durable` are at the remote.
    pub(crate) turns: Vec<Turn>,
    pub(crate) durable: u8,
    /// What was asked and has no answer yet.
    pub(crate) waits_for: Option<Write>,
    /// By its own clock its lease may be somebody else's.
    pub(crate) is_over: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Frozen {
    #[default]
    No,
    /// Until it wakes up.
    Yes,
    /// For good, with its connections open.
    ForGood,
}

/// A worker has no name: its fence says who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Worker {
    pub(crate) run: Option<Run>,
    pub(crate) frozen: Frozen,
}

/// How many of each fault may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Faults {
    /// In all.
    pub(crate) all: u8,
    /// Crashes of the database among them.
    pub(crate) database: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) threads: Vec<Thread>,
    /// What a crash of the database leaves, where that is not what it has acknowledged.
    pub(crate) on_disk: Option<Vec<Thread>>,
    pub(crate) workers: Vec<Worker>,
    /// Requests under way of whoever waits for no answer any more.
    pub(crate) late: Vec<Request>,
    pub(crate) faults: Faults,
    /// Steps and turns that were committed, in the order of threads.
    pub(crate) acknowledged: Vec<(u8, Step)>,
    pub(crate) wrong: Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A thread is claimed; the answer comes, or is lost.
    Claim(usize, u8, bool),
    /// The model is asked for the next turn, and its line sent.
    Ask(usize),
    /// The step is complete: its nodes are sent, and then its head.
    Push(usize),
    /// The request of a worker is served and answered.
    Serve(usize),
    /// It is served, and the connection is lost before the answer: it is sent again.
    ServeUnheard(usize),
    /// The connection is lost; what was sent may still arrive, and is sent again.
    Cut(usize),
    /// A request arrives that nobody waits for.
    Deliver(usize),
    /// The lease of a run that stands is asked for again.
    Heartbeat(usize),
    /// A heartbeat is sent, and arrives whenever it likes.
    HeartbeatLate(usize),
    /// A worker counts its own lease as over.
    OwnLeaseOver(usize),
    /// The database counts the lease of a thread as over.
    LeaseOver(u8),
    Crash(usize),
    Freeze(usize),
    FreezeForGood(usize),
    Wake(usize),
    HandBack(usize),
    DatabaseCrash,
    /// What is acknowledged comes to the disk, where that is later.
    Sync,
}

impl Action {
    /// Whether it is one of those that are counted.
    fn is_fault(self, state: &State) -> bool {
        match self {
            Action::Claim(_, _, is_heard) => !is_heard,
            // Who is frozen is not asked.
            Action::OwnLeaseOver(worker) => state.workers[worker].frozen == Frozen::No,
            Action::ServeUnheard(_)
            | Action::Cut(_)
            | Action::HeartbeatLate(_)
            | Action::Crash(_)
            | Action::Freeze(_)
            | Action::FreezeForGood(_)
            | Action::HandBack(_)
            | Action::DatabaseCrash => true,
            _ => false,
        }
    }
}

pub(crate) struct Fleet {
    pub(crate) protocol: Protocol,
    pub(crate) workers: usize,
    pub(crate) threads: usize,
    pub(crate) faults: Faults,
}

impl Model for Fleet {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let threads = vec![Thread::new(); self.threads];
        vec![State {
            on_disk: (!self.protocol.is_durable).then(|| threads.clone()),
            threads,
            workers: vec![Worker::default(); self.workers],
            late: vec![],
            faults: self.faults,
            acknowledged: vec![],
            wrong: Wrong::default(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for worker in 0..state.workers.len() {
            // Workers in the same state are the same one.
            if worker == 0 || state.workers[worker - 1] != state.workers[worker] {
                self.actions_of(state, worker, actions);
            }
        }
        for (thread, row) in (0_u8..).zip(&state.threads) {
            if row.standing == Standing::Leased && !row.is_over && self.lease_may_be_over(state, thread) {
                actions.push(Action::LeaseOver(thread));
            }
        }
        actions.extend((0..state.late.len()).map(Action::Deliver));
        if state.faults.all > 0 && state.faults.database > 0 {
            actions.push(Action::DatabaseCrash);
        }
        if state.on_disk.as_ref().is_some_and(|disk| *disk != state.threads) {
            actions.push(Action::Sync);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.act(&mut state, action);
        state.workers.sort();
        state.late.sort();
        state.late.dedup();
        (state != *last).then_some(state)
    }

    /// Without a fence some go on for ever.
    fn within_boundary(&self, state: &State) -> bool {
        state.threads.iter().all(|thread| thread.fence < MAX_FENCE)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("an acknowledged step is in the chain for ever, once", |_, state: &State| {
                let place = |(thread, step): &(u8, Step)| {
                    state.threads[usize::from(*thread)].chain.iter().filter(|other| *other == step).count()
                };
                state.acknowledged.iter().all(|step| place(step) == 1)
            }),
            Property::always("never two heads", |_, state: &State| {
                let places = |thread: u8| {
                    let steps = state.acknowledged.iter().filter(move |(of, _)| *of == thread);
                    let mut places: Vec<u8> = steps.map(|(_, step)| step.place).collect();
                    places.sort_unstable();
                    places
                };
                (0_u8..).zip(&state.threads).all(|(thread, row)| {
                    places(thread).windows(2).all(|two| two[0] != two[1])
                        && (0_u8..).zip(&row.chain).all(|(place, step)| step.place == place)
                })
            }),
            Property::always("who has no lease writes nothing", |_, state: &State| {
                !state.wrong.outsider_wrote
            }),
            Property::always("no turn that is in the journal is asked again", |_, state: &State| {
                !state.wrong.asked_again
            }),
            Property::always("who has the lease is told of no conflict", |_, state: &State| {
                !state.wrong.false_conflict
            }),
            Property::always("a journal has the lines of its own step", |_, state: &State| {
                !state.wrong.misplaced_line
            }),
            Property::always("a head has its nodes", |_, state: &State| !state.wrong.head_without_nodes),
        ]
    }
}

impl State {
    /// Whether nobody is left who could do anything.
    pub(crate) fn is_deserted(&self) -> bool {
        self.workers.iter().all(|worker| worker.frozen == Frozen::ForGood)
    }

    pub(crate) fn all_have_ended(&self) -> bool {
        self.threads.iter().all(|thread| thread.standing == Standing::Done)
    }
}

impl Fleet {
    /// By time alone: whoever has it counts it as over by now, as its clock began to count earlier.
    fn lease_may_be_over(&self, state: &State, thread: u8) -> bool {
        let fence = state.threads[usize::from(thread)].fence;
        let holder = state
            .workers
            .iter()
            .filter_map(|worker| worker.run.as_ref())
            .find(|run| run.thread == thread && run.fence == fence);
        match holder {
            // The lock of a session: only a session that has ended gives it up.
            _ if self.protocol.locks_sessions => holder.is_none(),
            Some(run) => run.is_over || !self.protocol.has_own_clock,
            None => true,
        }
    }

    fn actions_of(&self, state: &State, worker: usize, actions: &mut Vec<Action>) {
        let (at, fault) = (worker, state.faults.all > 0);
        let Worker { run, frozen } = &state.workers[worker];
        match (run, frozen) {
            (_, Frozen::ForGood) => {}
            (_, Frozen::Yes) => actions.push(Action::Wake(at)),
            (None, Frozen::No) => {
                for (thread, row) in (0_u8..).zip(&state.threads) {
                    if row.can_be_claimed() {
                        actions.push(Action::Claim(at, thread, true));
                        actions.extend(fault.then_some(Action::Claim(at, thread, false)));
                    }
                }
            }
            (Some(run), Frozen::No) => {
                match run.waits_for {
                    None if run.turns.len() < TURNS => actions.push(Action::Ask(at)),
                    None => actions.push(Action::Push(at)),
                    Some(_) => {}
                }
                actions.push(Action::Heartbeat(at));
                if fault {
                    actions.extend([
                        Action::HeartbeatLate(at),
                        Action::Freeze(at),
                        Action::FreezeForGood(at),
                    ]);
                    actions.extend(run.waits_for.is_none().then_some(Action::HandBack(at)));
                }
            }
        }
        let Some(run) = run else { return };
        if run.waits_for.is_some() {
            actions.push(Action::Serve(at));
            if fault {
                actions.extend([Action::ServeUnheard(at), Action::Cut(at)]);
            }
        }
        if *frozen != Frozen::No && !run.is_over || *frozen == Frozen::No && fault {
            actions.push(Action::OwnLeaseOver(at));
        }
        actions.extend(fault.then_some(Action::Crash(at)));
    }

    fn act(&self, state: &mut State, action: Action) {
        if action.is_fault(state) {
            state.faults.all -= 1;
        }
        match action {
            Action::Claim(worker, thread, is_heard) => {
                let row = &mut state.threads[usize::from(thread)];
                row.claim();
                if is_heard {
                    state.workers[worker].run = Some(Run::of(thread, row));
                }
            }
            Action::Ask(worker) => ask_model(state, worker),
            Action::Push(worker) => {
                let run = state.workers[worker].run.as_mut().expect("it runs");
                run.waits_for = Some(Write::Nodes(run.made()));
            }
            Action::Serve(worker) => self.served(state, worker),
            Action::ServeUnheard(worker) => drop(self.request_of(state, worker)),
            Action::Cut(worker) => self.cut(state, worker),
            Action::Deliver(late) => {
                let request = state.late.remove(late);
                self.serve(state, &request);
            }
            Action::Heartbeat(worker) if self.ask(state, worker, Write::Heartbeat) == Answer::Done => {}
            Action::Heartbeat(worker) => stop(state, worker),
            Action::HandBack(worker) => {
                self.ask(state, worker, Write::HandBack);
                stop(state, worker);
            }
            Action::HeartbeatLate(worker) => {
                let run = state.workers[worker].run.as_ref().expect("it runs");
                state.late.push(Request { thread: run.thread, fence: run.fence, what: Write::Heartbeat });
            }
            Action::OwnLeaseOver(worker) => match state.workers[worker].frozen {
                Frozen::No => stop(state, worker),
                _ => state.workers[worker].run.as_mut().expect("it runs").is_over = true,
            },
            Action::LeaseOver(thread) => state.threads[usize::from(thread)].is_over = true,
            Action::Crash(worker) => stop(state, worker),
            Action::Freeze(worker) => state.workers[worker].frozen = Frozen::Yes,
            Action::FreezeForGood(worker) => state.workers[worker].frozen = Frozen::ForGood,
            Action::Wake(worker) => {
                state.workers[worker].frozen = Frozen::No;
                let is_over = state.workers[worker].run.as_ref().is_some_and(|run| run.is_over);
                if is_over && self.protocol.has_own_clock {
                    stop(state, worker);
                }
            }
            Action::DatabaseCrash => {
                state.faults.database -= 1;
                state.late.clear();
                if let Some(disk) = &state.on_disk {
                    state.threads.clone_from(disk);
                }
            }
            Action::Sync => state.on_disk = Some(state.threads.clone()),
        }
    }

    /// What was sent may still arrive; the worker sends it again.
    fn cut(&self, state: &mut State, worker: usize) {
        let run = state.workers[worker].run.as_ref().expect("it runs");
        state.late.push(run.request().expect("it waits"));
        let row = &mut state.threads[usize::from(run.thread)];
        row.is_over |= self.protocol.locks_sessions && row.fence == run.fence;
    }

    /// Something that is answered at once.
    fn ask(&self, state: &mut State, worker: usize, what: Write) -> Answer {
        let run = state.workers[worker].run.as_ref().expect("it runs");
        let request = Request { thread: run.thread, fence: run.fence, what };
        self.serve(state, &request)
    }

    /// The request that a worker waits for is served: what the answer is.
    fn request_of(&self, state: &mut State, worker: usize) -> Answer {
        let run = state.workers[worker].run.as_ref().expect("it runs");
        let request = run.request().expect("it waits");
        self.serve(state, &request)
    }

    fn serve(&self, state: &mut State, request: &Request) -> Answer {
        let row = &mut state.threads[usize::from(request.thread)];
        let answer = serve(row, request, self.protocol, &mut state.wrong);
        if let (Answer::Done, Write::Head(step)) = (answer, &request.what) {
            let acknowledged = (request.thread, step.clone());
            if !state.acknowledged.contains(&acknowledged) {
                state.acknowledged.push(acknowledged);
                state.acknowledged.sort();
            }
        }
        answer
    }

    /// Served and heard: the worker goes on, or gives up.
    fn served(&self, state: &mut State, worker: usize) {
        let answer = self.request_of(state, worker);
        let run = state.workers[worker].run.as_mut().expect("it runs");
        if answer != Answer::Done {
            run.waits_for = None;
            let is_holder = state.threads[usize::from(run.thread)].fence == run.fence;
            state.wrong.false_conflict |= is_holder && answer == Answer::Conflict;
            return stop(state, worker);
        }
        match run.waits_for.take().expect("it waits") {
            Write::Journal { .. } => run.durable += 1,
            Write::Nodes(step) => run.waits_for = Some(Write::Head(step)),
            Write::Head(_) if usize::from(run.step) + 1 >= STEPS => stop(state, worker),
            Write::Head(_) => {
                *run = Run { step: run.step + 1, turns: vec![], durable: 0, ..run.clone() };
            }
            Write::Heartbeat | Write::HandBack => unreachable!("nobody waits for these"),
        }
    }
}

/// A run is stopped; what it has under way may still arrive.
fn stop(state: &mut State, worker: usize) {
    if let Some(run) = state.workers[worker].run.take() {
        state.late.extend(run.request());
    }
    state.workers[worker].frozen = Frozen::No;
}

/// Asks the model for the next turn. With a clock of its own a worker that is awake knows that its lease holds.
fn ask_model(state: &mut State, worker: usize) {
    let run = state.workers[worker].run.as_mut().expect("it runs");
    let row = &state.threads[usize::from(run.thread)];
    let line = run.turns.len();
    let is_known = row.chain.len() > usize::from(run.step)
        || row.chain.len() == usize::from(run.step) && row.journal.len() > line;
    state.wrong.asked_again |= is_known;
    let line = u8::try_from(line).expect("few turns");
    run.turns.push(run.fence);
    run.waits_for = Some(Write::Journal { step: run.step, line, turn: run.fence });
}

impl Run {
    /// What a claim gives: the chain, and the journal of the step that somebody was in.
    fn of(thread: u8, row: &Thread) -> Run {
        Run {
            thread,
            fence: row.fence,
            step: u8::try_from(row.chain.len()).expect("few steps"),
            turns: row.journal.clone(),
            durable: u8::try_from(row.journal.len()).expect("few turns"),
            waits_for: None,
            is_over: false,
        }
    }

    fn made(&self) -> Step {
        Step { place: self.step, turns: self.turns.clone(), fence: self.fence }
    }

    fn request(&self) -> Option<Request> {
        let what = self.waits_for.clone()?;
        Some(Request { thread: self.thread, fence: self.fence, what })
    }
}
