use crate::builtin;
use serde_json::{Value, json};
use uwf_store::json::line;

use super::*;
use crate::fixture::Place;

/// A record as it was written before there were these types.
fn golden_detail() -> Value {
    json!({
        "changes": [{"after": "5W884DP9HZRWA", "before": "A6Q7Q2F4PHHCF", "path": "add.sh"}],
        "cost": null, "duration": 84, "failedCalls": 0, "messages": ["AC8T75KDC9KQK", "2RFQZ6JGY72T8"], "model": "mock",
        "sandbox": {"landlock": 7, "level": "strict", "missing": [], "network": "namespace"},
        "sessionId": "01M82RX6FSTEEQTV4PGA4JPQCB", "settings": golden_settings(), "trace": null, "turnCount": 3,
        "turns": ["2RFQZ6JGY72T8"],
    })
}

fn golden_settings() -> Value {
    json!({
        "budget": {"seconds": 3600, "tokens": null, "turns": 60, "usd": null}, "contextWindow": 128_000, "extract": null,
        "model": "mock", "prices": null, "provider": {"mock": "/srv/mock.yaml"},
        "role": {"network": null, "readOnly": false, "tools": null, "writable": null}, "sampling": {},
        "sandbox": {"env": [], "level": "strict", "network": false}, "tools": null,
    })
}

fn golden_turn() -> Value {
    json!({
        "at": 1_795_389_561_365_u64, "callId": null, "content": "", "durationMs": 0, "exitCode": null, "failed": null,
        "kind": "turn", "native": null, "outputs": {}, "reasoning": null, "role": "assistant",
        "toolCalls": [{"args": "{\"path\":\"add.sh\"}", "id": "m00000000", "name": "edit_file"}],
        "usage": {"cachedTokens": 0, "inputTokens": 0, "outputTokens": 0, "reasoningTokens": 0, "writtenTokens": 0},
    })
}

fn golden_result() -> Value {
    json!({
        "at": 1_795_389_561_422_u64, "callId": "m00010000", "content": "all passed", "durationMs": 33, "exitCode": 0,
        "failed": false, "kind": "result", "native": null, "outputs": {"m00010000": "A6Q7Q2F4PHHCF"}, "reasoning": null,
        "role": "tool", "toolCalls": null, "usage": null,
    })
}

#[test]
fn what_was_written_is_written_again() {
    for turn in [golden_turn(), golden_result()] {
        assert_eq!(json!(Turn::of(turn.clone())), turn);
    }
    assert_eq!(json!(Detail::of(golden_detail())), golden_detail());
    let mut endpoint = golden_settings();
    endpoint["provider"] = json!({
        "baseUrl": "https://a.example/v1", "stream": true, "wire": "chat", "dialect": "generic", "requestBody": {"top_k": 5},
        "idleSeconds": 120, "retry": {"tries": 5, "seconds": 180},
    });
    endpoint["budget"]["seconds"] = json!(1.5);
    for settings in [golden_settings(), endpoint] {
        let text = line(&json!(RecordedSettings::of(settings.clone())));
        assert_eq!(text, line(&settings), "an integer stays one");
        let interrupted = Interrupted { started_at_ms: 1, last_at_ms: 2, sandbox: Value::Null };
        let completed = RecordedSettings::completed(settings, Some(json!({"host": "h"})), &[interrupted]);
        assert_eq!(completed["interrupted"], json!([{"startedAtMs": 1, "lastAtMs": 2, "sandbox": null}]));
        assert_eq!(json!(RecordedSettings::of(completed.clone())), completed);
    }
    let failed = json!(ErrorOutput::new("60 turns are used up", "budget"));
    assert_eq!(failed, json!({"$status": "error", "error": "60 turns are used up", "phase": "budget"}));
}

#[test]
fn settings_of_an_earlier_version_are_kept_as_they_are() {
    let begun = json!({"model": "m", "later": {"kept": null}, "tools": 3});
    let completed = RecordedSettings::completed(begun.clone(), None, &[]);
    assert_eq!(completed, begun);
    let settings = RecordedSettings::of(begun);
    assert_eq!((settings.model.as_deref(), settings.tools, settings.budget), (Some("m"), None, None));
    assert_eq!(RecordedSettings::of(json!("none")), RecordedSettings::default());
}

#[test]
fn a_record_of_ours_has_the_stores_types() {
    let place = Place::new();
    let store = place.store();
    let mut batch = store.batch();
    let turn = Turn::of(json!({"role": "user", "content": "Go.", "kind": "opening", "at": 1}));
    let said = turn.put(&mut batch).unwrap();
    let detail = Detail { messages: Some(vec![said.into()]), ..Detail::empty("s", "m") };
    let hash = detail.put(&mut batch).unwrap();
    assert!(Turn::default().put(&mut batch).is_err(), "nobody said it");
    batch.commit().unwrap();
    assert_eq!(store.get(&hash).unwrap().type_, builtin::UWF_DETAIL);
    let read = Detail::read(&store, &hash).unwrap();
    assert_eq!((&read, read.conversation(&store).unwrap()), (&detail, vec![turn]));
}

#[test]
fn a_content_that_stands_in_a_node_of_its_own_is_read_from_there() {
    let place = Place::new();
    let store = place.store();
    let mut batch = store.batch();
    let result = Turn::of(json!({"role": "tool", "content": "[left out]", "kind": "result", "at": 1}));
    let content_ref = Some(batch.put_blob(&mut "all of it".as_bytes()).unwrap().hash);
    let kept = Turn { content_ref, ..result.clone() }.put(&mut batch).unwrap();
    let missing = Turn { content_ref: Some(builtin::UWF_TURN), ..result.clone() }.put(&mut batch).unwrap();
    batch.commit().unwrap();
    let said = Turn { content: Some("all of it".into()), ..result };
    assert_eq!(Turn::read(&store, &kept).unwrap(), said);
    assert!(Turn::read(&store, &missing).is_err(), "a schema is no content");
}

#[test]
fn of_another_agents_record_there_is_what_it_has() {
    for foreign in [json!("a text"), json!(["s", "m"]), json!({}), json!({"sessionId": 3, "turns": "none"})] {
        assert_eq!(Detail::of(foreign), Detail::default());
    }
    let foreign = json!({
        "sessionId": "s", "duration": 1.5, "failedCalls": -1, "turns": ["0123456789ABC", "not a hash", 3], "messages": null,
        "changes": [{"path": "a"}, {"before": null}], "mine": true,
    });
    let detail = Detail::of(foreign);
    let listed: Vec<_> = detail.turns.iter().flatten().map(Listed::turn).collect();
    assert_eq!(listed, [Some("0123456789ABC".parse().unwrap()), None, None]);
    assert_eq!(detail.turns.unwrap()[2], Listed::Other(json!(3)));
    assert_eq!((detail.session_id.as_deref(), detail.duration, detail.failed_calls), (Some("s"), None, None));
    assert_eq!((detail.messages, detail.changes), (None, None), "one that is none spoils the list");

    let turn = Turn::of(json!({
        "role": "developer", "content": ["parts"], "kind": 3, "exitCode": "1", "failed": "no", "usage": [1], "outputs": 3,
        "toolCalls": [{"name": "x", "args": {"a": 1}}, "y", ["z"]],
    }));
    let call = |name: Option<&str>| RecordedCall { name: name.map(Into::into), ..RecordedCall::default() };
    assert_eq!(turn.calls(), [call(Some("x")), call(None), call(None)]);
    assert_eq!(
        Turn { role: Some("developer".into()), tool_calls: turn.tool_calls.clone(), ..Turn::default() },
        turn
    );
}
