//! What a project says to whoever works in it: files such as `AGENTS.md`, and the skills that it describes.
//!
//! Apart because these words are neither ours nor a person's order: each stands between fences, under the path that it is
//! from, and what it may change is said before.

use serde::Serialize;
use uwf_workflow::markdown::fenced;

use crate::quote;
use crate::templates::{PromptError, context, render};
use crate::views::{ProjectFileView, ProjectView, SkillView};

/// The longest path, name and description that are shown, in characters.
const PATH: usize = 300;
const NAME: usize = 80;
const DESCRIPTION: usize = 400;

#[derive(Default, Serialize)]
pub(crate) struct ProjectText {
    files: Vec<String>,
    skills: Vec<String>,
}
context!(ProjectText, "project");

#[derive(Default, Serialize)]
pub(crate) struct BelowText {
    files: Vec<String>,
}
context!(BelowText, "project_below");

/// The part of the system message; none where the project says nothing.
pub(crate) fn part(view: &ProjectView<'_>) -> Result<Option<String>, PromptError> {
    if view.files.is_empty() && view.skills.is_empty() {
        return Ok(None);
    }
    let skills = view.skills.iter().map(skill).collect();
    render(&ProjectText { files: view.files.iter().map(file).collect(), skills }).map(Some)
}

/// What is said of a directory when the first file below it is at hand: behind the result of that call.
///
/// # Errors
/// The template cannot be rendered.
pub fn project_below(files: &[ProjectFileView<'_>]) -> Result<String, PromptError> {
    render(&BelowText { files: files.iter().map(file).collect() })
}

fn file(view: &ProjectFileView<'_>) -> String {
    let cut = if view.is_cut { " (its beginning: there is no room for more)" } else { "" };
    format!("{}{cut}:\n{}", quote::inline(view.path, PATH), fenced("markdown", view.text))
}

fn skill(view: &SkillView<'_>) -> String {
    let words = view.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = quote::cut(&words, DESCRIPTION, " ");
    format!("{} ({}): {words}", quote::inline(view.name, NAME), quote::inline(view.path, PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: ProjectFileView<'_> =
        ProjectFileView { path: "src/AGENTS.md", text: "Use tabs.\n```\nsh\n```\n", is_cut: false };

    #[test]
    fn a_project_without_words_has_no_part() {
        assert_eq!(part(&ProjectView::default()).unwrap(), None);
    }

    #[test]
    fn files_stand_under_their_paths_and_skills_in_a_list() {
        let skill =
            SkillView { path: ".claude/skills/pdf/SKILL.md", name: "pdf", description: "Fill in\nforms" };
        let long = ProjectFileView { is_cut: true, text: "x", ..FILE };
        let view = ProjectView { files: &[FILE, long], skills: &[skill] };
        insta::assert_snapshot!("project", part(&view).unwrap().unwrap());
        let skills_alone = part(&ProjectView { files: &[], ..view }).unwrap().unwrap();
        assert!(!skills_alone.contains("Follow it"), "{skills_alone}");
    }

    #[test]
    fn what_is_below_is_told_shortly() {
        insta::assert_snapshot!("project_below", project_below(&[FILE]).unwrap());
    }
}
