//! What a server writes where programs complain: its last words are the best reason there is why it ended.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is kept, in bytes.
const KEPT: usize = 2_000;
/// How much of that is told, in characters.
const TOLD: usize = 300;
/// How long is waited for the last of it.
const LAST: Duration = Duration::from_millis(300);

/// The end of what was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    end: Vec<u8>,
    is_over: bool,
}

impl Complaints {
    /// Hears to the end.
    pub(super) async fn hear(self, mut from: impl AsyncRead + Unpin) {
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            self.with(|heard| {
                heard.end.extend_from_slice(&piece[..length]);
                let more = heard.end.len().saturating_sub(KEPT);
                heard.end.drain(..more);
            });
        }
        self.with(|heard| heard.is_over = true);
    }

    /// The last line that speaks of an error, or the last of all (Node.js ends with its version); waits a little for a
    /// server that has just ended.
    pub(super) fn last(&self) -> Option<String> {
        let begun = Instant::now();
        while !self.with(|heard| heard.is_over) && begun.elapsed() < LAST {
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = self.with(|heard| String::from_utf8_lossy(&heard.end).into_owned());
        let plain: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        let lines = || plain.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let line = lines().find(|line| line.to_lowercase().contains("error")).or_else(|| lines().next())?;
        Some(uwf_store::excerpt(line, TOLD).into_owned())
    }

    fn with<T>(&self, work: impl FnOnce(&mut Heard) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_told_and_no_more_is_kept_than_need_be() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let said = |text: &str| {
            let complaints = Complaints::default();
            runtime.block_on(complaints.clone().hear(text.as_bytes()));
            assert!(complaints.with(|heard| heard.end.len()) <= KEPT);
            complaints.last()
        };
        assert_eq!(said(""), None);
        assert_eq!(said("one\n\x1b[31mtwo\x07\n \n").as_deref(), Some("[31mtwo"));
        assert_eq!(
            said("at x\nError: no module\n  code: 1\nNode.js v20").as_deref(),
            Some("Error: no module")
        );
        assert_eq!(said(&"x".repeat(10_000)).unwrap().chars().count(), TOLD + 1);
    }
}
