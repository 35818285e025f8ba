//! `uwf watch THREAD --remote NAME`: what happens with a thread of a remote, as it happens.

use std::time::Duration;

use serde_json::Value;
use uwf_fleet::queue::{self, News};
use uwf_fleet::schema::Access;
use uwf_fleet::view::{self, RemoteThread, ThreadEvent};

use super::Place;
use crate::remote::at;
use crate::shell::{CliError, Format, OK, Session, render};

/// How long nobody looks by himself.
const LOOK: Duration = Duration::from_secs(5);

/// How many events are asked for at once.
const BATCH: usize = 500;

/// Tells the steps of a thread until nobody goes on with it.
pub(in crate::uwf) fn watch(session: &mut Session<'_>, remote: &str, thread: &str) -> Result<u8, CliError> {
    let mut place = Place::find(session, remote, thread, Access::Read)?;
    let name = place.remote.name.clone();
    let failed = at(&name);
    queue::listen(&mut place.connection, News::Thread).map_err(&failed)?;
    let mut seen = view::last_event(&mut place.connection, &place.thread).map_err(&failed)?;
    tell_standing(session, &mut place)?;
    loop {
        let happened = view::events(&mut place.connection, &place.thread, (seen, BATCH)).map_err(&failed)?;
        for event in &happened {
            seen = event.id;
            tell(session, event)?;
        }
        // Read after the events: what it says has been told.
        let row = view::thread(&mut place.connection, &place.thread).map_err(&failed)?;
        let row = row.ok_or_else(|| place.unknown())?;
        if happened.is_empty() && !matches!(row.state.as_str(), "ready" | "leased") {
            tell_standing(session, &mut place)?;
            return Ok(OK);
        }
        if happened.is_empty() {
            queue::wait(&mut place.connection, LOOK).map_err(&failed)?;
        }
    }
}

fn is_json(session: &Session<'_>) -> bool {
    session.ui.explicit_format && session.ui.format == Format::Json
}

fn tell_standing(session: &mut Session<'_>, place: &mut Place) -> Result<(), CliError> {
    let row = view::thread(&mut place.connection, &place.thread).map_err(at(&place.remote.name))?;
    let row = row.ok_or_else(|| place.unknown())?;
    let line = match is_json(session) {
        true => json(&row),
        false => standing(&row),
    };
    session.ui.print(&format!("{line}\n"))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("rows and events are JSON")
}

fn standing(row: &RemoteThread) -> String {
    let who = match (&row.current_role, &row.worker) {
        (_, Some(worker)) if row.state == "leased" => format!(", {worker} works on it"),
        (Some(role), _) if row.status == "idle" => format!(", next: {role}"),
        _ => String::new(),
    };
    let why = row.suspend_message.as_deref().or(row.reason.as_deref());
    let why = why.map(|why| format!(": {}", render::first_line(why, 200)));
    format!("{} {}{who}{}", row.thread, row.state, why.unwrap_or_default())
}

fn tell(session: &mut Session<'_>, event: &ThreadEvent) -> Result<(), CliError> {
    if is_json(session) {
        return session.ui.print(&format!("{}\n", json(event)));
    }
    let time = render::time(u64::try_from(event.at).unwrap_or(0));
    session.ui.print(&format!("{time}  {}\n", line(event)))
}

fn line(event: &ThreadEvent) -> String {
    let text = |name: &str| event.data.get(name).and_then(Value::as_str).unwrap_or_default();
    let by = event.worker.as_deref().map(|worker| format!(" ({worker})")).unwrap_or_default();
    match event.kind.as_str() {
        "step" => {
            let cost = event.data.get("cost_usd").and_then(Value::as_f64).filter(|cost| *cost > 0.0);
            let cost = cost.map(|cost| format!(", {}", render::cost(Some(cost), 0)));
            let to = text("to");
            match text("role") {
                "" => format!("{}{by}", text("status")),
                role => format!("✓ {role} {to}{}, now {}{by}", cost.unwrap_or_default(), text("state")),
            }
        }
        kind => match text("reason") {
            "" => format!("{kind}{by}"),
            reason => format!("{kind}{by}: {}", render::first_line(reason, 200)),
        },
    }
}
