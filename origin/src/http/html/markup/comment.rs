//! One comment with what is drawn under it.

use std::cell::Cell;
use std::collections::HashMap;

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::Mode;
use gailou_shared::wire::{Comment, CommentFlag, CommentPage, QuotedFloor, Subject, SubjectState};
use maud::{Markup, PreEscaped, html};

use crate::clock::rfc3339;
use crate::domain::building;
use crate::http::html::markup::building::Floor;
use crate::http::html::markup::links::PageLinks;
use crate::http::html::words::PageWords;

/// Replies deeper than this keep the indentation of this level, as in the element.
const MAX_INDENT_LEVELS: usize = 3;

/// Draws the comments of one page.
pub(super) struct CommentMarkup<'p> {
    mode: Mode,
    is_open: bool,
    links: &'p PageLinks,
    words: &'static PageWords,
    /// What is on the page, by id.
    comments: HashMap<CommentId, &'p Comment>,
    /// What is on the page only where others quote it.
    quoted: HashMap<CommentId, &'p QuotedFloor>,
    /// The comment that the page is about, if it is about one. Every floor of its chain is drawn.
    whole_of: Option<CommentId>,
    /// Bytes that quoted texts may still take: a floor may be quoted by every comment of the page.
    left_bytes: Cell<usize>,
}

impl<'p> CommentMarkup<'p> {
    pub(super) fn new(
        subject: &'p Subject,
        page: &'p CommentPage,
        chain: &'p [Comment],
        links: &'p PageLinks,
        words: &'static PageWords,
    ) -> Self {
        let listed = subject.pinned.iter().chain(&page.data);
        let listed = listed.flat_map(|comment| [comment].into_iter().chain(comment.top_replies.iter().flatten()));
        Self {
            mode: subject.mode,
            is_open: subject.state == SubjectState::Open,
            links,
            words,
            comments: listed.chain(chain).map(|comment| (comment.id, comment)).collect(),
            quoted: page.floors.iter().flatten().map(|(id, floor)| (*id, floor)).collect(),
            whole_of: chain.last().map(|comment| comment.id),
            left_bytes: Cell::new(limits::MAX_QUOTED_BYTES),
        }
    }

    /// A root with its shown replies.
    pub(super) fn root(&self, root: &'p Comment) -> Markup {
        self.item(&ShownReplies::of(root, self.mode), root, None)
    }

    /// The comment of a page of its own, with its replies.
    pub(super) fn linked(&self, comment: &'p Comment, replies: &'p [Comment]) -> Markup {
        let shown = ShownReplies(HashMap::from([(comment.id, replies.iter().collect())]));
        self.item(&shown, comment, None)
    }

    /// A comment with the replies that are drawn under it; `under` is the comment it is drawn under.
    fn item(&self, shown: &ShownReplies<'p>, comment: &'p Comment, under: Option<CommentId>) -> Markup {
        let replies = shown.under(comment);
        let is_flat = comment.path.len() > MAX_INDENT_LEVELS;
        let is_root = under.is_none() && self.whole_of.is_none();
        let more = comment.more_replies.unwrap_or(if is_root { comment.replies } else { 0 });
        html! {
            li.item {
                article id={ "comment-" (comment.id) } {
                    div.avatar aria-hidden="true" { (initial(comment)) }
                    div {
                        (self.head(comment))
                        (self.answered(comment, under))
                        @if comment.author.is_some() {
                            div.fold { div.clip { div.body dir="auto" { (PreEscaped(&comment.html)) } } }
                            footer.actions {
                                @if comment.likes > 0 { span { ((self.words.likes)(comment.likes)) } }
                                @if let Some(address) = self.links.write(Some(comment.id)).filter(|_| self.is_open) {
                                    a href=(address) rel="nofollow" { (self.words.reply) }
                                }
                            }
                        } @else {
                            div class="body gone" { (self.words.deleted) }
                        }
                    }
                }
                @if !replies.is_empty() {
                    ol.replies.flat[is_flat] {
                        @for reply in replies { (self.item(shown, reply, Some(comment.id))) }
                    }
                }
                @if more > 0 { (self.more_replies(comment.id, more)) }
            }
        }
    }

    fn more_replies(&self, id: CommentId, left: u64) -> Markup {
        let label = (self.words.replies_left)(left);
        html! {
            @match self.links.comment(id) {
                Some(address) => a.more-replies href=(address) { (label) },
                None => span.more-replies { (label) },
            }
        }
    }

    /// What the comment answers, unless its place says so: as a building, or as a line.
    fn answered(&self, comment: &'p Comment, under: Option<CommentId>) -> Markup {
        let Some(parent) = comment.parent_id.filter(|parent| under != Some(*parent)) else { return html! {} };
        if comment.author.is_none() {
            return html! {};
        }
        if (self.mode == Mode::Building || self.whole_of == Some(comment.id)) && comment.path.len() > 1 {
            return self.building(comment);
        }
        html! {
            @if let Some(answered) = &comment.reply_to {
                p.answer {
                    (self.words.replying_to) " "
                    @match self.address(parent) {
                        Some(address) => a href=(address) { bdi { (answered.name) } },
                        None => bdi { (answered.name) },
                    }
                }
            }
        }
    }

