//! An expression's text → its tree, or what is wrong with it and where.

use jsonata_core::ast::AstNode;
use jsonata_core::parser::{self, ParserError};

use super::{ExpressionError, LONGEST, position, purity};

/// The tree of an expression that may be evaluated.
pub(super) fn parse(text: &str) -> Result<AstNode, ExpressionError> {
    let tree = syntax(text)?;
    match purity::impure(text, &tree) {
        Some(error) => Err(error),
        None => Ok(tree),
    }
}

/// The tree of an expression, whatever it asks for.
fn syntax(text: &str) -> Result<AstNode, ExpressionError> {
    if text.trim().is_empty() {
        return Err(ExpressionError::at(None, "the expression is empty"));
    }
    if text.len() > LONGEST {
        let message = format!("the expression has {} bytes: at most {LONGEST} are read", text.len());
        return Err(ExpressionError::at(None, message));
    }
    if is_deep(text) {
        return Err(ExpressionError::at(None, format!("it is nested deeper than {DEEPEST} levels")));
    }
    parser::parse(text).map_err(|error| {
        let at = position::of_syntax(text, &error);
        ExpressionError::at(at, words(text, at, &error) + &advice(text))
    })
}

/// What other languages write otherwise: how it is written here, for the first of them that is in the text.
const OTHERWISE: [(&str, &str); 5] = [
    ("==", "`=` is the comparison, there is no `==`"),
    ("&&", "`and` stands between two conditions, there is no `&&`"),
    ("||", "`or` stands between two conditions, there is no `||`"),
    ("!", "the opposite is `$not(…)`, there is no `!`"),
    ("not ", "the opposite is `$not(…)`, a function"),
];

fn advice(text: &str) -> String {
    let plain = without_texts(text).replace("!=", "  ");
    let found = OTHERWISE.iter().find(|(other, _)| plain.contains(other));
    found.map(|(_, here)| format!("; {here}")).unwrap_or_default()
}

/// The expression with blanks in the place of what stands between quotes.
fn without_texts(text: &str) -> String {
    let mut open = None;
    let blank = |character: char| {
        let within = open.is_some();
        match open {
            None if "\"'`".contains(character) => open = Some(character),
            Some(quote) if quote == character => open = None,
            _ => {}
        }
        if within || open.is_some() { ' ' } else { character }
    };
    text.chars().map(blank).collect()
}

/// How deep the signatures of functions may be nested: the parser goes down each by a call of its own.
const DEEPEST: usize = 250;

/// Whether a signature, as `<a<a<s>>>`, may be nested too deep; comparisons count as if they opened one.
fn is_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|character| {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

/// What the parser calls some tokens, and how they are written.
const TOKENS: [(&str, &str); 9] = [
    ("Ampersand", "`&`"),
    ("LeftParen", "`(`"),
    ("RightParen", "`)`"),
    ("LeftBracket", "`[`"),
    ("RightBracket", "`]`"),
    ("LeftBrace", "`{`"),
    ("RightBrace", "`}`"),
    ("Colon", "`:`"),
    ("Equal", "`=`"),
];

/// The error without the names of the parser's own types.
fn words(text: &str, at: Option<usize>, error: &ParserError) -> String {
    let message = error.to_string();
    let plain = ["Invalid syntax: ", "Invalid number: "].iter().find_map(|kind| message.strip_prefix(kind));
    let mut plain = plain.unwrap_or(&message).to_owned();
    let Some(at) = at else { return plain };
    let token = position::token(text, at);
    if token.is_empty() {
        let says_so = plain.contains("end of expression");
        return TOKENS.iter().fold(plain, |text, (name, token)| text.replace(name, token))
            + if says_so { "" } else { ", at the end of the expression" };
    }
    if plain.starts_with("S0201") {
        return format!("S0201: Syntax error: `{token}` cannot stand here");
    }
    if let Some((expected, _)) = plain.split_once(", got ") {
        plain = format!("{expected}, got `{token}`");
    }
    TOKENS.iter().fold(plain, |text, (name, token)| text.replace(&format!(" {name}"), &format!(" {token}")))
}
