//! Where in an expression something is wrong.
//!
//! Apart because the parser keeps no positions, neither in its errors nor in its trees: they are found from the text.

use jsonata_core::parser::{self, ParserError};

/// How many bytes are parsed in all while a place is searched: each try parses a beginning anew.
const SEARCHED: usize = 1 << 16;
/// How many beginnings are tried.
const TRIES: usize = 64;

/// The character at which the parser gives up: the one that ends the shortest beginning with this same error, and there
/// the start of the token.
/// None where that would take long.
pub(super) fn of_syntax(text: &str, error: &ParserError) -> Option<usize> {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]).collect();
    let (all, wanted) = (ends.len(), error.to_string());
    // What is too deep is so from many a place on, and each try would go as deep.
    if wanted.contains("U1002") {
        return None;
    }
    if ["S0207", "before end of expression"].iter().any(|end| wanted.contains(end)) {
        return Some(all);
    }
    let same = |characters: usize| {
        parser::parse(&text[..ends[characters - 1]]).is_err_and(|found| found.to_string() == wanted)
    };
    let (mut shortest, mut left, mut tries) = (all, SEARCHED, TRIES);
    while shortest > 1 && same(shortest - 1) {
        shortest -= 1;
        tries = tries.checked_sub(1)?;
        left = left.checked_sub(shortest)?;
    }
    Some(start_of_word(text, shortest - 1))
}

/// The start of the word that has the character at `at`; `at` itself where that is no part of a word.
fn start_of_word(text: &str, at: usize) -> usize {
    let characters: Vec<char> = text.chars().collect();
    let mut start = at;
    while start > 0 && is_word(characters[start]) && is_word(characters[start - 1]) {
        start -= 1;
    }
    start
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}

/// What stands at a character: a word, or the one character.
pub(super) fn token(text: &str, at: usize) -> &str {
    let rest = text.char_indices().nth(at).map_or("", |(byte, _)| &text[byte..]);
    let word = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
    let one = rest.chars().next().map_or(0, char::len_utf8);
    &rest[..word.max(one)]
}

/// Where the operator or function that an error names stands, if it stands in one place alone; where it names none, the
/// only function that is called.
pub(super) fn of_failure(text: &str, message: &str) -> Option<usize> {
    let words: Vec<&str> =
        message.split([' ', ',', ':']).map(|word| word.trim_matches(['"', '`', '.'])).collect();
    let places = tokens(text);
    let is_there = |wanted: &str| places.iter().any(|(_, token)| *token == wanted);
    let operator = words.windows(2).find_map(|pair| match pair {
        [operator, "operator"] | ["operator", operator] if is_there(operator) => Some((*operator).to_owned()),
        [name, "function"] => Some(format!("${name}")).filter(|name| is_there(name)),
        _ => None,
    });
    let range = message.contains("Range operator").then(|| "..".to_owned());
    let function = words.iter().find(|word| word.len() > 1 && word.starts_with('$') && is_there(word));
    match operator.or(range).or(function.map(|name| (*name).to_owned())) {
        Some(named) => only(text, &named),
        None => {
            let mut called = places.windows(2).filter(|pair| pair[0].1.starts_with('$') && pair[1].1 == "(");
            let (at, _) = called.next()?[0];
            called.next().is_none().then_some(at)
        }
    }
}

/// The one place of a token outside of texts, quoted names and comments.
pub(super) fn only(text: &str, wanted: &str) -> Option<usize> {
    let tokens = tokens(text);
    // A sign, a wildcard and a parent are written like operators, which stand behind a value.
    let is_operator = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens[before].1.chars().next_back());
        before.is_some_and(|last| is_word(last) || ")]}\"'`".contains(last))
    };
    let mut places = tokens.iter().enumerate().filter(|(at, (_, token))| {
        *token == wanted && (!["-", "*", "%"].contains(&wanted) || is_operator(*at))
    });
    let (_, &(place, _)) = places.next()?;
    places.next().is_none().then_some(place)
}

/// The operators of two characters.
const PAIRS: [&str; 10] = [":=", "!=", ">=", "<=", "**", "..", "~>", "??", "?:", "/*"];

/// Words, operators, texts and quoted names with their places in characters; comments are passed over.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at, mut rest) = (Vec::new(), 0, text);
    while let Some(first) = rest.chars().next() {
        let pair = PAIRS.iter().find(|pair| rest.starts_with(**pair)).copied();
        let length = match first {
            '"' | '\'' | '`' => quoted(rest, first),
            _ if pair == Some("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ if is_word(first) => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
            _ => pair.map_or(first.len_utf8(), str::len),
        };
        let token = &rest[..length];
        if !first.is_whitespace() && pair != Some("/*") {
            found.push((at, token));
        }
        at += token.chars().count();
        rest = &rest[length..];
    }
    found
}

/// How many bytes a quoted text has, with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            end if end == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
