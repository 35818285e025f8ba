//! `--jq EXPRESSION`: what a filter of the language of jq makes of a result; the library is known here alone.

use jaq_core::load::{Arena, Error, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value;

use super::error::{CliError, USAGE};

/// Each output of `filter` for `value` as a line: a string as it is, anything else as JSON.
///
/// # Errors
/// The filter cannot be read, or it fails for this value.
pub(super) fn filtered(filter: &str, value: &Value) -> Result<String, CliError> {
    let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let arena = Arena::default();
    let modules = Loader::new(defs)
        .load(&arena, File { code: filter, path: () })
        .map_err(|errors| unreadable(errors.first().map(|(_, error)| syntax(error))))?;
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let compiled = Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
        let undefined = errors.first().and_then(|(_, undefined)| undefined.first());
        unreadable(undefined.map(|(name, kind)| format!("there is no {} `{name}`", kind.as_str())))
    })?;
    let input = read::parse_single(value.to_string().as_bytes()).expect("it was just written as JSON");
    let context = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new([]));
    let mut lines = String::new();
    for output in compiled.id.run((context, input)).map(unwrap_valr) {
        let output = output.map_err(|error| CliError::user(format!("the filter failed: {error}")))?;
        match &output {
            Val::TStr(text) => lines += &String::from_utf8_lossy(text),
            other => lines += &other.to_string(),
        }
        lines.push('\n');
    }
    Ok(lines)
}

fn syntax(error: &Error<&str>) -> String {
    let (expected, found) = match error {
        Error::Io(files) => return files.first().map(|(_, error)| error.clone()).unwrap_or_default(),
        Error::Lex(errors) => errors.first().map(|(expected, found)| (expected.as_str(), *found)),
        Error::Parse(errors) => errors.first().map(|(expected, found)| (expected.as_str(), *found)),
    }
    .unwrap_or(("a filter", ""));
    match found {
        "" => format!("expected {expected} at its end"),
        found => format!("expected {expected}, found `{found}`"),
    }
}

fn unreadable(reason: Option<String>) -> CliError {
    CliError::Said {
        error: format!("cannot read the filter: {}", reason.unwrap_or_default()).into(),
        hint: Some("it is written as for jq: --json thread,status --jq '.[].thread'".to_owned()),
        exit: USAGE,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_are_printed_as_they_are_and_the_rest_as_json() {
        let rows =
            json!([{"thread": "a\"b", "cost": 1.5, "big": 9_007_199_254_740_993_u64}, {"thread": null}]);
        assert_eq!(filtered(".[].thread", &rows).unwrap(), "a\"b\nnull\n");
        assert_eq!(
            filtered(".[0] | {thread, big}", &rows).unwrap(),
            "{\"thread\":\"a\\\"b\",\"big\":9007199254740993}\n"
        );
        assert_eq!(filtered("map(.cost // 0) | add", &rows).unwrap(), "1.5\n");
        assert_eq!(filtered("empty", &rows).unwrap(), "");
    }

    #[test]
    fn what_is_wrong_with_a_filter_is_told() {
        for (filter, exit, words) in [
            (".[", USAGE, "cannot read the filter: expected closing bracket at its end"),
            (".a b", USAGE, "cannot read the filter: "),
            ("foo(1)", USAGE, "cannot read the filter: there is no filter `foo`"),
            ("$x", USAGE, "there is no variable `$x`"),
            ("include \"/etc/x\"; .", USAGE, "cannot read the filter: "),
            (".a", 1, "the filter failed: "),
            ("input", USAGE, "there is no filter `input`"),
        ] {
            let error = filtered(filter, &json!([1])).unwrap_err();
            assert!(error.exit() == exit && error.message().contains(words), "{filter}: {error:?}");
        }
    }
}
