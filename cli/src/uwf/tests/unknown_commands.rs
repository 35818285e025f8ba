//! What is said of commands that do not exist.

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;

#[test]
fn a_word_of_other_programs_is_understood() {
    let place = Place::new();
    for (typed, tip) in [
        (&["ls"][..], "`uwf thread list` or `uwf workflow list`"),
        (&["ps"], "`uwf thread list`"),
        (&["exec", "01K"], "`uwf thread exec`"),
        (&["show", "x"], "`uwf thread show`, `uwf step show` or `uwf workflow show`"),
        (&["-q", "thread", "ls"], "`uwf thread list`"),
        (&["workflow", "ls"], "`uwf workflow list`"),
        (&["kill", "x"], "`uwf thread stop`"),
        (&["thraed", "list"], "`uwf thread`"),
        (&["resum"], "`uwf thread resume`"),
        (&["thread", "strat"], "`uwf thread start`"),
        (&["version"], "`uwf --version`"),
        (&["help", "ps"], "`uwf thread list`"),
    ] {
        let ran = place.uwf(typed);
        assert_eq!((ran.exit, ran.out.as_str()), (2, ""), "{typed:?}");
        assert!(ran.err.contains(&format!("tip: did you mean {tip}")), "{typed:?}: {}", ran.err);
        assert!(ran.err.contains("Usage: uwf"), "{typed:?}: {}", ran.err);
    }
    assert!(!place.uwf(&["qwertyuiop"]).err.contains("tip:"));
}
