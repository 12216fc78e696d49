//! The secret that tokens are signed with: the configured one, or a random one in the data directory.
//!
//! Promise: without a configured secret, the first caller makes a random one in `token_secret`, which its
//! owner alone can read, and every later caller finds the same; two callers at once agree. A cluster never
//! gets here: its configuration must name a secret.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use gailou_shared::member_keys::MemberKeys;
use gailou_shared::token::TokenKey;

use crate::bootstrap::data_directory;
use crate::config::{Config, Secret};
use crate::ports::store::Tables;

/// The name of the file in the data directory.
pub const TOKEN_SECRET_FILE_NAME: &str = "token_secret";

/// The secret shared with the host, where the host signs with one: the configured secret, else the one in
/// the data directory, which is made if it is missing.
///
/// # Errors
/// When the file cannot be written or read, or is shorter than a secret.
pub fn token_secret(config: &Config) -> anyhow::Result<Secret> {
    if let Some(secret) = &config.auth.token_secret {
        return Ok(secret.clone());
    }
    data_directory::create(&config.data)?;
    let path = config.data.join(TOKEN_SECRET_FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_secret(&config.data, &path),
        read => read,
    };
    let text = text.with_context(|| format!("cannot use the token secret in {}", path.display()))?;
    Secret::new(text.trim()).with_context(|| {
        format!("the token secret in {} is shorter than {} bytes", path.display(), TokenKey::MIN_SECRET_BYTES)
    })
}

/// The key that verifies the host's tokens, and signs them where it is a secret.
///
/// # Errors
/// See [`token_secret`].
pub fn host_key(config: &Config) -> anyhow::Result<TokenKey> {
    if let Some(key) = &config.auth.token_public_key {
        return Ok(key.clone());
    }
    TokenKey::secret(token_secret(config)?.expose().as_bytes()).context("the token secret is too short")
}

/// The keys of the host and of guests. Where the host keeps its private key to itself, the guests' key is made
/// of a secret in the tables.
///
/// # Errors
/// See [`token_secret`], and the tables'.
pub(super) async fn member_keys(config: &Config, tables: &dyn Tables) -> anyhow::Result<MemberKeys> {
    if let Some(host) = &config.auth.token_public_key {
        let own_secret = tables.read_secret("guest_secret", rand::random()).await?;
        let guests = TokenKey::secret(&own_secret).context("the installation's own secret is too short")?;
        return Ok(MemberKeys::from_public_key(host.clone(), Some(guests)));
    }
    MemberKeys::from_secret(token_secret(config)?.expose().as_bytes()).context("the token secret is too short")
}

/// Makes a secret, unless another process was quicker; the secret in the file.
fn create_secret(data: &Path, path: &Path) -> io::Result<String> {
    // A temporary file is readable by its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(data)?;
    let text = hex::encode(rand::random::<[u8; 32]>());
    writeln!(file, "{text}")?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {
            let path = path.display();
            tracing::info!(%path, "Made a token secret in {path}; the host site signs its members' tokens with it");
            Ok(text)
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => fs::read_to_string(path),
        Err(error) => Err(error.error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn first_caller_makes_a_secret_that_all_find() {
        let directory = tempfile::tempdir().unwrap();
        let config = Config { data: directory.path().join("new/data"), ..Config::default() };
        let secrets: Vec<_> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..8).map(|_| scope.spawn(|| token_secret(&config).unwrap())).collect();
            callers.into_iter().map(|caller| caller.join().unwrap().expose().to_owned()).collect()
        });
        assert!(secrets.iter().all(|secret| *secret == secrets[0] && secret.len() == 64), "{secrets:?}");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&config.data), mode(&config.data.join(TOKEN_SECRET_FILE_NAME))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&config.data).unwrap().count(), 1, "no temporary file remains");
    }

    #[test]
    fn short_secret_is_refused_by_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let config = Config { data: directory.path().into(), ..Config::default() };
        fs::write(directory.path().join(TOKEN_SECRET_FILE_NAME), "short\n").unwrap();
        let error = token_secret(&config).unwrap_err().to_string();
        assert!(error.contains(TOKEN_SECRET_FILE_NAME) && error.contains("32 bytes"), "{error}");
    }
}
