//! `/openapi.json`: the frame of the document, and what many calls share in it.
//!
//! A call is described at its handler, a parameter at the type that extracts it, a body at its type.
//! `routes!` in the router takes route and description from one attribute, so each route that is served
//! is described, and each that is described is served. Not here: any rule. The contract's tests compare
//! the document with the routes and with every kind of response.

pub(super) mod bodies;
pub(super) mod examples;
mod headers;
pub(super) mod list_views;
pub(super) mod parameters;
pub(super) mod responses;

use gailou_shared::wire::{CommentTree, Problem};
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, RefOr, Response, Schema, Server,
};

const API_DESCRIPTION: &str = "Comments for any subject: threads, reactions, moderation. Ids are decimal strings; times are integer milliseconds since the Unix epoch. Lists \
    depend on no identity and are the same for every reader; what depends on the reader is under `/v1/me`. Answers may \
    gain fields: ignore fields that you do not know. Unknown query parameters are ignored. A request is checked in \
    this order: route 404, token 401, size 413, type 415, body 400.";
const BEARER_DESCRIPTION: &str = "Signed by the host site (HS256 or EdDSA): `sub`, `name`, `avatar`?, `level`?, \
    `role`? (`member`, `moderator`, `admin`), `email`?, `aud`, `exp` (at most 30 days ahead).";

/// The document without its calls.
pub(super) fn frame() -> OpenApi {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info =
        InfoBuilder::new().title("Gailou").version("1").description(Some(API_DESCRIPTION)).license(Some(license));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT");
    let bearer = SecurityScheme::Http(bearer.description(Some(BEARER_DESCRIPTION)).build());
    // Shared responses refer to the one, and the other refers to itself: no call names them.
    let mut schemas = vec![described::<Problem>(), described::<CommentTree>()];
    Problem::schemas(&mut schemas);
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .responses_from_iter(responses::components())
        .security_scheme("bearer", bearer);
    let components = headers::components().into_iter().fold(components, |all, (name, header)| all.header(name, header));
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new("/")]))
        .tags(Some(tags()))
        .components(Some(components.build()))
        .build()
}

fn described<T: ToSchema>() -> (String, RefOr<Schema>) {
    (T::name().into_owned(), T::schema())
}

fn tags() -> [Tag; 9] {
    [
        ("subjects", "What is commented on, and its lists."),
        ("comments", "One comment and what surrounds it."),
        ("reactions", "Likes and dislikes."),
        ("media", "Pictures of comments."),
        ("members", "The members who write, and guests."),
        ("signing in", "Accounts of the installation, where it has its own."),
        ("me", "What belongs to one reader; never cached."),
        ("admin", "For moderators and admins."),
        ("operations", "For operators and for the edge."),
    ]
    .map(|(name, description)| TagBuilder::new().name(name).description(Some(description)).build())
}

/// The document as it is sent: the headers that the middleware and the page cache add to a response are
/// added to its description.
pub(super) fn to_json(mut document: OpenApi) -> String {
    for item in document.paths.paths.values_mut() {
        operations(item).for_each(add_shared_headers);
    }
    // Maps have strings for keys: it cannot fail.
    document.to_json().unwrap_or_default()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

fn add_shared_headers(operation: &mut Operation) {
    let is_cacheable = operation.responses.responses.contains_key("304");
    for (status, response) in &mut operation.responses.responses {
        // A shared response has its headers already.
        let RefOr::T(Response { headers, .. }) = response else { continue };
        headers::refer_to_components(headers);
        headers::add(headers, &[headers::REQUEST_ID_HEADER]);
        if is_cacheable && status == "200" {
            headers::add(headers, &headers::CACHEABLE_HEADERS);
        }
    }
}
