//! The fields of the embedded index. Texts are analysed before they come here: their words are separated by spaces.

use gailou_shared::id::CommentId;
use tantivy::query::{AllQuery, BooleanQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{TantivyDocument, Term};

use crate::domain::search_index::{SearchDocument, SearchFilter, state_name};
use crate::domain::search_text::SearchCondition;

/// Columns that are read for each comment that is found.
pub(super) const ID_COLUMN: &str = "id";
pub(super) const VERSION_COLUMN: &str = "version";
pub(super) const CREATED_COLUMN: &str = "created_at";
pub(super) const VISIBLE_COLUMN: &str = "visible";

/// The fields of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexFields {
    pub(super) id: Field,
    version: Field,
    created_at: Field,
    visible: Field,
    subject: Field,
    author: Field,
    state: Field,
    grams: Field,
    chars: Field,
}

impl IndexFields {
    /// The fields, and the schema that has them.
    pub(super) fn new() -> (Self, Schema) {
        let text = |option| {
            let indexing = TextFieldIndexing::default().set_tokenizer("whitespace").set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing.set_index_option(option))
        };
        let mut schema = Schema::builder();
        let fields = Self {
            id: schema.add_u64_field(ID_COLUMN, INDEXED | FAST),
            version: schema.add_u64_field(VERSION_COLUMN, FAST),
            created_at: schema.add_u64_field(CREATED_COLUMN, FAST),
            visible: schema.add_u64_field(VISIBLE_COLUMN, FAST),
            subject: schema.add_text_field("subject", STRING),
            author: schema.add_u64_field("author", INDEXED),
            state: schema.add_text_field("state", STRING),
            grams: schema.add_text_field("grams", text(IndexRecordOption::WithFreqsAndPositions)),
            chars: schema.add_text_field("chars", text(IndexRecordOption::Basic)),
        };
        (fields, schema.build())
    }

    /// What is stored of a comment: nothing that could be read back as its text.
    pub(super) fn document(&self, of: &SearchDocument) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_u64(self.id, of.id.get());
        document.add_u64(self.version, of.version);
        document.add_u64(self.created_at, of.created_at);
        document.add_u64(self.visible, u64::from(of.is_visible));
        document.add_text(self.subject, of.subject.to_string());
        document.add_u64(self.author, of.author.get());
        document.add_text(self.state, state_name(of.state));
        document.add_text(self.grams, &of.text.grams);
        document.add_text(self.chars, &of.text.chars);
        document
    }

    /// The term that is a comment's own.
    pub(super) fn id_term(&self, id: CommentId) -> Term {
        Term::from_field_u64(self.id, id.get())
    }

    /// What is looked up by terms. Ids, times and visibility are compared by [`super::newest::NewestIds`].
    pub(super) fn query(&self, filter: &SearchFilter) -> Box<dyn Query> {
        let term = |term| Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn Query>;
        let text = |field, text: &str| Term::from_field_text(field, text);
        let mut all: Vec<Box<dyn Query>> = Vec::new();
        all.extend(filter.subject.as_ref().map(|subject| term(text(self.subject, &subject.to_string()))));
        all.extend(filter.author.map(|author| term(Term::from_field_u64(self.author, author.get()))));
        all.extend(filter.state.map(|state| term(text(self.state, state_name(state)))));
        for condition in &filter.conditions {
            all.push(match condition {
                SearchCondition::Char(c) => term(text(self.chars, &c.to_string())),
                SearchCondition::Grams(grams) => match grams.as_slice() {
                    [single] => term(text(self.grams, single)),
                    grams => Box::new(PhraseQuery::new(grams.iter().map(|gram| text(self.grams, gram)).collect())),
                },
            });
        }
        if all.is_empty() {
            return Box::new(AllQuery);
        }
        Box::new(BooleanQuery::new(all.into_iter().map(|query| (Occur::Must, query)).collect()))
    }
}
