//! Which file the program of a server is, and what it starts from.
//!
//! Apart because a workspace may be somebody else's: neither the program nor what it looks up in `PATH` may be a file of it.

use std::ffi::OsString;
use std::path::Path;

use secrecy::ExposeSecret;
use uwf_engine::spawn::SpawnError;
use uwf_engine::spawn::lookup::{Programs, outside};
use uwf_tools::{ServerCommand, Toolbox};

use crate::settings::{McpReach, McpServer};

/// How the server is started; one at an address is not.
///
/// # Errors
/// Why it cannot be, in words.
pub(super) fn command(server: &McpServer, toolbox: &Toolbox) -> Result<ServerCommand, String> {
    let McpReach::Stdio { command, args, env } = &server.reach else {
        return Err("it is at an address".to_owned());
    };
    let mut env: Vec<(OsString, OsString)> =
        env.iter().map(|(name, value)| (name.into(), value.expose_secret().into())).collect();
    let set = env.iter().position(|(name, _)| name == "PATH").map(|at| env.remove(at).1);
    let path = set.or_else(|| toolbox.variable("PATH").map(OsString::from));
    let program = found(command, path.as_deref(), toolbox.root())?;
    env.extend(path.map(|path| ("PATH".into(), outside(&path, &[toolbox.root()]))));
    Ok(ServerCommand { program: program.into(), args: args.iter().map(Into::into).collect(), env })
}

fn found(command: &str, path: Option<&std::ffi::OsStr>, root: &Path) -> Result<String, String> {
    let found = Programs::look_up([command], path).file_of(command, &[root]);
    found.map_err(|error| match error {
        SpawnError::Inside { file, .. } => format!(
            "its program {command} is found in the workspace alone, at {}: a workspace supplies no servers",
            file.display()
        ),
        _ => format!("its program {command} is not found: no absolute directory of PATH has it"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn no_program_of_the_workspace_is_taken_for_a_server() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for at in ["work/bin", "bin"] {
            fs::create_dir_all(root.join(at)).unwrap();
            fs::write(root.join(at).join("serve"), "").unwrap();
            fs::set_permissions(root.join(at).join("serve"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let (work, own) = (root.join("work"), root.join("work/bin"));
        let path = |dirs: &[&Path]| std::env::join_paths(dirs).unwrap();
        let both = path(&[Path::new("bin"), Path::new(""), &own, &root.join("bin")]);
        assert_eq!(found("serve", Some(&both), &work).unwrap(), root.join("bin/serve").display().to_string());
        let error = found("serve", Some(&path(&[&own])), &work).unwrap_err();
        assert!(error.contains("is found in the workspace alone, at "), "{error}");
        let error = found("serve", Some(&path(&[Path::new("bin")])), &work).unwrap_err();
        assert_eq!(error, "its program serve is not found: no absolute directory of PATH has it");
        assert_eq!(found("/a/b", None, &work).unwrap(), "/a/b", "somebody's own choice");
    }
}
