//! What of `agents/builtin.yaml` and the environment holds for agents of other kinds, too: how they are confined, what is taken
//! away from a role as far as a sandbox can do that, and where a project's own words are.
//!
//! Apart from [`super::Settings`], which needs a model: an agent of another kind brings its own.

use std::path::{Path, PathBuf};

use uwf_engine::thread::COMPACT;
use uwf_engine::{Env, Workflow};
use uwf_tools::sandbox::Level;

use super::file::{BUILTIN, File};
use super::{SettingsError, file, requested_level};
use crate::confinement::SandboxSettings;
use crate::permissions::{PermissionsByRole, RolePermissions};
use crate::project::ProjectSettings;

/// What holds for a role that another agent plays, or for a question to one.
#[derive(Clone, Debug)]
pub struct SharedSettings {
    /// The level that somebody asks for in this run: typed, or told by the environment.
    asked: Option<Level>,
    /// What the file says of the sandbox.
    pub(crate) sandbox: SandboxSettings,
    pub(crate) project: ProjectSettings,
    roles: PermissionsByRole,
    permissions: RolePermissions,
}

impl SharedSettings {
    /// Puts them together. `home` is `$UWF_HOME`, `typed` what was typed for this run.
    ///
    /// # Errors
    /// The file is not what it should be, or the environment names a level that is none.
    pub fn load(typed: Option<Level>, env: &Env, home: &Path) -> Result<SharedSettings, SettingsError> {
        let path = home.join(BUILTIN);
        let invalid =
            |message| SettingsError::Invalid { path: path.display().to_string(), line: None, message };
        let mut file = File::load(&path)?;
        let roles = PermissionsByRole::read(std::mem::take(&mut file.roles))?;
        let asked = if typed.is_some() { typed } else { requested_level(env)?.0 };
        let (level, network) = (file.sandbox.level.unwrap_or_default(), file.sandbox.network);
        let of_home = env.get("HOME").map(Path::new);
        let sandbox = SandboxSettings::new(level, network.unwrap_or(false), &file.sandbox, of_home);
        let sandbox = sandbox.map_err(invalid)?;
        let project = file::project((file.instructions.take(), file.skills.take())).map_err(invalid)?;
        Ok(SharedSettings { asked, sandbox, project, roles, permissions: RolePermissions::default() })
    }

    /// The same with what is taken away from `role`.
    ///
    /// # Errors
    /// `PermissionsError::Role`.
    pub fn for_role(self, workflow: &Workflow, role: &str) -> Result<SharedSettings, SettingsError> {
        let permissions = self.roles.of(&workflow.name, role, workflow.roles.keys())?;
        Ok(SharedSettings { permissions, ..self })
    }

    /// How much of a sandbox an agent must run in: what is asked for, else, where it `lives_confined`, what the file says.
    pub fn level(&self, lives_confined: bool) -> Level {
        self.asked.unwrap_or(if lives_confined { self.sandbox.level } else { Level::Off })
    }

    /// What of the workspace may be written; `None` is all of it.
    pub(crate) fn within(&self) -> Option<Vec<PathBuf>> {
        match self.permissions.read_only {
            true => Some(Vec::new()),
            false => self.permissions.writable.as_deref().map(uwf_tools::writable_trees),
        }
    }

    /// By which key the role may not write all of the workspace, which only a sandbox can see to.
    pub fn narrowed_by(&self) -> Option<&'static str> {
        match (self.permissions.read_only, &self.permissions.writable) {
            (true, _) => Some("readOnly"),
            (false, Some(_)) => Some("writable"),
            (false, None) => None,
        }
    }

    /// The keys of what is said of the role that say nothing to an agent of another kind, which `needs_network` for its model or
    /// not.
    pub fn unheard(&self, role: &str, needs_network: bool) -> Vec<&'static str> {
        let said = &self.permissions;
        let keys = [
            ("model", said.model.is_some()),
            ("reasoningEffort", said.reasoning_effort.is_some()),
            ("temperature", said.temperature.is_some()),
            ("tools", said.tools.is_some() && role != COMPACT),
            ("network", said.network == Some(false) && needs_network),
            ("mcpServers", !said.mcp_servers.is_empty()),
            ("fetch", said.fetch.is_some()),
        ];
        keys.into_iter().filter(|(_, is_said)| *is_said).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, typed: Option<Level>, word: Option<&str>) -> Result<SharedSettings, SettingsError> {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("agents")).unwrap();
        std::fs::write(home.path().join(BUILTIN), file).unwrap();
        let mut env = Env::default();
        if let Some(word) = word {
            env.set(uwf_engine::spawn::protocol::SANDBOX, word);
        }
        SharedSettings::load(typed, &env, home.path())
    }

    #[test]
    fn a_level_is_typed_or_in_the_environment_or_in_the_file_and_holds_where_the_agent_can_live_with_it() {
        let levels = |file: &str, typed, word| {
            let settings = load(file, typed, word).unwrap();
            [true, false].map(|lives| settings.level(lives))
        };
        let (strict, less, off) = (Level::Strict, Level::BestEffort, Level::Off);
        assert_eq!(levels("{}", None, None), [strict, off]);
        assert_eq!(levels("sandbox: { level: best-effort }", None, None), [less, off]);
        assert_eq!(levels("sandbox: { level: best-effort }", None, Some("off")), [off, off]);
        assert_eq!(levels("{}", None, Some("strict")), [strict, strict]);
        assert_eq!(levels("{}", Some(less), Some("off")), [less, less]);
        let error = load("{}", None, Some("some")).unwrap_err();
        assert!(matches!(error, SettingsError::NoSuchLevel { word } if word == "some"));
        assert!(load("colour: red", None, None).unwrap_err().to_string().contains("colour"));
    }

    #[test]
    fn of_a_role_the_sandbox_sees_to_what_it_writes_and_the_rest_is_unheard() {
        let settings = |said: &str| {
            let settings = load(&format!("roles: {{ w/r: {{ {said} }} }}"), None, None).unwrap();
            let permissions = settings.roles.of("w", "r", [&"r".to_owned()].into_iter()).unwrap();
            SharedSettings { permissions, ..settings }
        };
        let narrowed = |said: &str| {
            let settings = settings(said);
            (settings.narrowed_by(), settings.within())
        };
        assert_eq!(narrowed("model: m"), (None, None));
        assert_eq!(narrowed("readOnly: true, writable: [src/**]"), (Some("readOnly"), Some(Vec::new())));
        assert_eq!(narrowed("writable: [src/**, '*.md']"), (Some("writable"), Some(vec!["src".into()])));
        let all = settings("model: m, tools: [grep], network: false, fetch: [docs.rs], mcpServers: [s]");
        assert_eq!(all.unheard("r", true), ["model", "tools", "network", "mcpServers", "fetch"]);
        assert_eq!(all.unheard(COMPACT, false), ["model", "mcpServers", "fetch"]);
    }
}
