//! From an empty HOME to a model that answers: `setup`, `doctor`, completions and manual pages of the real programs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::failures::{endpoint, http};
use crate::site::{AGENT, Said, Site, UWF};
use crate::terminal::Person;
use crate::vendors::{Kind, Mode, Turn, Vendor};

const KEY: &str = "sk-typed-7d1c9e";

fn setup(site: &Site, args: &[&str]) -> Person {
    let mut command = site.command(UWF);
    command.arg("setup").args(args);
    Person::before(command)
}

#[test]
fn a_person_is_asked_for_what_was_not_typed_and_the_key_is_not_shown() {
    let site = Site::new();
    let mut person = setup(&site, &[]);
    person.answers("Provider (openai, anthropic", "anthropic\n");
    person.answers("Model [claude", "\n");
    person.answers("API key (not shown; Return: use $ANTHROPIC_API_KEY)", &format!("wrong\u{15}{KEY}\r"));
    let said = person.waits().ok();
    assert!(
        said.err.contains("Models of anthropic, USD per million tokens in and out, as of 20"),
        "{said:?}"
    );
    assert!(said.err.contains(" more: `uwf models 'anthropic/*'`"), "{said:?}");
    assert!(!said.err.contains(KEY) && !said.err.contains("wrong") && !said.out.contains(KEY), "{said:?}");
    let file = site.home().join(".uwf/config.yaml");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).unwrap().contains(&format!("apiKey: {KEY}")));
    let report = site.agent(&["doctor"]).ok();
    let values = report.json()["config"]["values"].clone();
    let from =
        |name: &str| values.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!(from("model")["from"], file.display().to_string());
    assert_eq!(from("provider.apiKey")["value"], "set");
    assert!(!report.out.contains(KEY));
}

#[test]
fn an_interrupted_question_changes_nothing_and_the_terminal_is_as_before() {
    let site = Site::new();
    let mut person = setup(&site, &["--provider", "openai"]);
    person.answers("Model [", "\n");
    person.answers("API key", "sk-half\u{3}");
    let said = person.waits().code(130);
    assert!(said.err.contains("nothing was changed") && !said.err.contains("sk-half"), "{said:?}");
    assert!(!site.home().join(".uwf/config.yaml").exists());
    // The terminal echoes again: what is typed at a question that is not secret is seen.
    let mut person = setup(&site, &["--model", "m"]);
    person.answers("Provider", "vllm\n");
    assert!(person.waits().ok().err.contains("vllm"));
}

#[test]
fn a_person_is_asked_for_a_url_that_is_his_own_and_may_name_any_model() {
    let site = Site::new();
    let mut person = setup(&site, &["--provider", "azure"]);
    person.answers("Base URL, such as https://RESOURCE.", "https://mine.openai.azure.com/openai/v1\n");
    person.answers("Model [", "our-deployment\n");
    person.answers("API key", "\r");
    let said = person.waits().ok();
    assert!(!said.err.contains("warning: the catalogue"), "{said:?}");
    let mut person = setup(&site, &["--provider", "ollama"]);
    person.answers("Model: ", "some-model\n");
    let said = person.waits().ok();
    assert!(!said.err.contains("Models of"), "{said:?}");
    let stored = fs::read_to_string(site.home().join(".uwf/config.yaml")).unwrap();
    assert!(stored.contains("defaultModel: some-model") && stored.contains("our-deployment"), "{stored}");
}

#[test]
fn the_doctor_asks_the_endpoint_and_never_shows_the_key() {
    let site = Site::new();
    let doctor = |url: &str| {
        let args = ["setup", "--provider", "here", "--model", "m", "--base-url", url, "--api-key-file", "-"];
        let mut uwf = site.command(UWF);
        let mut uwf =
            uwf.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        uwf.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
        assert!(uwf.wait().unwrap().success());
        site.agent(&["doctor", "--online", "--format", "text"])
    };
    let turns = vec![Turn::call("echo", json!({"text": "ready"})), Turn::text("It gave ready.")];
    let vendor = Vendor::start(Mode { model: "m".into(), ..Mode::new(Kind::Vllm) }.window(40_000), turns);
    let said = doctor(&vendor.url).ok();
    for line in [
        "✓ model: the endpoint answers and serves m\n",
        "✓ wire: chat (dialect generic), a tool called and its result read\n",
        "✓ window: 40000 tokens (server)\n",
        "! prices: not known;",
        "✓ cache: ",
    ] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    let said = doctor(&endpoint(http("200 OK", r#"{"data":[{"id":"n"}]}"#))).code(1);
    assert!(said.out.contains("its list has no model m; it serves n"), "{}", said.out);
    let refusal = format!(r#"{{"error":{{"message":"Bad key {KEY}"}}}}"#);
    let said = doctor(&endpoint(http("401 Unauthorized", &refusal))).code(1);
    assert!(said.out.contains("/v1/models answered 401: Bad key ***"), "{}", said.out);
    assert!(!said.out.contains(KEY) && !said.err.contains(KEY), "{said:?}");
}

#[test]
fn an_endpoint_that_is_not_there_is_told() {
    let site = Site::new();
    site.uwf(&["setup", "--provider", "x", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]).ok();
    let report = site.uwf(&["doctor", "--online"]).code(1).json();
    assert_eq!(report["builtin"]["online"]["reachable"], false);
    let error = report["builtin"]["online"]["error"].as_str().unwrap();
    assert!(error.contains("http://127.0.0.1:9/v1/models cannot be reached"), "{error}");
    assert_eq!(site.uwf(&["doctor"]).ok().json()["builtin"]["sandbox"]["strict"], true);
}

#[test]
fn shells_take_the_completions_and_man_takes_the_pages() {
    let site = Site::new();
    for program in [UWF, AGENT] {
        let script = Said::of(site.command(program).args(["completions", "bash"]).output().unwrap()).ok().out;
        let file = site.write("completions.bash", &script);
        let checked = Said::of(site.command("bash").args(["-n", &file]).output().unwrap()).ok();
        assert_eq!(checked.err, "");
        Said::of(site.command(program).args(["man", "--out", "pages"]).output().unwrap()).ok();
    }
    let pages = fs::read_dir(site.workspace().join("pages")).unwrap().map(|page| page.unwrap().path());
    let has_groff = Command::new("groff").arg("--version").output().is_ok();
    let mut count = 0;
    for page in pages {
        count += 1;
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.contains(".SH NAME\n") && text.contains(".SH SYNOPSIS\n"), "{}", page.display());
        if has_groff {
            let mut groff = site.command("groff");
            let said =
                Said::of(groff.args(["-man", "-Kutf8", "-Tutf8", "-ww"]).arg(&page).output().unwrap()).ok();
            assert_eq!(said.err, "", "{}", page.display());
        }
    }
    assert!(count > 30, "{count} pages");
    if !has_groff {
        println!("not rendered: no groff here");
    }
}
