//! The state of a thread and how it is kept in its variable's tags. `running` is no state: it is a lock that is held.

use std::collections::BTreeMap;

/// The stored state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Ready for its next step.
    Idle,
    /// Waits for a person.
    Suspended {
        /// The role that asked; it plays again on resume.
        role: String,
        /// What it asks.
        message: String,
    },
    /// The workflow came to its end.
    Ended {
        /// Milliseconds since the epoch.
        completed_at: u64,
    },
    /// Somebody gave it up.
    Cancelled {
        /// Milliseconds since the epoch.
        completed_at: u64,
    },
}

impl Status {
    /// The word for it: `idle`, `suspended`, `end` or `cancelled`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Suspended { .. } => "suspended",
            Status::Ended { .. } => "end",
            Status::Cancelled { .. } => "cancelled",
        }
    }

    /// Whether nothing more will happen by itself: ended or cancelled.
    pub fn is_final(&self) -> bool {
        matches!(self, Status::Ended { .. } | Status::Cancelled { .. })
    }

    /// The tags that say so.
    pub fn to_tags(&self) -> BTreeMap<String, String> {
        let details: &[(&str, String)] = &match self {
            Status::Idle => return BTreeMap::new(),
            Status::Suspended { role, message } => {
                vec![("suspendedRole", role.clone()), ("suspendMessage", message.clone())]
            }
            Status::Ended { completed_at } | Status::Cancelled { completed_at } => {
                vec![("completedAt", completed_at.to_string())]
            }
        };
        let status = [("status", self.as_str().to_owned())];
        status.iter().chain(details).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// Reads the tags of a head; the error is the status word nobody knows. `updated` stands in for an absent time of
    /// completion.
    pub(crate) fn from_tags(tags: &BTreeMap<String, String>, updated: u64) -> Result<Status, String> {
        let text = |name: &str| tags.get(name).cloned().unwrap_or_default();
        let completed_at = text("completedAt").parse().unwrap_or(updated);
        match tags.get("status").map_or("idle", String::as_str) {
            "idle" => Ok(Status::Idle),
            "suspended" => {
                Ok(Status::Suspended { role: text("suspendedRole"), message: text("suspendMessage") })
            }
            "end" | "completed" => Ok(Status::Ended { completed_at }),
            "cancelled" => Ok(Status::Cancelled { completed_at }),
            other => Err(other.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_survives_its_tags() {
        let suspended = Status::Suspended { role: "finder".into(), message: "Which branch?".into() };
        for status in [
            Status::Idle,
            suspended,
            Status::Ended { completed_at: 7 },
            Status::Cancelled { completed_at: 8 },
        ] {
            assert_eq!(Status::from_tags(&status.to_tags(), 1), Ok(status));
        }
        assert!(Status::Idle.to_tags().is_empty());
    }

    #[test]
    fn completed_is_end_and_an_unknown_word_is_an_error() {
        let tags = |status: &str| BTreeMap::from([("status".to_owned(), status.to_owned())]);
        assert_eq!(Status::from_tags(&tags("completed"), 9), Ok(Status::Ended { completed_at: 9 }));
        assert_eq!(Status::from_tags(&tags("frozen"), 9), Err("frozen".to_owned()));
    }
}
