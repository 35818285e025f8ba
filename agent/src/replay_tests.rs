use serde_json::json;

use super::ReplayDifference;
use crate::journal::Entry;
use crate::provider::any_order::RunFixture;
use crate::react::tests::scripts;

#[test]
fn every_request_of_a_recorded_run_is_made_again_byte_for_byte() {
    for (name, change, turns) in scripts() {
        let fixture = RunFixture::new();
        let reply = fixture.run_with(&turns, &change, &mut |_| ()).unwrap();
        let replayed = fixture.replay(reply.step_hash, |_| ());
        assert_eq!(replayed.difference, None, "{name}");
        assert!(replayed.requests >= replayed.turns && replayed.turns > 1, "{name}: {replayed:?}");
    }
}

/// Plays a run again, and gives the kinds of its entries in a line.
fn replayed(settings: &dyn Fn(&mut crate::settings::Settings), turns: &[serde_json::Value]) -> String {
    let fixture = RunFixture::new();
    let reply = fixture.run_with(turns, settings, &mut |_| ()).unwrap();
    let mut kinds = String::new();
    let replayed = fixture.replay(reply.step_hash, |recorded| {
        let kind = |entry: &Entry| json!(entry)["entry"].as_str().unwrap().to_owned();
        kinds = recorded.entries.iter().map(kind).collect::<Vec<_>>().join(" ");
    });
    assert_eq!(replayed.difference, None, "{kinds}");
    kinds
}

#[test]
fn what_nobody_waited_for_never_comes_again() {
    let fine = json!({"content": "---\n$status: done\n---\nFine."});
    let late = json!({"content": "late", "delay_ms": 60_000_000});
    let limited = |settings: &mut crate::settings::Settings| {
        settings.limits.time = Some(std::time::Duration::from_secs(3600));
    };
    assert!(replayed(&limited, &[late.clone(), fine.clone()]).contains("sent abandoned asked sent answered"));
    // The time was over between two attempts.
    let wait = json!({"error": {"status": 429, "retry_after": 100}});
    let short = |settings: &mut crate::settings::Settings| {
        settings.limits.time = Some(std::time::Duration::from_secs(60));
    };
    assert!(replayed(&short, &[wait, fine.clone()]).contains("sent attempt-failed abandoned asked sent"));
    let (_, small, mut turns) = scripts().swap_remove(3);
    turns[3] = late;
    turns.truncate(4);
    turns.push(fine);
    let summarises = |settings: &mut crate::settings::Settings| {
        small(settings);
        limited(settings);
    };
    let kinds = replayed(&summarises, &turns);
    assert!(kinds.contains("sent summed-up"), "{kinds}");
}

/// A tool of a program.
struct OwnTool(crate::provider::message::ToolDeclaration);

impl crate::own_tool::OwnTool for OwnTool {
    fn declaration(&self) -> &crate::provider::message::ToolDeclaration {
        &self.0
    }

    fn reads_only(&self) -> bool {
        true
    }

    fn call(&self, _: &str, _: &uwf_tools::Cancel) -> crate::own_tool::OwnOutput {
        Ok("12 pieces".to_owned()).into()
    }
}

