//! How connections to Kafka are protected: encryption, and the login.
//!
//! Connects to nothing. Promise: settings that contradict each other, or that this build cannot keep, are refused
//! by name.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::config::cluster::ClusterTuning;
use crate::config::{ConfigError, Password};

/// `cluster.kafka_security`: the protocol of the listener, as Kafka names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum KafkaSecurity {
    #[default]
    Plaintext,
    Ssl,
    SaslPlaintext,
    SaslSsl,
}

impl KafkaSecurity {
    /// Its name, as Kafka and its drivers write it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether connections are encrypted, and the broker's certificate is checked.
    pub fn is_encrypted(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether there is a user name and a password.
    pub fn has_login(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

/// `cluster.kafka_sasl_mechanism`: how the password is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, IntoStaticStr)]
pub enum SaslMechanism {
    /// The broker gets the password itself.
    #[serde(rename = "PLAIN")]
    #[strum(serialize = "PLAIN")]
    Plain,
    #[serde(rename = "SCRAM-SHA-256")]
    #[strum(serialize = "SCRAM-SHA-256")]
    ScramSha256,
    #[default]
    #[serde(rename = "SCRAM-SHA-512")]
    #[strum(serialize = "SCRAM-SHA-512")]
    ScramSha512,
}

impl SaslMechanism {
    /// Its name, as Kafka and its drivers write it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Who this program is to the brokers.
#[derive(Debug, Clone)]
pub struct KafkaLogin {
    pub mechanism: SaslMechanism,
    pub username: String,
    pub password: Password,
}

/// The brokers, and how connections to them are protected.
#[derive(Debug, Clone)]
pub struct KafkaServers {
    /// `host:port`, comma-separated.
    pub brokers: String,
    pub security: KafkaSecurity,
    /// The certificates, in PEM, of who may sign a broker's; else the system's.
    pub ca: Option<PathBuf>,
    /// Where [`KafkaSecurity::has_login`].
    pub login: Option<KafkaLogin>,
}

impl KafkaServers {
    /// Brokers without encryption and login.
    #[must_use]
    pub fn plain(brokers: &str) -> Self {
        Self { brokers: brokers.to_owned(), security: KafkaSecurity::Plaintext, ca: None, login: None }
    }

    /// The brokers with the protection of the settings; `name_of` is what the operator calls a setting.
    pub(super) fn from_settings(
        brokers: &str,
        tuning: &ClusterTuning,
        name_of: impl Fn(&str) -> String,
    ) -> Result<Self, ConfigError> {
        let security = tuning.kafka_security;
        let refused = |key: &str, reason: String| Err(ConfigError::new(name_of(&format!("cluster.{key}")), reason));
        let not_built = "needs a build with the feature kafka-tls, such as that of `make build`";
        if security.is_encrypted() && cfg!(not(feature = "kafka-tls")) {
            return refused("kafka_security", format!("is {}, which {not_built}", security.name()));
        }
        if tuning.kafka_ca.is_some() && !security.is_encrypted() {
            let reason = format!("is for ssl and sasl_ssl, and {} is {}", "cluster.kafka_security", security.name());
            return refused("kafka_ca", reason);
        }
        let login = match (&tuning.kafka_username, &tuning.kafka_password) {
            (Some(username), Some(password)) if security.has_login() => Some(KafkaLogin {
                mechanism: tuning.kafka_sasl_mechanism,
                username: username.clone(),
                password: password.clone(),
            }),
            (None, None) if !security.has_login() => None,
            (username, _) if security.has_login() => {
                let missing = if username.is_none() { "kafka_username" } else { "kafka_password" };
                return refused(missing, format!("must be given with {}", security.name()));
            }
            (username, _) => {
                let given = if username.is_some() { "kafka_username" } else { "kafka_password" };
                return refused(given, "is used with cluster.kafka_security = sasl_ssl or sasl_plaintext only".into());
            }
        };
        if let Some(login) = &login
            && login.mechanism != SaslMechanism::Plain
            && cfg!(not(feature = "kafka-tls"))
        {
            return refused("kafka_sasl_mechanism", format!("is {}, which {not_built}", login.mechanism.name()));
        }
        Ok(Self { brokers: brokers.to_owned(), security, ca: tuning.kafka_ca.clone(), login })
    }
}
