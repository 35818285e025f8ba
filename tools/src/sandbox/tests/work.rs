//! What a developer does must go on working.

use super::*;

#[test]
fn files_are_listed_linked_and_moved() {
    let fixture = SandboxFixture::new();
    fixture.works("ls / /tmp /usr/bin >/dev/null && mkdir -p d/e && ln -s a s && ln a h && mv a d/e/a && mv d/e $TMPDIR/e");
    fixture
        .works("mv $TMPDIR/e . && cat e/a && chmod 600 e/a && rm -r e d && mkfifo p && touch -d yesterday h");
}

const GIT: &str = "git -c user.name=n -c user.email=e@x -c init.defaultBranch=main";

#[test]
fn git_works_in_a_repository_and_in_a_linked_worktree() {
    if !has("git") {
        return;
    }
    let fixture = SandboxFixture::new();
    let session = format!(
        "export HOME=$TMPDIR; {GIT} add . && {GIT} commit -qm one && git checkout -qb b && echo x >> a && {GIT} stash -q && \
         {GIT} stash pop -q && {GIT} commit -qam two && git log --oneline | wc -l"
    );
    fixture.works(&format!("{GIT} init -q && {session}"));
    let (main, linked) = (fixture.path("main"), fixture.path("linked"));
    let outside = SandboxFixture::off();
    outside.works(&format!(
        "export HOME=$TMPDIR; {GIT} init -q {main} && cd {main} && touch a && {GIT} add a && {GIT} commit -qm one && git worktree add -q {linked}",
        main = main.display(),
        linked = linked.display()
    ));
    let policy = |policy| Policy { workspace: linked.clone(), ..policy };
    let temporary = fixture.path("");
    let sandbox = Arc::new(Sandbox::prepare(policy(crate::scratch::policy(&temporary))));
    let config = crate::scratch::config(&temporary, limits());
    let config = crate::ToolboxConfig { sandbox, root: linked.clone(), ..config };
    let toolbox = Toolbox::open(config).unwrap();
    let arguments = json!({"command": format!("echo y > new && {session}")});
    let output = toolbox.call("run_command", &arguments.to_string(), &Cancel::default());
    assert_eq!(output.facts.exit_code, Some(0), "{}", output.text);
    let arguments = json!({"command": format!("touch {}", main.join("x").display())});
    let output = toolbox.call("run_command", &arguments.to_string(), &Cancel::default());
    assert!(!main.join("x").exists(), "the main worktree itself stays closed: {}", output.text);
}

#[test]
fn a_crate_without_dependencies_builds_and_its_tests_run() {
    // The compiler of these tests, wherever it is installed.
    let Some(cargo) = option_env!("CARGO").map(Path::new).filter(|cargo| cargo.is_file()) else { return };
    if fs::File::open(cargo).is_err() {
        return;
    }
    let fixture = SandboxFixture::new();
    fs::create_dir(fixture.path("ws/src")).unwrap();
    fs::write(fixture.path("ws/Cargo.toml"), "[package]\nname = \"x\"\nedition = \"2021\"\n").unwrap();
    fs::write(fixture.path("ws/src/lib.rs"), "#[test]\nfn one() { assert_eq!(1, 1) }\n").unwrap();
    let bin = cargo.parent().unwrap().display();
    fixture.works(&format!("PATH={bin}:$PATH CARGO_HOME=$TMPDIR cargo test --offline -q --lib"));
}

#[test]
fn a_shell_has_its_pipes_and_streams() {
    let fixture = SandboxFixture::new();
    let text = fixture.works(
        "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin < a; paste <(echo l) <(echo r); cat <<< here; \
         seq 3 | tee /dev/stderr | wc -l; (sleep 0.01 & wait); echo x | tee >(cat > t) >/dev/null; ps -e > /dev/null || true",
    );
    for word in ["out", "err", "l\tr", "here"] {
        assert!(text.contains(word), "{text}");
    }
}

/// What the sandbox opens on request: shared memory, which Python's locks between processes need.
#[test]
fn shared_memory_is_opened_by_the_policy() {
    if !has("python3") {
        return;
    }
    let program = "import multiprocessing\nmultiprocessing.Lock()\n";
    let fixture =
        SandboxFixture::with(|policy| Policy { writable: vec![PathBuf::from("/dev/shm")], ..policy });
    fixture.python(program);
}

#[test]
fn a_narrowed_workspace_is_seen_below_a_home_and_in_a_place_that_is_private() {
    for is_below_home in [false, true] {
        let fixture = SandboxFixture::with(|policy| {
            let around = policy.workspace.parent().map(Path::to_owned);
            let home = around.filter(|_| is_below_home).or(policy.home.clone());
            Policy { within: Some(vec!["docs".into(), "absent".into()]), home, ..policy }
        });
        assert!(fixture.works("cat a").starts_with("a\n"));
        fixture.fails("touch new");
        fixture.fails("touch ../elsewhere/new");
    }
}
