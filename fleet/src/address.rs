//! A remote's URL: what of it is for the driver, and what is ours: how the server is checked. Never holds a password.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use postgres::Config;
use postgres::config::Host;

use crate::error::FleetError;

/// Whether a connection is encrypted, and whether it is known who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Encrypted, the certificate is of a known authority and of this host.
    VerifyFull,
    /// Not encrypted.
    Disable,
}

/// Where a remote is.
#[derive(Clone)]
pub struct Address {
    /// As it was given; it has no password.
    text: String,
    /// What the driver understands of it.
    config: Config,
    /// What its sslmode says; none: as far away as the server is.
    mode: Option<Tls>,
    root: Option<PathBuf>,
}

const EXAMPLE: &str = "an address is such as postgres://anna@db.example.org/uwf";

impl Address {
    /// What the driver understands of it; without a password.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// How the server is checked, where the address names it. One that does not is completed from the environment first.
    pub fn tls(&self) -> Tls {
        self.tls_to(&self.config)
    }

    /// How the server of this configuration is checked: the address, with what it does not say from elsewhere.
    pub(crate) fn tls_to(&self, config: &Config) -> Tls {
        let unasked = || if Address::is_near(config) { Tls::Disable } else { Tls::VerifyFull };
        self.mode.unwrap_or_else(unasked)
    }

    /// The file of the authorities that are trusted, where it is not those of the system.
    pub fn root(&self) -> Option<&PathBuf> {
        self.root.as_ref()
    }

    /// Which server and which database, for people.
    pub fn place(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "localhost".to_owned(),
        };
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or("postgres");
        format!("{host}/{database}")
    }

    fn is_near(config: &Config) -> bool {
        let hosts = config.get_hosts();
        let near = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => {
                name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        };
        hosts.iter().all(near) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
    }
}

impl FromStr for Address {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<Address, FleetError> {
        let wrong = |why: &str, hint: &str| {
            let url = masked(text);
            FleetError::Address { url, why: why.to_owned(), hint: hint.to_owned() }
        };
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(wrong("it does not begin with postgres://", EXAMPLE));
        }
        let (front, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut kept, mut mode, mut root) = (Vec::new(), None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => root = Some(PathBuf::from(decoded(value))),
                _ => kept.push(pair),
            }
        }
        let rest = if kept.is_empty() { front.to_owned() } else { format!("{front}?{}", kept.join("&")) };
        let config: Config = rest.parse().map_err(|error: postgres::Error| {
            wrong(&masked_in(&crate::error::chain(&error), text), EXAMPLE)
        })?;
        if config.get_password().is_some() {
            return Err(wrong(
                "it has a password in it",
                "leave it out: it is read from PGPASSWORD, or from ~/.pgpass (or the file of PGPASSFILE), a line of which is \
                 HOST:PORT:DATABASE:USER:PASSWORD",
            ));
        }
        let mode = match mode {
            Some("verify-full") => Some(Tls::VerifyFull),
            Some("disable") => Some(Tls::Disable),
            None => None,
            Some(_) => {
                return Err(wrong(
                    "its sslmode does not check who answers",
                    "leave it out: that is verify-full but for this machine; sslrootcert=FILE names an authority of your own, \
                     and sslmode=disable is for networks where nobody listens",
                ));
            }
        };
        Ok(Address { text: text.to_owned(), config, mode, root })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Address({})", self.text)
    }
}

/// A URL with no password in it, neither before the `@` nor behind the `?`.
fn masked(text: &str) -> String {
    let (front, query) = text.split_once('?').map_or((text, None), |(front, query)| (front, Some(query)));
    let (scheme, rest) = front.split_once("://").unwrap_or(("", front));
    // Up to the last one: a password may have an @ that nobody has encoded.
    let rest = match rest.rsplit_once('@') {
        Some((login, host)) => {
            let user = login.split(':').next().unwrap_or_default();
            let mask = if login.contains(':') { ":…" } else { "" };
            format!("{user}{mask}@{host}")
        }
        None => rest.to_owned(),
    };
    let front = if scheme.is_empty() { rest } else { format!("{scheme}://{rest}") };
    let Some(query) = query else { return front };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if name.contains("pass") => format!("{name}=…"),
        _ => pair.to_owned(),
    };
    format!("{front}?{}", query.split('&').map(pair).collect::<Vec<_>>().join("&"))
}

/// What the driver says of a URL, which may quote it.
fn masked_in(said: &str, url: &str) -> String {
    let parts = url.split(['/', '@', ':', '?', '&', '=']).filter(|part| part.len() > 2);
    match parts.into_iter().any(|part| said.contains(part)) {
        true => "it cannot be read as a URL".to_owned(),
        false => said.to_owned(),
    }
}

/// `%2F` as `/` and so on; what is no such code stays.
fn decoded(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.hint().is_some());
        error.to_string()
    }

    #[test]
    fn only_this_machine_is_trusted_unasked() {
        let tls = |text: &str| text.parse::<Address>().unwrap().tls();
        for near in ["localhost", "127.0.0.1:5433", "[::1]", "%2Frun%2Fpostgresql", "127.9.9.9,localhost"] {
            assert_eq!(tls(&format!("postgres://a@{near}/uwf")), Tls::Disable, "{near}");
        }
        for far in ["db.example.org", "10.0.0.1", "localhost,db.example.org", "localhost.example.org"] {
            assert_eq!(tls(&format!("postgres://a@{far}/uwf")), Tls::VerifyFull, "{far}");
        }
        assert_eq!(tls("postgres://a@localhost/uwf?sslmode=verify-full"), Tls::VerifyFull);
        assert_eq!(tls("postgresql://a@10.0.0.1/uwf?sslmode=disable&application_name=x"), Tls::Disable);
        assert_eq!(tls("postgres://a@localhost/uwf?hostaddr=10.0.0.1"), Tls::VerifyFull);
    }

    #[test]
    fn what_does_not_check_who_answers_is_refused() {
        for mode in ["require", "prefer", "allow", "verify-ca", "none"] {
            let said = refused(&format!("postgres://a@db.example.org/uwf?sslmode={mode}"));
            assert!(said.ends_with("its sslmode does not check who answers"), "{said}");
        }
        let address: Address = "postgres://a@h/d?sslrootcert=%2Fetc%2Fca%20x.pem".parse().unwrap();
        assert_eq!(address.root(), Some(&PathBuf::from("/etc/ca x.pem")));
        assert_eq!(address.place(), "h/d");
    }

    #[test]
    fn a_password_is_neither_taken_nor_told() {
        for url in [
            "postgres://anna:s3cret@h/d",
            "postgres://anna@h/d?password=s3cret",
            "postgres://anna:s3cret@x@h/d",
            "postgres://anna:s3cret@h:no/d",
            "postgres://h/d?user=anna&password=s3cret&nonsense=1",
            "mysql://anna:s3cret@h/d",
            "postgres://anna:s3cret@[h/d",
        ] {
            let said = refused(url);
            assert!(!said.contains("s3cret"), "{said}");
        }
        assert_eq!(
            refused("postgres://anna:s3cret@h/d"),
            "postgres://anna:…@h/d is no address of a remote: it has a password in it"
        );
    }
}
