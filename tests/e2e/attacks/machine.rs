//! What else runs on the machine, as the user of the agent: servers on sockets of every kind, shared memory, waiting messages,
//! and a process with a secret in its environment and on its command line. It tells afterwards what it noticed.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::field::{PATH, Who, has, skipped};

const PROGRAM: &str = include_str!("machine.py");

pub(super) struct Machine {
    child: Child,
    pipes: RefCell<(Option<ChildStdin>, BufReader<ChildStdout>)>,
    /// Where everything is.
    places: Value,
}

impl Machine {
    /// Those of the placeholders that it fills.
    pub(super) const NAMES: &[&str] = &[
        "{victim}",
        "{shared}",
        "{segment}",
        "{queue}",
        "{semaphores}",
        "{tmux}",
        "{datagram}",
        "{packets}",
        "{listening}",
        "{taking}",
        "{relative}",
        "{nameless}",
    ];

    /// With a place for its own files and one that commands may see. Nothing runs where there is no python3.
    pub(super) fn start(who: Who, (place, seen): (&Path, &Path), secret: &str) -> Option<Machine> {
        if !has("python3") {
            skipped("attacks on what else runs", "python3");
            return None;
        }
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAM]).args([place, seen]).arg(secret).env_clear();
        command.env("PATH", PATH).env("INNOCENT", secret).stdin(Stdio::piped()).stdout(Stdio::piped());
        if who == Who::Nobody {
            command.uid(65_534).gid(65_534);
        }
        let mut child = command.current_dir("/").spawn().unwrap();
        let pipes = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut machine = Machine { child, pipes: RefCell::new(pipes), places: Value::Null };
        machine.places = machine.line();
        Some(machine)
    }

    pub(super) fn fill(&self, text: &str) -> String {
        let places = self.places.as_object().unwrap().iter();
        places.fold(text.to_owned(), |text, (name, place)| {
            let place = place.as_str().map_or_else(|| place.to_string(), str::to_owned);
            text.replace(&format!("{{{name}}}"), &place)
        })
    }

    /// What it noticed until now; it panics when it has been ended.
    pub(super) fn noticed(&self) -> Value {
        self.pipes.borrow_mut().0.as_mut().unwrap().write_all(b"\n").unwrap();
        self.line()
    }

    fn line(&self) -> Value {
        let mut line = String::new();
        self.pipes.borrow_mut().1.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("the rest of the machine lives")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.pipes.borrow_mut().0.take());
        self.child.wait().ok();
    }
}