/// A model that is code: it asks for tools, then it answers, or fails.
struct OwnModel(&'static str);

impl crate::Model for OwnModel {
    async fn complete(&self, request: crate::Request<'_>) -> Result<crate::Reply, crate::BoxError> {
        let (args, written) = (json!({}), json!({"path": "new", "content": "x"}));
        match (request.messages.len(), self.0) {
            (2, _) => Ok(crate::Reply::default().call("stock", &args).call("list_dir", &args)),
            (5, _) => Ok(crate::Reply::default().call("write_file", &written)),
            (_, "") => Err("no reply".into()),
            (_, answer) => Ok(crate::Reply::text(answer)),
        }
    }
}

#[test]
fn a_run_with_a_model_and_a_tool_of_a_program_is_played_without_them() {
    for answer in ["---\n$status: done\n---\nFine.", "No answer.", ""] {
        let fixture = RunFixture::new();
        let parameters = json!({"type": "object"});
        let declaration = crate::provider::message::ToolDeclaration {
            name: "stock".into(),
            description: "d".into(),
            parameters,
        };
        let tool: std::sync::Arc<dyn crate::own_tool::OwnTool> = std::sync::Arc::new(OwnTool(declaration));
        let own = |settings: &mut crate::settings::Settings| {
            settings.added.tools = vec![tool.clone()];
            let model = crate::additions::OwnProvider::Model(std::sync::Arc::new(OwnModel(answer)));
            settings.provider = crate::settings::ProviderSettings::Own(model);
        };
        let reply = fixture.run_with(&[], &own, &mut |_| ()).unwrap();
        assert_eq!(reply.is_error, !answer.contains("done"));
        for runs_tools in [false, true] {
            let workspace = tempfile::tempdir().unwrap();
            let replayed = fixture.replay_in(workspace.path(), (reply.step_hash, runs_tools), |_| ());
            assert_eq!(replayed.difference, None, "{answer}, {runs_tools}");
            assert_eq!(workspace.path().join("new").exists(), runs_tools);
        }
    }
}

/// The difference that playing a run finds of which the record was made by a program that did this otherwise.
fn found(change: impl Fn(&mut Entry)) -> ReplayDifference {
    let (_, settings, turns) = scripts().swap_remove(1);
    let fixture = RunFixture::new();
    let reply = fixture.run_with(&turns, &settings, &mut |_| ()).unwrap();
    let replayed = fixture.replay(reply.step_hash, |recorded| recorded.entries.iter_mut().for_each(&change));
    replayed.difference.expect("it is not as it was")
}

#[test]
fn a_changed_template_is_named_and_both_texts_are_shown() {
    let difference = found(|entry| match entry {
        Entry::Said { message, .. } if message.role == crate::Speaker::System => {
            message.content = message.content.replacen("You ", "Thou ", 1);
        }
        _ => {}
    });
    assert_eq!(difference.what, "the system message is another one: a prompt template has changed");
    assert_eq!(difference.recorded.replacen("Thou ", "You ", 1), difference.found);
    let difference = found(|entry| match entry {
        Entry::Said { message, .. } if message.kind == crate::MessageKind::Correction => {
            message.content.insert_str(0, "Once more: ");
        }
        _ => {}
    });
    assert_eq!(difference.what, "the text of the correction is another one: a prompt template has changed");
    assert!(difference.turns > 0 && difference.recorded.starts_with("Once more: "), "{difference:?}");
}

#[test]
fn a_changed_tool_is_named_and_both_texts_are_shown() {
    let difference = found(|entry| {
        if let Entry::Run { tools, .. } = entry {
            tools[0].description = "Read a file.".to_owned();
        }
    });
    assert_eq!(difference.what, "the description of the tool read_file is another one");
    assert_eq!((difference.turns, difference.recorded.as_str()), (0, "Read a file."));
    assert!(difference.found.starts_with("Read a text file"), "{}", difference.found);
}

#[test]
fn a_changed_parameter_is_named() {
    let difference = found(|entry| {
        if let Entry::Run { settings, .. } = entry {
            settings["sampling"] = json!({"temperature": 0.5});
        }
    });
    assert_eq!(difference.what, "the request differs in sampling");
    assert_eq!(difference.recorded, "sampling: {}\n");
    assert_eq!(difference.found, "sampling: {\n  \"temperature\": 0.5\n}\n");
}

#[test]
fn a_run_that_ends_early_or_goes_on_is_told() {
    let difference = found(|entry| {
        if let Entry::Ended { failure, .. } = entry {
            *failure = Some(crate::failure::Failure {
                phase: crate::failure::FailedAt::Answer,
                error: "no".to_owned(),
            });
        }
    });
    assert_eq!(difference.what, "the entry `ended` is another one");
}
