//! `uwf thread list|show --remote NAME`.

use uwf_fleet::schema::Access;
use uwf_fleet::view::{self, RemoteThread, ThreadQuery};

use super::Place;
use crate::remote::{at, named, open};
use crate::shell::{CliError, Column, Format, OK, Session, Text, render};
use crate::uwf::args::{StatusWord, ThreadList};
use crate::uwf::time_argument::time_argument;

/// How many threads a person is shown who does not say how many.
const SHOWN: usize = 30;

pub(in crate::uwf::thread) fn list(
    session: &mut Session<'_>,
    remote: &str,
    which: &ThreadList,
) -> Result<u8, CliError> {
    let now = (session.clock)();
    let for_a_person = session.terminals.out && session.ui.format == Format::Text;
    let time = |text: &Option<String>| text.as_deref().map(|text| time_argument(text, now)).transpose();
    let query = ThreadQuery {
        statuses: statuses(which),
        after: time(&which.after)?,
        before: time(&which.before)?,
        skip: which.skip,
        take: which.take.or(for_a_person.then_some(SHOWN)),
    };
    let remote = named(session, Some(remote))?;
    let mut connection = open(session, &remote, Access::Read)?;
    let rows = view::threads(&mut connection, &query).map_err(at(&remote.name))?;
    session.ui.result(&rows, || {
        let cells: Vec<_> = rows.iter().map(|row| cells(row, now)).collect();
        render::table(
            [
                Column::new("THREAD"),
                Column::new("AGE").rank(2),
                Column::new("STATUS").status().cut(16).rank(1),
                Column::new("WORKFLOW").cut(10).rank(4),
                Column::new("TASK").cut(16).rank(3),
                Column::new("WORKER").cut(10).rank(5),
                Column::new("STEPS").rank(7),
                Column::new("COST").rank(6),
            ],
            &cells,
        )
    })?;
    if rows.is_empty() && session.terminals.out {
        session.ui.note(&format!(
            "no such threads; `uwf thread list --all --remote {}` shows those of every status",
            remote.name
        ));
    }
    Ok(OK)
}

/// The statuses to show: by default of all that is not over.
fn statuses(which: &ThreadList) -> Vec<String> {
    let word = |word: &StatusWord| -> &[&str] {
        match word {
            StatusWord::Idle => &["idle"],
            StatusWord::Running => &["running"],
            StatusWord::Suspended => &["suspended"],
            StatusWord::Paused => &["paused"],
            StatusWord::End => &["end"],
            StatusWord::Cancelled => &["cancelled"],
            StatusWord::Active => &["idle", "running"],
        }
    };
    let chosen: Vec<&str> = match which.status.as_slice() {
        [] if which.all => vec![],
        [] => vec!["idle", "running", "suspended", "paused"],
        typed => typed.iter().flat_map(word).copied().collect(),
    };
    chosen.into_iter().map(str::to_owned).collect()
}

/// The status with its reason.
fn status(row: &RemoteThread) -> String {
    let reason = row.reason.as_deref().map(|reason| render::first_line(reason, 60));
    match (row.state.as_str(), reason) {
        ("dead", Some(reason)) => format!("dead: {reason}"),
        ("paused", Some(reason)) => format!("paused: {reason}"),
        ("waiting", _) => {
            format!("asks: {}", render::first_line(row.suspend_message.as_deref().unwrap_or_default(), 60))
        }
        ("ready", Some(reason)) => format!("ready again: {reason}"),
        ("ready" | "held" | "dead", _) => row.state.clone(),
        _ => row.status.clone(),
    }
}

fn cells(row: &RemoteThread, now: u64) -> [String; 8] {
    [
        row.thread.to_string(),
        render::age(now.saturating_sub(row.started_at)),
        status(row),
        row.workflow_name.clone(),
        row.task.clone(),
        row.worker.clone().filter(|_| row.state == "leased").unwrap_or_default(),
        row.steps.to_string(),
        cost(row.cost),
    ]
}

fn cost(usd: f64) -> String {
    if usd > 0.0 { render::cost(Some(usd), 0) } else { String::new() }
}

pub(in crate::uwf::thread) fn show(
    session: &mut Session<'_>,
    remote: &str,
    thread: &str,
) -> Result<u8, CliError> {
    let mut place = Place::find(session, remote, thread, Access::Read)?;
    let row = view::thread(&mut place.connection, &place.thread).map_err(at(&place.remote.name))?;
    let row = row.ok_or_else(|| place.unknown())?;
    let now = (session.clock)();
    session.ui.result(&row, || text(&row, &place.remote.name, now))
}

fn text(row: &RemoteThread, remote: &str, now: u64) -> Text {
    let mut lines = vec![
        ("thread", row.thread.to_string()),
        ("remote", remote.to_owned()),
        ("workflow", format!("{} ({})", row.workflow_name, row.workflow)),
        ("task", render::first_line(&row.task, 90)),
        ("started", format!("{} UTC", render::time(row.started_at))),
        ("head", row.head.clone()),
        ("status", row.status.clone()),
        ("state", row.state.clone()),
    ];
    lines.extend(row.reason.clone().map(|reason| ("reason", reason)));
    lines.extend(row.current_role.clone().map(|role| ("next role", role)));
    if let (Some(role), Some(message)) = (&row.suspended_role, &row.suspend_message) {
        lines.push(("asked by", role.clone()));
        lines.push(("question", message.clone()));
    }
    if let (Some(worker), Some(until)) = (&row.worker, row.lease_until) {
        let left = render::age(until.saturating_sub(now));
        lines.push(("worker", format!("{worker}, for {left} unless it says that it is there")));
    }
    lines.extend(row.wish.clone().map(|wish| ("wanted", wish)));
    if row.attempts > 0 {
        lines.push(("attempts", format!("{} of {}", row.attempts, row.max_attempts)));
    }
    lines.push(("steps", row.steps.to_string()));
    if row.cost > 0.0 || row.max_cost.is_some() {
        let of = row.max_cost.map(|most| format!(" of {}", render::cost(Some(most), 0)));
        lines.push(("cost", format!("{}{}", render::cost(Some(row.cost), 0), of.unwrap_or_default())));
    }
    if !row.labels.is_empty() {
        lines.push(("labels", row.labels.join(", ")));
    }
    lines.push(("workspace", row.workspace.to_string()));
    lines.push(("next", next(row, remote)));
    lines.iter().fold(Text::default(), |text, (name, value)| match *name {
        "status" => text.then(format!("{name:<10} ")).then_status(value).then("\n"),
        name => text.then(format!("{name:<10} {value}\n")),
    })
}

/// What to type next.
fn next(row: &RemoteThread, remote: &str) -> String {
    let thread = &row.thread;
    match row.state.as_str() {
        "waiting" => format!("uwf thread resume {thread} -p ANSWER --remote {remote}"),
        "paused" | "dead" | "held" if row.max_cost.is_some_and(|most| row.cost >= most) => {
            format!("uwf thread resume {thread} --remote {remote} --max-cost USD")
        }
        "paused" | "dead" | "held" => format!("uwf thread resume {thread} --remote {remote}"),
        "done" => format!("uwf thread read {thread} --remote {remote}"),
        _ => format!("uwf thread watch {thread} --remote {remote}"),
    }
}
