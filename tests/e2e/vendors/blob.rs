//! Opaque things that look random and are always the same: ids, signatures, encrypted thoughts.

/// FNV-1a.
pub(super) fn hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

fn letters(parts: &[&str], length: usize, alphabet: &[u8]) -> String {
    let mut state = hash(parts);
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()])
    };
    (0..length).map(|_| letter()).collect()
}

/// Letters and digits.
pub(super) fn id(parts: &[&str], length: usize) -> String {
    letters(parts, length, b"0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz")
}

/// Base64 with its padding.
pub(super) fn base64(parts: &[&str], length: usize) -> String {
    letters(parts, length, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") + "=="
}

/// Pieces of a few characters, for a stream.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}
