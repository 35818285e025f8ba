//! What a file says for workflows that call each other, against its roles: where fields of an output are from, and whose
//! steps a role sees.

use std::collections::BTreeMap;

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
    if !is_pointer(&from.text) {
        let message = format!("`{}` is no JSON pointer", from.text);
        problems.at(&from.pointer, message, Some(format!("write `/{}`", from.text.trim_start_matches('.'))));
        return None;
    }
    Some((field.name, OutputField { from: from.text, values: field.values }))
}

/// RFC 6901: each name begins with `/`, and `~` is followed by 0 or 1.
fn is_pointer(text: &str) -> bool {
    let escaped = |name: &str| name.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.starts_with('/') && text.split('/').all(escaped)
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
