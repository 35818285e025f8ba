//! `uwf cost`: what runs cost, added up.

use super::args::Cost;
use super::time_argument::time_argument;
use crate::shell::{CliError, Column, Format, Session, Text, render};
use uwf_engine::view::{Spent, SpentSum};

pub(super) fn cost(session: &mut Session<'_>, what: &Cost) -> Result<u8, CliError> {
    let thread = what.thread.as_deref().map(|thread| session.thread_id(thread)).transpose()?;
    let store = session.store()?;
    let since = what.since.as_deref().map(|text| time_argument(text, store.now())).transpose()?;
    let spent = Spent::of(&store, thread.as_ref(), since, what.by.into())?;
    for (thread, why) in &spent.unread {
        session.ui.warn(&format!("thread {thread} cannot be read, and is left out: {why}"));
    }
    let exit = session.ui.result(&spent, || text(&spent))?;
    if session.ui.format == Format::Text {
        remarks(session, &spent);
    }
    Ok(exit)
}

fn text(spent: &Spent) -> Text {
    let mut rows: Vec<[String; 8]> =
        spent.rows.iter().map(|row| cells(row.name.as_deref().unwrap_or("unknown"), &row.sum)).collect();
    if spent.rows.len() != 1 {
        rows.push(cells("total", &spent.total));
    }
    let name = match spent.by {
        "role" => "ROLE",
        "workflow" => "WORKFLOW",
        "thread" => "THREAD",
        "day" => "DAY (UTC)",
        _ => "MODEL",
    };
    let columns = [
        Column::new(name),
        Column::new("COST").rank(1),
        Column::new("RUNS").rank(2),
        Column::new("FAILED").rank(5),
        Column::new("TURNS").rank(6),
        Column::new("TOKENS IN").rank(3),
        Column::new("CACHED").rank(7),
        Column::new("OUT").rank(4),
    ];
    render::table(columns, &rows).into()
}

fn cells(name: &str, sum: &SpentSum) -> [String; 8] {
    let some = |number: u64| if number == 0 { String::new() } else { render::thousands(number) };
    [
        name.to_owned(),
        render::cost(sum.cost, sum.unpriced_runs),
        render::thousands(sum.runs),
        some(sum.failed_runs),
        some(sum.turns),
        some(sum.input_tokens),
        some(sum.cached_tokens),
        some(sum.output_tokens),
    ]
}

fn remarks(session: &mut Session<'_>, spent: &Spent) {
    if spent.total.runs == 0 {
        session.ui.note(match spent.since {
            Some(_) => "no agent has played since then",
            None => "no agent has played yet",
        });
    }
    if spent.total.unpriced_runs > 0 {
        let runs = render::count(spent.total.unpriced_runs, "run");
        session.ui.note(&format!(
            "the price of the model of {runs} is not known, which `?` stands for: `prices:` in agents/builtin.yaml sets it \
             for runs to come"
        ));
    }
}
