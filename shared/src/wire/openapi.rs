//! Descriptions, for the OpenAPI document, of the values that serde writes in a form of their own.
//!
//! Everything else is derived at its type. The types here hold nothing: they name a schema.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, ArrayItems, ObjectBuilder, OneOfBuilder, Ref, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::compact::{CompactComment, CompactCommentContext, CompactCommentPage, CompactCommentTree, CompactSubject};
use super::{
    ChangedComment, Comment, CommentContext, CommentLocation, CommentPage, CommentTree, LiveEvent, RemovedComment,
    Subject, SubjectCounts, VoidSubject,
};
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

/// The same of compact comments.
#[derive(Debug)]
pub struct CompactCommentChain;

/// An answer that is the one or, with `view=compact`, the other.
#[derive(Debug)]
pub struct EitherView<Full, Compact>(PhantomData<(Full, Compact)>);

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

impl<Full: ToSchema, Compact: ToSchema> PartialSchema for EitherView<Full, Compact> {
    fn schema() -> RefOr<Schema> {
        // A full answer is also a compact one that has more fields.
        AnyOfBuilder::new().item(reference::<Full>()).item(reference::<Compact>()).into()
    }
}

impl<Full: ToSchema, Compact: ToSchema> ToSchema for EitherView<Full, Compact> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add::<Full>(schemas);
        add::<Compact>(schemas);
    }
}

/// The schemas that have a compact form, by their names.
const COMPACT_NAMES: [(&str, &str); 5] = [
    ("Comment", "CompactComment"),
    ("CommentContext", "CompactCommentContext"),
    ("CommentPage", "CompactCommentPage"),
    ("CommentTree", "CompactCommentTree"),
    ("Subject", "CompactSubject"),
];

/// The schema of `Full` with compact comments.
pub fn compact_schema<Full: PartialSchema>(description: &str) -> RefOr<Schema> {
    let mut schema = Full::schema();
    refer_to_compact(&mut schema);
    match &mut schema {
        RefOr::T(Schema::Object(object)) => object.description = Some(description.into()),
        RefOr::T(Schema::Array(array)) => array.description = Some(description.into()),
        _ => {}
    }
    schema
}

fn refer_to_compact(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::Ref(reference) => {
            let is_of = |full: &str| reference.ref_location == Ref::from_schema_name(full).ref_location;
            if let Some((_, compact)) = COMPACT_NAMES.into_iter().find(|(full, _)| is_of(full)) {
                reference.ref_location = Ref::from_schema_name(compact).ref_location;
            }
        }
        RefOr::T(Schema::Object(object)) => object.properties.values_mut().for_each(refer_to_compact),
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                refer_to_compact(items);
            }
        }
        RefOr::T(_) => {}
    }
}

impl PartialSchema for CompactComment<'_> {
    fn schema() -> RefOr<Schema> {
        const LEFT_OUT_FIELDS: [&str; 2] = ["content", "subject"];
        const OPTIONAL_FIELDS: [&str; 3] = ["media", "mentions", "path"];
        let description = "A comment of a list with `view=compact`: without `content` and `subject`; without `media` and \
                           `mentions` where they are empty; and without `path`, unless the subject is in mode `building`.";
        let mut schema = compact_schema::<Comment>(description);
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.properties.retain(|name, _| !LEFT_OUT_FIELDS.contains(&name.as_str()));
            object
                .required
                .retain(|name| !LEFT_OUT_FIELDS.contains(&name.as_str()) && !OPTIONAL_FIELDS.contains(&name.as_str()));
        }
        schema
    }
}

impl ToSchema for CompactComment<'_> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Comment::schemas(schemas);
    }
}

/// The schemas of answers with compact comments: what each is of, and what they have beside comments that is compact.
macro_rules! compact_schemas {
    ($($compact:ty: of $full:ty $(, with $part:ty)?, $description:literal;)+) => {$(
        impl PartialSchema for $compact {
            fn schema() -> RefOr<Schema> {
                compact_schema::<$full>($description)
            }
        }

        impl ToSchema for $compact {
            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                add::<CompactComment<'static>>(schemas);
                $(add::<$part>(schemas);)?
                <$full>::schemas(schemas);
            }
        }
    )+};
}

compact_schemas! {
    CompactCommentChain: of CommentChain, "The chain from the root to the comment, with compact comments.";
    CompactSubject<'_>: of Subject, "A subject whose pinned comments are compact.";
    CompactCommentPage<'_>: of CommentPage, with CompactSubject<'static>, "A page of compact comments.";
    CompactCommentTree<'_>: of CommentTree, "A compact comment with what is drawn under it.";
    CompactCommentContext<'_>: of CommentContext, with CompactCommentPage<'static>,
        "A compact comment with what surrounds it.";
}

fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

/// Adds a schema with every schema it refers to.
fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}
