//! The headers of answers, each described once.

use std::collections::BTreeMap;

use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Header, HeaderBuilder, Ref, RefOr};

/// On every answer.
pub(super) const REQUEST_ID_HEADER: &str = "X-Request-Id";
/// On every answer that all readers share.
pub(super) const CACHEABLE_HEADERS: [&str; 3] = ["ETag", "Cache-Control", "CDN-Cache-Control"];

/// Every shared header by its name.
pub(super) fn components() -> Vec<(&'static str, Header)> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    let request_id = HeaderBuilder::from(described("The request's id, as in the logs.", text()))
        // utoipa's headers have no field for it.
        .extensions(Some(Extensions::from_iter([("required", true)])));
    let cdn = "public, max-age=1, stale-while-revalidate=1, stale-if-error=86400";
    vec![
        (REQUEST_ID_HEADER, request_id.build()),
        ("ETag", described("A strong validator of the answer.", text().pattern(Some("^\"[^\"]*\"$")))),
        (
            "Cache-Control",
            described(
                "For browsers: keep the answer, revalidate it before each use.",
                text().examples(["public, no-cache"]),
            ),
        ),
        ("CDN-Cache-Control", described("For the caches between the origin and browsers.", text().examples([cdn]))),
        (
            "Idempotent-Replayed",
            described(
                "`true` when an earlier request with the same key made the comment.",
                text().enum_values(Some(["true"])),
            ),
        ),
        ("WWW-Authenticate", described("How to authenticate.", text().enum_values(Some(["Bearer"])))),
        ("Retry-After", described("Seconds to wait before the next attempt.", seconds)),
        ("RateLimit-Policy", described("The limit: `\"name\";q=COUNT;w=SECONDS`.", text())),
        ("RateLimit", described("What remains of the limit: `\"name\";r=COUNT;t=SECONDS`.", text())),
    ]
}

fn described(description: &str, schema: ObjectBuilder) -> Header {
    HeaderBuilder::new().description(Some(description)).schema(Some(schema)).build()
}

/// Adds references to shared headers.
pub(super) fn add(headers: &mut BTreeMap<String, RefOr<Header>>, names: &[&str]) {
    for name in names {
        let reference = Ref::new(format!("#/components/headers/{name}"));
        headers.insert((*name).to_owned(), RefOr::Ref(reference));
    }
}

/// A header that a handler only names is a shared one.
pub(super) fn refer_to_components(headers: &mut BTreeMap<String, RefOr<Header>>) {
    let only_named = |header: &RefOr<Header>| matches!(header, RefOr::T(header) if header.description.is_none());
    let names: Vec<_> = headers.iter().filter(|(_, header)| only_named(header)).map(|(name, _)| name.clone()).collect();
    for name in names {
        add(headers, &[&name]);
    }
}
