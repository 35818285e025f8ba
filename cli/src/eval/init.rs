//! `uwf-eval init`: a task that runs at once, without a model.
//!
//! Nothing that is there is ever written over.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Serialize;
use uwf_eval::record::is_segment;
use uwf_store::atomic_file::AtomicFile;

use super::args::Init;
use crate::shell::{CliError, Session};

/// The files: where, what, and whether it is run.
const FILES: [(&str, &str, bool); 7] = [
    ("task.yaml", include_str!("init/task.yaml"), false),
    ("workflow.yaml", include_str!("init/workflow.yaml"), false),
    ("mock.yaml", include_str!("init/mock.yaml"), false),
    ("fixture/double.sh", include_str!("init/double.sh"), false),
    ("fixture/test.sh", include_str!("init/test.sh"), false),
    ("judges/small.sh", include_str!("init/small.sh"), true),
    ("schemas/small.json", include_str!("init/small.json"), false),
];

/// What was written, and how it is run.
#[derive(Debug, Serialize)]
struct InitView {
    name: String,
    files: Vec<String>,
    /// The command that runs it without a model.
    run: String,
}

pub(super) fn init(session: &mut Session<'_>, args: &Init) -> Result<u8, CliError> {
    let dir = session.cwd.join(&args.dir);
    let shown = args.dir.display();
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    if !is_segment(&name) {
        return Err(CliError::user(format!("a task cannot be called `{name}`"))
            .with_hint("letters, digits, `.`, `_` and `-` alone"));
    }
    if dir.symlink_metadata().is_ok() {
        return Err(
            CliError::user(format!("{shown} is there already")).with_hint("name a directory that is not")
        );
    }
    for (file, text, runs) in FILES {
        let path = dir.join(file);
        write(&path, &text.replace("NAME", &name), runs).map_err(|error| {
            CliError::said(format!("cannot write {}", path.display()), error)
                .with_hint("name a directory where you may write")
        })?;
    }
    let files = FILES.iter().map(|(file, ..)| format!("{shown}/{file}")).collect();
    let view = InitView { name, files, run: format!("uwf-eval run {shown} --offline --count 5") };
    session.ui.result(&view, || {
        let files: String = view.files.iter().map(|file| format!("{file}\n")).collect();
        format!(
            "{files}\nRun it with the script, without a model:\n  {}\n\nThen with a model: `uwf setup` connects one, and leave --offline out.\n",
            view.run
        )
    })
}

fn write(path: &Path, text: &str, runs: bool) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = AtomicFile::create(path, 0o666)?;
    file.write_all(text.as_bytes())?;
    file.persist_new()?;
    if runs { fs::set_permissions(path, Permissions::from_mode(0o755)) } else { Ok(()) }
}
