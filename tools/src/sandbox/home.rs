//! What a home of the run's own has from the beginning: the configuration of git and cargo, less what may be a secret in it.

use std::fs;
use std::io;
use std::path::Path;

use toml::{Table, Value};
use uwf_store::sounds_secret;

use crate::git_guard::config;
use crate::words::Words;

/// Sections of git's configuration that hold no credentials and no addresses.
const GIT_SECTIONS: Words = Words(
    "advice apply blame branch clean color column commit core diff fetch format gc grep index init log merge pull \
     push rebase rerere safe stash status submodule tag user",
);

/// Copies the configuration of git and cargo in `home` into `own`, which commands see in its place, without credentials.
pub(super) fn copy_configuration(home: &Path, own: &Path) -> io::Result<()> {
    type Clean = fn(&[u8]) -> Option<String>;
    let files: [(&str, Clean); 4] = [
        (".gitconfig", git_config),
        (".config/git/config", git_config),
        (".cargo/config.toml", cargo_config),
        (".cargo/config", cargo_config),
    ];
    for (name, clean) in files {
        // What is not there, or cannot be read, commands do without.
        let Some(text) = fs::read(home.join(name)).ok().and_then(|text| clean(&text)) else { continue };
        let path = own.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Git's settings that are known to be no secret; signing needs a key, which commands have not.
fn git_config(text: &[u8]) -> Option<String> {
    let mut kept = String::new();
    for entry in config::parse(text)? {
        let key = entry.key();
        let signs =
            ["commit.gpgsign", "tag.gpgsign", "user.signingkey", "push.gpgsign"].contains(&key.as_str());
        if GIT_SECTIONS.contains(entry.section()) && !entry.runs_programs() && !signs && !sounds_secret(&key)
        {
            kept += &entry.written();
        }
    }
    Some(kept)
}

/// Cargo's settings, without tokens and without addresses that hold a password.
fn cargo_config(text: &[u8]) -> Option<String> {
    let mut table: Table = std::str::from_utf8(text).ok()?.parse().ok()?;
    clean(&mut table);
    toml::to_string(&table).ok()
}

fn clean(table: &mut Table) {
    table.retain(|name, value| match value {
        Value::Table(table) => {
            clean(table);
            true
        }
        Value::String(text) => !sounds_secret(name) && !has_password(text),
        _ => !sounds_secret(name),
    });
}

/// `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    authority.is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_commits_is_kept_and_credentials_are_not() {
        let config = b"[user]\n\tname = A \"B\"\n\temail = a@example.org\n\tsigningkey = K\n[credential]\n\thelper = store\n\
                       [http \"https://x\"]\n\textraheader = Authorization: s\n[core]\n\tpager = less\n\tautocrlf = input\n\
                       [branch \"main\"]\n\trebase\n[commit]\n\tgpgsign = true\n[alias]\n\tst = status\n[include]\n\tpath = x\n";
        let kept = git_config(config).unwrap();
        assert_eq!(
            kept,
            "[user]\n\tname = \"A B\"\n[user]\n\temail = \"a@example.org\"\n[core]\n\tautocrlf = \"input\"\n[branch \"main\"]\n\trebase\n"
        );
        assert_eq!(git_config(b"[user\n"), None);
    }

    #[test]
    fn cargo_s_settings_are_kept_and_tokens_are_not() {
        let config = b"[build]\njobs = 2\n[registries.mine]\nindex = \"https://u:p@host/x\"\ntoken = \"s\"\n[net]\noffline = true\n";
        let kept = cargo_config(config).unwrap();
        assert!(kept.contains("jobs = 2") && kept.contains("offline = true"), "{kept}");
        assert!(!kept.contains("token") && !kept.contains("u:p"), "{kept}");
    }
}
