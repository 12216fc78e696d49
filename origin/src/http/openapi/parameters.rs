//! How the types that extract parameters describe them.

use gailou_shared::limits;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, Required};

/// A segment of the path.
pub(in crate::http) fn segment(name: &str, description: &str, schema: RefOr<Schema>, example: &str) -> Parameter {
    let segment = parameter(name, ParameterIn::Path, description, schema).required(Required::True);
    segment.example(Some(example.into())).build()
}

/// A query parameter that may be left out.
pub(in crate::http) fn query(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    parameter(name, ParameterIn::Query, description, schema)
}

/// A header that may be left out.
pub(in crate::http) fn header(name: &str, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(name, ParameterIn::Header, description, schema).build()
}

/// A whole number from 1 to `max`.
pub(in crate::http) fn whole_number(name: &str, description: &str, max: usize, default: usize) -> Parameter {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(max));
    query(name, description, number.default(Some(default.into()))).build()
}

/// The size of a page.
pub(in crate::http) fn page_size() -> Parameter {
    whole_number("limit", "Most comments in the answer.", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE)
}

/// The cursor of a page or of a tree.
pub(in crate::http) fn cursor(description: &str) -> Parameter {
    query("cursor", description, text().min_length(Some(1)).max_length(Some(limits::MAX_CURSOR_CHARS))).build()
}

/// Any text.
pub(in crate::http) fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn parameter(name: &str, place: ParameterIn, description: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    let parameter = ParameterBuilder::new().name(name).parameter_in(place).required(Required::False);
    parameter.description(Some(description)).schema(Some(schema))
}
