//! What commands must not be able to do.

use super::*;

#[test]
fn nothing_outside_is_written_and_everything_is_with_the_sandbox_off() {
    let (strict, off) = (SandboxFixture::new(), SandboxFixture::off());
    for name in ["home/x", "elsewhere/f", "elsewhere/new", "x", "store/nodes/x", "home/.bashrc"] {
        // What commands have of their own takes it, and goes with the run.
        strict.run(&format!("echo changed > {}", strict.path(name).display()));
        let is_changed = fs::read_to_string(strict.path(name)).is_ok_and(|text| text == "changed\n");
        assert!(!is_changed, "{name}");
        off.works(&format!("echo changed > {}", off.path(name).display()));
    }
    let f = strict.path("elsewhere/f");
    for command in ["rm", "truncate -cs 0", "mv -t .", "ln -f -t ."] {
        strict.run(&format!("{command} {}", f.display()));
    }
    assert_eq!(fs::read_to_string(f).unwrap(), "no secret\n");
    let text = strict.fails("echo x > /etc/uwf-test || mkdir /uwf-test || echo x > /usr/uwf-test");
    assert!(text.contains("denied") || text.contains("Read-only"), "{text}");
    assert!(text.contains("(sandbox: "), "{text}");
    strict.works("echo x > $TMPDIR/f && echo x > b && echo x > /dev/null");
    strict.works("echo x > /tmp/uwf-test && echo x > /var/tmp/uwf-test && echo x > ~/uwf-test && echo x > /dev/shm/uwf-test");
    let kept = ["/tmp/uwf-test", "/var/tmp/uwf-test", "/dev/shm/uwf-test"]
        .iter()
        .any(|path| Path::new(path).exists());
    assert!(!kept && !strict.path("home/uwf-test").exists());
}

/// Landlock does not look at these; the mounts do, with and without the network.
#[test]
fn modes_and_times_outside_stay() {
    for network in [false, true] {
        let fixture = SandboxFixture::with(|policy| Policy { network, ..policy });
        let f = Path::new("/etc/passwd");
        let before = fs::metadata(f).unwrap();
        for command in ["chmod 777 ", "touch -d 2001-01-01 ", "chown 65533 ", "chmod 777 /proc/self/root"] {
            let text = fixture.fails(&format!("{command}{}", f.display()));
            assert!(text.contains("(sandbox: "), "{text}");
        }
        let after = fs::metadata(f).unwrap();
        assert_eq!(
            (after.permissions(), after.modified().unwrap()),
            (before.permissions(), before.modified().unwrap())
        );
        fixture.works("chmod 700 a && touch -d 2001-01-01 a && echo x > $TMPDIR/f && chmod 700 $TMPDIR/f && test $PWD = $(pwd -P)");
    }
    let off = SandboxFixture::off();
    off.works(&format!("chmod 777 {}", off.path("elsewhere/f").display()));
}

#[test]
fn secrets_are_not_read() {
    let (strict, off) = (SandboxFixture::new(), SandboxFixture::off());
    let secrets = [
        "home/.ssh/id",
        "home/.uwf/config.yaml",
        "store/nodes/x",
        "home/.config/gh/hosts.yml",
        "home/.cargo/credentials.toml",
    ];
    for name in secrets {
        let text = strict.fails(&format!("cat {}", strict.path(name).display()));
        assert!(text.contains("may hold secrets"), "{text}");
        assert!(off.works(&format!("cat {}", off.path(name).display())).contains("the-secret"));
    }
    // By a link, by a hard link, through a handle's path.
    let id = strict.path("home/.ssh/id");
    strict.fails(&format!("ln -s {} link && cat link", id.display()));
    strict.fails(&format!("ln {} hard && cat hard", id.display()));
    strict.fails(&format!("cat /proc/self/root{}", id.display()));
    let text = strict.fails(&format!("cat {}", strict.path("home/notes").display()));
    assert!(text.contains("is not shown to commands") && text.contains("readable: ["), "{text}");
    strict.works(&format!("ls {} && test -z $(ls ~)", strict.path("home").display()));
}

#[test]
fn a_readable_secret_is_read() {
    let fixture = SandboxFixture::with(|policy| Policy {
        readable: vec![policy.home.clone().unwrap().join(".ssh")],
        ..policy
    });
    fixture.works(&format!("cat {}", fixture.path("home/.ssh/id").display()));
    fixture.fails(&format!("echo x > {}", fixture.path("home/.ssh/id").display()));
}

#[test]
fn devices_are_closed() {
    let fixture = SandboxFixture::new();
    fixture.fails(
        "cat /dev/vda | head -c 1 | grep -q . || cat /dev/sda /dev/mem /dev/kmsg | head -c 1 | grep .",
    );
    fixture.fails("mknod disk b 254 0");
    fixture.works("head -c 4 /dev/urandom > /dev/null");
}

