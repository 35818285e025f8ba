//! Violations of a choice (`oneOf`, `anyOf`) whose alternatives name themselves.
//!
//! A role that may answer in several ways has one variant per `$status`. Whoever answered `done` wants to hear what
//! its `done` lacks, not that none of five variants fits. Never changes whether a payload is valid.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::listed;
use super::violation::Violation;

/// The property whose constant names a variant.
const STATUS: &str = "$status";

/// How many things that are wrong are told in words: nobody mends more at once, and the words repeat what is allowed.
pub(super) const TOLD: usize = 50;

/// Adds what this error means to `out`: for a choice between named variants, what is wrong with the one meant. Says how
/// many things found no room there.
pub(super) fn explain(error: &ValidationError<'_>, schema: &Value, out: &mut Vec<Violation>) -> usize {
    if out.len() >= TOLD {
        return 1;
    }
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else {
        out.push(Violation::new(error, schema));
        return 0;
    };
    match choose(error, schema) {
        Choice::Variant(i) if context.get(i).is_some_and(|errors| !errors.is_empty()) => {
            return context[i].iter().map(|error| explain(error, schema, out)).sum();
        }
        Choice::NoneNamed(allowed) => {
            let got = error.instance().get(STATUS);
            out.push(Violation::no_such_variant(error.instance_path().as_str(), STATUS, got, &allowed));
        }
        _ => out.push(Violation::new(error, schema)),
    }
    0
}

enum Choice<'s> {
    /// The payload names this one.
    Variant(usize),
    /// Every variant has a name and the payload has none of them.
    NoneNamed(Vec<&'s Value>),
    /// The variants have no names.
    Unnamed,
}

fn choose<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Choice<'s> {
    let variants = schema.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    let (Some(variants), Value::Object(payload)) = (variants, error.instance().as_ref()) else {
        return Choice::Unnamed;
    };
    let names: Vec<_> = variants.iter().map(names).collect();
    let wanted = payload.get(STATUS);
    if let Some(i) = names.iter().position(|names| wanted.is_some_and(|wanted| names.contains(&wanted))) {
        return Choice::Variant(i);
    }
    if names.iter().any(Vec::is_empty) {
        return Choice::Unnamed;
    }
    Choice::NoneNamed(names.into_iter().flatten().collect())
}

/// The values of `$status` that a variant admits; none if it does not say.
fn names(variant: &Value) -> Vec<&Value> {
    let Some(status) = variant.get("properties").and_then(|properties| properties.get(STATUS)) else {
        return Vec::new();
    };
    listed(status).into_iter().flatten().collect()
}
