//! Tests of `locate`.

use proptest::prelude::*;

use super::*;

/// The content after the plan, and how it matched.
fn edited(content: &str, old: &str, new: &str) -> Result<(String, How), NoPlan> {
    let plan = plan(content, old, new, false)?;
    let (range, text) = plan.replacements.into_iter().next().unwrap();
    Ok((format!("{}{text}{}", &content[..range.start], &content[range.end..]), plan.how))
}

#[track_caller]
fn becomes(content: &str, old: &str, new: &str, expected: &str, how: How) {
    assert_eq!(edited(content, old, new), Ok((expected.to_owned(), how)));
}

#[test]
fn exact_comes_first() {
    becomes("a b\na  b\n", "a b", "x", "x\na  b\n", How::Exact);
    becomes("one\ntwo", "\ntwo", "", "one", How::Exact);
}

#[test]
fn several_places_are_refused_overlapping_ones_too() {
    assert_eq!(edited("ab ab", "ab", "x"), Err(NoPlan::Several(vec![0..2, 3..5])));
    assert_eq!(edited("aaa", "aa", "x"), Err(NoPlan::Several(vec![0..2, 1..3])));
    assert_eq!(edited("éé", "é", "x"), Err(NoPlan::Several(vec![0..2, 2..4])));
    assert_eq!(edited(" a\na \n", "  a\n", "x"), Err(NoPlan::Several(vec![0..3, 3..6])));
}

#[test]
fn all_are_replaced_from_the_left_when_told_to() {
    let plan = plan("aaa b aa", "aa", "x", true).unwrap();
    assert_eq!(plan.replacements, [(0..2, "x".to_owned()), (6..8, "x".to_owned())]);
}

#[test]
fn line_ends_do_not_matter_and_stay() {
    becomes("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n", How::LineEnds);
    becomes("a\nb\nc\n", "a\r\nb", "x", "x\nc\n", How::LineEnds);
    becomes("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", How::Exact);
    becomes("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n", How::Exact);
}

#[test]
fn whole_lines_may_differ_in_outer_white_space_and_are_indented_as_the_file_is() {
    becomes(
        "impl A {\n    fn a() {\n        one();\n    }\n}\n",
        "fn a() {\n    one();\n}\n",
        "fn a() {\n    two();\n\n    three();\n}\n",
        "impl A {\n    fn a() {\n        two();\n\n        three();\n    }\n}\n",
        How::WhiteSpace,
    );
    becomes(
        "if x:\n\ty = 1\n",
        "    if x:\n    \ty = 1",
        "    if x:\n    \ty = 2",
        "if x:\n\ty = 2\n",
        How::WhiteSpace,
    );
    becomes("  a  \n  b\n", "  a\n  b", "  c\n  d", "  c\n  d\n", How::WhiteSpace);
    becomes("\u{FEFF}a\nb\n", "  a\n  b\n", "  c\n", "\u{FEFF}c\n", How::WhiteSpace);
}

#[test]
fn tabs_for_spaces_are_carried_over_line_by_line_or_not_at_all() {
    let content = "a {\n\tb {\n\t\tc\n\t}\n}\n";
    becomes(
        content,
        "a {\n  b {\n    c",
        "a {\n  d {\n    e",
        "a {\n\td {\n\t\te\n\t}\n}\n",
        How::WhiteSpace,
    );
    assert_eq!(edited(content, "  b {\n    c", "  b {\n        deep"), Err(NoPlan::Indentation(4..12)));
    assert_eq!(edited("  a\n\tb\n", " a\n b\n", " x\n"), Err(NoPlan::Indentation(0..7)));
}

#[test]
fn inner_white_space_and_similar_text_never_match() {
    assert_eq!(edited("let a  = 1;\n", "let a = 1;", "x"), Err(NoPlan::Nowhere));
    assert_eq!(edited("let a = 10;\n", " let a = 1;", "x"), Err(NoPlan::Nowhere));
    assert_eq!(edited("a\n\n\nb\n", "\n \n \n", "x"), Err(NoPlan::Nowhere));
    assert_eq!(edited("", "x", "y"), Err(NoPlan::Nowhere));
}

proptest! {
    /// Whatever matches, the rest of the file stays as it is, byte for byte.
    #[test]
    fn untouched_bytes_stay(content in "([ab\t ]{0,4}(\r\n|\n)){0,8}[ab ]{0,3}", old in "[ab\t ]{1,4}(\n[ab ]{0,3}){0,2}", new in "[ab\n ]{0,6}") {
        if let Ok((after, _)) = edited(&content, &old, &new) {
            let plan = plan(&content, &old, &new, false).unwrap();
            let (range, text) = &plan.replacements[0];
            prop_assert!(after.starts_with(&content[..range.start]) && after.ends_with(&content[range.end..]));
            prop_assert_eq!(after.len(), content.len() - range.len() + text.len());
            // What is replaced is what was named, but for outer white space and line ends.
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&content[range.clone()]), words(&old));
        }
    }
}