    fn building(&self, comment: &'p Comment) -> Markup {
        let is_whole = self.whole_of == Some(comment.id);
        let find = |id| self.take_floor(id);
        let rows = if is_whole { building::all_rows(&comment.path, find) } else { building::rows(&comment.path, find) };
        let Some(frame) = building::frames(rows) else { return html! {} };
        let whole = self.links.comment(comment.id).filter(|_| !is_whole);
        super::building::building(self.words, &frame, comment.path.len(), whole.as_deref())
    }

    /// A floor that the page has room for.
    fn take_floor(&self, id: CommentId) -> Option<Floor<'p>> {
        let on_page = self.comments.get(&id).map(|comment| (comment.author.as_ref(), &*comment.html));
        let floor = on_page.or_else(|| self.quoted.get(&id).map(|floor| (floor.author.as_ref(), &*floor.html)));
        let (author, html) = floor?;
        self.left_bytes.set(self.left_bytes.get().checked_sub(html.len())?);
        Some(Floor { author, html })
    }

    /// Where a comment is: on this page, else on its own.
    fn address(&self, id: CommentId) -> Option<String> {
        match self.comments.contains_key(&id) {
            true => Some(format!("#comment-{id}")),
            false => self.links.comment(id),
        }
    }

    fn head(&self, comment: &Comment) -> Markup {
        let words = self.words;
        let author = comment.author.as_ref();
        let level = author.map_or(0, |author| author.level);
        let is_pinned = comment.flags.iter().any(|flag| matches!(flag, CommentFlag::Pinned | CommentFlag::OwnerPinned));
        let at = rfc3339(comment.created_at);
        let day = at.get(..10).unwrap_or_default();
        let address = self.links.comment(comment.id).unwrap_or_else(|| format!("#comment-{}", comment.id));
        html! {
            header.head {
                strong.author { bdi { (author.map_or(words.deleted_author, |author| &author.name)) } }
                @if author.is_some_and(|author| author.guest) {
                    span.badge.guest title=(words.guest_title) { (words.guest) }
                }
                @if let Some(role) = author.and_then(|author| author.role) { span.badge.staff { (words.role(role)) } }
                @if level > 0 { span.badge { ((words.level)(level)) } }
                @if is_pinned { span.badge { (words.pinned) } }
                @if comment.flags.contains(&CommentFlag::Featured) { span.badge { (words.featured) } }
                a.when href=(address) { time datetime=(at) { (day) } }
                @if comment.edited_at.is_some() && author.is_some() { span.edited { (words.edited) } }
                @if let Some(floor) = self.floor(comment) { span.floor { (floor) } }
            }
        }
    }

    /// A root has its number in the list, and in a building all have their place in the chain.
    fn floor(&self, comment: &Comment) -> Option<String> {
        let place = comment.path.len();
        let number = comment.floor.filter(|_| place == 1).map(self.words.floor);
        let storey = (self.mode == Mode::Building).then(|| (self.words.storey)(place));
        let both: Vec<String> = number.into_iter().chain(storey).collect();
        (!both.is_empty()).then(|| both.join(" · "))
    }
}

/// The letter of the avatar.
fn initial(comment: &Comment) -> String {
    let first = comment.author.as_ref().and_then(|author| author.name.chars().next());
    first.map_or("·".into(), |c| c.to_uppercase().to_string())
}

/// The shown replies of a root, by the comment they are drawn under.
pub(super) struct ShownReplies<'p>(pub(super) HashMap<CommentId, Vec<&'p Comment>>);

impl<'p> ShownReplies<'p> {
    /// As the element draws them: in a tree under the nearest of their ancestors that is shown and
    /// above their level, else all under the root.
    pub(super) fn of(root: &'p Comment, mode: Mode) -> Self {
        let mut replies: Vec<&Comment> = root.top_replies.iter().flatten().collect();
        if mode == Mode::Tree {
            replies.sort_by_key(|reply| reply.path.len());
        }
        let (mut shown, mut under) = (vec![root.id], HashMap::<_, Vec<_>>::new());
        for reply in replies {
            let above = &reply.path[..reply.path.len().saturating_sub(1)];
            let is_shown = |id: &&CommentId| shown.contains(id);
            let parent = match mode {
                Mode::Tree => above.iter().take(usize::from(reply.level.max(1))).rev().find(is_shown),
                _ => above.iter().find(is_shown),
            };
            under.entry(parent.copied().unwrap_or(root.id)).or_default().push(reply);
            shown.push(reply.id);
        }
        Self(under)
    }

    pub(super) fn under(&self, comment: &Comment) -> &[&'p Comment] {
        self.0.get(&comment.id).map_or(&[], Vec::as_slice)
    }
}
