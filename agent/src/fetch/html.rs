//! HTML as text that a model reads well: headings, lists, links and code as Markdown has them, and nothing of scripts.
//!
//! Apart because a page is somebody else's: it is read token by token, so that no nesting costs a stack and no table a
//! layout. Time and memory grow with the page's length and with nothing else.

use html5gum::emitters::default::{StartTag, Token};
use html5gum::{DefaultEmitter, Tokenizer};
use reqwest::Url;

/// What is not text.
const SILENT: &[&str] =
    &["script", "style", "noscript", "template", "svg", "math", "iframe", "canvas", "audio", "video"];

/// What begins on a line of its own, after an empty one.
const PARAGRAPHS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "aside",
    "main",
    "header",
    "footer",
    "nav",
    "ul",
    "ol",
    "dl",
    "table",
    "form",
    "figure",
    "blockquote",
    "address",
    "details",
    "fieldset",
    "body",
];

/// What begins on a line of its own.
const LINES: &[&str] =
    &["tr", "dt", "dd", "figcaption", "caption", "summary", "option", "thead", "tbody", "tfoot"];

/// The longest target of a link that is shown, in bytes.
const MAX_LINK: usize = 500;

/// How much the targets of all links may have together, in bytes, beside as much as the page has: many short ones may stand for
/// long ones.
const MOST_LINKS: usize = 16 * 1024;

/// A page as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageText {
    /// Its title; empty where it has none.
    pub title: String,
    pub text: String,
}

