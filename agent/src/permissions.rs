//! What the config says of single roles: `roles:` of `agents/builtin.yaml`. Which model plays one, which MCP servers it has,
//! and what is taken away from it.
//!
//! Apart because it is a rule of its own: but for the servers, which nobody has who is not given them here, it narrows what a
//! run may do and can never widen it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uwf_engine::thread::COMPACT;

use crate::fetch::HostRule;

/// What is said of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct RolePermissions {
    /// The model that plays it: an alias of `config.yaml`, else a name at the endpoint of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much that model is to think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// How it samples, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The only tools it is offered; `None` is no limit.
    pub tools: Option<Vec<String>>,
    /// It is offered no tool that could change anything.
    pub read_only: bool,
    /// The only files that write_file and edit_file change, as globs of paths below the workspace. Of these, commands
    /// change what the kernel can tell: whole trees (`src/**`) and single files.
    pub writable: Option<Vec<String>>,
    /// `false`: its commands have no network, whatever else is set. `true` gives nothing.
    pub network: Option<bool>,
    /// The MCP servers that are started for it; none where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// The only hosts that fetch_url may ask, of those that a run may; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Vec<String>>,
}

/// The roles of which something is said, as `workflow/role`.
#[derive(Clone, Debug, Default)]
pub(crate) struct PermissionsByRole(BTreeMap<String, RolePermissions>);

/// What is wrong with `roles:`.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PermissionsError {
    /// A name that is no `workflow/role`.
    #[error("roles: '{0}' must be a workflow and a role, as in solve-issue/reviewer")]
    Name(String),
    /// A host that is none.
    #[error("roles: {role}: fetch: {why}")]
    Host {
        /// The workflow and the role.
        role: String,
        /// What is wrong with it.
        why: String,
    },
    /// A role that the workflow, which is being run, has not.
    #[error("roles: the workflow {workflow} has no role '{role}'; it has {known}")]
    Role {
        /// The workflow.
        workflow: String,
        /// The name.
        role: String,
        /// The names there are.
        known: String,
    },
}

impl PermissionsByRole {
    /// Checks their names, as far as that can be done without a workflow.
    ///
    /// # Errors
    /// See [`PermissionsError`].
    pub(crate) fn read(
        roles: BTreeMap<String, RolePermissions>,
    ) -> Result<PermissionsByRole, PermissionsError> {
        let is_role = |name: &String| {
            name.split_once('/').is_some_and(|(workflow, role)| !workflow.is_empty() && !role.is_empty())
        };
        if let Some(name) = roles.keys().find(|name| !is_role(name)) {
            return Err(PermissionsError::Name(name.clone()));
        }
        for (role, said) in &roles {
            let host = |host: &String| host.parse::<HostRule>().map(drop);
            let checked = said.fetch.iter().flatten().try_for_each(host);
            checked.map_err(|why| PermissionsError::Host { role: role.clone(), why })?;
        }
        Ok(PermissionsByRole(roles))
    }

    /// What is taken away from this role.
    ///
    /// # Errors
    /// [`PermissionsError::Role`]: a misspelt role would not be narrowed at all.
    pub(crate) fn of<'a>(
        &self,
        workflow: &str,
        role: &str,
        roles: impl Iterator<Item = &'a String> + Clone,
    ) -> Result<RolePermissions, PermissionsError> {
        for name in self.0.keys().filter_map(|name| name.strip_prefix(workflow)?.strip_prefix('/')) {
            if name != COMPACT && !roles.clone().any(|role| role == name) {
                let known: Vec<&str> = roles.map(String::as_str).collect();
                let (workflow, role, known) = (workflow.to_owned(), name.to_owned(), known.join(", "));
                return Err(PermissionsError::Role { workflow, role, known });
            }
        }
        let said = self.0.get(&format!("{workflow}/{role}")).cloned();
        Ok(said.unwrap_or_else(|| RolePermissions::of_nobody(role)))
    }
}

impl RolePermissions {
    /// What is taken away where nobody says: who sums a thread up has all that it needs in its prompt.
    fn of_nobody(role: &str) -> RolePermissions {
        let tools = (role == COMPACT).then(Vec::new);
        RolePermissions { tools, ..RolePermissions::default() }
    }

    /// The tools that are left of those a run may offer; `None` is all.
    pub(crate) fn tools(&self, offered: Option<Vec<String>>) -> Option<Vec<String>> {
        if self.tools.is_none() && !self.read_only {
            return offered;
        }
        let left = |name: &String| self.tools.as_ref().is_none_or(|tools| tools.contains(name));
        let reads = |name: &str| uwf_tools::specs().iter().any(|spec| spec.name == name && spec.read_only);
        let all = || uwf_tools::specs().iter().map(|spec| spec.name.to_owned()).collect();
        let mut names: Vec<String> = offered.unwrap_or_else(all);
        names.retain(|name| left(name) && (!self.read_only || reads(name)));
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<PermissionsByRole, PermissionsError> {
        PermissionsByRole::read(serde_json::from_value(value).unwrap())
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_role_gets_what_is_both_offered_and_left() {
        let roles =
            read(json!({"w/r": {"tools": ["grep", "run_command", "read_file"], "readOnly": true}})).unwrap();
        let permissions = roles.of("w", "r", names(&["r"]).iter()).unwrap();
        assert_eq!(permissions.tools(None), Some(names(&["read_file", "grep"])));
        assert_eq!(permissions.tools(Some(names(&["grep", "glob"]))), Some(names(&["grep"])));
        assert_eq!(permissions.tools(Some(names(&["glob"]))), Some(vec![]), "nothing is ever added");
        let other = roles.of("w", "s", names(&["r", "s"]).iter()).unwrap();
        assert_eq!((other.tools(None), other.writable), (None, None));
        let compact =
            |roles: &PermissionsByRole| roles.of("w", COMPACT, names(&["r"]).iter()).unwrap().tools(None);
        assert_eq!(compact(&roles), Some(vec![]), "a summary needs no tool");
        let allowed = read(json!({"w/$COMPACT": {"tools": ["read_file"]}})).unwrap();
        assert_eq!(compact(&allowed), Some(names(&["read_file"])));
    }

    #[test]
    fn reading_alone_leaves_no_tool_that_changes_anything() {
        let permissions = RolePermissions { read_only: true, ..RolePermissions::default() };
        let left = ["read_file", "list_dir", "grep", "glob", "tool_output"];
        assert_eq!(permissions.tools(None), Some(names(&left)));
    }

    #[test]
    fn a_bad_name_is_named() {
        let error = |value: Value| read(value).unwrap_err().to_string();
        assert!(error(json!({"reviewer": {}})).contains("'reviewer' must be a workflow and a role"));
        let host = error(json!({"w/r": {"fetch": ["docs.rs", "a b"]}}));
        assert!(host.starts_with("roles: w/r: fetch: \"a b\" is no host"), "{host}");
        let roles = read(json!({"w/rewiever": {}, "other/x": {}})).unwrap();
        let error = roles.of("w", "reviewer", names(&["reviewer"]).iter()).unwrap_err().to_string();
        assert_eq!(error, "roles: the workflow w has no role 'rewiever'; it has reviewer");
    }
}
