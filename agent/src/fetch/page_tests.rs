use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};

use super::*;

fn gzip(body: &[u8], flags: u8, fields: &[u8]) -> Vec<u8> {
    [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], fields, &compress_to_vec(body, 6), &[0; 8]].concat()
}

fn page(body: &[u8], header: &str) -> Page {
    Page::of(body, header, &Url::parse("https://a.example/").unwrap())
}

#[test]
fn bodies_are_unpacked_and_no_further_than_the_limit() {
    let body = b"text ".repeat(100);
    let same = |packed: Vec<u8>, encoding: &str| {
        assert_eq!(unpacked(packed, encoding, 500).unwrap(), body, "{encoding}")
    };
    same(body.clone(), "");
    same(body.clone(), "Identity");
    same(gzip(&body, 0, b""), "gzip");
    same(gzip(&body, 4 | 8 | 16 | 2, b"\x02\x00xyname\0comment\0hc"), " X-GZIP");
    same(compress_to_vec_zlib(&body, 6), "deflate");
    same(compress_to_vec(&body, 6), "deflate");
    for (packed, encoding) in [
        (gzip(&body, 0, b""), "gzip"),
        (compress_to_vec_zlib(&body, 6), "deflate"),
        (compress_to_vec(&body, 6), "deflate"),
    ] {
        assert_eq!(unpacked(packed, encoding, 499), Err(PageError::TooLarge(499)), "{encoding}");
    }
    assert_eq!(unpacked(b"plain".to_vec(), "gzip", 9), Err(PageError::Packed("gzip")));
    assert_eq!(
        unpacked(b"\x1f\x8b\x08\x04\0\0\0\0\0\x03\xff\xff".to_vec(), "gzip", 9),
        Err(PageError::Packed("gzip"))
    );
    for unknown in ["br", "zstd", "gzip, gzip", "?"] {
        assert!(matches!(unpacked(Vec::new(), unknown, 9), Err(PageError::Encoding(_))), "{unknown}");
    }
}

#[test]
fn a_body_is_text_of_its_charset_or_told_apart() {
    for (body, header, text) in [
        ("größe".as_bytes(), "text/plain", "größe"),
        (b"gr\xf6\xdfe", "text/plain; Charset=\"iso-8859-1\"", "größe"),
        (b"\xef\xbb\xbfa", "text/plain", "a"),
        (b"\xff\xfea\0", "text/plain", "a"),
        (b"<meta charset=latin1><p>\xf6", "text/html", "ö"),
        (b"<META http-equiv=x content='text/html; charset=utf-16'><p>a", "text/html", "a"),
        (b"<p>a", "application/xhtml+xml; charset=none-such", "a"),
        (b" <!DOCTYPE html><p>a", "", "a"),
        (b"<p>a", "text/plain", "<p>a"),
        (b"{\"a\": 1}", "application/json", "{\"a\": 1}"),
    ] {
        assert_eq!(page(body, header).text.as_deref(), Ok(text), "{header}");
    }
    for (body, header, what) in [
        (&b"%PDF-1.7"[..], "text/html", "a PDF document"),
        (b"x", "application/pdf", "a PDF document"),
        (b"x", "image/png", "an image"),
        (b"a\0b", "text/plain", "binary data"),
    ] {
        assert_eq!(page(body, header).text, Err(what.to_owned()), "{header}");
    }
    assert!(page(b"<svg/>", "image/svg+xml").text.is_ok());
}

#[test]
fn the_hash_is_of_the_body_as_it_came() {
    let page = page(b"abc", "text/plain; charset=utf-8");
    assert_eq!(page.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!((page.bytes, page.essence.as_str()), (3, "text/plain"));
}
