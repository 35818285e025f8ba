//! `uwf remote set`: where the large pieces of a team are kept.

use serde_json::json;
use uwf_fleet::objects;
use uwf_fleet::schema::Access;

use crate::remote::{at, named, open};
use crate::shell::{CliError, Session};

pub(super) fn objects(
    session: &mut Session<'_>,
    remote: &str,
    team: Option<&str>,
    url: Option<&str>,
) -> Result<u8, CliError> {
    let remote = named(session, Some(remote))?;
    let mut connection = open(session, &remote, Access::Write)?;
    let team = team.unwrap_or(connection.team()).to_owned();
    let before = objects::url_of(connection.client(), &team).map_err(at(&remote.name))?;
    let now = objects::set(&mut connection, &team, url).map_err(at(&remote.name))?;
    let there = objects::count(connection.client(), &team).map_err(at(&remote.name))?;
    let view = json!({ "team": team, "objects": now });
    let exit = session.ui.result(&view, || match &now {
        Some(url) => format!("{team}: nodes over 256 KiB go to {url}\n"),
        None => format!("{team}: all nodes go to the database\n"),
    })?;
    if there > 0 && now != before {
        let at = before.unwrap_or_else(|| "the store that was set before".to_owned());
        session.ui.warn(&format!("{there} nodes have their contents in {at}"));
        session.ui.hint("copy these objects to the same keys of the new store, or set it back, before somebody needs them");
    }
    Ok(exit)
}
