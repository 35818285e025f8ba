//! The files in `packaging/worker` are what programs read, and name options, files and metrics that exist.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use uwf_fleet::worker::Counts;
use uwf_workflow::yaml;

use crate::uwf::args;

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/worker").join(name)).unwrap()
}

/// The documents of a YAML file.
fn documents(name: &str) -> Vec<Value> {
    file(name).split("\n---\n").map(|part| yaml::parse_value(part).unwrap()).collect()
}

fn of_kind(documents: &[Value], kind: &str) -> Value {
    documents.iter().find(|document| document["kind"] == kind).unwrap().clone()
}

/// The grace of a worker that is started so; the words are a command line of `uwf`.
fn grace(words: &[&str]) -> Duration {
    let matches = args::command().try_get_matches_from(words).unwrap();
    *matches.subcommand_matches("worker").unwrap().get_one::<Duration>("grace").unwrap()
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

#[test]
fn the_unit_gives_a_worker_time_to_finish() {
    let unit = file("uwf-worker.service");
    let value = |name: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("{name}"))
    };
    let started = value("ExecStart").replace("$UWF_WORKER_OPTIONS", "--parallel 4 --label gpu");
    let started = started.replace("/usr/local/bin/uwf", "uwf");
    let stop = humantime::parse_duration(value("TimeoutStopSec")).unwrap();
    assert!(grace(&started.split_whitespace().collect::<Vec<_>>()) < stop);
    assert_eq!((value("KillMode"), value("KillSignal")), ("mixed", "SIGTERM"));
    // What takes from the sandbox what it is made of.
    for line in unit.lines().filter(|line| !line.starts_with('#')) {
        for name in
            ["RestrictNamespaces", "PrivateUsers", "ProtectProc", "ProcSubset", "ProtectKernelTunables"]
        {
            assert!(!line.starts_with(name), "{line}");
        }
    }
}

#[test]
fn pods_are_given_time_to_finish_and_a_proc_for_the_sandbox() {
    let documents = documents("kubernetes.yaml");
    let pod = of_kind(&documents, "Deployment")["spec"]["template"]["spec"].clone();
    let worker = &pod["containers"][0];
    let command = [words(&worker["command"]), words(&worker["args"])].concat();
    let ends = Duration::from_secs(pod["terminationGracePeriodSeconds"].as_u64().unwrap());
    assert!(grace(&command) < ends);
    assert_eq!(
        (&pod["hostUsers"], &pod["automountServiceAccountToken"]),
        (&Value::from(false), &Value::from(false))
    );
    assert_eq!(worker["securityContext"]["procMount"], "Unmasked");
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "Unconfined");
    assert_eq!(pod["securityContext"]["appArmorProfile"]["type"], "Unconfined");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    // Secrets are in no command line, and all that is mounted is there.
    assert!(!command.iter().any(|word| word.contains("PASSWORD")));
    for mount in worker["volumeMounts"].as_array().unwrap() {
        assert!(pod["volumes"].as_array().unwrap().iter().any(|volume| volume["name"] == mount["name"]));
    }
    let remotes = of_kind(&documents, "ConfigMap")["data"]["remotes.json"].as_str().unwrap().to_owned();
    let home = tempfile::tempdir().unwrap();
    fs::write(uwf_fleet::remote::path(home.path()), remotes).unwrap();
    let known = uwf_fleet::remote::Remotes::load(home.path()).unwrap();
    let remote = command[command.iter().position(|word| *word == "--remote").unwrap() + 1];
    assert_eq!(known.named(remote).unwrap().address.tls(), uwf_fleet::address::Tls::VerifyFull);
}

#[test]
fn it_is_scaled_by_a_metric_that_workers_tell() {
    let scaler = of_kind(&documents("kubernetes.yaml"), "HorizontalPodAutoscaler");
    assert_eq!(scaler["apiVersion"], "autoscaling/v2");
    let metric = &scaler["spec"]["metrics"][0];
    assert_eq!(
        (&metric["type"], &metric["external"]["target"]["type"]),
        (&"External".into(), &"AverageValue".into())
    );
    let rule = documents("prometheus-adapter.yaml")[0]["externalRules"][0].clone();
    assert_eq!(metric["external"]["metric"]["name"], rule["name"]["as"]);
    let told = Counts::default().to_prometheus();
    for name in ["prometheus-adapter.yaml", "prometheus-rules.yaml", "prometheus.yaml"] {
        assert_eq!(documents(name).len(), 1);
        let text = file(name);
        for word in text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_') {
            let is_told = told.contains(&format!("\n{word} ")) || !word.starts_with("uwf_worker_");
            assert!(is_told, "{name}: {word}");
        }
    }
}

#[test]
fn the_image_runs_a_worker_as_nobody_in_particular() {
    let recipe = file("Containerfile");
    let line = |word: &str| recipe.lines().rfind(|line| line.starts_with(word)).unwrap().to_owned();
    let command: Vec<String> = serde_json::from_str(line("CMD").strip_prefix("CMD ").unwrap()).unwrap();
    grace(&command.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(line("USER"), "USER 10001:10001");
    assert!(line("COPY").contains("target/dist/uwf ") && line("COPY").contains("target/dist/uwf-builtin "));
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml")).unwrap();
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).unwrap();
    assert!(recipe.contains(&format!("rust:{}-slim", version.trim_end_matches('"'))));
}
