//! The endpoint of a provider: its base URL, typed, stored, or known.

use uwf_store::suggest;

use super::presets::{self, PRESETS, Url};
use crate::shell::{CliError, Session};
use crate::uwf::args::Setup;
use uwf_engine::catalogue;

/// The last parts of URLs that belong to single requests.
const REQUESTS: [&str; 3] = ["/chat/completions", "/responses", "/messages"];

/// A URL as it is compared and written.
pub(super) fn bare(url: &str) -> &str {
    url.trim_end_matches('/')
}

/// The provider in the catalogue that is asked at this URL.
pub(super) fn catalogued(base_url: &str) -> Option<&'static str> {
    let host = authority(base_url).split(':').next().unwrap_or_default();
    catalogue::provider_of(host)
}

/// The base URL: what was typed, else what the file says of that provider (`stored`), else what we know of it.
pub(super) fn base_url(
    session: &mut Session<'_>,
    args: &Setup,
    provider: &str,
    stored: Option<&str>,
) -> Result<String, CliError> {
    let known = presets::find(provider).map(|preset| preset.base_url);
    let url = match (&args.base_url, stored, known) {
        (Some(url), ..) => url.clone(),
        (None, Some(stored), _) => stored.to_owned(),
        (None, None, Some(Url::Fixed(url))) => url.to_owned(),
        (None, None, Some(Url::Own(like))) if session.has_person() => {
            session.ask(&format!("Base URL, such as {like}"), "")?
        }
        (None, None, None) if session.has_person() => session.ask("Base URL", "")?,
        (None, None, Some(Url::Own(like))) => return Err(no_url(provider, like)),
        (None, None, None) => return Err(unknown_provider(provider)),
    };
    check(&url)?;
    Ok(bare(&url).to_owned())
}

fn authority(url: &str) -> &str {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    rest.split('/').next().unwrap_or_default()
}

fn check(url: &str) -> Result<(), CliError> {
    let authority = authority(url);
    let request = REQUESTS.into_iter().find(|end| bare(url).ends_with(end));
    let why = match request {
        _ if authority.is_empty() => "must start with http:// or https:// and name a host".to_owned(),
        _ if url.chars().any(|c| c.is_whitespace() || c.is_control()) => "must not hold blanks".to_owned(),
        _ if authority.contains('@') => "must not hold a user name or password".to_owned(),
        _ if authority.starts_with("RESOURCE.") => {
            "must name your resource in the place of RESOURCE".to_owned()
        }
        Some(end) => format!("must end before {end}"),
        None => return Ok(()),
    };
    // It is not shown: it may hold a password.
    Err(CliError::user(format!("the base URL {why}")).with_hint("such as https://api.openai.com/v1"))
}

fn no_url(name: &str, like: &str) -> CliError {
    CliError::user(format!("{name} has no base URL that is the same for all"))
        .with_hint(format!("give yours with --base-url {like}"))
}

fn unknown_provider(name: &str) -> CliError {
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let known = suggest::sorted(name, known).join(", ");
    CliError::user(format!("no such provider: {name}"))
        .with_hint(format!("known are {known}; for another one give --base-url URL as well"))
}
