//! The project's own words: `AGENTS.md` and its like, from the root of the workspace down to the file at hand, and the skills
//! that it describes.
//!
//! Those of the root are in the system message, so that all visits of a role begin alike; those of a directory stand behind
//! the result of the first call that comes below it. All of it is recorded where it was said: a run that goes on, or is
//! played again, reads no file of it once more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_prompts::{ProjectFileView, ProjectView, PromptError, SkillView};
use uwf_tools::{FoundText, Toolbox};
use uwf_workflow::{frontmatter, yaml};

use crate::provider::message::ToolCall;

/// What all files together may have, in bytes.
const MOST: usize = 32 * 1024;

/// Less room is not worth a beginning.
const LEAST: usize = 200;

/// How much of the description of a skill is read, in bytes, and how many skills are told.
const SKILL_HEAD: usize = 8 * 1024;
const MAX_SKILLS: usize = 50;

/// The tools whose `path` is the file or the directory at hand.
const FILE_TOOLS: &[&str] = &["read_file", "write_file", "edit_file", "list_dir", "grep", "glob"];

/// Where a project's words are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectSettings {
    /// Names of files: of each directory the first one that is there. None turns it off.
    pub instructions: Vec<String>,
    /// Directories of skills, relative to the workspace.
    pub skills: Vec<String>,
}

/// What was told of a project when a run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectWords {
    /// Those of the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ProjectFile>,
    /// By their directories and names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
}

/// One file of a project's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectFile {
    /// Relative to the workspace.
    pub path: String,
    /// What it says.
    pub text: String,
    /// Whether there is more of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// Instructions for a kind of work, which are read when they are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Its `SKILL.md`, relative to the workspace.
    pub path: String,
    /// What it is called.
    pub name: String,
    /// When it is needed.
    pub description: String,
}

/// What a call brought of a directory's words: for the record, which has the text in the call's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldFile {
    /// Relative to the workspace.
    pub path: String,
    /// How long its text is.
    pub bytes: usize,
}

impl ProjectWords {
    /// Whether nothing was told.
    pub(crate) fn is_empty(&self) -> bool {
        *self == ProjectWords::default()
    }

    /// What the root says, and the skills where they can be read.
    pub(crate) fn find(tools: &Toolbox, settings: &ProjectSettings) -> ProjectWords {
        let files = file_in(tools, settings, "", MOST).into_iter().collect();
        let can_read = tools.specs().iter().any(|tool| tool.name == "read_file");
        let skills = if can_read { skills(tools, &settings.skills) } else { Vec::new() };
        ProjectWords { files, skills }
    }

    /// What the root says, for an agent that `reads` files of these names by itself: none of them is told it again, nor what one of
    /// them says or takes in.
    pub(crate) fn unread(
        text_of: &dyn Fn(&str, usize) -> Option<FoundText>,
        settings: &ProjectSettings,
        reads: &[String],
    ) -> ProjectWords {
        let found = |name: &String| {
            let found = text_of(name, MOST).filter(|found| !found.text.trim().is_empty())?;
            Some(ProjectFile { path: name.clone(), text: found.text, is_cut: found.is_cut })
        };
        let first = settings.instructions.iter().find_map(found);
        let is_read = |file: &ProjectFile| {
            let takes_in =
                |own: ProjectFile| own.text == file.text || own.text.contains(&format!("@{}", file.path));
            reads.contains(&file.path) || reads.iter().filter_map(found).any(takes_in)
        };
        let files = first.into_iter().filter(|file| !is_read(file)).collect();
        ProjectWords { files, skills: Vec::new() }
    }

    /// Hands them on as prompts take them.
    pub(crate) fn with_view<T>(&self, take: impl FnOnce(&ProjectView<'_>) -> T) -> T {
        let files: Vec<ProjectFileView<'_>> = self.files.iter().map(ProjectFile::view).collect();
        let skills: Vec<SkillView<'_>> = self.skills.iter().map(Skill::view).collect();
        take(&ProjectView { files: &files, skills: &skills })
    }
}

impl ProjectFile {
    fn view(&self) -> ProjectFileView<'_> {
        ProjectFileView { path: &self.path, text: &self.text, is_cut: self.is_cut }
    }
}

