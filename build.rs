//! Tells the programs which commit they are built from, where that matters and is known: in release builds of a clone.
//!
//! Builds for development know none, so that a commit rebuilds nothing; nor does a build without git fail. `UWF_COMMIT` in the
//! environment has the last word, for whoever builds from an archive.

#![expect(clippy::disallowed_methods, reason = "this is how a build script speaks, and what it asks")]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=UWF_COMMIT");
    if let Ok(commit) = env::var("UWF_COMMIT").map(|commit| commit.trim().to_owned()) {
        if !commit.is_empty() {
            println!("cargo:rustc-env=UWF_COMMIT={commit}");
        }
        return;
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return;
    }
    // Not the commit of whatever repository this source happens to lie in.
    if git(&["rev-parse", "--show-prefix"]).is_none_or(|prefix| !prefix.is_empty()) {
        return;
    }
    // The log of HEAD grows with every commit, checkout and rebase.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["rev-parse", "--short=9", "HEAD"]).filter(|commit| !commit.is_empty()) {
        println!("cargo:rustc-env=UWF_COMMIT={commit}");
    }
}

/// What git says here; none where there is no git, or no repository.
fn git(args: &[&str]) -> Option<String> {
    let said = Command::new("git").args(args).output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8(said.stdout).ok()?.trim().to_owned())
}
