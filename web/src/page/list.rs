//! All threads, with filters.

use maud::{Markup, html};

use super::blocks::chip;
use super::{Head, address, page};
use crate::read::{ListFilter, ListPage, ListRow};
use crate::text::{age, first_line, rfc3339, visible};

/// What a list can be narrowed to: the word of the address, and what it is called.
const STATUSES: [(&str, &str); 8] = [
    ("", "All"),
    ("active", "Active"),
    ("running", "Running"),
    ("suspended", "Waiting"),
    ("idle", "Idle"),
    ("paused", "Paused"),
    ("end", "Ended"),
    ("cancelled", "Cancelled"),
];

/// The page of the list.
pub(crate) fn list(found: &ListPage, filter: &ListFilter, now: u64, version: &str) -> Markup {
    let content = html! {
        h1 .quiet { "Threads" }
        (filters(found, filter))
        div #live-list data-live="" {
            @if found.rows.is_empty() { p .empty { (nothing(filter)) } }
            ol .threads { @for row in &found.rows { (thread(row, now)) } }
            @for (thread, why) in &found.unread {
                p .trouble { (thread) " cannot be read: " (visible(why)) }
            }
            @if let Some(more) = found.more {
                p .more { a href=(of(&ListFilter { before: more.to_string(), ..filter.clone() })) { "Older threads" } }
            }
        }
    };
    page(&Head { title: "Threads", live: Some(("list", version)) }, &content)
}

fn nothing(filter: &ListFilter) -> Markup {
    html! {
        @if filter.is_set() { "No thread is like that. " a href="/" { "All threads" } }
        @else { "There is no thread yet. Start one with " code { "uwf thread start WORKFLOW -p TEXT" } "." }
    }
}

/// The address of a list.
fn of(filter: &ListFilter) -> String {
    let ListFilter { status, workflow, dir, q, before } = filter;
    let parts = [("status", status), ("workflow", workflow), ("dir", dir), ("q", q), ("before", before)];
    let parts = parts.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<String> =
        parts.map(|(name, value)| format!("{name}={}", address::escaped(value))).collect();
    if query.is_empty() { "/".to_owned() } else { format!("/?{}", query.join("&")) }
}

fn filters(found: &ListPage, filter: &ListFilter) -> Markup {
    let mut workflows: Vec<&String> = found.workflows.iter().collect();
    if !filter.workflow.is_empty() && !found.workflows.contains(&filter.workflow) {
        workflows.push(&filter.workflow);
    }
    html! {
        nav .tabs aria-label="Status" {
            @for (word, name) in STATUSES {
                @let to = ListFilter { status: word.to_owned(), before: String::new(), ..filter.clone() };
                a href=(of(&to)) aria-current=[(filter.status == word).then_some("page")] { (name) }
            }
        }
        form .filters method="get" action="/" role="search" {
            @if !filter.status.is_empty() { input type="hidden" name="status" value=(filter.status); }
            label { span { "Text" } input #search type="search" name="q" value=(visible(&filter.q)) placeholder="task, workflow, id"; }
            label {
                span { "Workflow" }
                select name="workflow" {
                    option value="" { "any" }
                    @for name in workflows {
                        option value=(name) selected[*name == filter.workflow] { (visible(name)) }
                    }
                }
            }
            label { span { "Directory" } input type="text" name="dir" value=(visible(&filter.dir)) placeholder="/home/me/project"; }
            button type="submit" { "Show" }
        }
    }
}

fn thread(row: &ListRow, now: u64) -> Markup {
    let id = row.thread.to_string();
    let status = if row.failed { "failed" } else { row.status };
    html! {
        li .thread id={ "thread-" (id) } {
            (chip(status))
            div .what {
                a .row href=(address::thread(&row.thread)) { (first_line(&row.task, 140)) }
                p .small {
                    strong { (visible(&row.workflow)) }
                    @if let Some(role) = &row.role { " · " (visible(role)) }
                    @if let Some(reason) = &row.reason { " · " span .reason { (visible(reason)) } }
                }
                p .small .faint { span .path { (visible(&row.dir)) } " " code title=(id) { "…" (&id[id.len() - 8..]) } }
            }
            span .ages {
                time datetime=(rfc3339(row.updated)) title={ "moved " (rfc3339(row.updated)) } { (age(row.updated, now)) " ago" }
            }
        }
    }
}
