//! The hosts of pictures that imported comments show.
//!
//! The addresses are of strangers. Nothing is retried, and each address that a host redirects to is judged as the first one.
//! Nothing is sent but the request, and no log line has an address.

use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderValue, Request, StatusCode, header};
use bytes::Bytes;
use gailou_shared::limits::MAX_MEDIA_BYTES;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use url::Url;

use crate::adapters::https_client::{HttpsClient, PublicResolver, public_https_client};
use crate::domain::webhook_address::check_place;
use crate::ports::failure::Failure;
use crate::ports::picture_hosts::{PictureFailure, PictureHosts};
use crate::telemetry::measure_bounded;

/// How long a picture may take, with all redirects: 5 MiB at 350 KB/s.
const PICTURE_TIMEOUT: Duration = Duration::from_secs(15);
/// Redirects of one picture: to HTTPS, to a name with `www.`, to where the files are.
const MAX_REDIRECTS: usize = 3;
/// Some hosts refuse a request without it.
const USER_AGENT: HeaderValue = HeaderValue::from_static("gailou");
/// What is asked for.
const PICTURE_TYPES: HeaderValue = HeaderValue::from_static("image/*");

/// Fetches from any address of the public internet, and from private ones if they are allowed.
#[derive(Debug)]
pub struct PictureHostClient {
    client: HttpsClient<Full<Bytes>, PublicResolver>,
    allows_private: bool,
}

impl PictureHostClient {
    /// A client. What a name resolves to is judged at each connection.
    pub fn new(allows_private: bool) -> Self {
        Self { client: public_https_client(allows_private), allows_private }
    }

    async fn get(&self, address: &str) -> Result<Bytes, PictureFailure> {
        let mut url = judged(Url::parse(address), self.allows_private)?;
        for _ in 0..=MAX_REDIRECTS {
            let request = Request::get(url.as_str())
                .header(header::USER_AGENT, USER_AGENT)
                .header(header::ACCEPT, PICTURE_TYPES)
                .body(Full::default())
                .map_err(|error| PictureFailure::Refused(Failure::with_causes(error)))?;
            let answered = self.client.request(request).await;
            let (head, file) = answered.map_err(|e| PictureFailure::NoAnswer(Failure::with_causes(e)))?.into_parts();
            let location = head.headers.get(header::LOCATION).filter(|_| head.status.is_redirection());
            match location {
                Some(location) => {
                    let location = location.to_str().map_err(|_| refused("it redirects to no address"))?;
                    url = judged(url.join(location), self.allows_private)?;
                }
                None if head.status == StatusCode::OK => return read_file(file).await,
                None => return Err(refused(format!("it answered {}", head.status))),
            }
        }
        Err(refused(format!("it redirects more than {MAX_REDIRECTS} times")))
    }
}

fn refused(why: impl AsRef<str>) -> PictureFailure {
    PictureFailure::Refused(Failure::from(why))
}

/// The address, if it may be asked.
fn judged(url: Result<Url, url::ParseError>, allows_private: bool) -> Result<Url, PictureFailure> {
    let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| refused("it is no web address"))?;
    check_place(&url, allows_private).map_err(|why| refused(format!("its address {why}")))?;
    Ok(url)
}

async fn read_file(file: Incoming) -> Result<Bytes, PictureFailure> {
    let too_large = || refused(format!("it has more than {} MiB", MAX_MEDIA_BYTES >> 20));
    if file.size_hint().lower() > MAX_MEDIA_BYTES as u64 {
        return Err(too_large());
    }
    match Limited::new(file, MAX_MEDIA_BYTES).collect().await {
        Ok(file) => Ok(file.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(PictureFailure::NoAnswer(error.to_string().into())),
    }
}

#[async_trait]
impl PictureHosts for PictureHostClient {
    async fn fetch(&self, address: &str) -> Result<Bytes, PictureFailure> {
        let answered = measure_bounded("pictures", "get", PICTURE_TIMEOUT, self.get(address)).await;
        let too_late = || PictureFailure::NoAnswer(format!("no answer in {} s", PICTURE_TIMEOUT.as_secs()).into());
        answered.map_err(|_| too_late())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_is_judged_as_the_first_address() {
        let from = Url::parse("https://pictures.example/a/b.png").unwrap();
        let check = |location: &str, allows_private: bool, expected: Result<&str, &str>| {
            let judged = judged(from.join(location), allows_private);
            match (&judged, expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected, "{location}"),
                (Err(why), Err(expected)) => assert!(why.to_string().contains(expected), "{location}: {why}"),
                _ => panic!("{location}: {judged:?}"),
            }
        };
        check("c.png", false, Ok("https://pictures.example/a/c.png"));
        check("http://other.example/c.png", false, Ok("http://other.example/c.png"));
        let private = [
            "http://127.0.0.1:8080/",
            "//localhost/",
            "http://[::1]/",
            "http://169.254.169.254/latest/",
            "http://0x7f.1/",
        ];
        for location in private {
            check(location, false, Err("must lead to a public address"));
            assert!(judged(from.join(location), true).is_ok(), "{location}");
        }
        for location in ["file:///etc/passwd", "ftp://other.example/c.png", "data:image/png,x", "http://"] {
            check(location, true, Err("no web address"));
        }
        check("http://ann:secret@other.example/", true, Err("no name or password"));
    }

    #[tokio::test]
    async fn name_that_resolves_to_this_machine_is_not_asked() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = PictureHostClient::new(false);
        for host in ["127.0.0.1", "localhost"] {
            let failure = client.fetch(&format!("http://{host}:{port}/a.png")).await.unwrap_err();
            assert!(failure.to_string().contains("must lead to a public address"), "{failure}");
        }
    }
}
