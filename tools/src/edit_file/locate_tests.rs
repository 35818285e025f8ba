//! Tests of `locate`.

use proptest::prelude::*;

use super::*;

/// The content after the plan, and how it matched.
fn edited(content: &str, old: &str, new: &str) -> Result<(String, MatchKind), PlanError> {
    let plan = plan(content, old, new, false)?;
    let (range, text) = plan.replacements.first().unwrap().clone();
    Ok((format!("{}{text}{}", &content[..range.start], &content[range.end..]), plan.how))
}

#[track_caller]
fn becomes(content: &str, old: &str, new: &str, expected: &str, how: MatchKind) {
    assert_eq!(edited(content, old, new), Ok((expected.to_owned(), how)));
}

#[test]
fn exact_comes_first() {
    becomes("a b\na  b\n", "a b", "x", "x\na  b\n", MatchKind::Exact);
    becomes("one\ntwo", "\ntwo", "", "one", MatchKind::Exact);
}

#[test]
fn several_places_are_refused_overlapping_ones_too() {
    assert_eq!(edited("ab ab", "ab", "x"), Err(PlanError::Several(vec![0..2, 3..5])));
    assert_eq!(edited("aaa", "aa", "x"), Err(PlanError::Several(vec![0..2, 1..3])));
    assert_eq!(edited("éé", "é", "x"), Err(PlanError::Several(vec![0..2, 2..4])));
    assert_eq!(edited(" a\na \n", "  a\n", "x"), Err(PlanError::Several(vec![0..3, 3..6])));
}

#[test]
fn all_are_replaced_from_the_left_when_told_to() {
    let plan = plan("aaa b aa", "aa", "x", true).unwrap();
    assert_eq!(plan.replacements, [(0..2, "x".into()), (6..8, "x".into())]);
}

#[test]
fn line_ends_do_not_matter_and_stay() {
    becomes("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n", MatchKind::LineEnds);
    becomes("a\nb\nc\n", "a\r\nb", "x", "x\nc\n", MatchKind::LineEnds);
    becomes("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", MatchKind::Exact);
    becomes("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n", MatchKind::Exact);
}

#[test]
fn whole_lines_may_differ_in_outer_white_space_and_are_indented_as_the_file_is() {
    becomes(
        "impl A {\n    fn a() {\n        one();\n    }\n}\n",
        "fn a() {\n    one();\n}\n",
        "fn a() {\n    two();\n\n    three();\n}\n",
        "impl A {\n    fn a() {\n        two();\n\n        three();\n    }\n}\n",
        MatchKind::WhiteSpace,
    );
    becomes(
        "if x:\n\ty = 1\n",
        "    if x:\n    \ty = 1",
        "    if x:\n    \ty = 2",
        "if x:\n\ty = 2\n",
        MatchKind::WhiteSpace,
    );
    becomes("  a  \n  b\n", "  a\n  b", "  c\n  d", "  c\n  d\n", MatchKind::WhiteSpace);
    becomes("\u{FEFF}a\nb\n", "  a\n  b\n", "  c\n", "\u{FEFF}c\n", MatchKind::WhiteSpace);
}

#[test]
fn tabs_for_spaces_are_carried_over_line_by_line_or_not_at_all() {
    let content = "a {\n\tb {\n\t\tc\n\t}\n}\n";
    becomes(
        content,
        "a {\n  b {\n    c",
        "a {\n  d {\n    e",
        "a {\n\td {\n\t\te\n\t}\n}\n",
        MatchKind::WhiteSpace,
    );
    assert_eq!(edited(content, "  b {\n    c", "  b {\n        deep"), Err(PlanError::Indentation(4..12)));
    assert_eq!(edited("  a\n\tb\n", " a\n b\n", " x\n"), Err(PlanError::Indentation(0..7)));
}

#[test]
fn inner_white_space_and_similar_text_never_match() {
    assert_eq!(edited("let a  = 1;\n", "let a = 1;", "x"), Err(PlanError::Nowhere));
    assert_eq!(edited("let a = 10;\n", " let a = 1;", "x"), Err(PlanError::Nowhere));
    assert_eq!(edited("a\n\n\nb\n", "\n \n \n", "x"), Err(PlanError::Nowhere));
    assert_eq!(edited("", "x", "y"), Err(PlanError::Nowhere));
}

#[test]
fn matches_without_end_are_counted_up_to_a_bound() {
    let content = "a".repeat(1 << 20);
    for old in ["a", &content[..1 << 19]] {
        let Err(PlanError::Several(found)) = plan(&content, old, "x", false) else { panic!() };
        assert_eq!((found.len(), &found[1]), (COUNTED, &(1..1 + old.len())));
    }
    let Err(PlanError::Several(found)) = plan(&" a\n".repeat(5_000), "  a\n", "x", false) else { panic!() };
    assert_eq!(found.len(), COUNTED);
}

/// Each of these took time by the square of its length: minutes, and gigabytes.
#[test]
fn places_and_lines_that_resemble_each_other_cost_no_more_than_others() {
    let long = "ab".repeat(1 << 19);
    for content in [long.clone(), format!("x\n{long}"), format!("{long}\r\n")] {
        let plan = plan(&content, "a", "x\ny", true).unwrap();
        assert_eq!(plan.replacements.len(), 1 << 19);
    }
    let (content, old) = (" a\n".repeat(200_000), "a\n".repeat(100_000));
    assert_eq!(plan(&content, &format!("{old}b\n"), "x", false), Err(PlanError::Nowhere));
}

proptest! {
    /// Runs of lines are found as by looking at every line, overlapping ones too.
    #[test]
    fn runs_of_lines_are_all_found(content in "([ab]\n){1,12}", old in "(  [ab]\n){1,4}") {
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let placed: Vec<(usize, &str)> = lines.iter().map(|line| (0, *line)).collect();
        let alike = |at: &usize| (0..old_lines.len()).all(|n| lines.get(at + n).map(|l| l.trim()) == Some(old_lines[n].trim()));
        prop_assert_eq!(runs_of(&old_lines, &placed), (0..lines.len()).filter(alike).collect::<Vec<_>>());
    }

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
