//! Files that the steps of a called thread have made.

use uwf_engine::fixture::FLOW;
use uwf_engine::{thread, workflow};

use super::*;

#[test]
fn files_of_a_called_thread_stay_when_a_later_step_of_it_fails() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (place, from) = (Place::in_memory(), tempfile::tempdir().unwrap());
    let store = place.store();
    let outer = FLOW.replacen("name: flow", "name: outer", 1);
    fs::write(place.project().join(".workflows/outer.yaml"), outer).unwrap();
    let outer = workflow::resolve(&store, "outer", &place.project()).unwrap().ensure_stored(&store).unwrap();
    let thread = thread::start(&store, &outer, "A text.", place.project().to_str().unwrap()).unwrap();
    let workspace = snapshot_of(&store, from.path(), &Options::default()).unwrap().0;
    sync::begin(&mut at, &store, &thread, Some("writer")).unwrap();
    crate::nodes::put(&mut at, &store, (&workspace.roots(), &mut Default::default())).unwrap();
    queue::submit(&mut at, &thread, &Terms { workspace, ..Terms::default() }).unwrap();

    let visits = Mutex::new(0);
    let (a, b) = (Machine::new(&[]), Machine::new(&[]));
    let told = a.turn_of(&postgres, Some("flow"), &|cwd| {
        let mut visits = visits.lock().unwrap();
        *visits += 1;
        if *visits == 2 {
            return json!("no model");
        }
        fs::write(cwd.join("made"), "by the first step").unwrap();
        again()
    });
    assert!(told[0].ends_with("cannot go on") && told[1] == "handed back", "{told:?}");
    assert_eq!(column(&mut at, "steps", &thread), "0", "the caller has made none");
    hurry(&mut at);
    let told = b.turn_of(&postgres, Some("flow"), &|cwd| {
        *visits.lock().unwrap() += 1;
        assert_eq!(fs::read_to_string(cwd.join("made")).unwrap(), "by the first step");
        done()
    });
    assert_eq!(told, ["done"]);
    assert_eq!((*visits.lock().unwrap(), column(&mut at, "steps", &thread)), (3, "1".to_owned()));
}