#[test]
fn the_agent_is_neither_signalled_nor_looked_into() {
    let fixture = SandboxFixture::new();
    let agent = std::process::id();
    fixture.fails(&format!("kill -CONT {agent}"));
    fixture.fails(&format!("cat /proc/{agent}/environ"));
    fixture.fails(&format!("head -c 1 /proc/{agent}/mem"));
    fixture.fails(&format!("readlink /proc/{agent}/fd/1"));
    fixture.fails(&format!("prlimit --pid {agent} --nofile=3"));
    fixture.works("sleep 100 & kill $! && env true");
}

#[test]
fn calls_that_break_out_are_refused() {
    if !has("python3") {
        return;
    }
    let fixture = SandboxFixture::new();
    let calls = [
        libc::SYS_ptrace,
        libc::SYS_io_uring_setup,
        libc::SYS_process_vm_readv,
        libc::SYS_keyctl,
        libc::SYS_bpf,
        libc::SYS_mount,
        libc::SYS_setns,
        libc::SYS_perf_event_open,
        libc::SYS_open_by_handle_at,
    ];
    fixture.python(&format!(
        "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         for call in {calls:?}:\n    assert libc.syscall(call, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EPERM, call\n\
         assert libc.unshare(0x10000000) == -1 and ctypes.get_errno() == errno.EPERM\n\
         assert libc.syscall({}, 0, 0) == -1 and ctypes.get_errno() == errno.ENOSYS\n",
        libc::SYS_clone3
    ));
}

#[test]
fn files_are_not_leased_and_processes_of_others_are_not_steered() {
    let lease = "import fcntl, os\nf = open('leased', 'w')\nfor note in (1024, 1026):\n    try: fcntl.fcntl(f if note == 1024 else os.open('.', 0), note, 1)\n    except PermissionError: continue\n    raise SystemExit(1)\nfcntl.lockf(f, fcntl.LOCK_EX)\nos.nice(1)\nos.sched_setaffinity(0, os.sched_getaffinity(0))\n";
    let steer = |pid: u32| {
        let calls = format!(
            "lambda: os.setpriority(os.PRIO_PROCESS, {pid}, 5), lambda: os.setpriority(os.PRIO_USER, 0, 5), \
             lambda: os.sched_setaffinity({pid}, [0]), \
             lambda: os.sched_setscheduler({pid}, os.SCHED_BATCH, os.sched_param(0))"
        );
        format!(
            "import os\nfor call in ({calls}):\n    try: call()\n    except PermissionError: continue\n    raise SystemExit(1)\n"
        )
    };
    for (level, namespaces) in [(Level::Strict, true), (Level::BestEffort, false)] {
        let fixture = SandboxFixture::with(|policy| Policy { level, namespaces, ..policy });
        fixture.python(lease);
        if !namespaces {
            let mut victim = Command::new("sleep").arg("60").spawn().unwrap();
            fixture.python(&steer(victim.id()));
            victim.kill().unwrap();
            victim.wait().unwrap();
        }
    }
}

#[test]
fn root_keeps_rights_over_files_alone() {
    let fixture = SandboxFixture::new();
    let status = fixture.works("grep -E '^(CapEff|CapPrm|CapInh|NoNewPrivs)' /proc/self/status");
    let kept = if rustix::process::geteuid().is_root() { "000000000000001b" } else { "0000000000000000" };
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("CapEff").ends_with(kept) && line("CapPrm").ends_with(kept), "{status}");
    assert!(line("CapInh").ends_with("0000000000000000") && line("NoNewPrivs").ends_with('1'), "{status}");
}

#[test]
fn the_private_directories_are_closed_to_file_tools_too() {
    let fixture = SandboxFixture::with(|policy| Policy {
        private: vec![policy.workspace.join("state")],
        level: Level::BestEffort,
        ..policy
    });
    // It appears after the sandbox was made ready, and before the toolbox is opened.
    fs::create_dir(fixture.path("ws/state")).unwrap();
    fs::write(fixture.path("ws/state/f"), "the-secret").unwrap();
    let config = crate::scratch::config(fixture.dir.path(), limits());
    let toolbox =
        Toolbox::open(crate::ToolboxConfig { sandbox: Arc::clone(&fixture.sandbox), ..config }).unwrap();
    let call = |tool: &str, arguments: serde_json::Value| {
        let output = toolbox.call(tool, &arguments.to_string(), &Cancel::default());
        assert!(!output.text.contains("the-secret"), "{}", output.text);
        output
    };
    for path in ["state/f", "./state/../state/f", "state"] {
        let text = call("read_file", json!({"path": path})).text;
        assert!(text.contains("the agent's own records"), "{path}: {text}");
    }
    assert!(call("write_file", json!({"path": "state/g", "content": "x"})).is_error);
    call("grep", json!({"pattern": "secret"}));
    call("list_dir", json!({"path": "state"}));
}
