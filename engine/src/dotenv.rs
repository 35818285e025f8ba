//! `.env` files: text in, variables out. Pure; apart from [`crate::home`] because it is a grammar.
//!
//! A line is `NAME=value`, `export NAME=value`, a comment or blank. In `'…'` everything stands for itself, backslashes
//! too; elsewhere `\n` is a line end, `\` before one of `\ ' " $` and a blank is that, and `${NAME}` is filled in, outside
//! quotes also `$NAME`, letters and digits. Quoted values may go over several lines; ` #` outside quotes begins a comment, and
//! a `\` at a line's end is dropped. Known crates look names up in the process: here the environment comes in as a value.

/// The variables of a file in their order; a name is filled in with what is `set`, else with what a line before says.
///
/// # Errors
/// The number of a line that is none of these.
pub(crate) fn parse<'e>(
    text: &str,
    set: &dyn Fn(&str) -> Option<&'e str>,
) -> Result<Vec<(String, String)>, usize> {
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if rest.starts_with('#') {
            rest = after_line(rest).trim_start();
            continue;
        }
        let filled_in = |name: &str| {
            let before = variables.iter().rev().find(|(known, _)| known == name);
            set(name).or(before.map(|(_, value)| value.as_str())).unwrap_or_default().to_owned()
        };
        let read = name(rest).and_then(|(name, behind)| Some((name, value(behind, &filled_in)?)));
        let line = || text[..text.len() - rest.len()].matches('\n').count() + 1;
        let (name, (value, behind)) = read.ok_or_else(line)?;
        variables.push((name.to_owned(), value));
        rest = behind.trim_start();
    }
    Ok(variables)
}

/// What is set, and what stands behind the `=`.
fn name(line: &str) -> Option<(&str, &str)> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))?;
    let (name, rest) = line.split_at(end);
    let rest = without_blanks(rest);
    match rest.strip_prefix('=') {
        Some(value) if !name.starts_with(|c: char| c == '.' || c.is_ascii_digit()) && end > 0 => {
            Some((name, without_blanks(value)))
        }
        None if name == "export" => self::name(rest),
        _ => None,
    }
}

/// The value that a text begins with, and what follows its line.
fn value<'t>(text: &'t str, filled_in: &dyn Fn(&str) -> String) -> Option<(String, &'t str)> {
    let (mut value, mut rest, mut quote) = (String::new(), text, None);
    if text.starts_with('#') {
        return Some((value, after_line(text)));
    }
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        rest = match (quote, c) {
            (None, c) if c.is_whitespace() && ends_value(rest) => return Some((value, after_line(rest))),
            (None, ' ' | '\t' | '\n') => return None,
            (Some(open), c) if c == open => {
                quote = None;
                behind
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                behind
            }
            // A password in quotes may well hold one: whoever means a name there puts it in braces.
            (Some('"'), '$') if !behind.starts_with('{') => return None,
            (None | Some('"'), '$') => fill_in(&mut value, behind, filled_in)?,
            (None, '\\') if ends_line(behind) => behind,
            (None | Some('"'), '\\') => {
                let escaped = behind.chars().next().filter(|c| "\\'\"$ n".contains(*c))?;
                value.push(if escaped == 'n' { '\n' } else { escaped });
                &behind[1..]
            }
            (_, c) => {
                value.push(c);
                behind
            }
        };
    }
    quote.is_none().then_some((value, ""))
}

/// Adds what the name behind a `$` stands for and gives what follows it. A name without braces has letters and digits
/// alone, and a blank behind it belongs to the value.
fn fill_in<'t>(value: &mut String, behind: &'t str, filled_in: &dyn Fn(&str) -> String) -> Option<&'t str> {
    if let Some(braced) = behind.strip_prefix('{') {
        let (name, rest) = braced.split_once('}').filter(|(name, _)| !name.contains('\n'))?;
        value.push_str(&filled_in(name));
        return Some(rest);
    }
    let (name, rest) = behind.split_at(behind.find(|c: char| !c.is_alphanumeric()).unwrap_or(behind.len()));
    value.push_str(&filled_in(name));
    let blank = usize::from(rest.starts_with([' ', '\t']) && !ends_value(rest));
    value.push_str(&rest[..blank]);
    Some(&rest[blank..])
}

fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() && c != '\n')
}

fn ends_line(text: &str) -> bool {
    matches!(without_blanks(text).chars().next(), None | Some('\n'))
}

fn ends_value(text: &str) -> bool {
    ends_line(text) || without_blanks(text).starts_with('#')
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String)>, usize> {
        parse(text, &|name| (name == "OUT").then_some("outer"))
    }

    #[test]
    fn every_form_of_a_value() {
        for (line, value) in [
            ("A=b", "b"),
            ("  export A = b  ", "b"),
            ("A=", ""),
            ("A= # none", ""),
            ("A=b#c # said", "b#c"),
            ("A='b $OUT \\n'\"c d\"e", "b $OUT \\nc de"),
            ("A=\"b\\n\\\"\\$c\\\\\"", "b\n\"$c\\"),
            ("A=b\\ c", "b c"),
            ("A=b\\", "b"),
            ("A=b\u{a0}", "b"),
            ("A=b\rc", "b\rc"),
            ("A='b\nc'", "b\nc"),
            ("A=b\r\n", "b"),
            ("A=€\"${OUT}\"", "€outer"),
            ("A=$OUT/${OUT}_$NONE${NONE}", "outer/outer_"),
            ("A=$OUT and", "outer and"),
            ("A=$OUT # said", "outer"),
        ] {
            assert_eq!(parsed(line), Ok(vec![("A".to_owned(), value.to_owned())]), "{line:?}");
        }
        assert_eq!(parsed("# a\n\n \t\n#b"), Ok(vec![]));
    }

    #[test]
    fn names_are_looked_up_in_the_environment_and_then_above() {
        let read = parsed("OUT=inner\nABOVE=above\nA=${OUT}\nB=${ABOVE}\nC=${A}${D}\nD=late").unwrap();
        let values: Vec<&str> = read.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["inner", "above", "outer", "above", "outer", "late"]);
    }

    #[test]
    fn a_line_that_is_none_is_told_by_its_number() {
        for line in [
            "words",
            "two words",
            "1A=b",
            ".A=b",
            "=b",
            "A=b c",
            "A='b",
            "A=\"b",
            "A=${B",
            "A=\"a$b\"",
            "A=b\\x",
            "export A",
        ] {
            assert_eq!(parsed(&format!("# a\nB='1\n2'\n{line}\n")), Err(4), "{line:?}");
        }
    }
}
