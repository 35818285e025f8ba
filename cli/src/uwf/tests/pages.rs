//! Pictures and pages that commands write, and why `serve` does not begin. What is served is looked at end to end.

use std::fs;
use std::net::TcpListener;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;

#[test]
fn a_graph_is_drawn_as_a_picture() {
    let place = Place::new();
    let drawn = place.uwf(&["workflow", "graph", "flow", "--as", "svg"]);
    assert_eq!((drawn.exit, drawn.err.as_str()), (0, ""));
    assert!(
        drawn.out.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && drawn.out.ends_with("</svg>\n")
    );
    let thread = place.flow_thread();
    let painted = place.uwf(&["workflow", "graph", "--thread", thread.as_str(), "--as", "svg"]);
    assert!(painted.out.contains("class=\"node current\""), "{}", painted.out);
    let named = place.uwf(&["workflow", "graph", "flow", "--as", "svg", "--format", "json"]).json();
    assert_eq!(named["language"], "svg");
}

#[test]
fn a_thread_is_written_as_a_page() {
    let place = Place::new();
    let thread = place.thread("<b>Bold</b> & more.");
    let file = place.project().join("thread.html");
    let written = place.uwf(&["thread", "read", thread.as_str(), "--html", "thread.html"]).json();
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!((&written["file"], &written["size"]), (&"thread.html".into(), &page.len().into()));
    assert!(page.contains("&lt;b&gt;Bold&lt;/b&gt; &amp; more.") && !page.contains("<script"));
    let printed = place.uwf(&["thread", "read", thread.as_str(), "--html", "-"]);
    assert!(printed.out.starts_with("<!DOCTYPE html>"));
    let nowhere = place.uwf(&["thread", "read", thread.as_str(), "--html", "none/thread.html"]);
    assert!(nowhere.exit == 1 && nowhere.err.contains("cannot write none/thread.html"), "{nowhere:?}");
    assert_eq!(place.uwf(&["thread", "read", thread.as_str(), "--html", "x", "--quota", "9"]).exit, 2);
}

#[test]
fn what_cannot_be_served_is_said_so() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = place.uwf(&["serve", "--port", &port]);
    assert!(
        refused.exit == 1 && refused.err.contains(&format!("cannot listen at 127.0.0.1:{port}")),
        "{refused:?}"
    );
    assert!(refused.err.contains("hint: `--port 0` takes any port that is free"));
    fs::write(place.project().join("token"), "short\n").unwrap();
    let refused = place.uwf(&["serve", "--token-file", "token"]);
    assert!(refused.exit == 1 && refused.err.contains("is no token: 16 or more"), "{refused:?}");
    assert!(place.uwf(&["serve", "--token-file", "none"]).err.contains("cannot read"));
    assert_eq!(place.uwf(&["serve", "--bind", "localhost"]).exit, 2);
}