/// The text of a page; links are told as seen from `base`.
pub(super) fn text(html: &str, base: &Url) -> PageText {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer { base: base.clone(), room: html.len() + MOST_LINKS, ..Writer::new() };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => writer.say(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    writer.finish()
}

/// A link whose text is being written.
struct OpenLink {
    target: String,
    /// Where its text begins in what is written.
    from: usize,
}

struct Writer {
    base: Url,
    written: String,
    title: String,
    in_title: bool,
    /// The element that is passed over, and how often it is open.
    silent: Option<(String, usize)>,
    /// How often `pre` is open.
    preformatted: usize,
    /// The open lists: the number of the next entry, none of a list without numbers.
    lists: Vec<Option<u64>>,
    link: Option<OpenLink>,
    /// How much more may be told of links.
    room: usize,
    /// The links that were not.
    untold: usize,
    /// Whether a space stands between what is written and what comes.
    space: bool,
    /// Whether the row has a cell already.
    in_row: bool,
    /// Whether the line has the mark of a list and nothing behind it.
    is_marked: bool,
}

/// Lists within lists are shown so deep.
const MAX_DEPTH: usize = 8;

impl Writer {
    fn new() -> Writer {
        Writer {
            base: Url::parse("about:blank").expect("a constant"),
            written: String::new(),
            title: String::new(),
            in_title: false,
            silent: None,
            preformatted: 0,
            lists: Vec::new(),
            link: None,
            room: 0,
            untold: 0,
            space: false,
            in_row: false,
            is_marked: false,
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if name == "title" && self.title.is_empty() {
            self.in_title = true;
            return;
        }
        if name == "body" {
            // However a head ends, or does not.
            self.silent = None;
        }
        if let Some((silent, depth)) = &mut self.silent {
            *depth += usize::from(*silent == name && !tag.self_closing);
            return;
        }
        if SILENT.contains(&name.as_str()) {
            if !tag.self_closing {
                self.silent = Some((name, 1));
            }
            return;
        }
        self.open(&name, tag);
    }

    fn open(&mut self, name: &str, tag: &StartTag<()>) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.paragraph();
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "br" => self.line(),
            "hr" => {
                self.paragraph();
                self.mark("---");
                self.paragraph();
            }
            "pre" => {
                self.paragraph();
                if self.preformatted == 0 {
                    self.mark("```\n");
                }
                self.preformatted += 1;
            }
            "code" | "kbd" | "samp" if self.preformatted == 0 => self.inline("`"),
            "ul" | "ol" => {
                if self.lists.is_empty() {
                    self.paragraph()
                } else {
                    self.line()
                }
                self.lists.push((name == "ol").then_some(1));
            }
            "li" => self.entry(),
            "td" | "th" => self.cell(),
            "a" => self.begin_link(attribute(tag, b"href")),
            "img" => {
                let words = attribute(tag, b"alt");
                if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
                    self.say(&format!("[image: {}]", words.trim()));
                }
            }
            name if PARAGRAPHS.contains(&name) => self.paragraph(),
            name if LINES.contains(&name) => self.line(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if name == "title" && self.in_title {
            self.in_title = false;
            return;
        }
        if let Some((silent, depth)) = &mut self.silent {
            *depth -= usize::from(silent == name);
            if *depth == 0 {
                self.silent = None;
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.paragraph(),
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                if self.preformatted == 0 {
                    self.line();
                    self.mark("```");
                    self.paragraph();
                }
            }
            "code" | "kbd" | "samp" if self.preformatted == 0 => self.written.push('`'),
            "ul" | "ol" => {
                self.lists.pop();
                if self.lists.is_empty() { self.paragraph() } else { self.line() }
            }
            "tr" => self.line(),
            "a" => self.end_link(),
            name if PARAGRAPHS.contains(&name) => self.paragraph(),
            _ => {}
        }
    }

    /// Text between tags.
    fn say(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
            return;
        }
        if self.silent.is_some() {
            return;
        }
        if self.preformatted > 0 {
            let shown = text.chars().filter(|c| is_shown(*c) || matches!(c, '\n' | '\t'));
            self.written.extend(shown);
            return;
        }
        for (index, word) in text.split(|c: char| c.is_whitespace()).enumerate() {
            self.space |= index > 0;
            let mut word = word.chars().filter(|c| is_shown(*c)).peekable();
            if word.peek().is_some() {
                self.inline("");
                self.written.extend(word);
            }
        }
    }

    /// Something that stands in the line, after the space that is due.
    fn inline(&mut self, text: &str) {
        self.is_marked = false;
        if std::mem::take(&mut self.space) && !self.written.is_empty() && !self.written.ends_with(['\n', ' '])
        {
            self.written.push(' ');
        }
        self.written.push_str(text);
    }

    /// Something at the beginning of a line.
    fn mark(&mut self, text: &str) {
        (self.space, self.is_marked) = (false, false);
        self.written.push_str(text);
    }

    fn line(&mut self) {
        (self.space, self.in_row) = (false, false);
        if self.is_marked {
            return;
        }
        self.trim();
        if !self.written.is_empty() && !self.written.ends_with('\n') {
            self.written.push('\n');
        }
    }

    fn paragraph(&mut self) {
        // What a list has in its entries stays close.
        self.line();
        if self.lists.is_empty() && !self.written.is_empty() && !self.written.ends_with("\n\n") {
            self.written.push('\n');
        }
    }

    fn trim(&mut self) {
        if self.preformatted == 0 {
            let end = self.written.trim_end_matches(' ').len();
            self.written.truncate(end);
        }
    }

    fn entry(&mut self) {
        self.is_marked = false;
        self.line();
        let depth = self.lists.len().clamp(1, MAX_DEPTH) - 1;
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.mark(&format!("{}{mark}", "  ".repeat(depth)));
        self.is_marked = true;
    }

    fn cell(&mut self) {
        if std::mem::replace(&mut self.in_row, true) {
            self.space = false;
            self.trim();
            self.written.push_str(" | ");
        }
    }

    fn begin_link(&mut self, target: Option<String>) {
        self.end_link();
        let Some(target) = target else { return };
        let target = target.trim();
        // Within the page, or nothing to go to.
        if target.is_empty() || target.starts_with('#') {
            return;
        }
        let Ok(url) = self.base.join(target) else { return };
        if ["http", "https", "mailto"].contains(&url.scheme()) && url.as_str().len() <= MAX_LINK {
            self.inline("");
            self.link = Some(OpenLink { target: url.into(), from: self.written.len() });
        }
    }

    fn end_link(&mut self) {
        let Some(OpenLink { target, from }) = self.link.take() else { return };
        // A link of several lines is told behind them; one without words is nothing to read.
        let Some(words) = self.written.get(from..).map(str::trim).filter(|words| !words.is_empty()) else {
            return;
        };
        if words == target {
            return;
        }
        let Some(room) = self.room.checked_sub(target.len()) else {
            self.untold += 1;
            return;
        };
        self.room = room;
        let linked = match words.contains('\n') {
            true => format!("{words} ({target})"),
            false => format!("[{words}]({target})"),
        };
        self.written.truncate(from);
        self.written.push_str(&linked);
    }

    fn finish(mut self) -> PageText {
        self.end_link();
        if self.preformatted > 0 {
            self.written.push_str("\n```");
        }
        if self.untold > 0 {
            self.lists.clear();
            self.paragraph();
            self.written.push_str(&format!("[the targets of {} more links are left out]", self.untold));
        }
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = title.chars().filter(|c| is_shown(*c)).collect();
        PageText { title, text: self.written.trim_matches('\n').to_owned() }
    }
}

/// Nothing that a terminal would obey or that hides what is written.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}' | '\u{AD}')
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
