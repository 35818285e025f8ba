//! What a role is to leave: each entry of its `artifacts` can be read, and a pointer may lead to something in its answers.
//!
//! Apart from the role because it compares two parts of one, and because templates see artifacts as a part of an answer.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use uwf_store::schema::pointer::escape;

use crate::artifact::{ArtifactPointer, DeclaredArtifact};
use crate::diagnostics::Diagnostics;
use crate::raw::{RawRole, RawText};
use crate::schema_analysis::kept_fields;
use crate::schema_analysis::pointed::{Mispointed, mispointed};
use crate::values::{ARTIFACTS, CheckedRole};

/// The entries as they are stored; `schema` is the role's, null where it was refused.
pub(super) fn check(role: &RawRole, schema: &Value, problems: &mut Diagnostics<'_>) -> Vec<String> {
    let mut known = BTreeSet::new();
    for entry in &role.artifacts {
        if !known.insert(entry.text.as_str()) {
            let message = format!("the artifact `{}` of role `{}` is named twice", entry.text, role.name);
            problems.at(&entry.pointer, message, "remove one of them".to_owned());
        }
        match DeclaredArtifact::parse(&entry.text) {
            Ok(DeclaredArtifact::Pointer(pointer)) if !schema.is_null() => {
                check_pointer((role, entry), &pointer, schema, problems);
            }
            Ok(_) => {}
            Err(error) => {
                let message =
                    format!("the artifact `{}` of role `{}` cannot be: {error}", entry.text, role.name);
                problems.at(&entry.pointer, message, KINDS.to_owned());
            }
        }
    }
    role.artifacts.iter().map(|entry| entry.text.clone()).collect()
}

/// What an entry can be.
const KINDS: &str = "a JSON pointer into the output begins with `/`; anything else is a glob of files, relative to the \
                     directory of the step";

fn check_pointer(
    (role, entry): (&RawRole, &RawText),
    pointer: &ArtifactPointer,
    schema: &Value,
    problems: &mut Diagnostics<'_>,
) {
    let ArtifactPointer { text, keys } = pointer;
    let (message, hint) = match mispointed(schema, keys) {
        None => return,
        Some(Mispointed::Nothing { at: 0 }) => {
            let meant = problems.nearest(&keys[0], kept_fields(schema));
            let hint = meant
                .map_or_else(|| KINDS.to_owned(), |meant| format!("did you mean `/{}`?", escape(&meant)));
            (
                format!(
                    "the artifact `{text}` names `{}`, which no answer of role `{}` has",
                    keys[0], role.name
                ),
                hint,
            )
        }
        Some(Mispointed::Nothing { at }) => {
            let before: String = keys[..at].iter().map(|key| format!("/{}", escape(key))).collect();
            let message = format!(
                "the artifact `{text}` names `{}`, which `{before}` of an answer of role `{}` never has",
                keys[at], role.name
            );
            (message, "declare it in the frontmatter schema".to_owned())
        }
        Some(Mispointed::NoText) => (
            format!(
                "the artifact `{text}` of role `{}` names no file: its schema admits neither a text nor a list of texts",
                role.name
            ),
            "what is there must be a path, the hash of a node, or a list of these".to_owned(),
        ),
    };
    problems.at(&entry.pointer, message, hint);
}

/// The schema of what templates are rendered with after this role: its answers, and the artifacts where they have no field
/// of that name.
pub(super) fn seen(role: &CheckedRole) -> Cow<'_, Value> {
    let schema = &role.schema;
    if role.artifacts.is_empty() || schema.is_null() || kept_fields(schema).contains(ARTIFACTS) {
        return Cow::Borrowed(schema);
    }
    let text = json!({"type": "string"});
    let artifact = json!({
        "properties": {"name": text, "path": text, "content": text, "size": {"type": "integer"}},
        "additionalProperties": false,
    });
    let artifacts = json!({"properties": {ARTIFACTS: {"type": "array", "items": artifact}}});
    Cow::Owned(json!({"allOf": [schema, artifacts]}))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{FIX_BUG, Files};

    /// The good workflow where the role `fixer` has these artifacts, with one more edit.
    fn with(artifacts: &str, (from, to): (&str, &str)) -> Files {
        let goal = "    goal: You mend the bug.\n";
        assert!(FIX_BUG.contains(goal) && FIX_BUG.contains(from));
        let text = FIX_BUG.replacen(goal, &format!("{goal}    artifacts: {artifacts}\n"), 1);
        let files = Files::new();
        files.write("w.yaml", &text.replacen(from, to, 1));
        files
    }

    const SAME: (&str, &str) = ("Be strict.", "Be strict.");

    #[test]
    fn artifacts_are_kept_as_they_are_written() {
        let files = with("[/summary, 'out/*.png', 'log.txt?']", SAME);
        let checked = files.read("w.yaml").unwrap();
        assert_eq!(checked.roles["fixer"].artifacts, ["/summary", "out/*.png", "log.txt?"]);
        assert_eq!(checked.type_(), crate::WORKFLOW_2);
        let none = with("[]", SAME).read("w.yaml").unwrap();
        assert_eq!(
            (none.type_(), with("", SAME).read("w.yaml").unwrap().hash()),
            (crate::WORKFLOW, none.hash())
        );
    }

    #[test]
    fn what_no_answer_has_and_what_is_no_glob_is_told() {
        let told: String = [
            "[/sumary]",
            "[/etc/passwd]",
            "[/summary/0]",
            "[/lines]",
            "['../x']",
            "['figures/']",
            "['a[']",
            "['']",
            "[/]",
            "[/a~]",
            "[a.md, a.md]",
            "[5]",
            "a.md",
            "{ a: b }",
        ]
        .iter()
        .map(|artifacts| format!("# {artifacts}\n{}", with(artifacts, SAME).problems("w.yaml")))
        .collect();
        insta::assert_snapshot!(told);
    }

    #[test]
    fn templates_after_the_role_may_name_its_artifacts() {
        let prompt = "Review: {{{summary}}}";
        let told = |artifacts: &str, to: &str| with(artifacts, (prompt, to)).problems("w.yaml");
        let list = "Review: {{#artifacts}}{{name}} ({{size}}) in {{path}}, {{content}}{{/artifacts}}";
        assert_eq!(told("[a.md]", list), "");
        assert!(told("[]", list).contains("`artifacts`, which no answer of role `fixer` has"));
        assert!(told("[a.md]", "{{#artifacts}}{{nam}}{{/artifacts}}").contains("`nam`"));
        assert!(told("[a.md]", "{{sumary}}").contains("`sumary`"));
    }
}
