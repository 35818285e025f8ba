//! A workflow for tests of threads, with every way on from a step, and agents that need no model.

use crate::process::wait_for;
use crate::site::{AGENT, Site};

const WORKFLOW: &str = "\
name: rounds
description: One role, round after round
roles:
  worker:
    goal: You work.
    frontmatter:
      type: object
      required: [$status]
      properties: { $status: { enum: [more, ask, done] }, n: { type: integer } }
graph:
  $START:
    new: { role: worker, prompt: Begin. }
    resume: { role: worker, prompt: Begin again. }
  worker:
    more: { role: worker, prompt: Go on. }
    ask: { role: $SUSPEND, prompt: Which one? }
    done: { role: $END, prompt: Done. }
";

/// A thread of that workflow on which nothing was done yet.
pub(crate) fn start(site: &Site) -> String {
    let workflow = site.write("rounds.yaml", WORKFLOW);
    site.start(&workflow, "the task")
}

/// The agent that always gives this frontmatter.
pub(crate) fn says(site: &Site, fields: &str) -> String {
    let name = format!("{}.yaml", fields.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let script = format!("turns:\n  - content: |\n      ---\n      {fields}\n      ---\n      Body.\n");
    format!("{AGENT} --mock {}", site.write(&name, &script))
}

/// The agent that never ends by itself; its file `up` is there once it runs.
pub(crate) fn sleeps(site: &Site) -> String {
    format!("sh {}", site.write("sleeps.sh", "echo $$ > up; exec sleep 300\n"))
}

/// The process of [`sleeps`], once it runs.
pub(crate) fn sleeper(site: &Site) -> String {
    let file = site.workspace().join("up");
    wait_for(|| file.metadata().is_ok_and(|file| file.len() > 1));
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}
