//! Commands that use up what all of them share: memory and processes, each process within its own limits.

use super::*;

const MB: u64 = 1 << 20;

/// A fixture whose commands may hold 128 MB.
fn narrow(level: Level, namespaces: bool) -> SandboxFixture {
    let limits = ProcessLimits { memory_bytes: 128 * MB, ..ProcessLimits::default() };
    SandboxFixture::with(|policy| Policy { limits, level, namespaces, ..policy })
}

/// A fixture whose commands may be 300 processes. Without namespaces those of other tests count too, as they are the same
/// user's.
fn few(level: Level, namespaces: bool) -> SandboxFixture {
    let limits = ProcessLimits { processes: 300, ..ProcessLimits::default() };
    SandboxFixture::with(|policy| Policy { limits, level, namespaces, ..policy })
}

/// Whether a control group holds the commands; then the kernel ends single processes, at its own choice.
fn is_limited(fixture: &SandboxFixture) -> bool {
    fixture.sandbox.memory().is_none()
}

#[track_caller]
fn is_ended(fixture: &SandboxFixture, command: &str, why: &str) {
    let output = fixture.run(command);
    assert!(output.is_error && output.text.contains(why), "{command}: {}", output.text);
    fixture.works("true");
}

/// Three processes with 60 MB each, 180 MB in all.
const HERD: &str =
    "for n in 1 2 3; do python3 -c 'import time; kept = b\"x\" * (60 << 20); time.sleep(90)' & done; wait";

#[test]
fn processes_within_their_limits_are_ended_for_what_they_hold_together() {
    for (level, namespaces) in [(Level::Strict, true), (Level::BestEffort, false)] {
        let fixture = narrow(level, namespaces);
        if !is_limited(&fixture) {
            is_ended(&fixture, HERD, "ended for using more memory than a command may (128.0 MB) after");
        }
    }
}

#[test]
fn memory_that_is_in_no_process_counts() {
    let fixture = narrow(Level::Strict, true);
    if is_limited(&fixture) {
        return;
    }
    let word = "ended for using more memory than a command may";
    let file = "import os, time; f = os.memfd_create('f')\nfor n in range(180): os.write(f, bytes(1 << 20))\ntime.sleep(90)";
    is_ended(&fixture, &format!("python3 -c \"{file}\""), word);
    // System V: attached, written, and left.
    let segment = "import ctypes, time; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p\nfor n in range(3):\n s = c.shmget(0, 60 << 20, 0o1600); p = c.shmat(s, None, 0); ctypes.memset(p, 1, 60 << 20); c.shmdt(ctypes.c_void_p(p))\ntime.sleep(90)";
    is_ended(&fixture, &format!("python3 -c \"{segment}\""), word);
    fixture.works("ipcrm -a 2>/dev/null || python3 -c 'import ctypes; c = ctypes.CDLL(None); [c.shmctl(n, 0, None) for n in range(9)]'");
    // Each half of the limit, in both places.
    let both = "head -c 80000000 /dev/zero > /dev/shm/f && python3 -c 'import time; kept = b\"x\" * (80 << 20); time.sleep(90)'";
    is_ended(&fixture, both, word);
    fixture.works("rm /dev/shm/f");
    let text = fixture.fails("head -c 200000000 /dev/zero > /dev/shm/f");
    assert!(text.contains("No space left"), "{text}");
    fixture.works("rm /dev/shm/f");
}

