//! `uwf init`: a first workflow, with a script that plays it without a model, and the command that runs both.
//!
//! Nothing that is there is ever written over.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_engine::workflow;
use uwf_store::atomic_file::AtomicFile;
use uwf_workflow::{NAME_HINT, is_name};

use super::args::{Init, Template};
use crate::shell::{CliError, Session, Text};

/// Where workflows lie beside the work.
const DIRECTORY: &str = ".workflow";

impl Template {
    fn name(self) -> &'static str {
        match self {
            Template::Single => "single",
            Template::ReviewLoop => "review-loop",
            Template::Debate => "debate",
        }
    }

    /// The workflow and the script that plays it; in both, NAME stands for its name.
    fn texts(self) -> [&'static str; 2] {
        match self {
            Template::Single => [include_str!("init/single.yaml"), include_str!("init/single.mock.yaml")],
            Template::ReviewLoop => {
                [include_str!("init/review-loop.yaml"), include_str!("init/review-loop.mock.yaml")]
            }
            Template::Debate => [include_str!("init/debate.yaml"), include_str!("init/debate.mock.yaml")],
        }
    }

    /// A task that it could be given.
    fn task(self) -> &'static str {
        match self {
            Template::Single => "What is this directory for?",
            Template::ReviewLoop => "Make the tests pass",
            Template::Debate => "Tabs are better than spaces",
        }
    }
}

/// What was written, and how it is run.
#[derive(Debug, Serialize)]
struct InitView {
    name: String,
    template: &'static str,
    workflow: String,
    mock: String,
    /// The command that runs it without a model.
    run: String,
}

pub(super) fn init(session: &mut Session<'_>, args: &Init) -> Result<u8, CliError> {
    let name = args.name.as_deref().unwrap_or(args.template.name());
    if !is_name(name) || name.starts_with('.') || workflow::is_mock(name) {
        return Err(CliError::user(format!("`{name}` is no name of a workflow that can be found"))
            .with_hint(format!("{NAME_HINT}; `.` does not begin it, `.mock` does not end it")));
    }
    let files = [format!("{DIRECTORY}/{name}.yaml"), format!("{DIRECTORY}/{name}.mock.yaml")];
    let above = hidden(&session.cwd);
    let named = files.each_ref().map(|file| (file.as_str(), session.cwd.join(file)));
    for (shown, path) in &named {
        if path.symlink_metadata().is_ok() {
            return Err(CliError::user(format!("{shown} is there already"))
                .with_hint("give the workflow another name: uwf init NAME"));
        }
    }
    for ((shown, path), text) in named.iter().zip(args.template.texts()) {
        write(path, &text.replace("NAME", name)).map_err(|error| {
            CliError::said(format!("cannot write {shown}"), error)
                .with_hint("change into a directory that you may write to")
        })?;
    }
    let [workflow, mock] = files;
    let run = format!("uwf run {name} -p \"{}\" --mock {mock}", args.template.task());
    let view = InitView { name: name.to_owned(), template: args.template.name(), workflow, mock, run };
    let exit = session.ui.result(&view, || told(&view))?;
    if let Some(above) = above {
        session.ui.warn(&format!(
            "workflows in {} are not found from here any more: the nearest {DIRECTORY} counts",
            above.display()
        ));
    }
    Ok(exit)
}

fn told(view: &InitView) -> Text {
    let InitView { workflow, mock, run, name, .. } = view;
    Text::from(format!(
        "{workflow}\n{mock}\n\nRun it with the script, without a model:\n  {run}\n\nThen with a model: `uwf setup` connects one, and leave \
         --mock out.\nIts graph: uwf workflow graph {name}\n"
    ))
}

/// The directory farther up whose workflows are hidden by one that is made here.
fn hidden(cwd: &Path) -> Option<PathBuf> {
    let found = workflow::directories(cwd).into_iter().next()?;
    (found.parent() != Some(cwd)).then_some(found)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().ok_or(ErrorKind::InvalidInput)?)?;
    let mut file = AtomicFile::create(path, 0o666)?;
    file.write_all(text.as_bytes())?;
    file.persist_new()
}
