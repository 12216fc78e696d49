//! What a search compares: the words of a text and the characters of scripts that are written without spaces.
//!
//! Written once for every index: a document is stored as two texts, whose words are separated by spaces, so an index
//! needs no analysis of its own. Pure: no index is known here.
//!
//! - *Words* are letters and digits between gaps, in lower case and without accents; they are found as a whole.
//! - *Runs* of ideographs, kana, Hangul and pictures are stored as their pairs, and found wherever they are a part of
//!   a longer run; traditional and simplified forms are the same. Single characters have a text of their own.
//!
//! Promise: [`SearchTerms::matches`] decides what is found. An index may offer more, and offers nothing less.

use std::collections::BTreeSet;
use std::ops::Range;

use gailou_shared::word_filter::{SearchChar, search_char};

/// Longest query, in characters.
pub const MAX_QUERY_CHARS: usize = 200;
/// Most conditions of a query; each is looked up by itself.
pub const MAX_CONDITIONS: usize = 16;
/// Characters of a word that are compared: engines cut words of more than 255.
const MAX_WORD_CHARS: usize = 64;
/// Characters of a comment that are shown around what was found.
const SNIPPET_CHARS: usize = 160;
/// Of them, those before the first place that was found.
const SNIPPET_LEAD_CHARS: usize = 40;

/// A text as an index stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexedText {
    /// Words and pairs, in their order, separated by spaces: `我们 们用 rust`.
    pub grams: String,
    /// Each single character of the runs, once, separated by spaces.
    pub chars: String,
}

/// One thing that a text must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchCondition {
    /// These entries of [`IndexedText::grams`] beside each other, at least one.
    Grams(Vec<String>),
    /// This entry of [`IndexedText::chars`].
    Char(char),
}

/// A part of a text without a gap: a word, or a run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextPart {
    /// Folded, each with its bytes in the text.
    chars: Vec<(char, Range<usize>)>,
    is_dense: bool,
}

impl TextPart {
    fn text(&self) -> String {
        self.chars.iter().take(MAX_WORD_CHARS).map(|(c, _)| *c).collect()
    }

    fn bytes(&self) -> Range<usize> {
        let end = self.chars.last().map_or(0, |(_, bytes)| bytes.end);
        self.chars.first().map_or(0, |(_, bytes)| bytes.start)..end
    }

    fn pairs(&self) -> impl Iterator<Item = String> {
        self.chars.windows(2).map(|pair| pair.iter().map(|(c, _)| *c).collect())
    }

    /// Whether a run contains this one, and from which of its characters on.
    fn find_run<'a>(&'a self, run: &'a [char]) -> impl Iterator<Item = usize> + 'a {
        let starts = self.chars.windows(run.len().max(1)).enumerate();
        starts.filter(move |(_, window)| window.iter().map(|(c, _)| c).eq(run)).map(|(start, _)| start)
    }
}

/// The words and runs of a text.
fn split_text(text: &str) -> Vec<TextPart> {
    let mut parts: Vec<TextPart> = Vec::new();
    let mut is_open = false;
    for (start, c) in text.char_indices() {
        let (folded, is_dense) = match search_char(c) {
            SearchChar::Word(folded) => (folded, false),
            SearchChar::Dense(folded) => (folded, true),
            SearchChar::Gap => {
                is_open = false;
                continue;
            }
            SearchChar::Invisible => continue,
        };
        let entry = (folded, start..start + c.len_utf8());
        match parts.last_mut().filter(|part| is_open && part.is_dense == is_dense) {
            Some(part) => part.chars.push(entry),
            None => parts.push(TextPart { chars: vec![entry], is_dense }),
        }
        is_open = true;
    }
    parts
}

impl IndexedText {
    /// What an index stores of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let (mut grams, mut chars) = (Vec::new(), BTreeSet::new());
        for part in split_text(text) {
            if part.is_dense {
                chars.extend(part.chars.iter().map(|(c, _)| *c));
            }
            if part.is_dense && part.chars.len() > 1 {
                grams.extend(part.pairs());
            } else {
                grams.push(part.text());
            }
        }
        let chars: Vec<String> = chars.into_iter().map(String::from).collect();
        Self { grams: grams.join(" "), chars: chars.join(" ") }
    }
}

/// Why a query is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("must have at most {MAX_QUERY_CHARS} characters")]
    TooLong,
    #[error("must have at most {MAX_CONDITIONS} words")]
    TooManyWords,
    #[error("must contain a letter, a digit or an ideograph")]
    Empty,
}

/// What a query asks for: a text must contain all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTerms(Vec<QueryTerm>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum QueryTerm {
    /// Words beside each other.
    Words(Vec<String>),
    /// A run, at least one character.
    Run(Vec<char>),
}

