//! Keys as tokens of a JSON pointer (RFC 6901). Apart because schemas, YAML and workflows say with pointers where
//! something is.

/// A key as a token of a JSON pointer (RFC 6901).
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a token of a JSON pointer stands for.
pub fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
