//! What commands use up, or leave running: processes, memory, output, time. All of it bounded, whatever the sandbox does.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use super::field::{Call, Field, Who, by_everybody};
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
