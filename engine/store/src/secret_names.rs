//! Which names say that what they name is a secret.
//!
//! Here because this is the lowest crate: who shows a configuration, who records what an endpoint said and who copies
//! settings into a sandbox import nothing else in common, and what one of them hides the others must hide, too.

/// Wherever they stand in a name, whatever separates its words.
const ANYWHERE: [&str; 9] =
    ["secret", "password", "passwd", "passphrase", "credential", "cookie", "apikey", "authoriz", "authenti"];

/// What a word ends with; within one they mean nothing (`author`, `tokenizer`, `designer`).
const ENDINGS: [&str; 7] = ["key", "keys", "token", "tokens", "auth", "sig", "signature"];

/// Whether a setting, header, parameter or option of this name holds a secret, however its words are joined: `apiKey`,
/// `x-api-key`, `API_KEY2`. One that ends in `Env` names a variable that does.
pub fn sounds_secret(name: &str) -> bool {
    let words = words(name);
    let joined = words.concat();
    let names_a_variable = words.last().is_some_and(|word| word == "env");
    let ends = |word: &String| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    !names_a_variable && (ANYWHERE.iter().any(|part| joined.contains(part)) || words.iter().any(ends))
}

/// The words of a name in lower case: a new one begins after what is no letter or digit, and where capitals do.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is a first word").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_sounds_secret_however_it_is_written() {
        for name in [
            "apiKey",
            "api_key",
            "X-API-KEY",
            "APIKey",
            "x-apikey",
            "key",
            "keys",
            "access_tokens",
            "authToken",
            "token2",
            "OAuth2",
            "X-Auth-User",
            "Authorization",
            "proxy-authentication",
            "client_secret",
            "secretly",
            "db.password",
            "passWord",
            "Set-Cookie",
            "credential.helper",
            "user.signingkey",
            "sig",
            "X-Amz-Signature",
        ] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in [
            "",
            "-",
            "apiKeyEnv",
            "API_TOKEN_ENV",
            "author",
            "tokenizer",
            "designer",
            "keyboard",
            "commit.gpgsign",
            "user.name",
            "model",
            "baseUrl",
            "HTTP-Referer",
        ] {
            assert!(!sounds_secret(name), "{name}");
        }
    }
}
