//! The whole command that goes on with what a signal has cut off.
//!
//! Of what was typed it names what is not kept with the thread. Words that a role was told are part of it, unless they are
//! too long to be typed.

use crate::uwf::args::MAX_STEPS;
use uwf_engine::exec::{ExecOptions, quoted};
use uwf_engine::thread::ThreadId;

/// How long a text may be that is shown in a command.
const LONGEST: usize = 300;

/// What goes on, and how.
#[derive(Clone, Debug, Default)]
pub(in crate::uwf) struct Continuation {
    /// `exec`, `resume`, `poke`, `compact`.
    verb: &'static str,
    options: String,
}

impl Continuation {
    pub(in crate::uwf) fn new(verb: &'static str) -> Continuation {
        Continuation { verb, options: String::new() }
    }

    /// With an option that has a value.
    pub(in crate::uwf) fn option(mut self, name: &str, value: impl ToString) -> Continuation {
        self.options += &format!(" {name} {}", quoted(&value.to_string()));
        self
    }

    /// With what a role is told.
    pub(super) fn told(mut self, text: Option<&str>) -> Continuation {
        match text {
            None => {}
            Some(text) if text.len() <= LONGEST && !text.contains('\n') => self = self.option("-p", text),
            Some(_) => self.options += " -f FILE (the same words)",
        }
        self
    }

    /// In the directory and the time that were named.
    pub(super) fn like(mut self, options: &ExecOptions) -> Continuation {
        if let Some(cwd) = &options.cwd {
            self = self.option("--cwd", cwd.display());
        }
        match options.deadline {
            Some(time) => self.option("--timeout", humantime::format_duration(time)),
            None => self,
        }
    }

    /// To the end, or so many steps.
    pub(super) fn until(mut self, until_end: bool, steps: u32) -> Continuation {
        match (until_end, steps) {
            (true, MAX_STEPS) => self.options += " --until-end",
            (true, _) => self.options += &format!(" --until-end --max-steps {steps}"),
            (false, 0 | 1) => {}
            (false, _) => self.options += &format!(" -c {steps}"),
        }
        self
    }

    /// As it is typed.
    pub(super) fn command(&self, thread: &ThreadId) -> String {
        format!("uwf thread {} {thread}{}", self.verb, self.options)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_command_has_what_it_needs_and_can_be_typed() {
        let thread = ThreadId::new(0);
        let told = |continuation: Continuation| continuation.command(&thread).replace(thread.as_str(), "T");
        assert_eq!(told(Continuation::new("exec").until(true, MAX_STEPS)), "uwf thread exec T --until-end");
        assert_eq!(
            told(Continuation::new("exec").until(true, 7)),
            "uwf thread exec T --until-end --max-steps 7"
        );
        assert_eq!(told(Continuation::new("exec").until(false, 1)), "uwf thread exec T");
        assert_eq!(told(Continuation::new("exec").until(false, 3)), "uwf thread exec T -c 3");
        let (cwd, deadline) = (Some("/a b".into()), Some(Duration::from_secs(90)));
        let there = Continuation::new("exec").like(&ExecOptions { cwd, deadline, ..ExecOptions::default() });
        assert_eq!(told(there), "uwf thread exec T --cwd '/a b' --timeout '1m 30s'");
        let resume = |text| told(Continuation::new("resume").told(Some(text)));
        assert_eq!(resume("it's mine"), "uwf thread resume T -p \"it's mine\"");
        assert_eq!(resume("a\nb"), "uwf thread resume T -f FILE (the same words)");
    }
}
