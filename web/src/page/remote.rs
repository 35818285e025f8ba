//! What goes on at a remote: workers, what waits, leases, steps and their cost, threads that came to nothing.

use maud::{Markup, html};
use uwf_fleet::overview::{CostRow, DeadRow, LeaseRow, Overview, QueueRow, WorkerRow};

use super::evaluation::table;
use super::{Head, page};
use crate::chart;
use crate::text::{age, counted, duration, number, usd, visible};

/// The page of a remote; `found` says why where nothing is known.
pub(crate) fn remote(name: &str, found: &Result<Overview, String>, now: u64, version: &str) -> Markup {
    let content = html! {
        h1 { "Remote " (visible(name)) }
        div #live-remote data-live="" {
            @match found {
                Ok(found) => (overview(name, found, now)),
                Err(why) => { p .trouble { (visible(why)) } p .faint { "It is asked again while this page is open." } }
            }
        }
    };
    page(&Head { title: &format!("Remote {name}"), live: Some(("remote", version)) }, &content)
}

/// The page where no remote is shown.
pub(crate) fn no_remote() -> Markup {
    let content = html! {
        h1 { "Remote" }
        p .empty { "These pages are of this machine alone. " code { "uwf serve --remote NAME" } " shows a remote beside it." }
    };
    page(&Head { title: "Remote", live: None }, &content)
}

fn overview(name: &str, found: &Overview, now: u64) -> Markup {
    let waiting: u64 = found.queue.iter().map(|row| row.threads).sum();
    let oldest = found.queue.iter().map(|row| row.since).min();
    let states: Vec<String> =
        found.states.iter().map(|(state, count)| format!("{} {state}", number(*count))).collect();
    html! {
        p { "Team " strong { (visible(&found.team)) } ": " (counted(found.workers.len() as u64, "worker")) ", "
            (counted(waiting, "thread")) " waiting"
            @if let Some(oldest) = oldest { ", the first for " (age(oldest, now)) }
            "." @if !states.is_empty() { " Threads: " (states.join(", ")) "." } }
        h2 { "Workers" }
        @if found.workers.is_empty() { p .empty { "No worker is there. " code { "uwf worker --remote " (visible(name)) } " is one." } }
        @else { (table("Workers", &["Worker", "Machine", "Version", "Offers", "State", "#Running", "#Age", "#Heard of"], &found.workers.iter().map(|row| worker(row, now)).collect::<Vec<_>>())) }
        h2 { "Queue" }
        @if found.queue.is_empty() { p .empty { "Nothing waits." } }
        @else { (table("Queue", &["Asks for", "#Threads", "#First waits"], &found.queue.iter().map(|row| queue(row, now)).collect::<Vec<_>>())) }
        h2 { "Leases" }
        @if found.leases.is_empty() { p .empty { "No worker has a thread." } }
        @else { (table("Leases", &["Thread", "Workflow", "Role", "Worker", "#Attempt", "#Lease ends in"], &found.leases.iter().map(|row| lease(row, now)).collect::<Vec<_>>())) }
        h2 { "Steps" }
        div .charts { (chart::bars("Steps an hour, the last 24 hours", &found.hours)) }
        h2 { "Cost" }
        @if found.costs.is_empty() { p .empty { "No step was made in the last 14 days." } }
        @else { (table("Cost of each day", &["Day (UTC)", "Team", "#Steps", "#Cost"], &found.costs.iter().map(cost).collect::<Vec<_>>())) }
        h2 { "Dead threads" }
        @if found.dead.is_empty() { p .empty { "None." } }
        @else {
            (table("Dead threads", &["Thread", "Workflow", "Why", "#Ago"], &found.dead.iter().map(|row| dead(row, now)).collect::<Vec<_>>()))
            p { code { "uwf thread resume THREAD --remote " (visible(name)) } " has one tried again, "
                code { "uwf thread cancel THREAD --remote " (visible(name)) } " gives it up." }
        }
    }
}

fn labels(labels: &[String]) -> String {
    if labels.is_empty() { "anything".to_owned() } else { labels.join(", ") }
}

fn worker(row: &WorkerRow, now: u64) -> Vec<String> {
    let (running, parallel) = row.running;
    let offers = if row.labels.is_empty() { String::new() } else { row.labels.join(", ") };
    vec![
        row.name.clone(),
        row.host.clone(),
        row.version.clone(),
        offers,
        row.state.clone(),
        format!("{running} of {parallel}"),
        age(row.started, now),
        format!("{} ago", age(row.seen, now)),
    ]
}

fn queue(row: &QueueRow, now: u64) -> Vec<String> {
    vec![labels(&row.labels), number(row.threads), age(row.since, now)]
}

fn lease(row: &LeaseRow, now: u64) -> Vec<String> {
    let left = row.until.saturating_sub(now);
    let left = if left == 0 { "over".to_owned() } else { duration(left) };
    let (thread, workflow) = (row.thread.clone(), row.workflow.clone());
    vec![thread, workflow, row.role.clone(), row.worker.clone(), row.attempt.to_string(), left]
}

fn cost(row: &CostRow) -> Vec<String> {
    vec![row.day.clone(), row.team.clone(), number(row.steps), usd(row.usd)]
}

fn dead(row: &DeadRow, now: u64) -> Vec<String> {
    vec![row.thread.clone(), row.workflow.clone(), row.reason.clone(), age(row.at, now)]
}