#[test]
fn what_is_shared_is_counted_once_and_mapped_files_are_not() {
    let fixture = narrow(Level::Strict, true);
    // Ten processes that share 60 MB, written before they were forked; and a mapped file of 200 MB, all of it read.
    fixture.works("python3 -c 'import os, time\nkept = bytearray(b\"x\") * (60 << 20)\nfor n in range(10):\n  if os.fork() == 0: time.sleep(1); os._exit(0)\ntime.sleep(1)'");
    fixture.works("head -c 200000000 /dev/zero > f; python3 -c 'import mmap, time; m = mmap.mmap(open(\"f\", \"rb\").fileno(), 0, prot=1); sum(m[n] for n in range(0, len(m), 4096)); time.sleep(1)'; rm f");
    // In a mapping and in /dev/shm it is the same.
    fixture.works("python3 -c 'import mmap, time\nf = open(\"/dev/shm/f\", \"w+b\"); f.truncate(80 << 20); m = mmap.mmap(f.fileno(), 0); m[:] = b\"x\" * 0 + bytes(len(m)); time.sleep(1)'; rm /dev/shm/f");
}

#[test]
fn what_multiplies_is_ended_at_once_with_what_it_started() {
    for (level, namespaces) in [(Level::Strict, true), (Level::BestEffort, false)] {
        let fixture = few(level, namespaces);
        // Deaf to TERM: each second it had would be used. At most 4,095 processes.
        let bomb =
            "trap '' TERM; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 7.531; }; f 11";
        let text = fixture.run(bomb).text;
        let by_kernel = text.contains("Resource temporarily unavailable")
            || text.contains("Cannot fork")
            || text.contains("retry");
        assert!(text.contains("ended for starting more processes") || by_kernel, "{text}");
        // Threads are counted as well.
        let threads = "python3 -c 'import threading, time\nthreading.stack_size(65536)\nfor n in range(600): threading.Thread(target=time.sleep, args=(5,)).start()'";
        let text = fixture.run(threads).text;
        assert!(
            text.contains("ended for starting more processes") || text.contains("start new thread"),
            "{text}"
        );
        fixture.works("true");
    }
}

/// While no command runs, and while one does, which is none of it.
#[test]
fn what_is_left_running_is_ended_for_what_it_takes() {
    let herd = (narrow(Level::Strict, true), HERD, "using more memory than a command may");
    let bomb = "trap '' TERM; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 90; }; f 11";
    let bomb = (few(Level::Strict, true), bomb, "starting more processes than a command may");
    // The kernel itself holds others than root to a number of processes.
    let by_kernel = |command: &str| command != HERD && !rustix::process::geteuid().is_root();
    for (fixture, command, word) in [herd, bomb] {
        if is_limited(&fixture) || by_kernel(command) {
            continue;
        }
        for wait in ["true", "sleep 3"] {
            fixture.works(&format!("(sleep 1; {command}) >/dev/null 2>&1 &"));
            let answers = (0..300).map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                fixture.run(wait).text
            });
            let answer =
                answers.into_iter().find(|text| text.contains("left running was")).unwrap_or_default();
            assert!(answer.contains(&format!("left running was ended for {word}")), "{answer}");
            assert!(answer.contains("exit code 0") || command != HERD, "{answer}");
        }
        fixture.works("true");
    }
}

/// Free space is what all programs leave of it, so a file that one of them removes meanwhile can hide one attempt.
#[test]
fn disk_space_is_limited_for_the_run_and_can_be_given_back() {
    const ATTEMPTS: usize = 6;
    let word = "ended for using up more of the disk than a run may (1,024.0 MB) after";
    for place in ["f", "$TMPDIR/f"] {
        let is_ended = |_| {
            // Other tests write to the same disk: beyond what they take.
            let limits = ProcessLimits { disk_bytes: 1024 * MB, ..ProcessLimits::default() };
            let fixture = SandboxFixture::with(|policy| Policy { limits, ..policy });
            let output = fixture.run(&format!("fallocate -l 2G {place} && sleep 15"));
            if !output.text.contains(word) {
                return false;
            }
            assert!(output.is_error && output.text.contains("sandbox.limits.diskBytes"), "{}", output.text);
            fixture.works(&format!("rm {place}; sleep 0.5"));
            true
        };
        assert!((0..ATTEMPTS).any(is_ended), "2 GB in {place} were never too much");
    }
}
