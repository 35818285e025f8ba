//! An object store, spoken to by blocking code: it has a runtime of its own.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};

use super::location::Location;
use super::{Keys, Piece};
use crate::FleetError;
use crate::error::chain;

/// How many objects are under way at once.
const SIDE_BY_SIDE: usize = 4;

/// How long it may take until there is a connection, until something more comes, and all of a request.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);
const REQUEST: Duration = Duration::from_secs(180);

/// How often a request is made again, and for how long.
const RETRIES: usize = 4;
const RETRY: Duration = Duration::from_secs(30);

/// The most that all tries of a request may take.
const WHOLE: Duration = Duration::from_secs(300);

/// An object store of a team.
pub struct Objects {
    store: Box<dyn ObjectStore>,
    runtime: Runtime,
    /// Which one, for people: no key is in it.
    place: String,
}

impl fmt::Debug for Objects {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Objects({})", self.place)
    }
}

impl Objects {
    /// The URL as it is kept, if it is one.
    pub(super) fn check(url: &str) -> Result<String, FleetError> {
        Ok(Location::parse(url)?.1.to_string())
    }

    /// Nothing is asked yet.
    pub(crate) fn open(url: &str, keys: &Keys) -> Result<Objects, FleetError> {
        let (location, url) = Location::parse(url)?;
        let place = match url.query() {
            Some(_) => url.as_str().split('?').next().unwrap_or_default().to_owned(),
            None => url.to_string(),
        };
        let store = match location {
            Location::Directory(path) => {
                let store = LocalFileSystem::new_with_prefix(path);
                let store = store.map_err(|error| {
                    let hint = "the directory must be there on each machine: make or mount it".to_owned();
                    failed_by(&place, chain(&error), Some(hint), false)
                })?;
                Box::new(store.with_fsync(true)) as Box<dyn ObjectStore>
            }
            s3 => bucket(s3, keys, &place)?,
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed_by(&place, error.to_string(), None, false))?;
        Ok(Objects { store, runtime, place })
    }

    /// Asks for something that is not there.
    pub(super) fn probe(&self, team: &str) -> Result<(), FleetError> {
        match self.wait(self.store.head(&path(&format!("{team}/nothing")))) {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(&self.place, &error)),
        }
    }

    pub(crate) fn put(&self, pieces: &[(Piece, &[u8])]) -> Result<(), FleetError> {
        let puts = pieces.iter().map(|(piece, bytes)| async move {
            let payload = PutPayload::from_bytes(Bytes::copy_from_slice(bytes));
            within(self.store.put(&path(&piece.key), payload))
                .await
                .map(|_| ())
                .map_err(|error| (piece, error))
        });
        let done = stream::iter(puts).buffer_unordered(SIDE_BY_SIDE).try_collect::<()>();
        self.runtime.block_on(done).map_err(|(piece, error)| self.failed_at(piece, "write", &error))
    }

    /// The bytes of each, in this order.
    pub(crate) fn get(&self, pieces: &[Piece]) -> Result<Vec<Vec<u8>>, FleetError> {
        let gets = pieces.iter().map(|piece| async move {
            let got = within(async {
                let got = self.store.get(&path(&piece.key)).await?;
                // What was put in its place may be endless.
                match got.meta.size == piece.size as u64 {
                    true => got.bytes().await.map(Some),
                    false => Ok(None),
                }
            });
            got.await.map(|bytes| (piece, bytes)).map_err(|error| (piece, error))
        });
        let done = stream::iter(gets).buffered(SIDE_BY_SIDE).try_collect::<Vec<_>>();
        let got = self.runtime.block_on(done);
        let got = got.map_err(|(piece, error)| self.failed_at(piece, "read", &error))?;
        let whole = |(piece, bytes): (&Piece, Option<Bytes>)| {
            bytes.map(Vec::from).ok_or_else(|| FleetError::Damaged {
                hash: piece.hash,
                why: format!("its object {} in {} is of another size", piece.key, self.place),
            })
        };
        got.into_iter().map(whole).collect()
    }

    /// Removes them; those that are not there are gone already.
    pub(crate) fn remove(&self, keys: &[String]) -> Result<(), FleetError> {
        let removes = keys.iter().map(|key| async move {
            match within(self.store.delete(&path(key))).await {
                Ok(()) | Err(Error::NotFound { .. }) => None,
                Err(error) => Some((key, error)),
            }
        });
        let left = stream::iter(removes).buffer_unordered(SIDE_BY_SIDE);
        let left: Vec<_> = self.runtime.block_on(left.filter_map(|left| async { left }).collect());
        let Some((key, error)) = left.first() else { return Ok(()) };
        let why = format!("{} objects of removed nodes are left, {key} first: {}", left.len(), chain(error));
        let hint =
            "their nodes are gone: remove these objects by hand once the store can be written".to_owned();
        Err(failed_by(&self.place, why, Some(hint), false))
    }

    fn wait<T>(&self, what: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.runtime.block_on(within(what))
    }

    fn failed_at(&self, piece: &Piece, verb: &str, error: &Error) -> FleetError {
        let (hash, key, place) = (&piece.hash, &piece.key, &self.place);
        if verb == "read" && matches!(error, Error::NotFound { .. }) {
            let why = format!("its object {key} is not in {place}");
            return FleetError::Damaged { hash: piece.hash, why };
        }
        let FleetError::Objects { hint, passes, .. } = failed(place, error) else {
            unreachable!("`failed` gives nothing else")
        };
        let what = format!("cannot {verb} node {hash} as {key} in {place}: {}", chain(error));
        FleetError::Objects { what, hint, passes }
    }
}

