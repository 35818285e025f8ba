//! What happens in a called thread, told to whoever watches the caller's.

use std::path::Path;

use crate::exec::Observer;
use crate::spawn::protocol::AgentCommand;

/// Names each role by the way to it: `developer/coder`.
pub(super) struct Below<'a> {
    above: &'a str,
    observer: &'a mut dyn Observer,
}

impl<'a> Below<'a> {
    pub(super) fn new(above: &'a str, observer: &'a mut dyn Observer) -> Below<'a> {
        Below { above, observer }
    }
}

impl Observer for Below<'_> {
    fn spawning(&mut self, role: &str, agent: &AgentCommand, cwd: &Path) {
        self.observer.spawning(&format!("{}/{role}", self.above), agent, cwd);
    }

    fn warn(&mut self, text: &str) {
        self.observer.warn(text);
    }

    fn agent_stderr(&mut self, bytes: &[u8]) {
        self.observer.agent_stderr(bytes);
    }
}
