//! Tests of `line_ends`.

use proptest::prelude::*;

use super::*;

#[test]
fn new_text_ends_its_lines_as_its_surroundings_do() {
    let are_crlf = |text: &str, places: &[usize]| -> Vec<bool> {
        let mut ends = LineEnds::new(text);
        places.iter().map(|place| ends.is_crlf_at(*place)).collect()
    };
    assert_eq!(are_crlf("a\r\nb\nc", &[0, 2, 3, 5, 6]), [true, true, false, false, false]);
    assert_eq!(are_crlf("a\nb\r\nc", &[0, 0, 2, 5, 6]), [false, false, true, true, true]);
    assert_eq!(are_crlf("a\r\nb", &[3, 4]), [true, true]);
    assert_eq!(are_crlf("no line end", &[0, 5]), [false, false]);
    assert_eq!(to_crlf("a\nb\r\nc"), "a\r\nb\r\nc");
}

#[test]
fn lines_in_both_keep_their_ends_and_new_ones_get_the_frequent_kind() {
    assert_eq!(like("a\r\nb\nc\r\n", "a\nnew\nb\nc\n"), "a\r\nnew\r\nb\nc\r\n");
    assert_eq!(like("a\r\nb", "a\nb"), "a\r\nb");
    assert_eq!(like("a\r\nb", "a\nb\n"), "a\r\nb\r\n");
}

proptest! {
    #[test]
    fn a_place_in_normalised_text_is_found_in_the_original(text in "[ab\r\n]{0,40}", start in 0_usize..40, length in 0_usize..40) {
        let normalised = Normalised::new(&text);
        prop_assert_eq!(&normalised.text, &text.replace("\r\n", "\n"));
        let start = start.min(normalised.text.len());
        let end = (start + length).min(normalised.text.len());
        let range = normalised.original(start..end);
        prop_assert_eq!(text[range].replace("\r\n", "\n"), &normalised.text[start..end]);
    }

    /// Bare lines are the new ones, whatever the old ends were.
    #[test]
    fn only_line_ends_differ_from_what_was_given(old in "[ab\r\n]{0,40}", new in "[ab\n]{0,40}") {
        prop_assert_eq!(like(&old, &new).replace("\r\n", "\n"), new);
    }

    #[test]
    fn unchanged_text_stays_byte_identical(old in "([ab]{0,3}(\r\n|\n)){0,12}[ab]{0,3}") {
        prop_assert_eq!(like(&old, &old.replace("\r\n", "\n")), old);
    }
}
