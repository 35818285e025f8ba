//! `TRACEPARENT`: in by the environment, out to the endpoint and to commands, and on record.

use serde_json::json;

use crate::endpoint::{Endpoint, approved, call};
use crate::site::{AGENT, Said, Site, example};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn run(site: &Site, endpoint: &Endpoint, traceparent: &str) -> Said {
    let workflow = example("solve-issue/workflow.yaml");
    let events = site.write("e.jsonl", "");
    let mut command = site.command(AGENT);
    command.args(["run", &workflow, "--role", "developer", "-p", "Do", "--format", "json"]);
    command.args(["--base-url", &endpoint.url, "--model", "m", "--events", &events]);
    Said::of(command.env("TRACEPARENT", traceparent).env("TRACESTATE", "v=1").output().unwrap())
}

fn endpoint() -> Endpoint {
    Endpoint::new(|n, _| match n {
        0 => (200, call(n, "run_command", &json!({"command": "echo \"<$TRACEPARENT>\""}))),
        _ => {
            let mut answer = approved();
            let text = "---\n$status: done\nfiles: []\nsummary: Nothing.\n---\n";
            answer["choices"][0]["message"]["content"] = json!(text);
            (200, answer)
        }
    })
}

#[test]
fn the_trace_goes_to_the_endpoint_to_commands_and_on_record() {
    let site = Site::new();
    let endpoint = endpoint();
    let reply = run(&site, &endpoint, &format!("00-{TRACE}-00f067aa0ba902b7-01")).ok().json();
    let asked = endpoint.asked();
    let ours = asked[0].header("traceparent").unwrap().to_owned();
    assert!(ours.starts_with(&format!("00-{TRACE}-")) && !ours.contains("00f067aa0ba902b7"), "{ours}");
    assert_eq!(asked[0].header("tracestate"), Some("v=1"));
    assert_eq!(asked[1].header("traceparent"), Some(ours.as_str()));
    assert!(asked[1].messages().contains(&format!("<{ours}>")), "{}", asked[1].messages());
    let detail = site.uwf(&["cas", "get", reply["detailHash"].as_str().unwrap()]).ok().json();
    assert_eq!(detail["payload"]["trace"], TRACE);
    let events = std::fs::read_to_string(site.home().join("../e.jsonl")).unwrap();
    assert!(events.lines().next().unwrap().contains(TRACE), "{events}");
}

#[test]
fn a_malformed_one_is_no_trace() {
    let site = Site::new();
    let endpoint = endpoint();
    let reply = run(&site, &endpoint, "nonsense").ok().json();
    assert_eq!(endpoint.asked()[0].header("traceparent"), None);
    let detail = site.uwf(&["cas", "get", reply["detailHash"].as_str().unwrap()]).ok().json();
    assert_eq!(detail["payload"]["trace"], serde_json::Value::Null);
}

/// With `cargo test --features otel`.
#[cfg(feature = "otel")]
#[test]
fn spans_reach_a_collector_and_a_missing_one_is_told() {
    let site = Site::new();
    let (model, collector) = (endpoint(), Endpoint::new(|_, _| (200, json!({}))));
    let workflow = example("solve-issue/workflow.yaml");
    let run = |collector: &str| {
        let mut command = site.command(AGENT);
        command.args(["run", &workflow, "--role", "developer", "-p", "Do", "--format", "json"]);
        command.args(["--base-url", &model.url, "--model", "m"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
        Said::of(command.output().unwrap()).ok()
    };
    run(collector.url.trim_end_matches("/v1"));
    let spans = collector.asked()[0].json()["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
    let names: Vec<&str> =
        spans.as_array().unwrap().iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["chat m", "execute_tool run_command", "chat m", "invoke_agent developer"]);
    let root = &spans[3];
    assert_eq!(spans[0]["parentSpanId"], root["spanId"]);
    let told = model.asked()[0].header("traceparent").unwrap().to_owned();
    assert!(
        told.contains(root["traceId"].as_str().unwrap()),
        "a trace that begins here goes on there: {told}"
    );
    let said = run("http://127.0.0.1:9");
    assert!(said.err.contains("did not reach the collector"), "{}", said.err);
}
