//! Markdown that is cut: at a line's end, with its code block closed, and with the command that shows the rest.

/// The first characters of a text, as whole lines, and where the others are; all of it where it fits.
pub(super) fn to(text: &str, room: usize, whole: &str) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let (mut kept, mut used, mut fence) = (String::new(), 0, None);
    for line in text.split_inclusive('\n') {
        used += line.chars().count();
        if used > room {
            break;
        }
        kept += line;
        fence = after(fence, line);
    }
    let left = count - kept.chars().count();
    if let Some(length) = fence {
        kept += &format!("{}\n", "`".repeat(length));
    }
    format!("{kept}\n*({left} more characters: `{whole}`)*\n")
}

/// The code block that is open after a line, by the length of its fence.
fn after(open: Option<usize>, line: &str) -> Option<usize> {
    let line = line.trim_end();
    let length = line.len() - line.trim_start_matches('`').len();
    match open {
        None if length >= 3 => Some(length),
        Some(of) if length >= of && line.len() == length => None,
        open => open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_a_line_and_its_block_is_closed() {
        let text = "# A\n\n````\none\n```\ntwo\n````\nend\n";
        assert_eq!(to(text, 100, "x"), text);
        assert_eq!(to(text, 6, "uwf x"), "# A\n\n\n*(26 more characters: `uwf x`)*\n");
        assert_eq!(to(text, 20, "x"), "# A\n\n````\none\n```\n````\n\n*(13 more characters: `x`)*\n");
        assert_eq!(to(text, 30, "x"), "# A\n\n````\none\n```\ntwo\n````\n\n*(4 more characters: `x`)*\n");
    }
}
