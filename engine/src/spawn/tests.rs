use std::path::PathBuf;

use super::*;

/// Runs a shell script as an agent.
fn sh(script: &str, deadline: Option<Duration>, stop: &StopSignal) -> (Result<Finished, SpawnError>, String) {
    sh_in(Path::new("/"), script, deadline, stop)
}

fn sh_in(
    cwd: &Path,
    script: &str,
    deadline: Option<Duration>,
    stop: &StopSignal,
) -> (Result<Finished, SpawnError>, String) {
    sh_with(&[], cwd, script, (deadline, stop))
}

fn sh_with(
    more: &[(&str, &str)],
    cwd: &Path,
    script: &str,
    (deadline, stop): (Option<Duration>, &StopSignal),
) -> (Result<Finished, SpawnError>, String) {
    let command = AgentCommand::new("sh", vec!["-c".into(), script.into(), "agent".into()]);
    let env: Env = [
        ("PATH", "/usr/bin:/bin"),
        ("GIVEN", "yes"),
        ("PGPASSWORD", "s3cret"),
        ("PGPASSFILE", "/p"),
        ("PGSERVICE", "s"),
    ]
    .into_iter()
    .chain(more.iter().copied())
    .collect();
    let mut stderr = Vec::new();
    let finished = run(
        &ProcessSpec {
            command: &command,
            file: &command.program,
            args: vec!["--flag".into(), "- value".into()],
            cwd,
            env: &env,
            deadline,
            inherit_stderr: false,
            stop,
        },
        &mut |bytes| stderr.extend_from_slice(bytes),
    );
    (finished, String::from_utf8(stderr).unwrap())
}

fn quick(script: &str) -> (Finished, String) {
    let (finished, stderr) = sh(script, None, &StopSignal::default());
    (finished.unwrap(), stderr)
}

#[test]
fn an_agent_gets_arguments_directory_and_exactly_the_environment_given() {
    let (finished, _) = quick(r#"echo "$1|$2|$PWD|$GIVEN|${HOME-unset}"; cat"#);
    assert_eq!(finished.stdout, b"--flag|- value|/|yes|unset\n");
    assert!(finished.status.success());
}

#[test]
fn what_opens_a_remote_is_no_agents() {
    let (finished, _) = quick("env | grep -c ^PG; exit 0");
    assert_eq!(finished.stdout, b"0\n");
}

#[test]
fn a_directory_that_cannot_be_entered_is_not_the_agents_fault() {
    let closed = tempfile::NamedTempFile::new().unwrap();
    let (result, _) = sh_in(closed.path(), "exit 0", None, &StopSignal::default());
    let error = result.unwrap_err().to_string();
    let name = closed.path().display().to_string();
    assert_eq!(error, format!("the directory {name} cannot be entered, where the agent was to work"));
}

#[test]
fn stderr_is_passed_on_and_its_end_kept() {
    let (finished, stderr) =
        quick("i=0; while [ $i -lt 400 ]; do echo line $i >&2; i=$((i+1)); done; exit 3");
    assert_eq!(stderr.lines().count(), 400);
    assert!(finished.stderr_tail.ends_with("line 398\nline 399"), "{}", finished.stderr_tail);
    assert!(finished.stderr_tail.starts_with("line "), "whole lines only");
    assert!(finished.stderr_tail.len() <= 2048);
    assert_eq!(finished.exit(), "exit status 3");
}

#[test]
fn much_output_is_read_to_its_end() {
    let (finished, _) = quick("head -c 40000000 /dev/zero; echo; echo end");
    assert_eq!(finished.stdout.len(), 16 << 20);
    assert!(finished.stdout.ends_with(b"\nend\n"));
}

#[test]
fn a_background_process_that_holds_stdout_does_not_hang_us() {
    let started = Instant::now();
    let (finished, _) = quick("sleep 600 & echo reply");
    assert_eq!(finished.stdout, b"reply\n");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_deadline_ends_the_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    // The shell ignores the polite signal, so its group is killed.
    let script = format!("trap '' TERM; sleep 60 & echo $! > {}; sleep 60; sleep 60", pid_file.display());
    // On a slow machine it takes longer until there is a group.
    for deadline in ["300ms", "3s", "30s"] {
        let time = humantime::parse_duration(deadline).unwrap();
        let (result, _) = sh(&script, Some(time), &StopSignal::default());
        let error = result.unwrap_err().to_string();
        assert_eq!(error, format!("the agent `sh` was ended: it took longer than {deadline}"));
        if std::fs::metadata(&pid_file).is_ok_and(|file| file.len() > 1) {
            break;
        }
    }
    assert!(is_gone(&std::fs::read_to_string(pid_file).unwrap()));
}

#[test]
fn whoever_has_little_time_is_killed_sooner_and_gives_less_to_what_it_runs() {
    let more = [(STOP_WITHIN, "300")];
    let stop = StopSignal::default();
    let (finished, _) = sh_with(&more, Path::new("/"), "echo $UWF_STOP_WITHIN", (None, &stop));
    assert_eq!(finished.unwrap().stdout, b"200\n");
    let script = "trap '' TERM; sleep 60; sleep 60";
    let begun = Instant::now();
    let deadline = Some(Duration::from_millis(200));
    sh_with(&more, Path::new("/"), script, (deadline, &stop)).0.unwrap_err();
    assert!(begun.elapsed() < GRACE, "{:?}", begun.elapsed());
}

#[test]
fn a_stop_signal_is_forwarded() {
    let stop = StopSignal::default();
    let cell = stop.cell();
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let script =
        format!("trap 'echo bye >&2; exit 143' TERM; : > {}; while :; do sleep 0.05; done", ready.display());
    let sender = std::thread::spawn(move || {
        while !ready.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Not SIGINT: a shell that was itself started in the background ignores that one, and cannot trap it.
        cell.store(15, Ordering::SeqCst);
    });
    let (result, stderr) = sh(&script, None, &stop);
    sender.join().unwrap();
    assert!(matches!(result, Err(SpawnError::Stopped { signal: 15 })), "{result:?}");
    assert!(stderr.ends_with("bye\n"), "{stderr}");
}

#[test]
fn a_missing_program_is_named() {
    let command = AgentCommand::new("no-such-agent", vec![]);
    let run = ProcessSpec {
        command: &command,
        file: "no-such-agent",
        args: vec![],
        cwd: Path::new("/"),
        env: &Env::default(),
        deadline: None,
        inherit_stderr: false,
        stop: &StopSignal::default(),
    };
    let error = super::run(&run, &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "cannot start the agent `no-such-agent`");
}

/// Whether a process is dead or a zombie, soon.
fn is_gone(pid: &str) -> bool {
    let stat = PathBuf::from("/proc").join(pid.trim()).join("stat");
    (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    })
}
