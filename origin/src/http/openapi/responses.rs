//! The refusals and `304`, each described once, and the groups of them that handlers name.

use std::collections::BTreeMap;

use gailou_shared::wire::{Code, FieldError, Problem};
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Ref, Type};
use utoipa::openapi::{ContentBuilder, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema as _};

use crate::http::openapi::headers;

/// A refusal by its status: every code it may have, the one of the example first.
struct SharedRefusal {
    name: &'static str,
    codes: &'static [Code],
    description: &'static str,
    /// What the example says in `detail`, and in `errors`.
    detail: &'static str,
    error: Option<(&'static str, &'static str)>,
    headers: &'static [&'static str],
}

const SHARED_REFUSALS: [SharedRefusal; 13] = [
    SharedRefusal {
        name: "BadRequest",
        codes: &[Code::InvalidRequest, Code::BadCursor],
        description: "A field, parameter, id, sort, limit, key or cursor is wrong. `invalid_request` names each of them in `errors`.",
        detail: "this field is wrong: limit",
        error: Some(("limit", "must be a whole number from 1 to 100")),
        headers: &[],
    },
    SharedRefusal {
        name: "Unauthorized",
        codes: &[Code::TokenMissing, Code::TokenInvalid],
        description: "There is no token, or one that is not valid here.",
        detail: "send a token: Authorization: Bearer …",
        error: None,
        headers: &["WWW-Authenticate"],
    },
    SharedRefusal {
        name: "Forbidden",
        codes: &[
            Code::Forbidden,
            Code::Muted,
            Code::LevelTooLow,
            Code::GuestsNotAllowed,
            Code::SiteNotAllowed,
            Code::ChallengeRequired,
        ],
        description: "This member may not do this, or requests must come through the edge. With `challenge_required`, a guest may after the answer to `challenge`.",
        detail: "your role does not allow this",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "NotFound",
        codes: &[Code::CommentNotFound, Code::UnknownSubjectType, Code::ParentNotFound, Code::NotFound],
        description: "It does not exist, or this reader may not see it.",
        detail: "there is no such comment",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "Conflict",
        codes: &[Code::SubjectClosed, Code::EditWindowOver, Code::VersionConflict],
        description: "It is too late for this: the subject is closed, the comment is too old to be edited, or something has changed since.",
        detail: "this subject takes no comments",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "Gone",
        codes: &[Code::CursorExpired],
        description: "The snapshot that the cursor walks has expired. Start again with `Cache-Control: no-cache`.",
        detail: "this walk is over; begin again at the first page",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "BodyTooLarge",
        codes: &[Code::BodyTooLarge],
        description: "The body is larger than 64 KiB.",
        detail: "a body has at most 65536 bytes",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "UnsupportedMediaType",
        codes: &[Code::UnsupportedMediaType],
        description: "The body is not `application/json`.",
        detail: "send application/json",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "Unprocessable",
        codes: &[Code::ContentRejected, Code::IdempotencyMismatch],
        description: "The text has words that are not allowed here (`errors` names their categories, never the words), or the `Idempotency-Key` was used for another request.",
        detail: "the comment contains words that are not allowed here: abuse",
        error: Some(("content", "abuse")),
        headers: &[],
    },
    SharedRefusal {
        name: "NameRejected",
        codes: &[Code::ContentRejected],
        description: "The name cannot be seen, deceives, has words that are not allowed here, or is taken: a member of the last 30 days or a reserved one has it, or one that looks like it.",
        detail: "this name cannot be taken: it is taken, or looks like one that is; choose another",
        error: Some(("name", "is taken, or looks like one that is; choose another")),
        headers: &[],
    },
    SharedRefusal {
        name: "TooManyRequests",
        codes: &[Code::RateLimited],
        description: "There were too many requests.",
        detail: "too many requests; try again in 12 s",
        error: None,
        headers: &["Retry-After", "RateLimit-Policy", "RateLimit"],
    },
    SharedRefusal {
        name: "Internal",
        codes: &[Code::Internal],
        description: "A bug of the server.",
        detail: "something went wrong here; this is not your fault",
        error: None,
        headers: &[],
    },
    SharedRefusal {
        name: "Unavailable",
        codes: &[Code::Unavailable, Code::Overloaded, Code::OriginUnreachable],
        description: "Try again later. The outcome of a write is unknown: send it again with the same `Idempotency-Key`.",
        detail: "the database does not answer",
        error: None,
        headers: &["Retry-After"],
    },
];