/// A key is made of names of teams and hexadecimal digits: nothing of it is escaped.
fn path(key: &str) -> Path {
    Path::from(key)
}

/// The same, with an end.
async fn within<T>(what: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match tokio::time::timeout(WHOLE, what).await {
        Ok(done) => done,
        Err(late) => Err(Error::Generic { store: "object store", source: Box::new(late) }),
    }
}

fn bucket(at: Location, keys: &Keys, place: &str) -> Result<Box<dyn ObjectStore>, FleetError> {
    let Location::S3 { bucket, prefix, endpoint, region, allow_http } = at else {
        unreachable!("directories are opened elsewhere")
    };
    let (Some(id), Some(secret)) = (&keys.id, &keys.secret) else {
        let hint =
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of this program".to_owned();
        return Err(failed_by(place, "there are no keys for it".to_owned(), Some(hint), false));
    };
    // Another of them has been chosen already: that is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = ClientOptions::new()
        .with_allow_http(allow_http)
        .with_connect_timeout(CONNECT)
        .with_read_timeout(SILENCE)
        .with_timeout(REQUEST);
    let retry = RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: RETRY };
    let mut builder = AmazonS3Builder::new()
        .with_client_options(options)
        .with_retry(retry)
        .with_bucket_name(bucket)
        .with_region(region)
        .with_access_key_id(id)
        .with_secret_access_key(secret);
    if let Some(token) = &keys.token {
        builder = builder.with_token(token);
    }
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    }
    let store = Arc::new(builder.build().map_err(|error| failed(place, &error))?);
    Ok(Box::new(PrefixStore::new(store, prefix)))
}

fn failed(place: &str, error: &Error) -> FleetError {
    let why = chain(error);
    let (hint, passes) = match error {
        Error::NotFound { .. } => ("see that the bucket or directory is there", false),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => (
            "see that AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are those of somebody who may read, write and delete there",
            false,
        ),
        // The server has said that it is the request that is wrong.
        _ if why.contains("status code: 4") => ("see that bucket, region and endpoint are right", false),
        _ => ("see that the object store runs, and that its endpoint can be reached from here", true),
    };
    failed_by(place, why, Some(hint.to_owned()), passes)
}

fn failed_by(place: &str, why: String, hint: Option<String>, passes: bool) -> FleetError {
    FleetError::Objects { what: format!("cannot use the object store {place}: {why}"), hint, passes }
}
