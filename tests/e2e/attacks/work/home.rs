//! What a build finds in a person's home: toolchains and their caches to read, a name to commit by, and a cache to write
//! that nobody else ever sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Field, PATH, Who, Work, by_everybody, works, works_with};
use crate::attacks::field::SECRET;

/// Where managers of versions put programs, below a home.
const BINS: &[&str] = &[
    ".cargo/bin",
    ".rustup/toolchains/x/bin",
    ".nvm/versions/node/v1/bin",
    ".volta/bin",
    ".local/share/fnm/node-versions/v1/installation/bin",
    ".bun/bin",
    ".deno/bin",
    ".local/share/pnpm",
    ".pyenv/versions/3/bin",
    ".pyenv/shims",
    ".sdkman/candidates/x/current/bin",
    ".asdf/shims",
    ".local/share/mise/installs/x/bin",
    ".local/share/mise/shims",
    ".rbenv/shims",
    ".ghcup/bin",
    ".dotnet/tools",
    ".local/bin",
    ".local/share/uv/tools/x/bin",
    "go/bin",
    "bin",
];

/// Where they keep what builds read.
const CACHES: &[&str] = &[
    ".cargo/registry/cache/index/word",
    ".cargo/git/db/word",
    ".rustup/settings.toml",
    ".m2/repository/org/word/word.jar",
    ".gradle/caches/modules-2/word",
    ".npm/_cacache/index-v5/word",
    ".nvm/alias/default",
    ".cache/pip/http/word",
    ".cache/uv/word",
    ".cache/go-build/00/word",
    ".cache/ms-playwright/word",
    "go/pkg/mod/cache/word",
    ".nuget/packages/word/word.dll",
    ".local/share/virtualenvs/x/word",
    ".local/lib/python3/site-packages/word.py",
];

/// Each tool prints where it is, and reads what is beside it.
#[test]
fn tools_below_the_home_run_and_their_caches_are_read() {
    by_everybody(|who| {
        let field = Field::new(who);
        for (n, bin) in BINS.iter().enumerate() {
            let tool = field.site.write(&format!("home/{bin}/tool-{n}"), "#!/bin/sh\ncat \"$0.txt\"\n");
            field.site.write(&format!("home/{bin}/tool-{n}.txt"), &format!("word of {bin}\n"));
            fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for cache in CACHES {
            field.site.write(&format!("home/{cache}"), "word of a cache\n");
        }
        let tools = BINS.iter().enumerate().map(|(n, bin)| format!("tool-{n} | grep -qx 'word of {bin}'"));
        let caches = CACHES.iter().map(|cache| format!("grep -qx 'word of a cache' ~/{cache}"));
        let each =
            |command: String| format!("({command}) || {{ echo \"{}\"; false; }}", command.replace('"', "'"));
        let all = |commands: Vec<String>| {
            let failing = commands.into_iter().map(|command| each(command) + " || failed=1");
            format!("{}\ntest -z \"$failed\"", failing.collect::<Vec<_>>().join("\n"))
        };
        let home = field.site.home().display().to_string();
        let path: Vec<String> = BINS.iter().map(|bin| format!("{home}/{bin}")).collect();
        let calls = [("tools", all(tools.collect())), ("caches", all(caches.collect()))];
        let calls = calls.map(|(name, text)| super::command(name, &text));
        let variables = [("PATH", format!("{}:{PATH}", path.join(":"))), ("NVM_DIR", format!("{home}/.nvm"))];
        super::assert_works(&super::run_with(&field, &calls, &variables));
    });
}

const WHO: &[Work] = &[
    ("name", "git", "test \"$(git config user.name)\" = Somebody"),
    ("address", "git", "test \"$(git config user.email)\" = somebody@example.com"),
    (
        "commit",
        "git",
        "git init -q && git commit -qm m --allow-empty && git log -1 --format=%an | grep -qx Somebody",
    ),
    (
        "no credentials",
        "git",
        "! git config --get-regexp '^credential' && ! git config --get-regexp '^http.*extraheader'",
    ),
    ("nor in the file", "", "! grep -i innermost ~/.gitconfig"),
];

const GITCONFIG: &str =
    "[user]\n\tname = Somebody\n\temail = somebody@example.com\n[init]\n\tdefaultBranch = main\n";

#[test]
fn the_person_s_name_is_known_to_git_and_no_credential() {
    by_everybody(|who| {
        let field = Field::new(who);
        let secret = format!(
            "{GITCONFIG}[credential \"https://example.com\"]\n\thelper = \"!echo password={SECRET}\"\n[http \"https://example.com\"]\n\textraHeader = AUTHORIZATION: basic {SECRET}\n"
        );
        field.site.write("home/.gitconfig", &secret);
        works(&field, WHO, &[]);
    });
}

const CACHE: &[Work] = &[
    ("1 write", "", "mkdir -p ~/.cache/x && echo kept > ~/.cache/x/f"),
    ("2 read in a later command", "", "grep -qx kept ~/.cache/x/f"),
    (
        "3 over one that is there",
        "",
        "grep -qx before ~/.cache/pip/there && echo after > ~/.cache/pip/there && grep -qx after ~/.cache/pip/there",
    ),
    (
        "4 a directory of a tool's own",
        "",
        "mkdir -p ~/.some-tool && echo x > ~/.some-tool/state && test -s ~/.some-tool/state",
    ),
    ("5 by XDG", "", "mkdir -p $XDG_CACHE_HOME/y && echo x > $XDG_CACHE_HOME/y/f"),
];

#[test]
fn a_cache_in_the_home_is_the_run_s_own() {
    by_everybody(|who| {
        let field = Field::new(who);
        let there = field.site.write("home/.cache/pip/there", "before\n");
        let cache = field.site.home().join(".cache");
        works_with(&field, CACHE, &[("XDG_CACHE_HOME", cache.display().to_string())]);
        assert_eq!(fs::read_to_string(there).unwrap(), "before\n");
        for made in [".cache/x", ".cache/y", ".some-tool"] {
            assert!(!field.site.home().join(made).exists(), "{made} is in the real home");
        }
    });
}

#[test]
fn another_run_has_a_home_of_its_own() {
    let field = Field::new(Who::Me);
    works(&field, &[("write", "", "mkdir -p ~/.cache/x && echo kept > ~/.cache/x/f")], &[]);
    works(&field, &[("is gone", "", "! test -e ~/.cache/x/f")], &[]);
}
