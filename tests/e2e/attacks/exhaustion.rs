//! What commands use up, or leave running: processes, memory, output, time. All of it bounded, whatever the sandbox does.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use super::field::{Call, Field, Who, by_everybody, command, everybody};
use crate::process::runs;

/// The kernel holds everybody to a number of processes but the root of the whole machine.
fn bombed(who: Who) -> &'static str {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let ids = fs::read_to_string("/proc/self/uid_map").unwrap();
    match who {
        Who::Me if is_root && ids.split_ascii_whitespace().take(2).eq(["0", "0"]) => {
            "ended for starting more processes"
        }
        _ => "ended with it: ",
    }
}

/// The bomb needs a while to grow, the daemon one to come up; all others end by themselves.
fn seconds(id: &str) -> u64 {
    match id {
        "a bomb" | "deaf to signals, with a daemon without parents" => 5,
        _ => 100,
    }
}

#[test]
fn what_never_ends_is_ended_and_what_is_too_much_is_cut() {
    by_everybody(|who| {
        let field = Field::new(who);
        field.site.write("home/.uwf/agents/builtin.yaml", "sandbox: { limits: { processes: 200 } }\n");
        // No other test sleeps as long: so its processes can be told from others.
        let sleep = format!("1000.{}", 100_000 + std::process::id() + who as u32);
        let attacks = [
            (
                "deaf to signals, with a daemon without parents",
                "trap '' TERM; (setsid sh -c 'sleep SLEEP & exit' &); sleep SLEEP & wait; wait",
                "ended with it: 2",
            ),
            ("a daemon that holds stdout", "(setsid sh -c 'exec sleep SLEEP' &); echo done", "still running"),
            (
                "a daemon without session, parents and mark",
                "(env -i setsid sh -c 'sleep SLEEP & : > up; exec sleep SLEEP' >/dev/null 2>&1 &); until [ -e up ]; do sleep 0.02; done",
                "still running in the background: 2 processes",
            ),
            (
                "a private directory that cannot be removed",
                "mkdir -p $TMPDIR/a/b; echo $TMPDIR > where; chmod 0 $TMPDIR/a/b; chmod 500 $TMPDIR/a $TMPDIR; exit 8",
                "exit code 8",
            ),
            // At most 1,023 processes, however it ends; the kernel does not hold root to the limit of 200.
            (
                "a bomb",
                "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep SLEEP; }; f 8",
                bombed(who),
            ),
            // It is refused before it is touched, and untouched memory is none.
            (
                "a memory hog",
                "python3 -c 'bytearray(20 << 30)' || grep -q 17179869184 /proc/self/limits && exit 7",
                "exit code 7",
            ),
            ("much output", "head -c 200000000 /dev/zero | tr '\\0' x | fold -w 99", "omitted"),
            ("a long file", "ulimit -f 100; head -c 1000000 /dev/zero > long", "File size limit exceeded"),
        ];
        // The same to every user, and the longest.
        let is_tried = |id: &str| who == Who::Me || id != "much output";
        let call = |(id, text, _): &(&str, &str, &str)| Call {
            id: (*id).to_owned(),
            tool: "run_command",
            arguments: json!({"command": text.replace("SLEEP", &sleep), "timeout_s": seconds(id)}),
        };
        let answers =
            field.run(&attacks.iter().filter(|(id, ..)| is_tried(id)).map(call).collect::<Vec<_>>(), &[]);
        for (id, _, told) in attacks.into_iter().filter(|(id, ..)| is_tried(id)) {
            let answer = &answers.texts[id];
            assert!(answer.text.contains(told), "{id}: {}", answer.text);
            assert!(answer.text.len() < 20_000 && answer.seconds < 200.0, "{id}: {}", answer.seconds);
        }
        assert!(!runs(&sleep), "a process outlived the run");
        let temporary = fs::read_to_string(field.site.workspace().join("where")).unwrap();
        assert!(!std::path::Path::new(temporary.trim()).exists(), "{temporary}");
    });
}

