//! What an agent is asked about a finished step: the two forms of the protocol that write no step.
//!
//! Apart from `protocol`, whose requests make steps and whose replies are checked; an answer here is plain text.

use std::ffi::OsString;

use uwf_store::Hash;

/// One call of an agent about a finished step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskCall<'a> {
    /// Make a copy of a session, to which questions can be put; the reply is the copy's id.
    Fork {
        /// The session.
        session: &'a str,
    },
    /// Answer a question; the reply is plain text.
    Ask {
        /// The fork to put it to; none where there is none.
        session: Option<&'a str>,
        /// The question.
        prompt: &'a str,
        /// The step's record.
        detail: Hash,
    },
}

impl AskCall<'_> {
    /// The arguments that the engine appends to the agent's command.
    pub fn to_args(&self) -> Vec<OsString> {
        let (session, rest) = match self {
            AskCall::Fork { session } => (Some(*session), vec![]),
            AskCall::Ask { session, prompt, detail } => {
                (*session, vec!["--prompt", prompt, "--detail", detail.as_str()])
            }
        };
        let mode = if let AskCall::Fork { .. } = self { "fork" } else { "ask" };
        let session = session.into_iter().flat_map(|session| ["--session", session]);
        ["--mode", mode].into_iter().chain(session).chain(rest).map(OsString::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_the_arguments_of_the_protocol() {
        let words = |call: AskCall<'_>| {
            call.to_args().iter().map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(AskCall::Fork { session: "s1" }), "--mode fork --session s1");
        let detail = "0123456789ABC".parse().unwrap();
        let ask = |session| AskCall::Ask { session, prompt: "- why?", detail };
        assert_eq!(words(ask(Some("s2"))), "--mode ask --session s2 --prompt - why? --detail 0123456789ABC");
        assert_eq!(words(ask(None)), "--mode ask --prompt - why? --detail 0123456789ABC");
    }
}
