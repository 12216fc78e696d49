//! The files of pictures, by the crate `object_store`: in a directory, or in a bucket of S3 or a server like it.
//!
//! Promise: a file appears whole (a directory takes it under another name first, and syncs it), a call takes no longer
//! than `BLOB_TIMEOUT`, and a read that stands still ends after as long.

mod http_service;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::object_store::aws::AmazonS3Builder;
use ::object_store::local::LocalFileSystem;
use ::object_store::path::Path as BlobPath;
use ::object_store::{BackoffConfig, Error, ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig};
use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::time::timeout;

use self::http_service::HyperConnector;
use crate::config::{MediaPlace, MediaSettings};
use crate::domain::media::MediaName;
use crate::ports::blobs::{Blob, BlobError, Blobs};
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

/// How long a call may take: 5 MiB at 1 MB/s and two repetitions.
const BLOB_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a call is repeated that a server did not carry out.
const MAX_REPETITIONS: usize = 2;
/// The region of servers that have none.
const DEFAULT_REGION: &str = "us-east-1";

/// A directory or a bucket.
#[derive(Debug)]
pub struct ObjectBlobs {
    store: Arc<dyn ObjectStore>,
    /// What is before the names in a bucket.
    prefix: String,
}

impl ObjectBlobs {
    /// What the settings name.
    ///
    /// # Errors
    /// When a directory cannot be made, or the settings of a bucket do not fit together.
    pub fn open(place: &MediaPlace, settings: &MediaSettings) -> anyhow::Result<Self> {
        match place {
            MediaPlace::Directory(directory) => Self::in_directory(directory),
            MediaPlace::Bucket { name, prefix } => Self::in_bucket(name, prefix, settings),
        }
    }

    fn in_directory(directory: &Path) -> anyhow::Result<Self> {
        let open = || {
            std::fs::create_dir_all(directory)?;
            anyhow::Ok(LocalFileSystem::new_with_prefix(directory)?.with_fsync(true))
        };
        let store = open().with_context(|| format!("cannot use the directory {}", directory.display()))?;
        Ok(Self { store: Arc::new(store), prefix: String::new() })
    }

    fn in_bucket(bucket: &str, prefix: &str, settings: &MediaSettings) -> anyhow::Result<Self> {
        // What is not configured comes from AWS's own variables, from a web identity, or from the machine.
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_http_connector(HyperConnector);
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: MAX_REPETITIONS,
            retry_timeout: BLOB_TIMEOUT,
        };
        builder = builder.with_retry(retry);
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
            builder = builder.with_region(DEFAULT_REGION);
        }
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        if let (Some(key), Some(secret)) = (&settings.access_key_id, &settings.secret_access_key) {
            builder = builder.with_access_key_id(key).with_secret_access_key(secret.expose());
        }
        let store = builder.build().context("the settings of the bucket")?;
        Ok(Self { store: Arc::new(store), prefix: prefix.to_owned() })
    }

    fn path_of(&self, name: &MediaName) -> BlobPath {
        let path = name.path();
        if self.prefix.is_empty() { path.into() } else { format!("{}/{path}", self.prefix).into() }
    }
}

/// The answer of a call within its time; a missing file is `None`.
async fn call<T>(
    operation: &'static str,
    work: impl Future<Output = ::object_store::Result<T>>,
) -> Result<Option<T>, BlobError> {
    let call = async {
        match work.await {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(BlobError(Failure::with_causes(error))),
        }
    };
    measure_bounded("blobs", operation, BLOB_TIMEOUT, call).await.map_err(|_| too_slow()).flatten()
}

fn too_slow() -> BlobError {
    BlobError(format!("no answer in {} s", BLOB_TIMEOUT.as_secs()).into())
}

#[async_trait]
impl Blobs for ObjectBlobs {
    async fn put(&self, name: &MediaName, bytes: Bytes) -> Result<(), BlobError> {
        let path = self.path_of(name);
        match call("put", self.store.put(&path, PutPayload::from_bytes(bytes))).await? {
            Some(_) => Ok(()),
            None => Err(BlobError("there is no such bucket".into())),
        }
    }

    async fn get(&self, name: &MediaName) -> Result<Option<Blob>, BlobError> {
        let path = self.path_of(name);
        let Some(found) = call("get", self.store.get(&path)).await? else { return Ok(None) };
        let size = found.range.end - found.range.start;
        let parts = stream::try_unfold(found.into_stream(), |mut parts| async move {
            match timeout(BLOB_TIMEOUT, parts.next()).await {
                Ok(None) => Ok(None),
                Ok(Some(Ok(part))) => Ok(Some((part, parts))),
                Ok(Some(Err(error))) => Err(BlobError(Failure::with_causes(error))),
                Err(_) => Err(too_slow()),
            }
        });
        Ok(Some(Blob { size, parts: parts.boxed() }))
    }

    async fn delete(&self, name: &MediaName) -> Result<(), BlobError> {
        let path = self.path_of(name);
        call("delete", self.store.delete(&path)).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MediaId;

    use super::*;
    use crate::config::Password;
    use crate::domain::picture::PictureFormat;
    use crate::testing::contract::blobs;

    #[tokio::test]
    async fn directory_keeps_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        let place = MediaPlace::Directory(directory.path().join("media"));
        let store = ObjectBlobs::open(&place, &MediaSettings::default()).unwrap();
        blobs::run(&store).await;
    }

    /// Names a server that speaks S3 with a bucket `pictures`, and a key and its secret, such as
    /// `http://127.0.0.1:15000;ID;SECRET`.
    const S3_VARIABLE: &str = "GAILOU_TEST_S3";

    #[tokio::test]
    async fn bucket_keeps_the_contract() {
        let Ok(value) = std::env::var(S3_VARIABLE) else {
            assert!(std::env::var_os("CI").is_none(), "{S3_VARIABLE} names no server");
            eprintln!("SKIPPED: {S3_VARIABLE} names no server");
            return;
        };
        let [endpoint, key, secret] = value.split(';').collect::<Vec<_>>()[..] else { panic!("{S3_VARIABLE}={value}") };
        let open = |bucket: &str, prefix: &str, secret: &str| {
            let place = MediaPlace::Bucket { name: bucket.to_owned(), prefix: prefix.to_owned() };
            let settings = MediaSettings {
                endpoint: Some(endpoint.into()),
                access_key_id: Some(key.into()),
                secret_access_key: Password::new(secret),
                ..MediaSettings::default()
            };
            ObjectBlobs::open(&place, &settings).unwrap()
        };
        for prefix in ["", "a/b"] {
            blobs::run(&open("pictures", prefix, secret)).await;
        }
        let name = MediaName::of(MediaId::new(1).unwrap(), b"x", PictureFormat::Png);
        let put = async |bucket, secret| open(bucket, "c", secret).put(&name, Bytes::from_static(b"x")).await;
        assert!(put("no-such-bucket", secret).await.is_err());
        // The server checks each signature.
        let refused = put("pictures", "another secret").await.unwrap_err();
        assert!(refused.to_string().contains("SignatureDoesNotMatch"), "{refused}");
        assert!(open("pictures", "c", secret).get(&name).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn file_is_in_a_folder_of_its_hash() {
        let directory = tempfile::tempdir().unwrap();
        let store = ObjectBlobs::in_directory(directory.path()).unwrap();
        let name = MediaName::of(MediaId::new(1).unwrap(), b"x", PictureFormat::Png);
        store.put(&name, Bytes::from_static(b"x")).await.unwrap();
        assert_eq!(std::fs::read(directory.path().join(name.path())).unwrap(), b"x");
    }
}
