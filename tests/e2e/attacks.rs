//! Attacks: what a model may try, each with what must not have happened and what it must have been told.
//!
//! The tables are in `paths` (file tools) and `commands` (run_command); many attacks are the calls of one scripted run.
//! Whatever the attack, nothing outside the workspace may differ afterwards, no secret may be in the transcript, the
//! journal or the store, and no server of the machine may have been reached. Commands that do no harm run once more with
//! `--sandbox off`, where they must succeed: so it is the sandbox that refused. Everything also runs as an ordinary user, and
//! in `settings` on kernels that lack something.

#[path = "attacks/commands.rs"]
mod commands;
#[path = "attacks/exhaustion.rs"]
mod exhaustion;
#[path = "attacks/field.rs"]
pub(crate) mod field;
#[path = "attacks/git.rs"]
mod git;
#[path = "attacks/machine.rs"]
mod machine;
#[path = "attacks/odd_places.rs"]
mod odd_places;
#[path = "attacks/paths.rs"]
mod paths;
#[path = "attacks/records.rs"]
mod records;
#[path = "attacks/secret_places.rs"]
mod secret_places;
#[path = "attacks/settings.rs"]
mod settings;
#[path = "attacks/survivors.rs"]
mod survivors;
#[path = "attacks/words.rs"]
mod words;
#[path = "attacks/work.rs"]
mod work;

#[test]
fn the_tables_are_long_and_no_attack_is_in_them_twice() {
    let tables = commands::all_names().into_iter().chain(git::all_names().map(str::to_owned));
    let mut names: Vec<String> = tables.chain(paths::all_names().map(str::to_owned)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(all >= 400, "{all}");
}
