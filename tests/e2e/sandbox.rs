//! The sandbox as people meet it: what is refused, how it is allowed, what is on record, and `doctor`.

use crate::process::wait_for;
use crate::rounds::{says, start};
use crate::site::{AGENT, Said, Site, example};

/// A script that runs one command and then answers.
fn commanding(command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!(
        "turns:\n  - tool_calls: [{{ name: run_command, arguments: {{ command: {command} }} }}]\n  - content: |\n      ---\n      $status: approved\n      ---\n"
    )
}

fn reviewer(site: &Site, command: &str, options: &[&str]) -> Said {
    let mock = site.write("m.yaml", &commanding(command));
    let workflow = example("solve-issue/workflow.yaml");
    let args = ["run", &workflow, "--role", "reviewer", "-p", "Review", "--mock", &mock];
    site.agent(&[&args[..], options].concat())
}

fn detail(site: &Site, said: &Said) -> serde_json::Value {
    let hash = said.json()["detailHash"].as_str().unwrap().to_owned();
    site.uwf(&["cas", "get", &hash]).ok().json()["payload"].clone()
}

#[test]
fn a_command_is_confined_unless_it_is_said_otherwise_and_the_record_has_it() {
    let site = Site::new();
    let file = site.home().join("x");
    let command = format!("echo x > {}", file.display());
    let said = reviewer(&site, &command, &[]).ok();
    assert!(!file.exists());
    let sandbox = &detail(&site, &said)["sandbox"];
    assert_eq!((&sandbox["level"], &sandbox["network"]), (&"strict".into(), &"namespace".into()));
    let said = reviewer(&site, &command, &["--allow-network", "--sandbox", "best-effort"]).ok();
    assert!(!file.exists());
    assert_eq!(detail(&site, &said)["sandbox"]["network"], "open");
    site.write("home/.uwf/agents/builtin.yaml", "sandbox: { writable: [~/tools] }\n");
    std::fs::create_dir(site.home().join("tools")).unwrap();
    reviewer(&site, "echo x > $HOME/tools/f", &[]).ok();
    assert!(site.home().join("tools/f").exists());
    let said = reviewer(&site, &command, &["--sandbox", "off"]).ok();
    assert!(file.exists());
    assert_eq!(detail(&site, &said)["sandbox"]["level"], "off");
    site.verify();
}

/// The level that the thread's last step was enforced under.
fn level_of(site: &Site, thread: &str) -> serde_json::Value {
    let head = site.uwf(&["thread", "show", thread]).ok().json()["head"].as_str().unwrap().to_owned();
    let step = site.uwf(&["cas", "get", &head]).ok().json();
    let record = site.uwf(&["cas", "get", step["payload"]["detail"].as_str().unwrap()]).ok().json();
    record["payload"]["sandbox"]["level"].clone()
}

#[test]
fn the_engine_hands_the_level_on_in_every_way_a_step_is_run() {
    let site = Site::new();
    let (thread, mock) = (start(&site), says(&site, "$status: more"));
    let (asks, done) = (says(&site, "$status: ask"), says(&site, "$status: done"));
    let run = |args: &[&str]| site.uwf(&[&["thread"], args].concat());
    let with_flag = format!("{mock} --sandbox strict");
    site.write("home/.uwf/agents/builtin.yaml", "sandbox: { level: best-effort }\n");
    for (args, level) in [
        (&["--agent", &mock][..], "best-effort"),
        (&["--agent", &mock, "--sandbox", "off"], "off"),
        (&["--agent", &mock, "--sandbox", "strict"], "strict"),
        (&["--agent", &with_flag, "--sandbox", "off"], "strict"),
    ] {
        run(&[&["exec", &thread], args].concat()).ok();
        assert_eq!(level_of(&site, &thread), level, "{args:?}");
    }
    run(&["poke", &thread, "-p", "Again.", "--agent", &mock, "--sandbox", "off"]).ok();
    assert_eq!(level_of(&site, &thread), "off");
    run(&["exec", &thread, "--agent", &asks]).code(10);
    run(&["resume", &thread, "-p", "This.", "--agent", &mock, "--sandbox", "off"]).ok();
    assert_eq!(level_of(&site, &thread), "off");
    run(&["exec", &thread, "--agent", &done, "--sandbox", "off", "--background"]).ok();
    wait_for(|| run(&["show", &thread]).ok().json()["status"] == "end");
    assert_eq!(level_of(&site, &thread), "off");
    run(&["exec", &thread, "--sandbox", "none"]).code(2);
}

