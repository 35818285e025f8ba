//! What became of what commands did to git, in sentences.

use std::io;

/// How many lines are shown of many.
const MAX_LINES: usize = 20;

/// What was undone, and what stands.
#[derive(Clone, Debug, Default)]
pub struct GitReport {
    undone: Vec<String>,
    standing: Vec<String>,
}

impl GitReport {
    pub(super) fn len(&self) -> usize {
        self.undone.len() + self.standing.len()
    }

    /// Something was undone, or stands because that failed.
    pub(super) fn record(&mut self, what: &str, failed: Option<&io::Error>) {
        match failed {
            None => self.undone.push(format!("undone: {what}")),
            Some(error) => self.stands(what, &error.to_string()),
        }
    }

    /// Something stands.
    pub(super) fn stands(&mut self, what: &str, why: &str) {
        self.standing.push(format!("not undone: {what}: {why}"));
    }

    /// Something that is neither undone nor stands.
    pub(super) fn note(&mut self, what: &str) {
        self.undone.push(what.to_owned());
    }

    /// Something was not looked at.
    pub(super) fn missed(&mut self, what: &str) {
        self.standing.push(format!("not looked at: {what}"));
    }

    /// What stands; few of many.
    pub fn standing(&self) -> Vec<String> {
        few(self.standing.clone())
    }

    /// Everything, first what stands; few of many.
    pub fn lines(self) -> Vec<String> {
        few(self.standing.into_iter().chain(self.undone).collect())
    }
}

/// The note for a model that a change of git's hooks or configuration does not stand, why, and what to do instead; `who` made
/// it. Empty where nothing was undone.
pub(crate) fn told(who: &str, undone: &[String]) -> String {
    if undone.is_empty() {
        return String::new();
    }
    format!(
        "[git: {}. {who} may not change which programs git runs, in any way: say in your answer what a person should \
         set, or that it is needed: people allow it by `sandbox: {{ gitPrograms: true }}` in agents/builtin.yaml. Other \
         configuration stands]\n",
        undone.join("; ")
    )
}

fn few(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > MAX_LINES {
        let more = lines.split_off(MAX_LINES).len();
        lines.push(format!("and {more} more"));
    }
    lines
}
