//! The page of a remote.

use std::sync::atomic::{AtomicUsize, Ordering};

use uwf_fleet::overview::{CostRow, DeadRow, LeaseRow, Overview, QueueRow, WorkerRow};

use super::*;
use crate::Remote;

/// Tells what it was given, and counts how often.
struct Told(Result<Overview, String>, Arc<AtomicUsize>);

impl Remote for Told {
    fn name(&self) -> &str {
        "lab"
    }
    fn overview(&self) -> Result<Overview, String> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.clone()
    }
}

fn hostile() -> Overview {
    let text = || HOSTILE.to_owned();
    let worker = WorkerRow {
        name: text(),
        host: text(),
        version: "1".into(),
        labels: vec![text()],
        state: "working".into(),
        running: (1, 4),
        started: 1,
        seen: 2,
    };
    let lease = LeaseRow {
        thread: text(),
        worker: text(),
        workflow: text(),
        role: text(),
        attempt: 2,
        until: u64::MAX,
    };
    Overview {
        team: text(),
        workers: vec![worker],
        queue: vec![QueueRow { labels: vec![text()], threads: 1234, since: 1 }],
        leases: vec![lease],
        states: vec![("ready".into(), 1234)],
        hours: (0..24).map(|hour| (hour * 3_600_000, hour)).collect(),
        costs: vec![CostRow { team: text(), day: "2026-11-24".into(), steps: 3, usd: 0.5 }],
        dead: vec![DeadRow { thread: text(), workflow: text(), reason: text(), at: 1 }],
    }
}

fn with(found: Result<Overview, String>) -> (Fixture, Arc<AtomicUsize>) {
    let (mut fixture, asked) = (Fixture::new(), Arc::default());
    let site = Site::new(fixture.place.store(), fixture.place.homes(), None, Box::new(fixture.noted.clone()));
    let site = site.with_remote(Box::new(Told(found, Arc::clone(&asked))), || 1_000);
    fixture.app = App::new(site, fixture.app.access.clone(), fixture.app.address);
    (fixture, asked)
}

#[tokio::test]
async fn a_remote_is_shown_and_is_not_asked_for_each_page() {
    let (fixture, asked) = with(Ok(hostile()));
    let (status, page) = fixture.get("/remote").await;
    assert_eq!(status, StatusCode::OK);
    for text in [
        "1,234",
        "1 of 4",
        "$0.5000",
        "<svg",
        "data-topic=\"remote\"",
        "uwf thread resume THREAD --remote lab",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<script>") && !page.contains("<img") && !page.contains('\u{202e}'));
    fixture.get("/remote").await;
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let (status, _, _) = fixture.ask(request("GET", "/remote", &[], "")).await;
    assert_ne!(status, StatusCode::OK, "without a session");
}

#[tokio::test]
async fn a_remote_that_does_not_answer_and_none_at_all_are_told() {
    let (fixture, _) = with(Err(HOSTILE.to_owned()));
    let (status, page) = fixture.get("/remote").await;
    assert!(status == StatusCode::OK && page.contains("asked again") && !page.contains("<img"), "{page}");
    let (status, page) = Fixture::new().get("/remote").await;
    assert!(status == StatusCode::OK && page.contains("uwf serve --remote NAME"), "{page}");
}
