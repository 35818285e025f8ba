//! Whether an end can be reached from everywhere: stateright's `eventually` does not tell where paths meet again.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use stateright::Model;

use super::model::{Fleet, State};

/// All states that can be reached, by number, and from which others each is reached.
#[derive(Default)]
struct Graph {
    numbers: HashMap<u64, usize>,
    before: Vec<Vec<usize>>,
}

impl Graph {
    /// The number of a state, and whether it was not seen before.
    fn number(&mut self, state: &State) -> (usize, bool) {
        let print = BuildHasherDefault::<DefaultHasher>::default().hash_one(state);
        let next = self.before.len();
        let number = *self.numbers.entry(print).or_insert(next);
        if number == next {
            self.before.push(Vec::new());
        }
        (number, number == next)
    }
}

/// A state from which some thread can never end, though somebody is left who could do it; by its number.
pub(crate) fn that_cannot_end(fleet: &Fleet) -> Option<usize> {
    let (mut graph, mut open, mut ended) = (Graph::default(), Vec::new(), Vec::new());
    for state in fleet.init_states() {
        open.push((graph.number(&state).0, state));
    }
    while let Some((number, state)) = open.pop() {
        if state.all_have_ended() || state.is_deserted() {
            ended.push(number);
        }
        for next in fleet.next_states(&state).into_iter().filter(|next| fleet.within_boundary(next)) {
            let (to, is_new) = graph.number(&next);
            graph.before[to].push(number);
            if is_new {
                open.push((to, next));
            }
        }
    }
    let mut can_end = vec![false; graph.before.len()];
    while let Some(number) = ended.pop() {
        if !std::mem::replace(&mut can_end[number], true) {
            ended.extend(&graph.before[number]);
        }
    }
    can_end.iter().position(|can| !can)
}
