//! What is wrong with a payload: draft-07, with the one format `ocas_ref`.
//!
//! The checking is jsonschema's, the verdict in words is [`super::violation`]'s. A schema that nothing can be checked
//! against is an error, never "valid".

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use super::keywords::{self, OCAS_REF, SchemaError};
use super::variants;
use super::violation::Violation;
use crate::Hash;
use crate::json::sorted;

/// Everything that is wrong with a payload, the first fifty things in words; empty means it obeys the schema.
///
/// # Errors
/// The schema may not be stored, or nothing can be validated against it.
pub fn validate(schema: &Value, payload: &Value) -> Result<Vec<Violation>, SchemaError> {
    Schema::new(schema.clone()).validate(payload)
}

/// A schema with its validator, which is compiled when it is first needed, and then once.
pub(crate) struct Schema {
    value: Value,
    validator: OnceLock<Result<Validator, SchemaError>>,
}

impl Schema {
    pub(crate) fn new(value: Value) -> Schema {
        Schema { value: sorted(value), validator: OnceLock::new() }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// As [`validate`].
    pub(crate) fn validate(&self, payload: &Value) -> Result<Vec<Violation>, SchemaError> {
        let validator = self.validator.get_or_init(|| compile(&self.value)).as_ref().map_err(Clone::clone)?;
        if validator.is_valid(payload) {
            return Ok(Vec::new());
        }
        // What is wrong is told in the order of the names.
        let payload = &sorted(payload.clone());
        let (mut violations, mut untold) = (Vec::new(), 0_usize);
        for error in validator.iter_errors(payload) {
            untold += variants::explain(&error, &self.value, &mut violations);
        }
        if untold > 0 {
            let words = if untold == 1 { "thing is" } else { "things are" };
            violations
                .push(Violation::whole(format!("{untold} more {words} wrong, of the same kinds or others")));
        }
        Ok(violations)
    }
}

fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    keywords::check(schema)?;
    keywords::check_usable(schema)?;
    jsonschema::draft7::options()
        .with_format(OCAS_REF, |text: &str| text.parse::<Hash>().is_ok())
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| SchemaError::Unusable {
            path: error.instance_path().as_str().to_owned(),
            message: error.to_string(),
        })
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
