//! What commands put out, all of it: kept as it was printed, in pieces, and with the thread that it belongs to.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::shortage::{begin, script};
use crate::site::{AGENT, Said, Site, UWF};

/// The turns of the model and of the tools in the record of a run.
pub(crate) fn turns(site: &Site, reply: &Value) -> Vec<Value> {
    let get = |hash: &Value| site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone();
    get(&reply["detailHash"])["turns"].as_array().unwrap().iter().map(get).collect()
}

/// The hashes of the full outputs in the record of a run.
pub(crate) fn outputs(site: &Site, reply: &Value) -> Vec<String> {
    let of = |turn: &Value| turn["outputs"].as_object().cloned().unwrap_or_default().into_values();
    turns(site, reply).iter().flat_map(of).map(|hash| hash.as_str().unwrap().to_owned()).collect()
}

/// A run of one command, and the hash of what it put out.
fn run(site: &Site, command: &str) -> (Value, String) {
    let mut run = site.command(AGENT);
    begin(&mut run, site, &script(&[json!({"name": "run_command", "arguments": {"command": command}})], 0));
    let reply = Said::of(run.output().unwrap()).ok().json();
    let hash = outputs(site, &reply).remove(0);
    (reply, hash)
}

fn printed(site: &Site, hash: &str) -> Vec<u8> {
    let output = site.command(UWF).args(["cas", "cat", hash]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Five pieces: two that are alike, one that is no text, and two.
#[test]
fn what_is_kept_in_pieces_is_collected_checked_and_exported_with_its_thread() {
    let (site, there) = (Site::new(), Site::new());
    let command = "yes 'fifteen letters' | head -c 2500000; printf '\\377\\376'; seq 300000";
    let (reply, hash) = run(&site, command);
    let lines: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    let text = "fifteen letters\n".repeat(156_250);
    let all = [text.as_bytes(), b"\xff\xfe", lines.as_bytes()].concat();
    let shown = turns(&site, &reply)[1]["content"].as_str().unwrap().to_owned();
    assert!(shown.contains(&format!("read them with tool_output hash={hash} ")), "{shown}");
    assert!(shown.ends_with("; output: 4.2 MB, of which 2 bytes not UTF-8)"), "{shown}");
    let node = site.uwf(&["cas", "get", &hash]).ok().json()["payload"].clone();
    assert_eq!((&node["size"], node["pieces"].as_array().unwrap().len()), (&json!(all.len()), 5));
    assert_eq!(site.uwf(&["cas", "refs", &hash]).ok().json().as_array().unwrap().len(), 4);
    assert!(printed(&site, &hash) == all);

    let lost = site.write("lost.json", "\"lost\"");
    site.uwf(&["cas", "put", "--type", "string", &lost]).ok();
    for entry in fs::read_dir(site.home().join(".ocas/nodes")).unwrap() {
        let file = fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    }
    assert_eq!(site.uwf(&["cas", "gc"]).ok().json()["removed"], 1);
    site.verify();
    assert!(printed(&site, &hash) == all);

    let thread = site.uwf(&["thread", "list", "--all"]).ok().json()[0]["thread"].clone();
    let file = there.write("thread.jsonl", "");
    site.uwf(&["thread", "export", thread.as_str().unwrap(), "-o", &file]).ok();
    there.uwf(&["thread", "import", &file]).ok();
    there.verify();
    assert!(printed(&there, &hash) == all);
}

/// As many bytes as one piece has are one node, the text that they are.
#[test]
fn an_output_of_a_piece_is_a_text() {
    let site = Site::new();
    let (_, hash) = run(&site, "yes 'fifteen letters' | head -c 1048576");
    let node = site.uwf(&["cas", "get", &hash]).ok().json();
    assert_eq!(
        (&node["type"], &node["payload"]),
        (&json!("7VQ43ZSJTEWA7"), &json!("fifteen letters\n".repeat(65_536)))
    );
    assert!(printed(&site, &hash).len() == 1 << 20);
}
