//! `uwf-builtin doctor --apparmor-profile`: the profile that lets this very program make user namespaces, where AppArmor
//! restricts them to programs that have one.
//!
//! Pure. `packaging/apparmor/uwf-builtin` is the same for `/usr/bin/uwf-builtin`, for who makes packages.

use std::path::Path;

/// The one command that installs it.
pub(super) const INSTALL: &str = "uwf-builtin doctor --apparmor-profile | sudo tee /etc/apparmor.d/uwf-builtin >/dev/null && \
                                  sudo apparmor_parser -r /etc/apparmor.d/uwf-builtin";

/// The profile of the program at `path`; `None` where a profile cannot name it.
pub(super) fn profile(path: &Path) -> Option<String> {
    let path = escaped(path.to_str()?)?;
    Some(format!(
        "# Lets uwf-builtin make user namespaces, of which it builds the sandbox around the commands of a model.
# It restricts nothing: it is for systems with kernel.apparmor_restrict_unprivileged_userns=1 (Ubuntu from 23.10 on).

abi <abi/4.0>,
include <tunables/global>

profile uwf-builtin \"{path}\" flags=(unconfined) {{
  userns,

  include if exists <local/uwf-builtin>
}}
"
    ))
}

/// What stands for itself between quotes, where paths are patterns.
fn escaped(path: &str) -> Option<String> {
    let mut text = String::new();
    for c in path.chars() {
        if c.is_control() {
            return None;
        }
        if "\\\"*?[]{}^".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_of_packages_is_the_one_that_is_printed() {
        let packaged = include_str!("../../../../packaging/apparmor/uwf-builtin");
        assert_eq!(profile(Path::new("/usr/bin/uwf-builtin")).as_deref(), Some(packaged));
    }

    #[test]
    fn any_path_stands_for_itself() {
        let profile = |path: &str| profile(Path::new(path));
        let odd = profile(r#"/opt/with space/a[b]"c\d/x*?{u}@{HOME}^é"#).unwrap();
        let quoted = r#"profile uwf-builtin "/opt/with space/a\[b\]\"c\\d/x\*\?\{u\}@\{HOME\}\^é" flags"#;
        assert!(odd.contains(quoted), "{odd}");
        assert_eq!(profile("/a\nb"), None);
    }
}