impl Skill {
    fn view(&self) -> SkillView<'_> {
        SkillView { path: &self.path, name: &self.name, description: &self.description }
    }
}

/// What was told of directories, by their paths: how much, and with which call's result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// What the root said, in bytes.
    root: usize,
    below: BTreeMap<String, (usize, String)>,
}

impl Told {
    /// The root's words are in the opening.
    pub(crate) fn opened(&mut self, words: &ProjectWords) {
        self.root = words.files.iter().map(|file| file.text.len()).sum();
    }

    /// The result of a call has these.
    pub(crate) fn with(&mut self, call: &str, files: &[ToldFile]) {
        for file in files {
            self.below.insert(directory(&file.path).to_owned(), (file.bytes, call.to_owned()));
        }
    }

    /// These results are not in the conversation any more.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.below.retain(|_, (_, call)| is_there(call));
    }

    /// Whether the directory's words are in the conversation.
    pub(crate) fn has(&self, directory: &str) -> bool {
        self.below.contains_key(directory)
    }

    /// How many more bytes may be told.
    fn room(&self) -> usize {
        let told: usize = self.below.values().map(|(bytes, _)| bytes).sum();
        MOST.saturating_sub(self.root + told)
    }

    /// Of what a call has met, as much as there is room for, as it is said.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub(crate) fn say(&self, met: Vec<ProjectFile>) -> Result<Option<(String, Vec<ToldFile>)>, PromptError> {
        let mut room = self.room();
        let mut said = Vec::new();
        for mut file in met.into_iter().filter(|file| !self.has(directory(&file.path))) {
            if room < file.text.len().min(LEAST) {
                break;
            }
            if file.text.len() > room {
                file.text.truncate(file.text.floor_char_boundary(room));
                file.is_cut = true;
            }
            room -= file.text.len();
            said.push(file);
        }
        if said.is_empty() {
            return Ok(None);
        }
        let views: Vec<ProjectFileView<'_>> = said.iter().map(ProjectFile::view).collect();
        let text = uwf_prompts::project_below(&views)?;
        let told = |file: &ProjectFile| ToldFile { path: file.path.clone(), bytes: file.text.len() };
        Ok(Some((text, said.iter().map(told).collect())))
    }
}

/// What the directories say that a call's path leads through, without those that are told.
pub(crate) fn met(
    tools: &Toolbox,
    settings: &ProjectSettings,
    call: &ToolCall,
    told: &Told,
) -> Vec<ProjectFile> {
    if settings.instructions.is_empty() || !FILE_TOOLS.contains(&call.name.as_str()) {
        return Vec::new();
    }
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let Some(path) = arguments["path"].as_str() else { return Vec::new() };
    let directories = tools.directories_to(path);
    let new = directories.iter().filter(|directory| !told.has(directory));
    new.filter_map(|directory| file_in(tools, settings, directory, MOST)).collect()
}

/// The first of the files that is there and says something.
fn file_in(tools: &Toolbox, settings: &ProjectSettings, directory: &str, most: usize) -> Option<ProjectFile> {
    settings.instructions.iter().find_map(|name| {
        let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
        let found = tools.text_of(&path, most).filter(|found| !found.text.trim().is_empty())?;
        Some(ProjectFile { path, text: found.text, is_cut: found.is_cut })
    })
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The skills that describe themselves; of one name the first.
fn skills(tools: &Toolbox, directories: &[String]) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for directory in directories {
        let directory = directory.trim_end_matches('/');
        for name in tools.directories_in(directory) {
            let path = format!("{directory}/{name}/SKILL.md");
            let Some(skill) =
                tools.text_of(&path, SKILL_HEAD).and_then(|found| skill(path, &name, &found.text))
            else {
                continue;
            };
            if skills.len() < MAX_SKILLS && !skills.iter().any(|known| known.name == skill.name) {
                skills.push(skill);
            }
        }
    }
    skills
}

