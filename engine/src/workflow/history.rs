//! What a registered name meant before, going back to it, and giving it up.
//!
//! Apart from the registry because it reads the history of a variable, of which the store keeps the last ten values.
//! Going back is a step forward: the older workflow becomes the newest entry, and what it replaces stays in the history.

use uwf_store::{Expect, Hash, Store, VarChange, Variable, suggest};

use super::registry::REGISTRY;
use super::{WorkflowError, get};

/// One thing a name meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The workflow.
    pub hash: Hash,
    /// Since when, in milliseconds since the epoch.
    pub set_at: u64,
}

/// Where to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// So many entries before the present one.
    Steps(usize),
    /// This workflow, which the name meant before.
    To(Hash),
}

/// What a registered name means and meant, the present first.
///
/// # Errors
/// [`WorkflowError::Unknown`] with the names there are.
pub fn history(store: &Store, name: &str) -> Result<Vec<HistoryEntry>, WorkflowError> {
    let present = registered(store, name)?;
    let entries = store.vars().history(&present.name)?;
    let mut entries: Vec<HistoryEntry> =
        entries.into_iter().map(|(hash, set_at)| HistoryEntry { hash, set_at }).collect();
    // Another program may have set the variable without its history.
    if entries.first().is_none_or(|newest| newest.hash != present.value) {
        entries.insert(0, HistoryEntry { hash: present.value, set_at: present.updated });
    }
    Ok(entries)
}

/// Makes a registered name mean what it meant before. Says what it means now and what it meant until now.
///
/// # Errors
/// [`WorkflowError::NotInHistory`] when the history does not go back that far, and what [`get`] says of a workflow that is
/// gone; the name is what it was then.
pub fn rollback(store: &Store, name: &str, back: Back) -> Result<(Hash, Hash), WorkflowError> {
    let present = registered(store, name)?;
    let entries = history(store, name)?;
    let found = match back {
        Back::Steps(steps) => entries.get(steps),
        Back::To(hash) => entries.iter().find(|entry| entry.hash == hash),
    };
    let wanted = || match back {
        Back::Steps(steps) => format!("entry {steps}"),
        Back::To(hash) => hash.to_string(),
    };
    let none = || WorkflowError::NotInHistory { name: name.to_owned(), wanted: wanted() };
    let hash = found.ok_or_else(none)?.hash;
    get(store, &hash)?;
    let schema = store.get(&hash)?.type_;
    let Variable { name, value, tags, .. } = present;
    store.vars().apply(&[VarChange::Set {
        name,
        schema,
        value: hash,
        tags,
        expect: Expect::Value(value),
    }])?;
    Ok((hash, value))
}

/// Gives a registered name up, and what it meant before with it; the nodes stay as long as anything refers to them. Says what it
/// meant.
///
/// # Errors
/// [`WorkflowError::Unknown`] with the names there are.
pub fn remove(store: &Store, name: &str) -> Result<Hash, WorkflowError> {
    let present = registered(store, name)?;
    store.vars().apply(&[VarChange::Remove { name: present.name }])?;
    Ok(present.value)
}

fn registered(store: &Store, name: &str) -> Result<Variable, WorkflowError> {
    if let Some(variable) = store.vars().get(&format!("{REGISTRY}{name}"))? {
        return Ok(variable);
    }
    let names =
        store.vars().list(REGISTRY)?.into_iter().map(|variable| variable.name[REGISTRY.len()..].to_owned());
    Err(WorkflowError::Unknown { reference: name.to_owned(), known: suggest::sorted(name, names) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::tests::files::{Files, fix_bug, store};
    use crate::workflow::{add, load, resolve};

    #[test]
    fn going_back_is_a_step_forward() {
        let files = Files::new();
        let store = store(&files);
        let text = std::fs::read_to_string(fix_bug()).unwrap();
        let versions = ["Be kind.", "Be quick.", "Be slow."].map(|goal| {
            let path = files.write("w.yaml", &text.replace("Be strict.", goal));
            add(&store, &load(&path).unwrap()).unwrap()
        });
        let told = || history(&store, "fix-bug").unwrap().iter().map(|entry| entry.hash).collect::<Vec<_>>();
        let [a, b, c] = versions;
        assert_eq!(told(), [c, b, a]);
        assert_eq!(rollback(&store, "fix-bug", Back::Steps(1)).unwrap(), (b, c));
        assert_eq!(told(), [b, c, b, a]);
        assert_eq!(rollback(&store, "fix-bug", Back::To(a)).unwrap(), (a, b));
        assert_eq!(resolve(&store, "fix-bug", files.root()).unwrap().hash, Some(a));
        assert_eq!(rollback(&store, "fix-bug", Back::Steps(0)).unwrap(), (a, a));

        let error = rollback(&store, "fix-bug", Back::Steps(9)).unwrap_err();
        assert_eq!(error.to_string(), "the history of workflow `fix-bug` does not go back to entry 9");
        assert!(error.hint().unwrap().contains("uwf workflow history fix-bug"));
        let never = Hash::from_static("0000000000000");
        assert!(
            rollback(&store, "fix-bug", Back::To(never)).unwrap_err().to_string().contains(never.as_str())
        );
        assert_eq!(told()[0], a);
    }

    #[test]
    fn a_name_is_given_up_and_the_nodes_stay() {
        let files = Files::new();
        let store = store(&files);
        let hash = add(&store, &load(&fix_bug()).unwrap()).unwrap();
        assert_eq!(remove(&store, "fix-bug").unwrap(), hash);
        assert!(resolve(&store, "fix-bug", files.root()).is_err() && get(&store, &hash).is_ok());
        assert_eq!(remove(&store, "fix-bug").unwrap_err().to_string(), "no workflow `fix-bug`");
    }

    #[test]
    fn a_name_that_is_not_registered_has_no_past() {
        let files = Files::new();
        let store = store(&files);
        add(&store, &load(&fix_bug()).unwrap()).unwrap();
        let error = history(&store, "fixbug").unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.hint().as_deref()),
            ("no workflow `fixbug`", Some("there is: fix-bug"))
        );
    }
}
