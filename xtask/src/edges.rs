//! Which crate may depend on which: the map of docs/ARCHITECTURE.md, as a table that a test holds against the manifests.

use std::path::PathBuf;

/// This repository.
pub(crate) fn repository() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Folder, and the crates of ours that it may import.
    const ALLOWED: [(&str, &[&str]); 11] = [
        ("engine/store", &[]),
        ("engine/snapshot", &["uwf-store"]),
        ("engine/workflow", &["uwf-store"]),
        ("engine", &["uwf-store", "uwf-workflow"]),
        ("prompts", &["uwf-store", "uwf-workflow"]),
        ("tools", &["uwf-store"]),
        ("agent", &["uwf-engine", "uwf-prompts", "uwf-snapshot", "uwf-store", "uwf-tools", "uwf-workflow"]),
        (
            "eval",
            &[
                "uwf-agent",
                "uwf-engine",
                "uwf-prompts",
                "uwf-snapshot",
                "uwf-store",
                "uwf-tools",
                "uwf-workflow",
            ],
        ),
        ("fleet", &["uwf-engine", "uwf-snapshot", "uwf-store", "uwf-workflow"]),
        ("web", &["uwf-agent", "uwf-engine", "uwf-eval", "uwf-fleet", "uwf-store", "uwf-workflow"]),
        (
            "cli",
            &[
                "uwf-agent",
                "uwf-engine",
                "uwf-eval",
                "uwf-fleet",
                "uwf-prompts",
                "uwf-snapshot",
                "uwf-store",
                "uwf-tools",
                "uwf-web",
                "uwf-workflow",
            ],
        ),
    ];

    /// What a crate of others' is for, and the only folders that may name it.
    const CONFINED: [(&str, &[&str]); 17] = [
        ("clap", &["cli"]),
        ("clap_complete", &["cli"]),
        ("clap_mangen", &["cli"]),
        ("tokio", &["agent", "cli", "fleet", "web"]),
        ("reqwest", &["agent", "fleet"]),
        ("hyper", &["agent"]),
        ("async-openai", &["agent"]),
        ("rusqlite", &["engine/store"]),
        ("postgres", &["fleet"]),
        ("tokio-postgres-rustls", &["fleet"]),
        ("blake3", &["fleet"]),
        ("object_store", &["fleet"]),
        ("axum", &["web"]),
        ("maud", &["web"]),
        ("dugong", &["web"]),
        ("plotters", &["web"]),
        ("statrs", &["eval"]),
    ];

    fn manifest(folder: &str) -> toml::Table {
        fs::read_to_string(repository().join(folder).join("Cargo.toml")).unwrap().parse().unwrap()
    }

    /// What only a feature for tests brings in: folder, and crate.
    const OF_FIXTURES: [(&str, &str); 1] = [("engine", "rusqlite")];

    /// The names under `[dependencies]`: not those of tests, but also what only a feature brings in.
    fn dependencies(folder: &str) -> Vec<String> {
        dependencies_in(&manifest(folder))
    }

    fn dependencies_in(manifest: &toml::Table) -> Vec<String> {
        manifest["dependencies"].as_table().unwrap().keys().cloned().collect()
    }

    #[test]
    fn what_only_a_feature_brings_in_is_a_dependency() {
        let manifest = "[dependencies]\nrusqlite = { version = \"1\", optional = true }\n[dev-dependencies]\na = \"1\"\n";
        assert_eq!(dependencies_in(&manifest.parse().unwrap()), ["rusqlite"]);
    }

    #[test]
    fn no_crate_imports_what_the_map_does_not_show() {
        for (folder, allowed) in ALLOWED {
            let ours = dependencies(folder).into_iter().filter(|name| name.starts_with("uwf"));
            let undrawn: Vec<_> = ours.filter(|name| !allowed.contains(&name.as_str())).collect();
            assert!(
                undrawn.is_empty(),
                "{folder} depends on {undrawn:?}: mend that, or draw it in docs/ARCHITECTURE.md"
            );
        }
    }

    #[test]
    fn who_needs_hashes_and_schemas_alone_compiles_no_database() {
        let store = &manifest(".")["workspace"]["dependencies"]["uwf-store"];
        assert_eq!(store.get("default-features"), Some(&toml::Value::Boolean(false)));
        let takes_it = |folder: &str| {
            let store = manifest(folder)["dependencies"].get("uwf-store").cloned();
            store.is_some_and(|store| store.to_string().contains("sqlite"))
        };
        for folder in ["engine/workflow", "prompts", "tools"] {
            assert!(!takes_it(folder), "{folder}");
        }
        assert!(takes_it("engine"));
    }

    #[test]
    fn terminal_network_and_database_stay_in_their_rooms() {
        for (name, folders) in CONFINED {
            for (folder, _) in ALLOWED.iter().filter(|(folder, _)| !folders.contains(folder)) {
                let is_there = dependencies(folder).iter().any(|dependency| dependency == name);
                assert_eq!(is_there, OF_FIXTURES.contains(&(*folder, name)), "{folder} depends on {name}");
            }
        }
    }
}
