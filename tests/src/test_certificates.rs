//! Certificates for servers of a test, made by `openssl`.
//!
//! The server's is for 127.0.0.1 and for no other name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

/// The user that Kafka knows, and the password.
pub const KAFKA_USER: (&str, &str) = ("gailou", "not-a-secret");

/// Files with certificates and keys, in PEM. They are deleted with the last clone.
#[derive(Debug, Clone)]
pub struct TestCertificates(Arc<TempDir>);

impl TestCertificates {
    /// Makes the certificates.
    pub fn create() -> Self {
        let certificates = Self(Arc::new(tempfile::tempdir().expect("a directory")));
        let authority = "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign";
        let server = "basicConstraints = critical, CA:FALSE\nsubjectAltName = IP:127.0.0.1";
        certificates.make("ca", authority, None);
        certificates.make("other-ca", authority, None);
        certificates.make("server", server, Some("ca"));
        // Kafka reads both from one file.
        let [key, certificate] = ["server.key", "server.pem"].map(|name| certificates.read(name));
        fs::write(certificates.file("server-both.pem"), key + &certificate).expect("a file");
        certificates
    }

    /// The directory of the files, as `scripts/service.sh` expects them.
    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// Who signed the server's certificate.
    pub fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// Who did not.
    pub fn other_ca(&self) -> PathBuf {
        self.file("other-ca.pem")
    }

    fn make(&self, name: &str, extensions: &str, signer: Option<&str>) {
        let file = |suffix: &str| self.file(&format!("{name}.{suffix}"));
        let head = "[req]\ndistinguished_name = name\nx509_extensions = extensions\nprompt = no\n[name]\nCN = test";
        fs::write(file("cnf"), format!("{head} {name}\n[extensions]\n{extensions}\n")).expect("a file");
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt"]);
        command.args(["ec_paramgen_curve:prime256v1", "-config"]).arg(file("cnf"));
        command.arg("-keyout").arg(file("key")).arg("-out").arg(file("pem"));
        if let Some(signer) = signer {
            command.arg("-CA").arg(self.file(&format!("{signer}.pem")));
            command.arg("-CAkey").arg(self.file(&format!("{signer}.key")));
        }
        let made = command.output().expect("openssl starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("a file of openssl")
    }
}