impl SearchTerms {
    /// Parses a query. What spaces separate is searched for by itself; words with other marks between them, as in
    /// `example.com`, must be beside each other.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn parse(query: &str) -> Result<Self, QueryError> {
        if query.chars().count() > MAX_QUERY_CHARS {
            return Err(QueryError::TooLong);
        }
        let mut terms: Vec<QueryTerm> = Vec::new();
        for piece in query.split(char::is_whitespace) {
            let mut words = Vec::new();
            for part in split_text(piece) {
                if part.is_dense {
                    terms.extend(words_term(&mut words));
                    terms.push(QueryTerm::Run(part.chars.into_iter().map(|(c, _)| c).collect()));
                } else {
                    words.push(part.text());
                }
            }
            terms.extend(words_term(&mut words));
        }
        let mut each = Vec::with_capacity(terms.len());
        for term in terms {
            if !each.contains(&term) {
                each.push(term);
            }
        }
        match each.len() {
            0 => Err(QueryError::Empty),
            1..=MAX_CONDITIONS => Ok(Self(each)),
            _ => Err(QueryError::TooManyWords),
        }
    }

    /// What an index looks up.
    #[must_use]
    pub fn conditions(&self) -> Vec<SearchCondition> {
        let condition = |term: &QueryTerm| match term {
            QueryTerm::Words(words) => SearchCondition::Grams(words.clone()),
            QueryTerm::Run(run) => match run.as_slice() {
                [single] => SearchCondition::Char(*single),
                run => SearchCondition::Grams(run.windows(2).map(|pair| pair.iter().collect()).collect()),
            },
        };
        self.0.iter().map(condition).collect()
    }

    /// Whether a text contains all of it.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let parts = split_text(text);
        self.0.iter().all(|term| !find_term(&parts, term).is_empty())
    }

    /// A part of the text around the first place that was found, as HTML: escaped, what was found in `<mark>`, and
    /// nothing else.
    #[must_use]
    pub fn highlight(&self, text: &str) -> String {
        let parts = split_text(text);
        let mut found: Vec<Range<usize>> = self.0.iter().flat_map(|term| find_term(&parts, term)).collect();
        found.sort_unstable_by_key(|range| (range.start, range.end));
        snippet(text, &merged(found))
    }
}

fn words_term(words: &mut Vec<String>) -> Option<QueryTerm> {
    (!words.is_empty()).then(|| QueryTerm::Words(std::mem::take(words)))
}

/// The bytes of each place at which a term is in a text.
fn find_term(parts: &[TextPart], term: &QueryTerm) -> Vec<Range<usize>> {
    match term {
        QueryTerm::Words(words) => {
            let is_found = |window: &[TextPart]| {
                window.iter().zip(words).all(|(part, word)| !part.is_dense && part.text() == *word)
            };
            let found = parts.windows(words.len().max(1)).filter(|window| is_found(window));
            found.flat_map(|window| window.iter().map(TextPart::bytes)).collect()
        }
        QueryTerm::Run(run) => {
            let runs = parts.iter().filter(|part| part.is_dense);
            let bytes = |part: &TextPart, start: usize| -> Option<Range<usize>> {
                let last = &part.chars.get(start + run.len().saturating_sub(1))?.1;
                Some(part.chars.get(start)?.1.start..last.end)
            };
            runs.flat_map(|part| part.find_run(run).filter_map(|start| bytes(part, start)).collect::<Vec<_>>())
                .collect()
        }
    }
}

/// Ranges in their order, those that overlap or touch as one.
fn merged(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => all.push(range),
        }
    }
    all
}

/// The text around the first of these ranges.
fn snippet(text: &str, marked: &[Range<usize>]) -> String {
    let first = marked.first().map_or(0, |range| range.start);
    let lead = text.get(..first).unwrap_or_default();
    let from = lead.char_indices().rev().nth(SNIPPET_LEAD_CHARS - 1).map_or(0, |(at, _)| at);
    let shown = text.get(from..).unwrap_or_default();
    let to = shown.char_indices().nth(SNIPPET_CHARS).map_or(text.len(), |(at, _)| from + at);
    let mut html = String::with_capacity(2 * SNIPPET_CHARS);
    if from > 0 {
        html.push('…');
    }
    let mut at = from;
    for range in marked.iter().filter(|range| range.start < to) {
        let end = range.end.min(to);
        push_escaped(&mut html, text.get(at..range.start).unwrap_or_default());
        html.push_str("<mark>");
        push_escaped(&mut html, text.get(range.start..end).unwrap_or_default());
        html.push_str("</mark>");
        at = end;
    }
    push_escaped(&mut html, text.get(at..to).unwrap_or_default());
    if to < text.len() {
        html.push('…');
    }
    html
}

