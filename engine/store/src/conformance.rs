//! What everything that keeps nodes and names must do, as tests: one list for all implementations.
//!
//! A new implementation of [`Nodes`](crate::Nodes) and [`Names`](crate::Names) depends on this crate with the feature
//! `conformance` among its dev-dependencies, and says in a test module of its own how a new, empty store is made, with
//! [`Profile::PLAIN`](crate::Profile::PLAIN) and the [`clock`] of this module:
//!
//! ```ignore
//! uwf_store::conformance!({
//!     let server = TestServer::start();
//!     move || Store::over(server.nodes(), server.names(), Profile::PLAIN, conformance::clock).expect("it opens")
//! });
//! ```
//!
//! That is one `#[test]` for each rule. The expression is evaluated for each of them and gives a
//! `Fn() -> Store`, each call of which makes another store. What is asked for here holds among the threads of one
//! process; what a kill or another process must find is for each implementation to test, as it knows how.

mod names;
mod nodes;
mod races;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

pub use self::names::*;
pub use self::nodes::*;
pub use self::races::*;
use crate::schema::builtin::{META_SCHEMA, TEXT};
use crate::{Expect, Hash, Store, StoreError, VarChange};

/// Makes a new, empty store.
pub type Make<'m> = &'m dyn Fn() -> Store;

/// An error of the store where none was to be.
pub type Checked = Result<(), StoreError>;

/// One `#[test]` for each rule; see the module [`conformance`](mod@crate::conformance).
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance!(
            $make =>
            a_new_store_has_what_every_store_has,
            what_was_put_is_read_back,
            what_is_put_again_is_the_same_node,
            nodes_are_listed_by_type_in_the_order_they_were_put,
            a_payload_that_does_not_obey_changes_nothing,
            a_batch_is_seen_whole_or_not_at_all,
            a_batch_that_took_long_is_as_young_as_its_last_node,
            a_content_of_any_length_is_read_back,
            everything_is_counted_and_sound,
            what_nobody_needs_is_collected,
            what_was_collected_may_be_put_again,
            a_variable_is_what_it_was_set_to,
            a_variable_names_a_node_of_its_type,
            what_was_not_expected_changes_nothing,
            changes_are_made_together_or_not_at_all,
            what_was_is_told_newest_first,
            the_past_goes_with_the_name_and_with_the_type,
            a_prefix_is_a_text_and_no_pattern,
            names_are_listed_in_order,
            names_can_be_read_backwards_in_pages,
            of_two_who_set_a_name_one_wins,
            no_update_is_lost,
            many_may_put_the_same_nodes_at_once,
            who_reads_is_not_disturbed_by_a_collection,
        );
    };
    ($make:expr => $($rule:ident,)*) => {
        $(
            #[test]
            fn $rule() -> $crate::conformance::Checked {
                let make = $make;
                $crate::conformance::$rule(&make)
            }
        )*
    };
}

thread_local! {
    static AHEAD: Cell<i64> = const { Cell::new(0) };
}

/// Older than what a collector takes for young, in milliseconds.
const LONG: i64 = 7_200_000;

/// The system's time, or another: see the module.
#[expect(clippy::disallowed_methods, reason = "these are tests, of stores that have the system's clock")]
pub fn clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_millis() as u64).saturating_add_signed(AHEAD.get())
}

/// Does this as if everything put so far were old.
fn later<T>(work: impl FnOnce() -> T) -> T {
    at(LONG, work)
}

/// Does this as if it were old.
fn long_ago<T>(work: impl FnOnce() -> T) -> T {
    at(-LONG, work)
}

fn at<T>(ahead: i64, work: impl FnOnce() -> T) -> T {
    AHEAD.set(ahead);
    let done = work();
    AHEAD.set(0);
    done
}

fn set_to(name: &str, (schema, value): (Hash, Hash), expect: Expect) -> VarChange {
    VarChange::Set { name: name.to_owned(), schema, value, tags: BTreeMap::new(), expect }
}

fn text(store: &Store, text: &str) -> Result<(Hash, Hash), StoreError> {
    Ok((TEXT, store.put_text(text)?))
}

/// A node of a type of its own.
fn number(store: &Store, n: u64) -> Result<(Hash, Hash), StoreError> {
    let type_ = store.put(&META_SCHEMA, &json!({"type": "integer", "title": "a number"}))?;
    Ok((type_, store.put(&type_, &json!(n))?))
}

/// A type of arrays of references.
fn links(store: &Store) -> Result<Hash, StoreError> {
    store.put(&META_SCHEMA, &json!({"type": "array", "items": {"type": "string", "format": "ocas_ref"}}))
}

fn link(store: &Store, to: &[Hash]) -> Result<(Hash, Hash), StoreError> {
    let type_ = links(store)?;
    Ok((type_, store.put(&type_, &Value::from_iter(to.iter().map(Hash::to_string)))?))
}

fn assert_sound(store: &Store) -> Checked {
    let mut findings = Vec::new();
    store.verify(&mut |finding| findings.push(finding))?;
    assert_eq!(findings, []);
    Ok(())
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
mod in_a_directory {
    use super::*;
    use crate::Profile;

    crate::conformance!({
        let directory = tempfile::tempdir().unwrap();
        let made = Cell::new(0);
        move || {
            made.set(made.get() + 1);
            let root = directory.path().join(made.get().to_string());
            Store::open(&root, Profile::PLAIN, clock).unwrap()
        }
    });
}

#[cfg(test)]
mod in_memory {
    use super::*;
    use crate::Profile;

    crate::conformance!(|| Store::in_memory(Profile::PLAIN, clock).unwrap());
}
