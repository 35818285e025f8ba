//! The levels, the report, and what a refusal says.

use super::*;

#[test]
fn strict_enforces_all_here_and_says_so() {
    let fixture = SandboxFixture::new();
    let enforced = fixture.sandbox.enforced();
    assert_eq!((enforced.mounts, enforced.processes), (true, Processes::Namespace), "{enforced:?}");
    assert_eq!((enforced.seccomp, enforced.network, enforced.missing.len()), (true, Network::Namespace, 0));
    let json = serde_json::to_value(enforced).unwrap();
    assert_eq!((&json["level"], &json["network"]), (&json!("strict"), &json!("namespace")));
    let open = SandboxFixture::with(|policy| Policy { network: true, ..policy });
    assert_eq!(open.sandbox.enforced().network, Network::Open);
    let off = SandboxFixture::off();
    assert_eq!(off.sandbox.enforced(), &Enforced::nothing(Level::Off));
}

#[test]
fn a_workspace_around_a_home_is_refused_by_strict_and_reported_by_best_effort() {
    let around = |level| {
        SandboxFixture::with(|policy| Policy {
            level,
            workspace: policy.workspace.parent().unwrap().to_owned(),
            ..policy
        })
    };
    let fixture = around(Level::Strict);
    let text = fixture.run("touch x").text;
    assert!(text.contains("the command was not run") && text.contains("/home lies within it"), "{text}");
    assert!(text.contains("--sandbox best-effort") && !fixture.path("ws/x").exists());
    let fixture = around(Level::BestEffort);
    fixture.works("touch x");
    assert!(fixture.sandbox.enforced().missing[0].contains("lies within the workspace"));
}

#[test]
fn what_is_switched_off_is_done_without_and_named() {
    let fixture =
        SandboxFixture::with(|policy| Policy { namespaces: false, level: Level::BestEffort, ..policy });
    let enforced = fixture.sandbox.enforced();
    // A control group may hold them, where the agent may make one.
    assert_eq!(enforced.network, Network::Seccomp);
    assert_ne!(enforced.processes, Processes::Namespace);
    let [missing] = &enforced.missing[..] else { panic!("{enforced:?}") };
    assert!(missing.starts_with("namespaces: namespaces are switched off; so modes, owners and times"));
}

#[test]
fn a_failure_of_the_command_itself_has_no_note() {
    let fixture = SandboxFixture::new();
    for command in ["false", "cat absent", "echo 'Permission denied'", "touch x && ./x", "exit 3"] {
        let text = fixture.run(command).text;
        assert!(!text.contains("sandbox"), "{command}: {text}");
    }
    let text = fixture.fails("mkdir /etc/uwf-test");
    assert!(text.contains("instead of /etc/uwf-test"), "{text}");
}

#[test]
fn limits_hold() {
    let limits = ProcessLimits { file_bytes: 1 << 20, ..ProcessLimits::default() };
    let fixture = SandboxFixture::with(|policy| Policy { limits, ..policy });
    fixture.fails("head -c 2000000 /dev/zero > big");
    assert_eq!(fs::metadata(fixture.path("ws/big")).unwrap().len(), 1 << 20);
    assert!(fixture.works("ulimit -c").starts_with("0\n"));
}

#[test]
fn after_commands_were_ended_others_run() {
    for namespaces in [true, false] {
        let fixture =
            SandboxFixture::with(|policy| Policy { namespaces, level: Level::BestEffort, ..policy });
        let arguments =
            json!({"command": "trap '' TERM; sleep 95.5 & wait; wait", "timeout_s": 1}).to_string();
        let text = fixture.toolbox.call("run_command", &arguments, &Cancel::default()).text;
        assert!(text.contains("ended at the time limit"), "{text}");
        fixture.works("true");
    }
}

/// Set for the copy of this program that closes itself in.
const CONFINED: &str = "UWF_TOOLS_TEST_CONFINED";

#[test]
fn a_program_that_closes_itself_in_reaches_what_its_commands_reach_and_its_own_directories() {
    let fixture = SandboxFixture::new();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "sandbox::tests::levels::program_that_closes_itself_in",
        "--ignored",
        "--nocapture",
    ]);
    let output = command.env(CONFINED, fixture.dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn program_that_closes_itself_in() {
    let Some(dir) = std::env::var_os(CONFINED).map(PathBuf::from) else { return };
    let run_dir = crate::RunDir::make(&dir).unwrap();
    let policy = Policy {
        private: vec![dir.join("home/.uwf"), dir.join("store")],
        run_dir: run_dir.path().to_owned(),
        ..crate::scratch::policy(&dir)
    };
    let config = crate::scratch::config(&dir, limits());
    let sandbox = Arc::new(Sandbox::prepare(policy));
    let toolbox = Toolbox::open(crate::ToolboxConfig { sandbox: Arc::clone(&sandbox), ..config }).unwrap();
    std::thread::spawn(move || {
        // Landlock holds for the thread that asks and what it starts: that is enough to see it at work.
        assert!(confine_self(&sandbox).unwrap());
        let write = |name: &str| fs::write(dir.join(name), "x");
        assert!(write("ws/x").is_ok() && write("store/x").is_ok() && write("home/.uwf/x").is_ok());
        assert!(write("elsewhere/x").is_err() && write("home/x").is_err() && write("x").is_err());
        assert!(fs::read(dir.join("home/.ssh/id")).is_err() && fs::read("/etc/passwd").is_ok());
        let call = |command: &str| {
            let arguments = json!({"command": command}).to_string();
            toolbox.call("run_command", &arguments, &Cancel::default())
        };
        let output = call("echo $TMPDIR > where; cat ../store/nodes/x; sleep 300 & echo done");
        assert!(output.text.contains("done") && !output.text.contains("the-secret"), "{}", output.text);
        assert!(output.text.contains("still running in the background: 1 process"), "{}", output.text);
        let server = call(&format!("cat /proc/{}/environ", std::process::id()));
        assert_ne!(server.facts.exit_code, Some(0), "{}", server.text);
        assert_eq!(toolbox.close().ended.len(), 1);
        // The directory of the run can be removed from within.
        drop((toolbox, sandbox));
        drop(run_dir);
        assert!(!Path::new(fs::read_to_string(dir.join("ws/where")).unwrap().trim()).exists());
    })
    .join()
    .unwrap();
}