fn push_escaped(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_stored_as_words_pairs_and_characters() {
        let check = |text: &str, grams: &str, chars: &str| {
            let expected = IndexedText { grams: grams.into(), chars: chars.into() };
            assert_eq!(IndexedText::of(text), expected, "{text}");
        };
        check("", "", "");
        check("Hello, Café!", "hello cafe", "");
        check("我们用Rust写楼", "我们 们用 rust 写楼", "们 写 我 楼 用");
        check("說，好", "说 好", "好 说");
        check("x\u{200b}y e\u{301}", "xy e", "");
        check("example.com/a", "example com a", "");
        check(&"w".repeat(100), &"w".repeat(64), "");
    }

    #[test]
    fn query_is_found_where_all_of_it_is() {
        let check = |query: &str, text: &str, expected: bool| {
            let terms = SearchTerms::parse(query).unwrap();
            assert_eq!(terms.matches(text), expected, "{query:?} in {text:?}");
        };
        check("人工智能", "关于人工智能的讨论", true);
        check("人工智能", "人工，智能", false);
        check("们好", "我们 好", false);
        check("楼", "盖楼", true);
        check("層", "第三层", true);
        check("rust 楼", "用Rust盖楼", true);
        check("rust 楼", "用Rust写", false);
        check("rus", "Rust", false);
        check("CAFE", "un café", true);
        check("example.com", "see http://Example.com/x", true);
        check("example.com", "com.example", false);
        check("3月", "3月份", true);
        check("🎉", "好🎉🎉", true);
        check("Straße", "straße", true);
    }

    #[test]
    fn query_has_bounds() {
        let check = |query: &str, expected: QueryError| assert_eq!(SearchTerms::parse(query), Err(expected), "{query}");
        check("", QueryError::Empty);
        check(" ，。!\u{200b}", QueryError::Empty);
        check(&"楼".repeat(201), QueryError::TooLong);
        check(&(0..17).map(|n| format!("w{n} ")).collect::<String>(), QueryError::TooManyWords);
        assert!(SearchTerms::parse(&"楼".repeat(200)).is_ok());
        assert_eq!(SearchTerms::parse(&"same ".repeat(40)).unwrap().conditions().len(), 1);
    }

    #[test]
    fn conditions_are_words_pairs_and_characters() {
        let grams = |grams: &[&str]| SearchCondition::Grams(grams.iter().map(|&gram| gram.into()).collect());
        let check = |query: &str, expected: &[SearchCondition]| {
            assert_eq!(SearchTerms::parse(query).unwrap().conditions(), expected, "{query}");
        };
        check("楼", &[SearchCondition::Char('楼')]);
        check("盖楼", &[grams(&["盖楼"])]);
        check("人工智能", &[grams(&["人工", "工智", "智能"])]);
        check("a.b c", &[grams(&["a", "b"]), grams(&["c"])]);
        check("iPhone手机", &[grams(&["iphone"]), grams(&["手机"])]);
    }

    #[test]
    fn highlight_is_escaped_text_with_marks_alone() {
        let check = |query: &str, text: &str, expected: &str| {
            assert_eq!(SearchTerms::parse(query).unwrap().highlight(text), expected, "{query}");
        };
        check("b", "<b>&", "&lt;<mark>b</mark>&gt;&amp;");
        check("智能", "人工智能", "人工<mark>智能</mark>");
        check("人工 工智", "人工智能", "<mark>人工智</mark>能");
        check("café", "CAFE'", "<mark>CAFE</mark>&#39;");
        check("mark", "</mark><mark>", "&lt;/<mark>mark</mark>&gt;&lt;<mark>mark</mark>&gt;");
        let long = format!("{} 楼 {}", "甲".repeat(100), "乙".repeat(300));
        let html = SearchTerms::parse("楼").unwrap().highlight(&long);
        assert_eq!(html, format!("…{} <mark>楼</mark> {}…", "甲".repeat(39), "乙".repeat(118)));
    }

    fn any_text() -> impl Strategy<Value = String> {
        let c = prop::sample::select(vec!['a', 'B', 'é', '<', '&', ' ', '.', '楼', '說', '盖', '한', '🎉', '\u{301}']);
        prop::collection::vec(c, 0..30).prop_map(|chars| chars.into_iter().collect())
    }

    /// Whether a list of entries has these beside each other.
    fn has(entries: &str, grams: &[String]) -> bool {
        let entries: Vec<&str> = entries.split(' ').collect();
        entries.windows(grams.len()).any(|window| window == grams)
    }

    proptest! {
        #[test]
        fn index_offers_whatever_matches(text in any_text(), query in any_text()) {
            let Ok(terms) = SearchTerms::parse(&query) else { return Ok(()) };
            let indexed = IndexedText::of(&text);
            let offered = terms.conditions().iter().all(|condition| match condition {
                SearchCondition::Grams(grams) => has(&indexed.grams, grams),
                SearchCondition::Char(c) => has(&indexed.chars, &[c.to_string()]),
            });
            prop_assert!(offered || !terms.matches(&text));
        }

        #[test]
        fn text_is_found_by_itself_and_shown_as_it_is(text in any_text()) {
            let Ok(terms) = SearchTerms::parse(&text) else { return Ok(()) };
            prop_assert!(terms.matches(&text));
            let shown = terms.highlight(&text).replace("<mark>", "").replace("</mark>", "");
            let mut escaped = String::new();
            push_escaped(&mut escaped, &text);
            prop_assert_eq!(shown, escaped);
        }

        #[test]
        fn any_text_is_read(text: String, query: String) {
            if let Ok(terms) = SearchTerms::parse(&query) {
                let _ = (terms.matches(&text), terms.highlight(&text));
            }
        }
    }
}