/// A skill by the frontmatter of its file.
fn skill(path: String, directory: &str, text: &str) -> Option<Skill> {
    let text = frontmatter::normalized(text);
    let fields = yaml::parse_value(frontmatter::split(&text).ok()?.yaml).ok()?;
    let field = |name: &str| fields[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let description = field("description")?.to_owned();
    Some(Skill { path, name: field("name").unwrap_or(directory).to_owned(), description })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: usize) -> ProjectFile {
        ProjectFile { path: path.to_owned(), text: "x".repeat(bytes), is_cut: false }
    }

    #[test]
    fn each_directory_is_told_once_and_all_of_them_within_the_room_there_is() {
        let mut told = Told::default();
        told.opened(&ProjectWords { files: vec![file("AGENTS.md", 30_000)], skills: Vec::new() });
        let (text, said) =
            told.say(vec![file("a/AGENTS.md", 1_000), file("a/b/AGENTS.md", 5_000)]).unwrap().unwrap();
        assert!(text.contains("`a/AGENTS.md`:") && text.contains("`a/b/AGENTS.md` (its beginning"), "{text}");
        assert_eq!(said.iter().map(|file| file.bytes).sum::<usize>(), MOST - 30_000);
        told.with("call", &said);
        assert!(told.has("a") && told.has("a/b") && !told.has("a/b/c"));
        assert!(
            told.say(vec![file("a/AGENTS.md", 10), file("c/AGENTS.md", 10)]).unwrap().is_none(),
            "no room"
        );
        told.retain(|call| call != "call");
        assert!(
            told.say(vec![file("a/AGENTS.md", 10)]).unwrap().is_some(),
            "it is not in the conversation any more"
        );
    }

    #[test]
    fn an_agent_is_told_what_it_does_not_read_by_itself() {
        let settings = ProjectSettings {
            instructions: vec!["AGENTS.md".to_owned(), "CLAUDE.md".to_owned()],
            skills: Vec::new(),
        };
        let told = |files: &[(&str, &str)], reads: &[&str]| {
            let text_of = |path: &str, _| {
                let file = files.iter().find(|(name, _)| *name == path);
                file.map(|(_, text)| FoundText { text: (*text).to_owned(), is_cut: false })
            };
            let reads: Vec<String> = reads.iter().map(|name| (*name).to_owned()).collect();
            let words = ProjectWords::unread(&text_of, &settings, &reads);
            words.files.into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        let both = [("AGENTS.md", "Use tabs."), ("CLAUDE.md", "Be brief.")];
        assert_eq!(told(&both, &[]), ["AGENTS.md"]);
        assert_eq!(told(&both, &["CLAUDE.md"]), ["AGENTS.md"]);
        assert!(told(&both, &["AGENTS.md"]).is_empty() && told(&[], &[]).is_empty());
        assert_eq!(told(&both[1..], &["GEMINI.md"]), ["CLAUDE.md"]);
        for same in ["Use tabs.", "See @AGENTS.md."] {
            assert!(told(&[both[0], ("CLAUDE.md", same)], &["CLAUDE.md"]).is_empty(), "{same}");
        }
    }

    #[test]
    fn a_skill_is_what_its_frontmatter_says() {
        let of = |text: &str| skill("s/x/SKILL.md".to_owned(), "x", text);
        let named = of("---\nname: pdf\ndescription: Fill in forms\nlicense: MIT\n---\n# PDF").unwrap();
        assert_eq!((named.name.as_str(), named.description.as_str()), ("pdf", "Fill in forms"));
        assert_eq!(of("---\ndescription: D\n---\n").unwrap().name, "x");
        for none in
            ["", "# PDF", "---\nname: pdf\n---\n", "---\n- a\n---\n", "---\ndescription: {{{ x\n---\n"]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
