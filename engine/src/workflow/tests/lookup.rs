//! The order in which a reference is tried, and what is said when it leads nowhere.

use std::fs;

use super::files::{Files, fix_bug, store};
use crate::workflow::{WorkflowError, WorkflowOrigin, add, list, load, resolve};

fn named(name: &str) -> String {
    fs::read_to_string(fix_bug()).unwrap().replace("name: fix-bug", &format!("name: {name}"))
}

#[test]
fn hash_then_file_then_nearby_then_registry() {
    let files = Files::new();
    let store = store(&files);
    let cwd = files.path("project/src");
    fs::create_dir_all(&cwd).unwrap();
    let find = |reference: &str| resolve(&store, reference, &cwd);

    let hash = add(&store, &load(&files.write("lib/one.yaml", &named("one"))).unwrap()).unwrap();
    let registered = find("one").unwrap();
    assert_eq!(
        (registered.hash, registered.origin, registered.checked),
        (Some(hash), WorkflowOrigin::Registry, None)
    );

    let path = files.write("project/.workflow/one.yml", &named("one-local"));
    let local = find("one").unwrap();
    assert_eq!(
        (local.hash, local.name.as_str(), &local.origin),
        (None, "one-local", &WorkflowOrigin::Local(path))
    );
    let stored = local.ensure_stored(&store).unwrap();
    assert_eq!(find("one").unwrap().hash, Some(stored), "the store holds the file's workflow now");

    let path = files.write("project/src/one", &named("plain-file"));
    assert_eq!(find("one").unwrap().origin, WorkflowOrigin::File(path));
    let path = files.path("lib/one.yaml");
    assert_eq!(
        find("../../lib/one.yaml").unwrap().origin,
        WorkflowOrigin::File(cwd.join("../../lib/one.yaml"))
    );
    assert_eq!(find(path.to_str().unwrap()).unwrap().origin, WorkflowOrigin::File(path));
    assert!(matches!(find("none.yaml"), Err(WorkflowError::Read { .. })), "it looks like a file");

    assert_eq!(find(hash.as_str()).unwrap().origin, WorkflowOrigin::Hash);
    let text = store.put_text("no workflow").unwrap();
    assert!(matches!(find(text.as_str()), Err(WorkflowError::NotAWorkflow { .. })));
}

#[test]
fn a_directory_stands_for_its_index() {
    let files = Files::new();
    let store = store(&files);
    let path = files.write(".workflows/big/index.yaml", &named("big"));
    assert_eq!(resolve(&store, "big", files.root()).unwrap().origin, WorkflowOrigin::Local(path.clone()));
    assert_eq!(resolve(&store, ".workflows/big", files.root()).unwrap().origin, WorkflowOrigin::File(path));
}

#[test]
fn adding_again_replaces_and_keeps_the_old_node() {
    let files = Files::new();
    let store = store(&files);
    let first = add(&store, &load(&fix_bug()).unwrap()).unwrap();
    let changed = named("fix-bug").replace("Be strict.", "Be kind.");
    let second = add(&store, &load(&files.write("w.yaml", &changed)).unwrap()).unwrap();
    assert_ne!(first, second);
    assert_eq!(resolve(&store, "fix-bug", files.root()).unwrap().hash, Some(second));
    assert!(store.has(&first));
}

#[test]
fn the_unknown_is_told_what_there_is() {
    let files = Files::new();
    let store = store(&files);
    let error = resolve(&store, "fix-bug", files.root()).unwrap_err();
    assert_eq!(error.to_string(), "no workflow `fix-bug`");
    assert!(error.hint().unwrap().contains(".workflow/<name>.yaml"));

    add(&store, &load(&fix_bug()).unwrap()).unwrap();
    files.write(".workflows/deploy.yaml", "broken: [");
    let error = resolve(&store, "fixbug", files.root()).unwrap_err();
    assert_eq!(error.hint().unwrap(), "there is: fix-bug, deploy");
    for odd in ["", ".", "..", "@uwf", "ZZZZZZZZZZZZZ", "0000000000000"] {
        assert!(matches!(resolve(&store, odd, files.root()), Err(WorkflowError::Unknown { .. })), "{odd}");
    }
}

#[test]
fn the_list_is_what_can_be_named() {
    let files = Files::new();
    let store = store(&files);
    let hash = add(&store, &load(&fix_bug()).unwrap()).unwrap();
    add(&store, &load(&files.write("lib/one.yaml", &named("one"))).unwrap()).unwrap();
    files.write(".workflows/one.yaml", "");
    let listed = list(&store, files.root()).unwrap();
    let told: Vec<_> = listed.iter().map(|l| (l.name.as_str(), l.hash, l.origin.as_str())).collect();
    assert_eq!(told, [("fix-bug", Some(hash), "registry"), ("one", None, "local")]);
}
