//! Tests of `explain`.

use super::*;

const FILE: &str = "fn one() {\n    first();\n}\n\nfn two() {\n    let a = 1;\n    second(a);\n}\n";

#[test]
fn the_nearest_lines_are_shown_with_what_differs() {
    let old = "fn two() {\n    let b = 1;\n    second(b);\n}";
    insta::assert_snapshot!(nowhere("f.rs", FILE, old, "x"), @"
    old_string is not in f.rs; nothing was changed.
    Nearest: lines 5–8 (- is your old_string, + is the file):
        5  	fn two() {
          -	    let b = 1;
          -	    second(b);
        6 +	    let a = 1;
        7 +	    second(a);
        8  	}
    ");
}

#[test]
fn without_a_common_line_the_most_similar_one_is_shown() {
    let text = nowhere("f.rs", FILE, "    secnd(a);", "x");
    assert!(text.contains("Nearest: lines 7–7"), "{text}");
    let text = nowhere("f.rs", FILE, "qqqq", "x");
    assert!(text.contains("No line of it is similar"), "{text}");
    assert!(nowhere("f.rs", "", "qqqq", "x").contains("No line of it"));
}

#[test]
fn an_edit_made_before_and_copied_line_numbers_are_recognised() {
    let text = nowhere("f.rs", FILE, "third(a);", "second(a);");
    assert!(text.contains("new_string is there already, at line 7"), "{text}");
    let text = nowhere("f.rs", FILE, "    6\t    let a = 1;\n    7\t    second(a);", "x");
    assert!(text.contains("line numbers that read_file shows"), "{text}");
}

#[test]
fn several_places_are_shown_with_their_lines() {
    let content = "a\nx\nb\nc\nd\ne\nf\nx\ng\n";
    insta::assert_snapshot!(several("f", content, &[2..3, 14..15]), @"
    old_string matches 2 places in f, at lines 2, 8; nothing was changed. Add lines around it until it is unique, or set replace_all.
        1	a
        2	x
        3	b
        4	c
       --
        6	e
        7	f
        8	x
        9	g
    ");
}

#[test]
fn many_places_are_named_by_number() {
    let content = "x\n\n\n\n\n\n".repeat(8);
    let ranges: Vec<_> = (0..8).map(|n| n * 7..n * 7 + 1).collect();
    let many = vec![0..1; 70];
    assert!(snippets("x\n", &many, 0).ends_with(", 1, 1 and 15 more\n"));
    assert!(snippets(&content, &ranges, 1).ends_with("… and at lines 31, 37, 43\n"));
}

#[test]
fn a_snippet_at_either_end_of_the_file_is_whole() {
    let change = |text: &str, range: Range<usize>| changed(text, std::slice::from_ref(&range));
    assert_eq!(change("a\nb\n", 0..1), "    1\ta\n    2\tb\n");
    assert_eq!(change("a\nb", 3..3), "    1\ta\n    2\tb\n");
    assert_eq!(change("", 0..0), "");
}

#[test]
fn a_long_place_is_shown_by_its_ends() {
    let content = "x\n".repeat(100_000);
    let shown = changed(&content, std::slice::from_ref(&(0..content.len())));
    assert!(shown.contains("   50\tx\n[… 99,900 lines …]\n99951\tx\n"), "{shown}");
    assert_eq!(shown.lines().count(), 101);
}

#[test]
fn of_places_without_end_it_is_said_that_there_are_more() {
    let ranges = vec![0..1; COUNTED];
    assert!(several("f", "x\n", &ranges).starts_with("old_string matches at least 1,000 places in f, "));
}

/// Lines that are all alike, very many of them, or very long: each took time by the square of its length.
#[test]
fn what_is_nearest_is_found_among_any_lines() {
    let (content, old) = ("same\n".repeat(100_000), format!("{}other", "same\n".repeat(50_000)));
    assert!(nowhere("f", &content, &old, "x").contains("Nearest: lines 1–50001 "));
    let lines = |from: usize| (from..from + 20_000).map(|n| format!("line {n}\n")).collect::<String>();
    assert!(nowhere("f", &lines(0), &lines(19_999), "x").contains("Nearest: lines 20000–20000"));
    let long = "ab".repeat(10_000);
    let content: String = (0..1_000).map(|n| format!("{long}{n}\n")).collect();
    assert!(nowhere("f", &content, &format!("{long}x"), "x").contains("Nearest: lines 1–1 "));
}