impl SharedRefusal {
    fn status(&self) -> u16 {
        self.codes.first().map_or(500, |code| code.parts().1)
    }

    fn response(&self) -> Response {
        let codes = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(self.codes.iter().map(|code| code.parts().0)));
        let status = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([self.status()]));
        let narrowed = ObjectBuilder::new().property("status", status).property("code", codes);
        let schema = AllOfBuilder::new().item(Ref::from_schema_name(Problem::name())).item(narrowed);
        let content = ContentBuilder::new().schema(Some(schema)).example(self.example());
        let response =
            ResponseBuilder::new().description(self.description).content("application/problem+json", content);
        with_headers(response.build(), self.headers)
    }

    fn example(&self) -> Option<serde_json::Value> {
        let errors = self.error.map(|(field, detail)| FieldError::new(field, detail));
        let trace_id = "3f9c5a1e7b20d864".to_owned();
        let problem =
            Problem::new(*self.codes.first()?, self.detail.to_owned(), trace_id, errors.into_iter().collect());
        serde_json::to_value(problem).ok()
    }
}

fn with_headers(mut response: Response, names: &[&str]) -> Response {
    headers::add(&mut response.headers, &[headers::REQUEST_ID_HEADER]);
    headers::add(&mut response.headers, names);
    response
}

/// Every shared response by its name.
pub(super) fn components() -> Vec<(&'static str, Response)> {
    let not_modified = Response::new("The answer that `If-None-Match` names is still current.");
    let mut all = vec![("NotModified", with_headers(not_modified, &headers::CACHEABLE_HEADERS))];
    all.extend(SHARED_REFUSALS.iter().map(|refusal| (refusal.name, refusal.response())));
    all
}

fn references(names: &[&str]) -> BTreeMap<String, RefOr<Response>> {
    let refusals = SHARED_REFUSALS.iter().map(|refusal| (refusal.status(), refusal.name));
    let all = refusals.chain([(304, "NotModified")]).filter(|(_, name)| names.contains(name));
    all.map(|(status, name)| (status.to_string(), RefOr::Ref(Ref::from_response_name(name)))).collect()
}

/// Types that handlers name in `responses(…)`.
macro_rules! response_groups {
    ($($(#[$doc:meta])* $group:ident: $($name:ident)+;)+) => {$(
        $(#[$doc])*
        pub(in crate::http) struct $group;

        impl IntoResponses for $group {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                references(&[$(stringify!($name)),+])
            }
        }
    )+};
}

response_groups! {
    /// What the edge's own call may be refused with.
    EdgeRefusals: BadRequest Forbidden Internal Unavailable;
    /// What any public call may be refused with.
    PublicRefusals: BadRequest Forbidden TooManyRequests Internal Unavailable;
    /// What any call with a token may be refused with.
    MemberRefusals: BadRequest Unauthorized Forbidden TooManyRequests Internal Unavailable;
    /// What a call that reads a body may be refused with besides.
    BodyRefusals: BodyTooLarge UnsupportedMediaType;
    NotFound: NotFound;
    Conflict: Conflict;
    Gone: Gone;
    NameRejected: NameRejected;
    Unprocessable: Unprocessable;
    /// An answer that all readers share: its `200` has an `ETag` and the headers for caches.
    NotModified: NotModified;
}
