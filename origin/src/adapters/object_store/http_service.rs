//! Calls of `object_store` by the program's own HTTPS client: one TLS library, one set of trusted roots.

use ::object_store::ClientOptions;
use ::object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use async_trait::async_trait;
use http_body_util::BodyExt as _;

use crate::adapters::https_client::{HttpsClient, https_client};

/// Makes clients; the options of `object_store` are those of another library.
#[derive(Debug)]
pub(super) struct HyperConnector;

impl HttpConnector for HyperConnector {
    fn connect(&self, _: &ClientOptions) -> ::object_store::Result<HttpClient> {
        Ok(HttpClient::new(HyperService(https_client())))
    }
}

#[derive(Debug)]
struct HyperService(HttpsClient<HttpRequestBody>);

#[async_trait]
impl HttpService for HyperService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answered = self.0.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, error)
        })?;
        let (head, body) = answered.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}
