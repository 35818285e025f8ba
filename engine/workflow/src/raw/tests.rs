//! The keys that older documents have for parts of a role.

use crate::fixture::{FIX_BUG, Files};

const GOAL: &str = "    goal: You mend the bug.\n";

/// The good workflow with these edits, under the name `w.yaml`.
fn edited(edits: &[(&str, &str)]) -> Files {
    let mut text = FIX_BUG.to_owned();
    for (from, to) in edits {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let files = Files::new();
    files.write("w.yaml", &text);
    files
}

#[test]
fn parts_of_a_role_are_read_by_their_older_names_with_a_warning() {
    let good = edited(&[]).read("w.yaml").unwrap().hash();
    for (older, schema) in [("outputSchema", "    outputSchema:\n"), ("meta", "    meta:\n")] {
        let files = edited(&[("    goal:", "    systemPrompt:"), ("    frontmatter:\n", schema)]);
        assert_eq!(files.read("w.yaml").unwrap().hash(), good, "it is the same workflow");
        assert_eq!(
            files.warnings("w.yaml"),
            format!(
                "w.yaml:7:5: `systemPrompt` is called `goal` now\n    write `goal`\n\
                 w.yaml:11:5: `{older}` is called `frontmatter` now\n    write `frontmatter`\n"
            )
        );
    }
}

#[test]
fn a_part_that_is_given_twice_is_told_with_the_name_that_counts() {
    let both = [
        (GOAL, "    goal: You mend the bug.\n    systemPrompt: You do not.\n"),
        (GOAL, "    goal: You mend the bug.\n    meta: { type: object }\n"),
        (GOAL, "    goal: You mend the bug.\n    outputSchema: text\n"),
    ];
    let told: String = both.iter().map(|edit| edited(&[*edit]).problems("w.yaml")).collect();
    insta::assert_snapshot!(told);
    let files = edited(&[("    frontmatter:\n", "    meta: { type: object }\n    outputSchema:\n")]);
    let told = files.problems("w.yaml");
    assert!(told.contains("`outputSchema` and `meta` say the same thing: `outputSchema` counts"), "{told}");
}

#[test]
fn problems_of_older_parts_stand_where_the_parts_do() {
    let edits = [
        (GOAL, "    systemPrompt: ' '\n"),
        (GOAL, "    systemPrompt: [a]\n"),
        (GOAL, "    systemPrompt:\n"),
        (GOAL, "    systemprompt: You mend the bug.\n"),
        ("    frontmatter:\n      type: object\n", "    meta: text\n    x:\n"),
        ("    frontmatter:\n      type: object\n", "    outputSchema:\n      type: int\n"),
    ];
    let told: String = edits.iter().map(|edit| edited(&[*edit]).problems("w.yaml") + "--\n").collect();
    insta::assert_snapshot!(told);
    let files = edited(&[(GOAL, "    systemPrompt: You mend the bug.\n    goals: more\n")]);
    assert!(files.warnings("w.yaml").contains("unknown key `goals`, ignored"));
}
