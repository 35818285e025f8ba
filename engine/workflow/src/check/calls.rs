//! What a file says for workflows that call each other, against its roles: where fields of an output are from, and whose
//! steps a role sees.

use std::collections::BTreeMap;

use uwf_store::schema::pointer::{self, PointerFault};

use crate::diagnostics::Diagnostics;
use crate::raw::RawText;
use crate::raw::calls::{RawField, RawOutput};
use crate::schema_analysis;
use crate::values::{CheckedRole, ContextSource, OutputField, OutputMaps};

/// The mappings of outputs, as good as they can be made of what was typed.
pub(super) fn outputs(
    raw: Vec<RawOutput>,
    roles: &BTreeMap<String, CheckedRole>,
    problems: &mut Diagnostics<'_>,
) -> OutputMaps {
    let mut outputs = OutputMaps::new();
    for RawOutput { role, pointer, fields } in raw {
        let Some(checked) = roles.get(&role) else {
            let hint = problems.meant(&role, roles.keys());
            problems.at_key(&pointer, format!("`output` names `{role}`, which is no role"), hint);
            continue;
        };
        let fields: Vec<(String, OutputField)> =
            fields.into_iter().filter_map(|field| output_field(field, (&role, checked), problems)).collect();
        if !fields.is_empty() {
            outputs.insert(role, fields.into_iter().collect());
        }
    }
    outputs
}

fn output_field(
    field: RawField,
    (role, checked): (&str, &CheckedRole),
    problems: &mut Diagnostics<'_>,
) -> Option<(String, OutputField)> {
    let kept = schema_analysis::kept_fields(&checked.schema);
    if !checked.schema.is_null() && !kept.contains(field.name.as_str()) {
        let hint = problems.meant(&field.name, &kept);
        let message = format!("the output of role `{role}` has no field `{}`", field.name);
        problems.at_key(&field.pointer, message, hint);
    }
    let from = field.from?;
    if let Err(fault) = pointer::keys(&from.text) {
        let message = match fault {
            PointerFault::Whole => format!("`{}` is no JSON pointer to a field", from.text),
            fault => format!("`{}` is no JSON pointer: {fault}", from.text),
        };
        let hint = match pointer::meant(&from.text) {
            Some(meant) => format!("write `{meant}`"),
            None => {
                "write `/` and the name of a field of the output that the workflow there ends with".to_owned()
            }
        };
        problems.at(&from.pointer, message, hint);
        return None;
    }
    Some((field.name, OutputField { from: from.text, values: field.values }))
}

/// Whose steps a role sees.
pub(super) fn context(raw: &[RawText], problems: &mut Diagnostics<'_>) -> Vec<ContextSource> {
    let mut sources = Vec::new();
    for RawText { text, pointer } in raw {
        match text.as_str() {
            "caller" if sources.is_empty() => sources.push(ContextSource::Caller),
            "caller" => problems.at(pointer, "`caller` is there twice".to_owned(), None),
            other => {
                let message = format!("`context` knows no `{other}`: it can have `caller`");
                problems.at(pointer, message, Some("write `context: [caller]`".to_owned()));
            }
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use crate::fixture::{FIX_BUG, Files};

    #[test]
    fn a_pointer_that_is_none_is_told_with_the_one_that_is_meant() {
        for (from, message, hint) in [
            ("summary", "`summary` is no JSON pointer: a JSON pointer begins with `/`", "write `/summary`"),
            (".a.b", "`.a.b` is no JSON pointer", "write `/a/b`"),
            ("/a~2", "`/a~2` is no JSON pointer: `~` in a JSON pointer is followed by", "write `/a~02`"),
            ("", "`` is no JSON pointer to a field", "write `/` and the name of a field"),
            ("/", "`/` is no JSON pointer to a field", "write `/` and the name of a field"),
        ] {
            let files = Files::new();
            let text = format!("{FIX_BUG}\noutput: {{ fixer: {{ summary: '{from}' }} }}\n");
            files.write("w.yaml", &text);
            let told = files.problems("w.yaml");
            assert!(told.contains(message) && told.contains(hint), "{from}: {told}");
        }
    }
}
