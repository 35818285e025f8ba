//! TLS that knows who answers: the certificate is of an authority that this machine trusts, or of one that was named, and of
//! the host in the address.

use std::error::Error;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Address;
use crate::error::{FleetError, chain};

/// What makes connections that are checked in full.
pub(super) fn verify_full(address: &Address) -> Result<MakeRustlsConnect, FleetError> {
    let unusable = |why: String| FleetError::Unreachable {
        place: address.place(),
        why,
        hint: Some(
            "sslrootcert=FILE in the address names the authorities that are trusted, as PEM".to_owned(),
        ),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| unusable(error.to_string()))?;
    let Some(file) = address.root() else {
        let builder = builder.with_platform_verifier().map_err(|error| unusable(error.to_string()))?;
        return Ok(MakeRustlsConnect::new(builder.with_no_client_auth()));
    };
    let mut roots = RootCertStore::empty();
    let unread = |why: &dyn Error| unusable(format!("{}: {}", file.display(), chain(why)));
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unread(&error))? {
        let certificate = certificate.map_err(|error| unread(&error))?;
        roots.add(certificate).map_err(|error| unread(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(format!("{} has no certificate in it", file.display())));
    }
    Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// What to do about a connection that TLS has refused; none for other faults.
pub(super) fn hint(address: &Address, error: &postgres::Error) -> Option<String> {
    if chain(error).contains("server does not support TLS") {
        return Some(
            "the server must have `ssl = on`; sslmode=disable in the address is for networks where nobody listens"
                .to_owned(),
        );
    }
    let hint = match certificate_fault(error)? {
        CertificateError::UnknownIssuer => match address.root() {
            Some(file) => format!("{} does not have the authority that signed it", file.display()),
            None => "its authority is not one of this machine's: sslrootcert=FILE in the address names it"
                .to_owned(),
        },
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is of another host: write the host in the address as the certificate has it"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate is no longer valid, or the clock of this machine is wrong".to_owned()
        }
        _ => "its certificate is not one to be trusted".to_owned(),
    };
    Some(hint)
}

/// What is wrong with the certificate, where that is what is wrong.
fn certificate_fault(error: &postgres::Error) -> Option<CertificateError> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = cause {
        if let Some(rustls::Error::InvalidCertificate(fault)) = this.downcast_ref::<rustls::Error>() {
            return Some(fault.clone());
        }
        // An I/O error tells the cause of its cause, not what it was made of.
        let inner = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| this.source());
    }
    None
}
