//! One changed file as a patch that `git apply` takes, as far as it is text. Apart from where the contents come from.

use std::fmt::Write;

use similar::TextDiff;

/// How the record keeps what is no text.
pub(super) const NO_TEXT: &str = "data:application/octet-stream;base64,";

/// From one content to the other; none is no file. Nothing where nothing changed.
pub(super) fn of(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let (a, b) = (format!("a/{path}"), format!("b/{path}"));
    let side = |there: bool, name: &str| if there { quoted(name) } else { "/dev/null".to_owned() };
    let (old, new) = (side(before.is_some(), &a), side(after.is_some(), &b));
    if [before, after].iter().flatten().any(|content| content.starts_with(NO_TEXT)) {
        return format!("Binary files {old} and {new} differ\n");
    }
    let mode = match (before, after) {
        (None, _) => "new file mode 100644\n",
        (_, None) => "deleted file mode 100644\n",
        _ => "",
    };
    let head = format!("diff --git {} {}\n{mode}", quoted(&a), quoted(&b));
    let hunks = hunks(before.unwrap_or_default(), after.unwrap_or_default());
    if hunks.is_empty() {
        return head;
    }
    // A name with a blank ends in a tab, or programs would take the blank for its end.
    let end = |name: &str| if name.contains(' ') { "\t" } else { "" };
    format!("{head}--- {old}{}\n+++ {new}{}\n{hunks}", end(&old), end(&new))
}

/// Lines end at `\n` only, as they do for git: a `\r` is a part of its line.
fn hunks(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    let mut text = String::new();
    for hunk in diff.unified_diff().iter_hunks() {
        writeln!(text, "{}", hunk.header()).expect("a string takes everything");
        for change in hunk.iter_changes() {
            let line = change.value();
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            write!(text, "{}{line}{end}", change.tag()).expect("a string takes everything");
        }
    }
    text
}

/// A name as git writes it: in quotes, byte by byte, where it is not plain ASCII.
pub(super) fn quoted(name: &str) -> String {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if name.bytes().all(plain) {
        return name.to_owned();
    }
    let escaped = name.bytes().map(|byte| match byte {
        7 => "\\a".to_owned(),
        8 => "\\b".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\n' => "\\n".to_owned(),
        11 => "\\v".to_owned(),
        12 => "\\f".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// What git makes of a patch of all these files.
    #[test]
    fn git_takes_every_patch() {
        let cases = [
            ("plain", Some("a\nb\n"), Some("a\nc\n")),
            ("returns", Some("one\rtwo\r\nthree\r"), Some("one\rTWO\r\nthree\rfour\r")),
            ("no newline", Some("a"), Some("a\nb")),
            ("new empty", None, Some("")),
            ("gone empty", Some(""), None),
            ("sub/new", None, Some("x\n")),
            ("gone", Some("x\ny"), None),
            ("emptied", Some("x\n"), Some("")),
            ("größe \"\\\t\u{1}.txt", Some("1\n"), Some("2\n")),
        ];
        let dir = tempfile::tempdir().unwrap();
        let mut patch = String::new();
        for (name, before, after) in cases {
            patch += &of(name, before, after);
            if let Some(before) = before {
                fs::write(dir.path().join(name), before).unwrap();
            }
        }
        fs::write(dir.path().join("all.patch"), &patch).unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env_remove("GIT_DIR");
            let run = command.args(args).current_dir(dir.path()).output().unwrap();
            assert!(run.status.success(), "{}\n{patch}", String::from_utf8_lossy(&run.stderr));
        };
        git(&["init", "-q"]);
        git(&["apply", "--whitespace=nowarn", "all.patch"]);
        for (name, _, after) in cases {
            assert_eq!(fs::read_to_string(dir.path().join(name)).ok().as_deref(), after, "{name}");
        }
        git(&["apply", "--whitespace=nowarn", "-R", "all.patch"]);
        for (name, before, _) in cases {
            assert_eq!(fs::read_to_string(dir.path().join(name)).ok().as_deref(), before, "{name}");
        }
    }

    #[test]
    fn what_is_no_text_is_only_named() {
        assert_eq!(of("x", Some(NO_TEXT), None), "Binary files a/x and /dev/null differ\n");
        assert_eq!(of("x", Some("same"), Some("same")), "");
    }
}
