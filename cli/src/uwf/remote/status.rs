//! `uwf remote status`.

use uwf_fleet::schema::{self, Access, VERSIONS};
use uwf_fleet::view::{self, RemoteStatus, WorkerStatus};

use crate::remote::{at, named, open};
use crate::shell::{CliError, Column, Session, render};

/// How long a worker may be silent before it is said.
const SILENT: u64 = 120_000;

pub(super) fn status(session: &mut Session<'_>, name: Option<&str>) -> Result<u8, CliError> {
    let remote = named(session, name)?;
    let mut connection = open(session, &remote, Access::Read)?;
    let failed = at(&remote.name);
    let present = schema::ready(&mut connection, &VERSIONS, Access::Read).map_err(&failed)?;
    let url = remote.address.to_string();
    let status = view::status(&mut connection, (&remote.name, &url, present.version)).map_err(failed)?;
    session.ui.result(&status, || lines(&status))?;
    if !status.workers.is_empty() && session.ui.format == crate::shell::Format::Text {
        session.ui.print("\n")?;
        let table = workers(&status.workers);
        session.ui.print_text(table)?;
    }
    Ok(crate::shell::OK)
}

fn lines(status: &RemoteStatus) -> String {
    let counts = status.threads.iter().map(|row| format!("{} {}", row.count, row.state));
    let counts: Vec<String> = counts.collect();
    let none = |text: String, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { text };
    let mut text = format!(
        "remote     {}: {}\nschema     version {}\nteam       {}\nthreads    {}\n",
        status.name,
        status.url,
        status.schema,
        status.team,
        none(counts.join(", "), "none"),
    );
    if status.queue_age_ms > 0 {
        text += &format!("waiting    {} for a worker\n", render::duration(status.queue_age_ms));
    }
    if let Some(budget) = &status.budget {
        let over = if budget.is_spent { ": no further step is begun" } else { "" };
        let (spent, limit, period) = (budget.spent_usd, budget.limit_usd, &budget.period);
        text += &format!("budget     ${spent:.2} of ${limit:.2} ({period}){over}\n");
    }
    if status.workers.is_empty() {
        text += &format!("workers    none; `uwf worker --remote {}` runs one\n", status.name);
    }
    for dead in &status.dead {
        let reason = render::first_line(dead.reason.as_deref().unwrap_or("no reason given"), 100);
        text += &format!(
            "dead       {} {}: {reason}\n           try it again: uwf thread resume {} --remote {}\n",
            dead.thread, dead.workflow_name, dead.thread, status.name
        );
    }
    text
}

fn workers(workers: &[WorkerStatus]) -> crate::shell::Table {
    let cells: Vec<_> = workers.iter().map(cells).collect();
    render::table(
        [
            Column::new("WORKER"),
            Column::new("STATE"),
            Column::new("RUNS"),
            Column::new("SEEN").rank(1),
            Column::new("UP").rank(4),
            Column::new("VERSION").rank(3),
            Column::new("HOST").rank(2),
            Column::new("LABELS").rank(5),
        ],
        &cells,
    )
}

fn cells(worker: &WorkerStatus) -> [String; 8] {
    let state = match worker.seen_ms_ago > SILENT {
        true => "silent".to_owned(),
        false => worker.state.clone(),
    };
    [
        worker.name.clone(),
        state,
        format!("{} of {}", worker.running, worker.parallel),
        format!("{} ago", render::age(worker.seen_ms_ago)),
        render::age(worker.started_ms_ago),
        worker.version.clone(),
        worker.host.clone(),
        worker.labels.join(" "),
    ]
}
