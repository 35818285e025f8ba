//! Contents that are no text: both as a whole, compressed, in git's base 85.

use std::io::{self, Write};

use miniz_oxide::deflate::compress_to_vec_zlib;

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// How many bytes are on a line.
const LINE: usize = 52;

/// How hard it is compressed: as zlib does where nobody says.
const LEVEL: u8 = 6;

/// Writes how to get the one from the other, and back.
pub(super) fn write(before: &[u8], after: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"GIT binary patch\n")?;
    write_literal(after, out)?;
    write_literal(before, out)
}

fn write_literal(content: &[u8], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "literal {}", content.len())?;
    for line in compress_to_vec_zlib(content, LEVEL).chunks(LINE) {
        out.write_all(&encoded(line))?;
    }
    out.write_all(b"\n")
}

/// A line: how many bytes it is, as a letter, and each four of them as five characters.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u8;
    let mut line = vec![if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 }];
    for four in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..four.len()].copy_from_slice(four);
        let mut rest = u32::from_be_bytes(word);
        let mut characters = [0; 5];
        for character in characters.iter_mut().rev() {
            *character = ALPHABET[(rest % 85) as usize];
            rest /= 85;
        }
        line.extend_from_slice(&characters);
    }
    line.push(b'\n');
    line
}
