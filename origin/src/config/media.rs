//! The settings of pictures.
//!
//! Connects to nothing. Promise: the place is a directory or a bucket.

use std::path::{Path, PathBuf};

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{ConfigError, Password, values};

/// `media`: where the files of pictures are.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct MediaSettings {
    /// Where the files of pictures are: `file:///absolute/path`, or `s3://bucket/folder` (without a folder, `s3://bucket`).
    /// Without it, an embedded installation has them in the data directory, and a cluster takes no pictures. All processes
    /// of a cluster must be given the same one.
    #[serde(deserialize_with = "url")]
    pub url: Option<String>,
    /// The address of a server that speaks S3 and is not Amazon's, such as `https://minio.example.com:9000`.
    #[serde(deserialize_with = "endpoint")]
    pub endpoint: Option<String>,
    /// The region of the bucket, such as `eu-central-1`; with `media.endpoint` it is `us-east-1` by default.
    #[serde(deserialize_with = "text")]
    pub region: Option<String>,
    /// The access key of an account that may put, get and delete the objects of the bucket. Without it, the credentials
    /// are those of the variables `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, of a web identity, or of the machine.
    #[serde(deserialize_with = "text")]
    pub access_key_id: Option<String>,
    /// Its secret.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub secret_access_key: Option<Password>,
}

/// Where files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaPlace {
    Directory(PathBuf),
    /// A bucket, and what is before the names in it; the prefix may be empty.
    Bucket {
        name: String,
        prefix: String,
    },
}

impl MediaSettings {
    /// Where the files are; `None` where there are no pictures. `data` is the data directory of an embedded installation.
    #[must_use]
    pub fn place(&self, data: Option<&Path>) -> Option<MediaPlace> {
        match &self.url {
            Some(url) => parse_place(url),
            None => data.map(|data| MediaPlace::Directory(data.join("media"))),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.access_key_id.is_some() != self.secret_access_key.is_some() {
            return Err(ConfigError::new("media.access_key_id", "and media.secret_access_key must be given together"));
        }
        let is_bucket = matches!(self.place(None), Some(MediaPlace::Bucket { .. }));
        if !is_bucket && (self.endpoint.is_some() || self.region.is_some() || self.access_key_id.is_some()) {
            return Err(ConfigError::new("media.url", "must be s3://bucket where media has settings of a bucket"));
        }
        Ok(())
    }
}

fn parse_place(url: &str) -> Option<MediaPlace> {
    if let Some(path) = url.strip_prefix("file://") {
        let path = PathBuf::from(path);
        return path.is_absolute().then_some(MediaPlace::Directory(path));
    }
    let (name, prefix) = {
        let place = url.strip_prefix("s3://")?;
        place.split_once('/').unwrap_or((place, ""))
    };
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let is_name = (3..=63).contains(&name.len()) && name.bytes().all(fits);
    let prefix = prefix.trim_end_matches('/');
    let is_prefix = prefix.is_empty()
        || prefix.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.bytes().all(fits));
    (is_name && is_prefix).then(|| MediaPlace::Bucket { name: name.to_owned(), prefix: prefix.to_owned() })
}

fn url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::parse_optional(deserializer, "file:///absolute/path, s3://bucket or s3://bucket/folder", |url| {
        parse_place(url).map(|_| url.to_owned())
    })
}

fn endpoint<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::server_address(
        deserializer,
        "the address of a server without a path, such as https://minio.example.com:9000",
    )
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::parse_optional(deserializer, "text", |text| Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_a_directory_or_a_bucket() {
        let bucket =
            |name: &str, prefix: &str| Some(MediaPlace::Bucket { name: name.to_owned(), prefix: prefix.to_owned() });
        for (url, place) in [
            ("file:///var/lib/media", Some(MediaPlace::Directory("/var/lib/media".into()))),
            ("file://media", None),
            ("/var/lib/media", None),
            ("s3://pictures", bucket("pictures", "")),
            ("s3://pictures/", bucket("pictures", "")),
            ("s3://pictures/a/b/", bucket("pictures", "a/b")),
            ("s3://pictures/../b", None),
            ("s3://pictures//b", None),
            ("s3://p", None),
            ("s3://user:secret@pictures", None),
            ("https://example.com", None),
        ] {
            assert_eq!(parse_place(url), place, "{url}");
        }
    }
}
