//! The bucket of an S3 server that all tests share: each has a folder of its own.

use gailou::config::{Config, Password};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::ApiClient;

/// Names the server, a key and its secret: `http://127.0.0.1:15000;ID;SECRET`.
const VARIABLE: &str = "GAILOU_TEST_S3";
const BUCKET: &str = "pictures";
/// The server takes any time.
const SIGNED_AT: &str = "20260101T000000Z";

/// A folder of the bucket.
#[derive(Debug)]
pub struct TestBucket {
    endpoint: String,
    key: String,
    secret: String,
    folder: String,
}

impl TestBucket {
    /// An empty folder; `None` where this machine has no such server, which CI has.
    pub fn new() -> Option<Self> {
        let Ok(value) = std::env::var(VARIABLE) else {
            assert!(std::env::var_os("CI").is_none(), "{VARIABLE} names no server");
            eprintln!("SKIPPED: {VARIABLE} names no server");
            return None;
        };
        let [endpoint, key, secret] =
            value.split(';').map(str::to_owned).collect::<Vec<_>>().try_into().expect(VARIABLE);
        Some(Self { endpoint, key, secret, folder: format!("a/{:016x}", rand::random::<u64>()) })
    }

    /// Lets an origin keep its pictures here.
    pub fn configure(&self, config: &mut Config) {
        config.media.url = Some(self.url());
        config.media.endpoint = Some(self.endpoint.clone());
        config.media.access_key_id = Some(self.key.clone());
        config.media.secret_access_key = Password::new(&self.secret);
    }

    /// The same settings as the variables of a process.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("GAILOU_MEDIA__URL", self.url()),
            ("GAILOU_MEDIA__ENDPOINT", self.endpoint.clone()),
            ("GAILOU_MEDIA__ACCESS_KEY_ID", self.key.clone()),
            ("GAILOU_MEDIA__SECRET_ACCESS_KEY", self.secret.clone()),
        ]
    }

    fn url(&self) -> String {
        format!("s3://{BUCKET}/{}", self.folder)
    }

    /// How many objects the folder has.
    pub async fn count_objects(&self) -> usize {
        let query = "list-type=2";
        let client = ApiClient::new(self.endpoint.clone());
        let request = client.request(&format!("GET /{BUCKET}?{query}"));
        let empty = hex(&Sha256::digest(b""));
        let request = request.header("authorization", &self.authorization(query, &empty));
        let list = request.header("x-amz-date", SIGNED_AT).header("x-amz-content-sha256", &empty).send().await;
        assert_eq!(list.status, 200, "{}", list.text);
        list.text.matches(&format!("<Key>{}/", self.folder)).count()
    }

    /// The signature of a read: <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>.
    fn authorization(&self, query: &str, body_digest: &str) -> String {
        let host = self.endpoint.trim_start_matches("http://");
        let names = "host;x-amz-content-sha256;x-amz-date";
        let headers = format!("host:{host}\nx-amz-content-sha256:{body_digest}\nx-amz-date:{SIGNED_AT}\n");
        let request = format!("GET\n/{BUCKET}\n{query}\n{headers}\n{names}\n{body_digest}");
        let scope = format!("{}/us-east-1/s3/aws4_request", &SIGNED_AT[..8]);
        let to_sign = format!("AWS4-HMAC-SHA256\n{SIGNED_AT}\n{scope}\n{}", hex(&Sha256::digest(request)));
        let key = scope.split('/').fold(format!("AWS4{}", self.secret).into_bytes(), |key, part| mac(&key, part));
        let signature = hex(&mac(&key, &to_sign));
        format!("AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", self.key)
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
