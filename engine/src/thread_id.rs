//! Thread ids: 26 characters of Crockford base32 that carry their time of birth.
//!
//! We write standard ULIDs (48 bits of milliseconds, 80 random bits, padded at the front). Another implementation
//! pads at the back, which multiplies the time by four; both are read. This file never looks a thread up.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use ulid::Ulid;

/// How many threads can be above another one that they called; no configuration allows more.
pub const MAX_LEVELS: usize = 100;

/// Crockford's alphabet: digits and letters without I, L, O and U.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The first millisecond of the year 2101. A standard reading after it means the id is of the shifted kind.
const END_OF_2100_MS: u64 = 4_133_980_800_000;

/// The id of a thread, in upper case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId([u8; 26]);

/// A text that is no thread id.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{}` is not a thread id: expected 26 characters of 0-9 A-Z without I, L, O, U", text.escape_debug())]
pub struct ThreadIdError {
    /// What was given.
    pub text: String,
}

impl ThreadId {
    /// A fresh id born at `now_ms` (milliseconds since the epoch); two of the same millisecond differ at random.
    #[expect(
        clippy::disallowed_methods,
        reason = "ids of one millisecond differ by randomness, whichever process makes them"
    )]
    pub fn new(now_ms: u64) -> ThreadId {
        let ulid = Ulid::from_datetime(UNIX_EPOCH + Duration::from_millis(now_ms));
        let mut text = [0; 26];
        ulid.array_to_str(&mut text);
        ThreadId(text)
    }

    /// The first id that reads as one of the shifted kind; every standard one sorts before it.
    pub(crate) fn first_shifted() -> ThreadId {
        let ulid = Ulid::from_parts(END_OF_2100_MS, 0);
        let mut text = [0; 26];
        ulid.array_to_str(&mut text);
        ThreadId(text)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }

    /// When the thread was started, in milliseconds since the epoch.
    pub fn time_ms(&self) -> u64 {
        let bits = self.0.iter().fold((0u128, 0u128), |(high, low), character| {
            // 130 bits do not fit into 128: `high` collects what is pushed out at the top.
            ((high << 5) | (low >> 123), (low << 5) | digit(*character))
        });
        let (overflow, low) = bits;
        let standard = (low >> 80) as u64;
        let shifted = ((overflow << 46) | (low >> 82)) as u64;
        if overflow == 0 && standard < END_OF_2100_MS { standard } else { shifted }
    }
}

/// The value of one character that `FromStr` has let through.
fn digit(character: u8) -> u128 {
    ALPHABET.iter().position(|known| *known == character).map_or(0, |at| at as u128)
}

impl FromStr for ThreadId {
    type Err = ThreadIdError;

    /// Either case is read; the letters that Crockford leaves out are refused.
    fn from_str(text: &str) -> Result<ThreadId, ThreadIdError> {
        let upper = text.to_ascii_uppercase();
        let bytes: Option<[u8; 26]> = upper.as_bytes().try_into().ok();
        bytes
            .filter(|bytes| bytes.iter().all(|character| ALPHABET.contains(character)))
            .map(ThreadId)
            .ok_or_else(|| ThreadIdError { text: text.to_owned() })
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ThreadId({})", self.as_str())
    }
}

impl Serialize for ThreadId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ThreadId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ThreadId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn vectors() -> Value {
        serde_json::from_str(include_str!("../testdata/thread_ids.json")).unwrap()
    }

    #[test]
    fn shifted_ids_of_another_implementation_tell_their_time() {
        for row in vectors()["ulid"].as_array().unwrap() {
            let id: ThreadId = row["ulid"].as_str().unwrap().parse().unwrap();
            let decoded = row["decodedTime"].as_u64().unwrap();
            // Shifted ids of the first decades after 1970 read as standard ones four times as late: nobody has any.
            let expected = if decoded * 4 < END_OF_2100_MS { decoded * 4 } else { decoded };
            assert_eq!(id.time_ms(), expected, "{id}");
        }
    }

    #[test]
    fn what_is_no_id_is_refused_and_lower_case_is_read() {
        for row in vectors()["invalidDecode"].as_array().unwrap() {
            let parsed = row["s"].as_str().unwrap().parse::<ThreadId>();
            assert_eq!(parsed.ok().map(|id| id.time_ms()), row["decodedTime"].as_u64(), "{row}");
        }
        let lower: ThreadId = "06gzzna89jvzjvdr7cf7ghnhf0".parse().unwrap();
        assert_eq!(lower.to_string(), "06GZZNA89JVZJVDR7CF7GHNHF0");
        assert!("06GZZNA89JVZJVDR7CF7GHNHFÜ".parse::<ThreadId>().is_err());
    }

    proptest! {
        #[test]
        fn a_new_id_tells_the_time_it_was_made(now in 0..END_OF_2100_MS) {
            let id = ThreadId::new(now);
            prop_assert_eq!(id.time_ms(), now);
            prop_assert_eq!(id.to_string().parse::<ThreadId>(), Ok(id));
        }

        #[test]
        fn ids_sort_by_time(early in 0..END_OF_2100_MS - 1, later in 1..1_000_000u64) {
            prop_assert!(ThreadId::new(early) < ThreadId::new(early + later));
        }
    }
}