#[test]
fn a_workspace_that_cannot_be_confined_is_a_failed_step_unless_no_command_is_needed() {
    let site = Site::new();
    let home = site.home().display().to_string();
    let said = reviewer(&site, "true", &["--cwd", &home]).code(6);
    let reply = said.json();
    assert_eq!(reply["frontmatter"]["phase"], "sandbox");
    assert!(reply["errorMessage"].as_str().unwrap().contains(&home), "{reply}");
    assert_eq!(reply["usage"]["turns"], 0, "no model was asked");
    reviewer(&site, "true", &["--cwd", &home, "--tools", "read_file"]).ok();
    reviewer(&site, "true", &["--cwd", &home, "--sandbox", "best-effort"]).ok();
    site.verify();
}

#[test]
fn a_file_cannot_switch_it_off() {
    let site = Site::new();
    site.write("home/.uwf/agents/builtin.yaml", "sandbox: { level: off }\n");
    reviewer(&site, "true", &[]).fails(1, &["builtin.yaml", "--sandbox off"]);
}

#[test]
fn a_file_allows_git_s_programs_and_narrows_what_a_role_s_commands_write() {
    let site = Site::new();
    site.command("git").args(["init", "-q"]).status().unwrap();
    let config = || std::fs::read_to_string(site.workspace().join(".git/config")).unwrap();
    reviewer(&site, "git config core.pager less", &[]).ok();
    assert!(!config().contains("pager"));
    site.write("home/.uwf/agents/builtin.yaml", "sandbox: { gitPrograms: true }\n");
    reviewer(&site, "git config core.pager less", &[]).ok();
    assert!(config().contains("pager"));
    site.write(
        "home/.uwf/agents/builtin.yaml",
        "roles: { solve-issue/reviewer: { writable: ['docs/', '*.md'] } }\n",
    );
    std::fs::create_dir(site.workspace().join("docs")).unwrap();
    let said = reviewer(&site, "cp .git/config docs/copy && echo x > new.md", &[]).ok();
    assert!(site.workspace().join("docs/copy").exists() && !site.workspace().join("new.md").exists());
    let detail = detail(&site, &said);
    assert_eq!(detail["sandbox"]["mounts"], true);
    let told = detail["messages"].as_array().unwrap().iter().any(|message| {
        let turn = site.uwf(&["cas", "get", message.as_str().unwrap()]).ok().json();
        turn["payload"]["content"].as_str().unwrap().contains("(this role is narrowed)")
    });
    assert!(told, "the refusal names the rule");
}

#[test]
fn the_doctor_tells_what_it_found() {
    let site = Site::new();
    let report = site.agent(&["doctor", "--format", "json"]).ok().json();
    assert_eq!(report["sandbox"]["strict"], true);
    assert_eq!(report["sandbox"]["enforceable"]["network"], "namespace");
    let promises = report["sandbox"]["promises"].as_array().unwrap();
    assert!(promises.len() == 9 && promises.iter().all(|kept| kept["held"] == true), "{promises:?}");
    let processes =
        serde_json::json!({"promise": "processes-end", "held": true, "by": ["process-namespace"]});
    assert!(promises.contains(&processes), "{promises:?}");
    let config = &report["config"];
    assert_eq!(
        (&config["connected"], &config["error"]),
        (&false.into(), &serde_json::Value::Null),
        "that is no fault"
    );
    assert!(!site.home().join(".ocas").exists(), "it changes nothing");
    let text = site.agent(&["doctor", "--format", "text"]).ok().out;
    assert!(text.contains("✓ sandbox: strict can be enforced\n  ✓ files outside"), "{text}");
    let home = site.home().display().to_string();
    let text = site.agent(&["doctor", "--cwd", &home, "--format", "text"]).code(1).out;
    assert!(text.contains("✗ sandbox: the workspace") && text.contains("--sandbox best-effort"), "{text}");
    assert!(text.contains("✗ secrets (keys, tokens, the store) can be read"), "{text}");
    site.write("home/.uwf/agents/builtin.yaml", "budget: { turns: many }\n");
    let text = site.agent(&["doctor", "--format", "text"]).code(1).out;
    assert!(text.contains("✗ config: ") && text.contains("builtin.yaml:1:18: `budget.turns`"), "{text}");
}