/// Each process is within the limits of its own; none takes more than 300 MB of memory, whatever the sandbox does.
#[test]
fn what_all_processes_of_a_command_take_together_is_limited() {
    by_everybody(|who| {
        let field = Field::new(who);
        let limits = "sandbox: { limits: { processes: 300, memoryBytes: 134217728 } }\n";
        field.site.write("home/.uwf/agents/builtin.yaml", limits);
        let memory = "ended for using more memory than a command may (128.0 MB)";
        let attacks = [
            (
                "a herd",
                "for n in 1 2 3; do python3 -c 'import time; kept = b\"x\" * (60 << 20); time.sleep(60)' & done; wait",
                memory,
            ),
            (
                "a memfd",
                "python3 -c 'import os, time\nf = os.memfd_create(\"f\")\nfor n in range(180): os.write(f, bytes(1 << 20))\ntime.sleep(60)'",
                memory,
            ),
            (
                "a herd whose first threads have ended",
                "for n in 1 2 3; do python3 -c 'import ctypes, platform, threading, time\ndef hold():\n  kept = b\"x\" * (60 << 20); time.sleep(60)\nthreading.Thread(target=hold).start(); ctypes.CDLL(None).syscall(60 if platform.machine() == \"x86_64\" else 93, 0)' & done; wait",
                memory,
            ),
            (
                "the dead",
                "python3 -c 'import os, time\nfor n in range(900):\n  if os.fork() == 0: os._exit(0)\ntime.sleep(20)'",
                swarmed(who, "Resource temporarily unavailable"),
            ),
            (
                "segments",
                "python3 -c 'import ctypes, time; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p\nids = [c.shmget(0, 60 << 20, 0o1600) for n in range(3)]\nfor s in ids:\n p = c.shmat(s, None, 0); ctypes.memset(p, 1, 60 << 20); c.shmdt(ctypes.c_void_p(p))\ntime.sleep(60)'",
                memory,
            ),
            (
                "their end",
                "python3 -c 'import ctypes; c = ctypes.CDLL(None); [c.shmctl(n, 0, None) for n in range(9)]'",
                "exit code 0",
            ),
            (
                "shared memory",
                "head -c 200000000 /dev/zero > /dev/shm/f; ls -s --block-size=M /dev/shm; rm /dev/shm/f",
                "No space left",
            ),
            (
                "threads",
                "python3 -c 'import threading, time\nthreading.stack_size(65536)\nfor n in range(900): threading.Thread(target=time.sleep, args=(20,)).start()'",
                swarmed(who, "can't start new thread"),
            ),
            // The last one, since what it started and the kernel did not refuse is left in the background.
            (
                "a deaf bomb",
                "trap '' TERM; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 20; }; f 11",
                swarmed(who, "fork: retry"),
            ),
        ];
        let call = |(id, text, _): &(&str, &str, &str)| command(id, text);
        let answers = field.run(&attacks.iter().map(call).collect::<Vec<_>>(), &[]);
        for (id, _, told) in attacks {
            let answer = &answers.texts[id];
            assert!(answer.text.contains(told), "{who:?} {id}: {}", answer.text);
            assert!(answer.seconds < 60.0, "{who:?} {id}: {}", answer.seconds);
        }
    });
}

/// One after the other, since what one takes the others miss; and beyond what other tests write to this disk meanwhile.
#[test]
fn what_a_run_takes_of_the_disk_is_limited() {
    for who in everybody() {
        let field = Field::new(who);
        let limits = "sandbox: { limits: { diskBytes: 1073741824 } }\n";
        field.site.write("home/.uwf/agents/builtin.yaml", limits);
        let calls =
            [command("a disk", "fallocate -l 2G f; sleep 60"), command("room again", "rm f && sleep 0.5")];
        let answers = field.run(&calls, &[]);
        let told = [
            ("a disk", "ended for using up more of the disk than a run may (1,024.0 MB)"),
            ("room again", "exit code 0"),
        ];
        for (id, told) in told {
            let answer = &answers.texts[id];
            assert!(answer.text.contains(told) && answer.seconds < 60.0, "{who:?} {id}: {}", answer.text);
        }
    }
}

/// Who starts too many is ended, or told so by the kernel, in these words.
fn swarmed(who: Who, told: &'static str) -> &'static str {
    match bombed(who) {
        "ended with it: " => told,
        ended => ended,
    }
}
