//! `uwf config edit`: the file in the editor of whoever edits it. What is written counts once it is valid.

use std::fs;
use std::io::Write;
use std::path::Path;

use uwf_engine::config::{self, ConfigError};
use uwf_engine::home::make_private;
use uwf_engine::view::ConfigEdited;
use uwf_store::atomic_file::AtomicFile;

use crate::shell::{CliError, Session, editor};

/// What is being written, beside the configuration; it stays there as long as it is not valid.
const DRAFT: &str = "config.edited.yaml";

/// Where there is no configuration yet.
const EMPTY: &str = "\
# The configuration of uwf. `uwf setup` connects a model; what can stand here, for instance:
#
# defaultModel: large
# providers: { mine: { baseUrl: https://llm.example/v1, apiKeyEnv: MY_KEY } }
# models: { large: { provider: mine, name: large-model } }
";

pub(super) fn edit(session: &mut Session<'_>) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    let (file, draft) = (config::path(&home), home.join(DRAFT));
    let old = config::written(&home)?;
    if draft.exists() {
        session.ui.note(&format!("this is what was refused last time, {}", draft.display()));
    } else {
        begin(&home, &draft, old.as_deref().unwrap_or(EMPTY))
            .map_err(|error| CliError::said(format!("cannot write {}", draft.display()), error))?;
    }
    editor::edit(session, &draft).inspect_err(|_| forget(&draft, old.as_deref()))?;
    let new = fs::read_to_string(&draft)
        .map_err(|error| CliError::said(format!("cannot read {}", draft.display()), error))?;
    let changed = new != old.as_deref().unwrap_or(EMPTY);
    if changed {
        config::replace(&home, old.as_deref(), &new, &draft).map_err(|error| refused(error, &draft))?;
    }
    fs::remove_file(&draft).ok();
    let view = ConfigEdited { path: file.display().to_string(), changed };
    let exit = session.ui.result(&view, || match changed {
        true => format!("{} is as you wrote it\n", view.path),
        false => "nothing changed\n".to_owned(),
    })?;
    if changed {
        let unknown = config::load(&home)?.unknown_names();
        for warning in config::unread(&home)?.iter().chain(&unknown) {
            session.ui.warn(warning);
        }
    }
    Ok(exit)
}

/// For its owner alone, as the configuration: there may be keys in it.
fn begin(home: &Path, draft: &Path, text: &str) -> std::io::Result<()> {
    make_private(home)?;
    let mut file = AtomicFile::create(draft, 0o600)?;
    file.write_all(text.as_bytes())?;
    file.persist_whole()
}

/// What nobody has written anything into is not kept.
fn forget(draft: &Path, old: Option<&str>) {
    if fs::read_to_string(draft).is_ok_and(|text| text == old.unwrap_or(EMPTY)) {
        fs::remove_file(draft).ok();
    }
}

fn refused(error: ConfigError, draft: &Path) -> CliError {
    let kept = format!("what you wrote is in {}", draft.display());
    match error {
        ConfigError::Changed { .. } => CliError::from(error)
            .with_hint(format!("{kept}; `uwf config edit` once more puts it in the place of the other")),
        error => CliError::from(error).with_hint(format!("{kept}; `uwf config edit` goes on with it")),
    }
}
