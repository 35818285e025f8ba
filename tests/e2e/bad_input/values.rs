//! Hashes, JSON and schemas for the store.

use super::{Case, uwf};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = hashes();
    cases.extend(values());
    cases.extend(schemas());
    cases
}

fn hashes() -> Vec<Case> {
    vec![
        uwf(&["cas", "get", "nope"], 1, &["nope", "13 characters"]),
        uwf(&["cas", "get", "00000000000000"], 1, &["00000000000000", "13 characters"]),
        uwf(&["cas", "get", "IIIIIIIIIIIII"], 1, &["IIIIIIIIIIIII"]),
        uwf(&["cas", "get", "Z000000000000"], 1, &["Z000000000000"]),
        uwf(&["cas", "get", "../../etc/pas"], 1, &["../../etc/pas"]),
        uwf(&["cas", "get", ""], 1, &["13 characters"]),
        uwf(&["cas", "get", "0000000000000"], 1, &["no node 0000000000000"]),
        uwf(&["cas", "refs", "0000000000000"], 1, &["no node 0000000000000"]),
        uwf(&["cas", "walk", "0000000000000"], 1, &["no node 0000000000000"]),
        uwf(&["cas", "walk", "nope"], 1, &["nope"]),
        uwf(&["cas", "has", "nope"], 1, &["nope", "13 characters"]),
        uwf(&["cas", "gte", "0000000000000"], 2, &["gte"]),
    ]
}

fn values() -> Vec<Case> {
    let text = "work/v.json";
    vec![
        uwf(&["cas", "put", "--type", "strin", "v.json"], 1, &["no such type: strin"]).file(text, "1"),
        uwf(&["cas", "put", "--type", "0000000000000", "v.json"], 1, &["0000000000000"]).file(text, "1"),
        uwf(&["cas", "put", "--type", "{node}", "v.json"], 1, &["{node}"]).file(text, "1"),
        uwf(&["cas", "put", "--type", "string", "v.json"], 1, &["does not obey type", "string"])
            .file(text, "1"),
        uwf(&["cas", "put", "--type", "string", "v.json"], 1, &["v.json"]).file(text, ""),
        uwf(&["cas", "put", "--type", "string", "v.json"], 1, &["v.json", "JSON"]).file(text, "{'a': 1}"),
        uwf(&["cas", "put", "--type", "string", "v.json"], 1, &["one JSON value"]).file(text, "\"a\" \"b\""),
        uwf(&["cas", "put", "--type", "string", "v.json"], 1, &["v.json", "UTF-8"]).bytes(text, b"\"\xff\""),
        uwf(&["cas", "put", "--type", "string", "none.json"], 1, &["cannot read none.json"]),
        uwf(&["cas", "put", "--type", "string", "."], 1, &["cannot read ."]),
        uwf(&["cas", "put", "v.json"], 2, &["--type"]).file(text, "1"),
        uwf(&["cas", "put", "--type", "string"], 2, &["<FILE>"]),
        uwf(&["cas", "put", "--type", "string", "--jsonl", "v.json"], 2, &["--jsonl"]).file(text, "1"),
        uwf(&["cas", "put", "--jsonl", "v.json"], 1, &["v.json:2", "type"])
            .file(text, "{\"type\":\"string\",\"payload\":\"a\"}\n{}\n"),
        uwf(&["cas", "put", "--jsonl", "v.json"], 1, &["v.json:1"]).file(text, "not json\n"),
        uwf(&["cas", "put", "--jsonl", "v.json"], 1, &["no such type: odd"])
            .file(text, "{\"type\":\"string\",\"payload\":\"a\"}\n{\"type\":\"odd\",\"payload\":1}\n"),
        uwf(&["cas", "put", "--jsonl", "v.json"], 1, &["does not obey type"])
            .file(text, "{\"type\":\"string\",\"payload\":\"a\"}\n{\"type\":\"string\",\"payload\":1}\n"),
        uwf(&["cas", "put", "--type", "StepNode", "v.json"], 1, &["does not obey type", "start"])
            .file(text, "{}"),
        uwf(&["cas", "hash", "--type", "strin", "v.json"], 1, &["no such type: strin"]).file(text, "1"),
    ]
}

fn schemas() -> Vec<Case> {
    let put: &[&str] = &["cas", "put", "--type", "schema", "s.json"];
    let schema = |text, says| uwf(put, 1, says).file("work/s.json", text);
    vec![
        schema("{\"$ref\": \"#\"}", &["\"$ref\" is not allowed"]),
        schema("{\"$schema\": \"http://json-schema.org/draft-07/schema#\"}", &["$schema"]),
        schema("{\"type\": \"strin\"}", &["type"]),
        schema("{\"oneOf\": []}", &["oneOf"]),
        schema("{\"properties\": {\"a\": 5}}", &["a"]),
        schema("5", &["object"]),
        schema("[]", &["object"]),
    ]
}
