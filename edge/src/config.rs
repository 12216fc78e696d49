//! The Worker's variables and secrets. A value that cannot be used is refused by the name of its variable:
//! a key that is silently missing would leave tokens unverified and requests unsigned. No platform types.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use gailou_shared::member_keys::MemberKeys;
use gailou_shared::token::TokenKey;

/// The audience of tokens by default.
const DEFAULT_AUDIENCE: &str = "gailou";
/// The origin by default, as `gailou` starts on this machine.
const DEFAULT_ORIGIN: &str = "http://127.0.0.1:8080";

/// What the operator decides.
#[derive(Clone, Default)]
pub struct EdgeConfig {
    /// Signs forwarded requests. Without it the origin does not trust the client address, and no push
    /// is accepted.
    pub edge_secret: Option<Vec<u8>>,
    /// The secret before the current one; pushes may still be signed with it during a rotation.
    pub edge_secret_previous: Option<Vec<u8>>,
    /// Verifies members' tokens here; without it only the origin does.
    pub member_keys: Option<MemberKeys>,
    /// The audience that tokens must name.
    pub audience: String,
    /// The origin's address, without a slash at the end.
    pub origin: String,
    /// One request in so many is traced by the origin; 0 traces none.
    pub trace_one_in: u32,
}

/// One request in so many is traced by default, as `gailou` does.
const DEFAULT_TRACE_ONE_IN: u32 = 100;

impl fmt::Debug for EdgeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeConfig")
            .field("edge_secret", &self.edge_secret.as_ref().map(|_| "…"))
            .field("edge_secret_previous", &self.edge_secret_previous.as_ref().map(|_| "…"))
            .field("member_keys", &self.member_keys)
            .field("audience", &self.audience)
            .field("origin", &self.origin)
            .field("trace_one_in", &self.trace_one_in)
            .finish()
    }
}

/// A variable whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidVariable {
    /// Its name.
    pub name: &'static str,
    /// What it must be.
    pub must_be: &'static str,
}

impl fmt::Display for InvalidVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, must_be } = self;
        write!(f, "The Worker's variable {name} must be {must_be}. Correct it and deploy the Worker again.")
    }
}

impl std::error::Error for InvalidVariable {}

/// What an edge secret and a token secret must be.
const SECRET_RULE: &str = "a secret of at least 32 bytes, the same as the origin's";

impl EdgeConfig {
    /// The configuration in these variables; an empty value counts as none.
    ///
    /// # Errors
    /// The first variable whose value cannot be used.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidVariable> {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let secret = |name: &'static str| match text(name) {
            Some(secret) if secret.len() < TokenKey::MIN_SECRET_BYTES => {
                Err(InvalidVariable { name, must_be: SECRET_RULE })
            }
            secret => Ok(secret.map(String::into_bytes)),
        };
        let public = text("TOKEN_PUBLIC_KEY").map(|key| {
            let key = key.trim_end_matches('=');
            // As the origin reads it.
            let bytes = STANDARD_NO_PAD.decode(key).or_else(|_| URL_SAFE_NO_PAD.decode(key)).ok();
            let key = bytes.and_then(|bytes| TokenKey::public(&bytes));
            let must_be = "the 32 bytes of an Ed25519 public key in base64";
            key.ok_or(InvalidVariable { name: "TOKEN_PUBLIC_KEY", must_be })
        });
        let public = public.transpose()?;
        let member_keys = match (secret("TOKEN_SECRET")?, public) {
            (Some(secret), _) => MemberKeys::from_secret(&secret),
            (None, public) => public.map(|host| MemberKeys::from_public_key(host, None)),
        };
        let trace_one_in = text("TRACE_ONE_IN").map(|number| number.parse::<u32>());
        let trace_one_in = trace_one_in.transpose().map_err(|_| InvalidVariable {
            name: "TRACE_ONE_IN",
            must_be: "a whole number: one request in so many is traced, 0 for none",
        })?;
        Ok(Self {
            trace_one_in: trace_one_in.unwrap_or(DEFAULT_TRACE_ONE_IN),
            edge_secret: secret("EDGE_SECRET")?,
            edge_secret_previous: secret("EDGE_SECRET_PREVIOUS")?,
            member_keys,
            audience: text("TOKEN_AUDIENCE").unwrap_or_else(|| DEFAULT_AUDIENCE.to_owned()),
            origin: text("ORIGIN").as_deref().unwrap_or(DEFAULT_ORIGIN).trim_end_matches('/').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const PUBLIC_KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn read(variables: &[(&str, &str)]) -> Result<EdgeConfig, InvalidVariable> {
        EdgeConfig::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variable_that_cannot_be_used_is_refused_by_name() {
        for name in ["TOKEN_SECRET", "EDGE_SECRET", "EDGE_SECRET_PREVIOUS"] {
            assert!(read(&[(name, SECRET)]).is_ok(), "{name}");
            for short in ["x", &SECRET[1..]] {
                let refused = read(&[(name, short)]).unwrap_err();
                assert_eq!(refused.name, name);
                assert!(refused.to_string().contains(name) && !refused.to_string().contains(short), "{refused}");
            }
        }
        for spelling in [PUBLIC_KEY, PUBLIC_KEY.trim_end_matches('='), &PUBLIC_KEY.replace('/', "_")] {
            assert!(read(&[("TOKEN_PUBLIC_KEY", spelling)]).unwrap().member_keys.is_some(), "{spelling}");
        }
        for wrong in ["no base64!", "AAAA", &PUBLIC_KEY[..40]] {
            assert_eq!(read(&[("TOKEN_PUBLIC_KEY", wrong)]).unwrap_err().name, "TOKEN_PUBLIC_KEY", "{wrong}");
            // Also beside a secret, which would be used instead.
            assert!(read(&[("TOKEN_PUBLIC_KEY", wrong), ("TOKEN_SECRET", SECRET)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn absent_and_empty_variables_have_defaults() {
        for variables in [&[][..], &[("TOKEN_SECRET", ""), ("EDGE_SECRET", ""), ("ORIGIN", ""), ("TOKEN_AUDIENCE", "")]]
        {
            let config = read(variables).unwrap();
            assert!(config.edge_secret.is_none() && config.member_keys.is_none());
            assert_eq!((config.audience.as_str(), config.origin.as_str()), ("gailou", "http://127.0.0.1:8080"));
        }
        assert_eq!(read(&[("ORIGIN", "https://o.example/")]).unwrap().origin, "https://o.example");
        assert_eq!(read(&[("TRACE_ONE_IN", "")]).unwrap().trace_one_in, DEFAULT_TRACE_ONE_IN);
        assert_eq!(read(&[("TRACE_ONE_IN", "0")]).unwrap().trace_one_in, 0);
        assert_eq!(read(&[("TRACE_ONE_IN", "1 %")]).unwrap_err().name, "TRACE_ONE_IN");
    }
}
