//! Before any command: what the oldest design left in `$UWF_HOME` becomes variables, and people are told.

use super::args::Noun;
use crate::shell::Session;
use uwf_engine::legacy;

/// Whether a command may find something to take over: those that only tell or look change nothing.
pub(super) fn concerns(noun: &Noun) -> bool {
    !matches!(
        noun,
        Noun::Doctor(_)
            | Noun::Completions(_)
            | Noun::Man(_)
            | Noun::Prompt(_)
            | Noun::Skill(_)
            | Noun::Log(_)
            | Noun::Models(_)
            | Noun::Agents(_)
            | Noun::Init(_)
            | Noun::Remote(_)
    )
}

/// Never fails a command for the sake of files that are none of its business: what is wrong with them is a warning.
pub(super) fn take_over(session: &mut Session<'_>) {
    let Ok(homes) = session.homes() else { return };
    if !legacy::is_there(&homes.uwf) {
        return;
    }
    let store = match session.store() {
        Ok(store) => store,
        Err(error) => {
            let (home, why) = (homes.uwf.display(), error.message());
            return session.ui.warn(&format!("the old files in {home} are not taken over: {why}"));
        }
    };
    for outcome in legacy::migrate(&store, &homes.uwf) {
        match outcome {
            Ok(migrated) => {
                let (file, taken) = (migrated.file.display(), migrated.taken);
                let name = migrated.file.file_name().unwrap_or_default().to_string_lossy();
                let entries = if taken == 1 { "entry" } else { "entries" };
                session.ui.note(&format!("took over {taken} {entries} of {file}, now {name}.migrated"));
                for skipped in &migrated.skipped {
                    session.ui.warn(&format!("passed over in {file}: {skipped}"));
                }
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                session.ui.warn(&format!("{error}{}", cause.unwrap_or_default()));
            }
        }
    }
}
