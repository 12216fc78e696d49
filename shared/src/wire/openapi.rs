//! Descriptions, for the OpenAPI document, of the values that serde writes in a form of their own.
//!
//! Everything else is derived at its type. The types here hold nothing: they name a schema.

use alloc::string::String;
use alloc::vec::Vec;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Ref, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::{ChangedComment, Comment, CommentLocation, LiveEvent, RemovedComment, SubjectCounts, VoidSubject};
use crate::limits;

/// The name of a subject type.
#[derive(Debug)]
pub struct SubjectTypeName;

/// The host's key of a subject.
#[derive(Debug)]
pub struct SubjectKeyText;

/// A subject's version.
#[derive(Debug)]
pub struct SubjectVersion;

/// A comment with every comment above it.
#[derive(Debug)]
pub struct CommentChain;

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

impl PartialSchema for SubjectTypeName {
    fn schema() -> RefOr<Schema> {
        let description = "A configured name. The embedded default has `article` (`tree`, three levels), `video` \
                           (`two_level`), `post` (`flat`) and `topic` (`building`).";
        text(description).pattern(Some("^[a-z0-9_-]{1,32}$")).into()
    }
}

impl ToSchema for SubjectTypeName {}

impl PartialSchema for SubjectKeyText {
    fn schema() -> RefOr<Schema> {
        let description = "The host's key: 1 to 512 bytes of UTF-8 without control characters.";
        text(description).min_length(Some(1)).max_length(Some(limits::MAX_SUBJECT_KEY_BYTES)).into()
    }
}

impl ToSchema for SubjectKeyText {}

impl PartialSchema for SubjectVersion {
    fn schema() -> RefOr<Schema> {
        let description =
            "A subject's version, in decimal digits. It grows by one with each commit that changes the subject.";
        text(description).pattern(Some("^[0-9]{1,20}$")).into()
    }
}

impl ToSchema for SubjectVersion {}

impl PartialSchema for CommentChain {
    fn schema() -> RefOr<Schema> {
        let description = "The chain from the root to the comment: the root first, the comment last.";
        let chain =
            ArrayBuilder::new().items(reference::<Comment>()).min_items(Some(1)).max_items(Some(limits::MAX_DEPTH));
        chain.description(Some(description)).into()
    }
}

impl ToSchema for CommentChain {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add::<Comment>(schemas);
    }
}

/// A pair of strings.
impl PartialSchema for ChangedComment {
    fn schema() -> RefOr<Schema> {
        pair_of_numbers("A comment's id, and the subject's version with its last change.")
    }
}

impl ToSchema for ChangedComment {}

/// A pair of strings.
impl PartialSchema for VoidSubject {
    fn schema() -> RefOr<Schema> {
        pair_of_numbers("A subject's number in cache tags, and the version before which its comments are void.")
    }
}

impl ToSchema for VoidSubject {}

fn pair_of_numbers(description: &str) -> RefOr<Schema> {
    let digits = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9]{1,20}$"));
    let pair = ArrayBuilder::new().items(digits).min_items(Some(2)).max_items(Some(2));
    pair.description(Some(description)).into()
}

/// One object for each kind, because the kind decides the form of `data`.
impl PartialSchema for LiveEvent {
    fn schema() -> RefOr<Schema> {
        let kind = |name: &str, description: &str, data: Ref| {
            let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([name]));
            let event =
                ObjectBuilder::new().description(Some(description)).property("id", reference::<SubjectVersion>());
            let event = event.property("type", name).property("data", data);
            event.required("id").required("type").required("data")
        };
        let kinds = OneOfBuilder::new()
            .item(kind("comment", "A comment is published or edited.", reference::<CommentLocation>()))
            .item(kind("removed", "A comment is removed.", reference::<RemovedComment>()))
            .item(kind("counts", "The subject's counts change.", reference::<SubjectCounts>()));
        let description = "One event. `id` is the subject's version with it; events of one commit share it.";
        kinds.description(Some(description)).into()
    }
}

impl ToSchema for LiveEvent {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add::<SubjectVersion>(schemas);
        add::<CommentLocation>(schemas);
        add::<RemovedComment>(schemas);
        add::<SubjectCounts>(schemas);
    }
}

fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

/// Adds a schema with every schema it refers to.
fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}
