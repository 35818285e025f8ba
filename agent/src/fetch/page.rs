//! From the bytes of a body to what is told of it: unpacked within a limit, its kind, its text, its hash.
//!
//! Apart because it is pure. What is no text is told apart and not shown.

use encoding_rs::{Encoding, UTF_8};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};
use reqwest::Url;
use ring::digest::{SHA256, digest};
use thiserror::Error;

use super::html;

/// How far a page is looked into for what it says of itself.
const LOOKED_AT: usize = 1_024;

/// Why a body is not told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum PageError {
    #[error("the body is packed as {0:?}, which is not unpacked")]
    Encoding(String),
    #[error("the body cannot be unpacked: it is no {0} data")]
    Packed(&'static str),
    #[error("the body has more than the {0} bytes that may be fetched")]
    TooLarge(u64),
}

/// A body that came whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// `text/html`; empty where none was told.
    pub essence: String,
    /// Unpacked.
    pub bytes: u64,
    /// Of the unpacked bytes, in hexadecimal digits.
    pub sha256: String,
    /// Empty where there is none.
    pub title: String,
    /// What is shown, or why nothing is.
    pub text: Result<String, String>,
}

/// A content type in two: `text/html` and the charset.
pub(super) fn content_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    (essence, charset)
}

/// The body as it was before it was packed, of at most so many bytes.
///
/// # Errors
/// See [`PageError`].
pub(super) fn unpacked(body: Vec<u8>, encoding: &str, max: u64) -> Result<Vec<u8>, PageError> {
    let most = usize::try_from(max).unwrap_or(usize::MAX);
    let failed = |kind| {
        move |error: miniz_oxide::inflate::DecompressError| match error.status {
            TINFLStatus::HasMoreOutput => PageError::TooLarge(max),
            _ => PageError::Packed(kind),
        }
    };
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(body),
        "gzip" | "x-gzip" => {
            let packed = gzip_content(&body).ok_or(PageError::Packed("gzip"))?;
            decompress_to_vec_with_limit(packed, most).map_err(failed("gzip"))
        }
        "deflate" => match decompress_to_vec_zlib_with_limit(&body, most) {
            Err(error) if error.status != TINFLStatus::HasMoreOutput => {
                decompress_to_vec_with_limit(&body, most).map_err(failed("deflate"))
            }
            unpacked => unpacked.map_err(failed("deflate")),
        },
        other => Err(PageError::Encoding(other.to_owned())),
    }
}

/// What is behind the header of a gzip member (RFC 1952, 2.3).
fn gzip_content(data: &[u8]) -> Option<&[u8]> {
    let ([0x1f, 0x8b, 8, flags, ..], Some(mut rest)) = (data, data.get(10..)) else { return None };
    if flags & 4 != 0 {
        let length = usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]));
        rest = rest.get(2 + length..)?;
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    Some(rest)
}

impl Page {
    /// What is told of this body, which came from `url` with this content type.
    pub(super) fn of(body: &[u8], header: &str, url: &Url) -> Page {
        let (essence, charset) = content_type(header);
        let sha256 = digest(&SHA256, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let page =
            Page { bytes: body.len() as u64, sha256, title: String::new(), text: Ok(String::new()), essence };
        if let Some(kind) = unreadable(&page.essence, body) {
            return Page { text: Err(kind.to_owned()), ..page };
        }
        let text = decoded(body, charset.as_deref());
        if is_html(&page.essence, &text) {
            let html::PageText { title, text } = html::text(&text, url);
            return Page { title, text: Ok(text), ..page };
        }
        Page { text: Ok(text), ..page }
    }
}

/// What a body is that cannot be shown as text.
fn unreadable(essence: &str, body: &[u8]) -> Option<&'static str> {
    let head = &body[..body.len().min(LOOKED_AT)];
    if essence == "application/pdf" || head.windows(5).any(|bytes| bytes == b"%PDF-") {
        return Some("a PDF document");
    }
    let is_utf16 = head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF");
    match essence.split('/').next() {
        Some(main @ ("image" | "audio" | "video" | "font")) if !essence.ends_with("+xml") => {
            Some(match main {
                "image" => "an image",
                "audio" => "sound",
                "video" => "a video",
                _ => "a font",
            })
        }
        _ => (head.contains(&0) && !is_utf16).then_some("binary data"),
    }
}

fn is_html(essence: &str, text: &str) -> bool {
    let begins = |word: &str| {
        let head = text.trim_start_matches(['\u{FEFF}', ' ', '\n', '\r', '\t']);
        head.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    match essence {
        "text/html" | "application/xhtml+xml" => true,
        "" => begins("<!doctype html") || begins("<html"),
        _ => false,
    }
}

/// The text in the charset that is told, else in the one that its beginning tells, else in UTF-8.
fn decoded(body: &[u8], charset: Option<&str>) -> String {
    let told = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = told.or_else(|| meta_charset(&body[..body.len().min(LOOKED_AT)])).unwrap_or(UTF_8);
    encoding.decode(body).0.into_owned()
}

/// The charset that a page says it has: `<meta charset="…">` and the older form.
fn meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let meta = &head[head.find("<meta")?..];
    let value = &meta[meta.find("charset=")? + "charset=".len()..];
    let value = value.trim_start_matches(['"', '\'', ' ']);
    let end = value.find(['"', '\'', ' ', '>', ';', '/']).unwrap_or(value.len());
    let encoding = Encoding::for_label(&value.as_bytes()[..end])?;
    // Who can read this line is no UTF-16.
    if encoding.is_ascii_compatible() { Some(encoding) } else { Some(UTF_8) }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
