//! Template text → nested parts.
//!
//! Apart from rendering because all errors an author can make are found here, without data. Two passes: a scanner that
//! knows tags, delimiters and standalone lines, then the nesting of sections on an explicit stack.

use super::{MAX_SECTIONS, TemplateError};

/// A piece of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplatePart<'t> {
    Text { text: &'t str, offset: usize },
    Variable { name: &'t str, offset: usize },
    Section { name: &'t str, offset: usize, inverted: bool, parts: Vec<TemplatePart<'t>> },
}

pub(super) fn parse(template: &str) -> Result<Vec<TemplatePart<'_>>, TemplateError> {
    nest(Scanner::new(template).scan()?)
}

/// A tag or a run of text before nesting.
struct Token<'t> {
    kind: TokenKind,
    /// The text, or the name in the tag.
    text: &'t str,
    offset: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Text,
    Variable,
    Open {
        inverted: bool,
    },
    Close,
    /// Leaves nothing: comments, partials, delimiters, and the white space of a standalone line.
    Nothing,
}

struct Scanner<'t> {
    template: &'t str,
    position: usize,
    delimiters: (&'t str, &'t str),
    tokens: Vec<Token<'t>>,
    line: LineState,
}

/// What has been seen on the current line: a line of tags and white space alone vanishes, unless a tag prints.
#[derive(Default)]
struct LineState {
    blanks: Vec<usize>,
    has_tag: bool,
    has_content: bool,
}

impl<'t> Scanner<'t> {
    fn new(template: &'t str) -> Scanner<'t> {
        Scanner {
            template,
            position: 0,
            delimiters: ("{{", "}}"),
            tokens: Vec::new(),
            line: LineState::default(),
        }
    }

    fn scan(mut self) -> Result<Vec<Token<'t>>, TemplateError> {
        while self.position < self.template.len() {
            let rest = self.rest();
            let end = rest.find(self.delimiters.0);
            self.text(&rest[..end.unwrap_or(rest.len())]);
            if end.is_some() {
                self.tag()?;
            }
        }
        self.end_line();
        Ok(self.tokens)
    }

    fn rest(&self) -> &'t str {
        &self.template[self.position..]
    }

    fn text(&mut self, text: &'t str) {
        for line in text.split_inclusive('\n') {
            for run in runs(line) {
                if run.starts_with(is_space) {
                    self.line.blanks.push(self.tokens.len());
                } else {
                    self.line.has_content = true;
                }
                self.tokens.push(Token { kind: TokenKind::Text, text: run, offset: self.position });
                self.position += run.len();
            }
            if line.ends_with('\n') {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.has_tag && !line.has_content {
            for blank in line.blanks {
                self.tokens[blank].kind = TokenKind::Nothing;
            }
        }
    }

    fn tag(&mut self) -> Result<(), TemplateError> {
        let offset = self.position;
        self.line.has_tag = true;
        self.position += self.delimiters.0.len();
        self.skip_space();
        let sigil = self.rest().chars().next().filter(|first| "#^/>{&=!".contains(*first));
        self.position += sigil.map_or(0, char::len_utf8);
        self.skip_space();
        let text = match sigil {
            Some('{') => self.until(&["}", self.delimiters.1].concat()),
            Some('=') => self.until("=").filter(|_| self.until(self.delimiters.1).is_some()),
            _ => self.until(self.delimiters.1),
        };
        let text = text.ok_or_else(|| unclosed_tag(self.template, offset))?;
        let kind = match sigil {
            Some('#') => TokenKind::Open { inverted: false },
            Some('^') => TokenKind::Open { inverted: true },
            Some('/') => TokenKind::Close,
            Some('=' | '!' | '>') => TokenKind::Nothing,
            _ => TokenKind::Variable,
        };
        if sigil == Some('=') {
            self.delimiters = delimiters(text, offset)?;
        }
        self.line.has_content |= kind == TokenKind::Variable;
        self.tokens.push(Token { kind, text, offset });
        Ok(())
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start_matches(is_space).len();
    }

    /// What stands before `end`, without the white space before it; goes on behind `end`.
    fn until(&mut self, end: &str) -> Option<&'t str> {
        let rest = self.rest();
        let at = rest.find(end)?;
        self.position += at + end.len();
        Some(rest[..at].trim_end_matches(is_space))
    }
}

/// Runs of white space and of other characters, in turn.
fn runs(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let blank = rest.starts_with(is_space);
        let end = rest.find(|c| is_space(c) != blank).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        (!run.is_empty()).then_some(run)
    })
}

/// `\s` of a JavaScript regular expression.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

fn delimiters(text: &str, offset: usize) -> Result<(&str, &str), TemplateError> {
    let mut words = text.split(is_space).filter(|word| !word.is_empty());
    match (words.next(), words.next()) {
        (Some(open), Some(close)) => Ok((open, close)),
        _ => Err(TemplateError::Delimiters { offset, got: text.to_owned() }),
    }
}

fn unclosed_tag(template: &str, offset: usize) -> TemplateError {
    let tag = template[offset..].chars().take_while(|c| *c != '\n').take(20).collect();
    TemplateError::UnclosedTag { offset, tag }
}

fn nest(tokens: Vec<Token<'_>>) -> Result<Vec<TemplatePart<'_>>, TemplateError> {
    let mut parts = Vec::new();
    // The section that is open at each level, with the parts that stood before it.
    let mut open: Vec<(Token<'_>, Vec<TemplatePart<'_>>)> = Vec::new();
    for token in tokens {
        let Token { kind, text, offset } = token;
        match kind {
            TokenKind::Nothing => {}
            TokenKind::Text => parts.push(TemplatePart::Text { text, offset }),
            TokenKind::Variable => parts.push(TemplatePart::Variable { name: text, offset }),
            TokenKind::Open { .. } if open.len() == MAX_SECTIONS => {
                return Err(TemplateError::TooDeep { offset });
            }
            TokenKind::Open { .. } => open.push((token, std::mem::take(&mut parts))),
            TokenKind::Close => {
                let (section, before) = open.pop().ok_or_else(|| unopened(&token))?;
                if section.text != text {
                    return Err(unclosed(&section, Some(text)));
                }
                let inner = std::mem::replace(&mut parts, before);
                let inverted = section.kind == TokenKind::Open { inverted: true };
                parts.push(TemplatePart::Section {
                    name: section.text,
                    offset: section.offset,
                    inverted,
                    parts: inner,
                });
            }
        }
    }
    match open.pop() {
        Some((section, _)) => Err(unclosed(&section, None)),
        None => Ok(parts),
    }
}

fn unopened(end: &Token<'_>) -> TemplateError {
    TemplateError::Unopened { offset: end.offset, name: end.text.to_owned() }
}

fn unclosed(section: &Token<'_>, found: Option<&str>) -> TemplateError {
    let found = found.map(str::to_owned);
    TemplateError::Unclosed { offset: section.offset, name: section.text.to_owned(), found }
}