#[test]
fn the_doctor_prints_the_apparmor_profile_of_this_very_program() {
    let site = Site::new();
    let text = site.agent(&["doctor", "--apparmor-profile"]).ok().out;
    let program = std::fs::canonicalize(AGENT).unwrap();
    let attached = format!("profile uwf-builtin \"{}\" flags=(unconfined) {{\n  userns,", program.display());
    assert!(text.contains(&attached), "{text}");
    assert!(!site.home().join(".uwf").exists(), "it does nothing else");
    let json = site.agent(&["doctor", "--apparmor-profile", "--format", "json"]).ok().json();
    assert_eq!((json["program"].as_str(), json["profile"].as_str()), (program.to_str(), Some(&*text)));
}

#[test]
fn commands_see_the_variables_that_are_allowed_and_those_that_a_file_names() {
    let site = Site::new();
    let mock = site.write("m.yaml", &commanding("env"));
    let workflow = example("solve-issue/workflow.yaml");
    let with_variables = |args: &[&str]| {
        let mut agent = site.command(AGENT);
        agent
            .env("LC_ALL", "C")
            .env("FROB_TOKEN", "hush-1")
            .env("FROB_HOME", "hush-2")
            .env("PLAIN", "hush-3");
        Said::of(agent.args(args).output().unwrap()).ok()
    };
    let run = ["run", &workflow, "--role", "reviewer", "-p", "Review", "--mock", &mock];
    let found = || [1, 2, 3].map(|n| site.contains(&format!("=hush-{n}\n")).is_some());
    with_variables(&run);
    assert_eq!(found(), [false, false, false]);
    site.write("home/.uwf/agents/builtin.yaml", "sandbox: { env: [PLAIN, FROB_T*] }\n");
    let said = with_variables(&run);
    let settings = detail(&site, &said)["settings"].clone();
    assert_eq!(settings["sandbox"]["env"], serde_json::json!(["PLAIN", "FROB_T*"]), "{settings}");
    assert_eq!(found(), [true, false, true]);
    let told = with_variables(&["doctor", "--format", "text"]);
    let line = "commands see 5 of these variables and not 1; a build may want FROB_HOME: to pass one on, sandbox: { \
                env: [FROB_HOME] } in agents/builtin.yaml\n";
    assert!(told.out.contains(line) && !told.out.contains("hush"), "{}", told.out);
}

#[test]
fn wrong_names_of_variables_are_told_without_their_values() {
    for (env, expected) in [
        ("FROB_TOKEN", "env"),
        ("{ FROB_TOKEN: hush }", "env"),
        ("[FROB_TOKEN: hush]", "env"),
        ("[1]", "env"),
        ("['']", "env"),
        ("['*']", "sandbox.env: expected names of variables, such as NAME or PREFIX_*, got \"*\""),
        ("[FROB_TOKEN=hush]", "got \"FROB_TOKEN=\""),
    ] {
        let site = Site::new();
        site.write("home/.uwf/agents/builtin.yaml", &format!("sandbox: {{ env: {env} }}\n"));
        let said = reviewer(&site, "true", &[]).fails(1, &["builtin.yaml", expected]);
        assert!(!said.err.contains("hush"), "{}", said.err);
    }
}
