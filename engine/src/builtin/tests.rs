//! The pinned hashes, recomputed; and our names are those of the programs that read our nodes.

use serde_json::json;
use uwf_store::schema::{self, check};

use super::*;

#[test]
fn the_engines_own_are_pinned() {
    let schemas = schemas();
    let pinned = [
        ("Workflow", WORKFLOW),
        ("StartNode", START_NODE),
        ("StepNode", STEP_NODE),
        ("ErrorOutput", ERROR_OUTPUT),
        ("SuspendOutput", SUSPEND_OUTPUT),
        ("uwf-turn", UWF_TURN),
        ("uwf-detail", UWF_DETAIL),
        ("uwf-run-log", UWF_RUN_LOG),
        ("uwf-undo", UWF_UNDO),
        ("uwf-workflow-2", WORKFLOW_2),
        ("uwf-start", UWF_START),
        ("uwf-step", UWF_STEP),
        ("uwf-content", UWF_CONTENT),
    ];
    assert_eq!(pinned.map(|(_, hash)| hash), PROFILE.schemas);
    assert_eq!(schemas.len(), pinned.len(), "no schema without a hash");
    for (title, hash) in pinned {
        assert_eq!(check(&schemas[title]), Ok(()), "{title}");
        assert_eq!(Hash::of(&META_SCHEMA, &schemas[title]), hash, "{title}");
        assert_eq!(schemas[title]["title"], title);
    }
}

/// Other programs read these names, with these types; what they do not know they pass over.
#[test]
fn details_and_turns_have_what_other_programs_read() {
    let schemas = schemas();
    let errors = |name: &str, payload: Value| schema::validate(&schemas[name], &payload).unwrap();
    let turn = json!({
        "role": "assistant", "content": "", "reasoning": null, "kind": "answer", "at": 1,
        "toolCalls": [{"name": "read_file", "args": "{}", "id": "c1"}],
    });
    assert_eq!(errors("uwf-turn", turn), []);
    let result = json!({
        "role": "tool", "content": "", "toolCalls": null, "reasoning": null, "kind": "result", "at": 1,
        "callId": "c1", "exitCode": 1, "failed": true, "snapshot": TEXT,
    });
    assert_eq!(errors("uwf-turn", result), []);
    let detail = json!({
        "sessionId": "s", "model": "m", "duration": 1, "turnCount": 1, "failedCalls": 0, "turns": [TEXT],
        "messages": [TEXT], "sandbox": {"level": "full"}, "settings": {}, "changes": [{"path": "a", "before": null, "after": TEXT}],
    });
    assert_eq!(errors("uwf-detail", detail.clone()), []);
    let snapshot = json!({"tree": TEXT, "files": 1, "bytes": 2, "leftOut": 0});
    for snapshots in
        [json!({}), json!({"before": snapshot, "after": snapshot}), json!({"failed": "too large"})]
    {
        let mut detail = detail.clone();
        detail["snapshots"] = snapshots;
        assert_eq!(errors("uwf-detail", detail), []);
    }
    let entries = json!([{"entry": "asked", "at": 1}, {"entry": "said", "turn": TEXT}]);
    assert_eq!(errors("uwf-run-log", json!({"tools": TEXT, "entries": entries})), []);
    let required = |name: &str| schemas[name]["required"].clone();
    assert_eq!(required("uwf-turn"), json!(["role", "content", "toolCalls", "reasoning", "kind", "at"]));
    assert_eq!(
        required("uwf-detail"),
        json!(["sessionId", "model", "duration", "turnCount", "turns", "messages"])
    );
}
