//! Lists fit the terminal, and status words have colours there.

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;

#[test]
fn no_list_wraps_at_forty_columns() {
    let place = Place::new();
    let thread = place.flow_thread();
    for list in [
        &["thread", "list"][..],
        &["step", "list", thread.as_str()],
        &["workflow", "list"],
        &["workflow", "history", "flow"],
        &["models", "openai/*"],
        &["var", "list"],
        &["prompt", "list"],
        &["cas", "stats"],
    ] {
        let told = place.at_width("40", list);
        // A name that must be copied whole is as long as it is.
        let is_long = |line: &&str| {
            line.chars().count() > 40
                && line.trim().contains(' ')
                && !line.contains('/')
                && !line.starts_with("Prices")
        };
        assert_eq!(told.out.lines().find(is_long), None, "{list:?}:\n{}", told.out);
    }
    let narrow = place.at_width("40", &["thread", "list"]).out;
    assert_eq!(
        narrow,
        format!(
            "THREAD    AGE  STATUS\n{}  0 s  idle, next: writer\n  workflow flow · task A text, please.\n  directory . · steps 0\n",
            &thread.as_str()[18..]
        )
    );
}

#[test]
fn a_pipe_has_no_width_and_no_colours() {
    let place = Place::new();
    let thread = place.flow_thread();
    place.uwf(&["thread", "cancel", thread.as_str()]);
    let list = ["thread", "list", "--all", "--format", "text"];
    let plain = place.uwf(&list).out;
    assert!(plain.lines().all(|line| line.len() > 60), "{plain}");
    let coloured = place.uwf(&[&list[..], &["--color", "always"]].concat()).out;
    assert!(coloured.contains("\x1b[2mcancelled\x1b[0m  flow"), "{coloured}");
    assert_eq!(coloured.replace("\x1b[2m", "").replace("\x1b[0m", ""), plain);
    let shown = place.on_terminal(&["thread", "show", thread.as_str(), "--color", "always"]).out;
    assert!(shown.contains("status     \x1b[2mcancelled\x1b[0m\n"), "{shown}");
}
