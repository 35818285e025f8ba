//! The page of a remote, where real workers have run threads: one ended, one asks for what no worker offers, one is dead.

use uwf_fleet::queue::{Terms, submit};
use uwf_fleet::sync;

use super::*;
use crate::workers::fleet::{Fleet, now};

#[test]
fn a_remote_in_a_browser() {
    let (Some(chromium), Some(fleet)) = (chromium(), Fleet::new(2)) else { return };
    let ended = fleet.submit(1)[0];
    let works = fleet.machine();
    assert_eq!(works.start(&["--until-empty"]).wait(), 0);
    let dead = fleet.submit(1)[0];
    let once = "UPDATE uwf.thread SET max_attempts = 1 WHERE state = 'ready'";
    fleet.postgres.client().execute(once, &[]).unwrap();
    let fails = fleet.machine().played_by(&format!("cat >&2 <<'E'\n{HOSTILE}\nE\nexit 1\n"));
    assert_eq!(fails.start(&["--once"]).wait(), 0);
    let store = uwf_engine::open_store(&fleet.submitter.home().join(".ocas"), now).unwrap();
    let waits: ThreadId = fleet.submitter.start("chain.yaml", "count").parse().unwrap();
    let mut at = fleet.connection();
    sync::begin(&mut at, &store, &waits, Some("one")).unwrap();
    submit(&mut at, &waits, &Terms { labels: vec![HOSTILE.to_owned()], ..Terms::default() }).unwrap();
    assert_eq!(fleet.column(&dead, "state"), "dead");
    let worker = works.start(&["--name", "w<b>1"]);
    wait_for(|| fleet.count("SELECT count(*) FROM uwf.worker") == 1);
    let served = Served::with(&works.site, &["--remote", "team"]);
    served.look(&works.site, &chromium, (&["remote"], &json!({ "ended": ended, "dead": dead })));
    worker.signal("-TERM");
    assert_eq!(worker.wait(), 0);
}
