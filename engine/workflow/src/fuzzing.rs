//! What the fuzz targets call: each function checks what must hold for any input, and panics when it does not.

use serde_json::Value;

use crate::template;

/// A template renders or says why not, whatever it is rendered with; without a tag it is its own text.
///
/// # Panics
/// When it does neither.
pub fn template(template: &str, data: &str) {
    let data: Value = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    let (names, rendered) = (template::names(template), template::render(template, &data));
    match (&names, &rendered) {
        (Err(error), Err(other)) => assert_eq!(error, other),
        (Err(error), Ok(_)) => panic!("rendered though it does not parse: {error}"),
        (Ok(_), Err(error)) => assert!(error.offset() <= template.len()),
        (Ok(names), Ok(text)) => {
            assert!(names.iter().all(|name| template.is_char_boundary(name.offset)));
            assert!(template.contains("{{") || text == template);
        }
    }
}
