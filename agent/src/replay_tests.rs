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
