//! Keys made from the secret of an installation, each for one purpose.

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

/// The key for HMAC-SHA-256 that is made from this secret, of any length. `purpose` ends with a zero byte, so that none is the
/// beginning of another: the SHA-256 of both is used for nothing else.
#[must_use]
pub fn derived_key(purpose: &[u8], secret: &[u8]) -> Hmac<Sha256> {
    let hash = Sha256::new().chain_update(purpose).chain_update(secret).finalize();
    let mut block = hmac::digest::core_api::Block::<Sha256>::default();
    block.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    Hmac::new(&block)
}
